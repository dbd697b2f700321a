#pragma once

#include "query/node/dump_facts.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

struct SectionsOptions {
    std::string tag;  ///< show the sections of this kind; empty: how many of each there are
    /// Sections, or lines where there is but one section of the kind; 0: all.
    std::uint64_t limit = 20;
};

/// Sections of a kind in a crash dump's text.
struct SectionCount {
    std::string tag;
    std::uint64_t sections = 0;
    std::uint64_t bytes = 0;  ///< of their lines
};

/// A line of a section, `Name: value`, or of another shape.
struct SectionLine {
    std::string_view text;
    std::optional<std::string_view> name;
    std::string_view value;  ///< all of the line where it has no name
};

/// What a crash dump says beyond its processes, as its text has it: tables, ports, timers,
/// allocators, schedulers, modules and whatever else a release writes. Memory: one page of it, and
/// a line (4 MiB at most: longer ones come in parts).
class SectionListing {
  public:
    /// kNotFound where the dump was not made of a crash dump.
    static Result<std::unique_ptr<SectionListing>> open(Dump& dump, const std::string& file,
                                                        SectionsOptions options);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const SectionsOptions& options() const { return options_; }

    /// In the order in which the text has the first of each kind.
    Result<std::vector<SectionCount>> counts();

    /// Notified of each section that is shown its argument, its lines and its end.
    struct Visit {
        std::function<void(std::string_view)> begin;
        std::function<void(const SectionLine&)> line;
        std::function<void()> end;
    };
    struct Totals {
        std::uint64_t sections = 0;          ///< of the kind
        std::optional<std::uint64_t> lines;  ///< of its one section, where lines were limited
        std::string nearest;                 ///< the most similar kind, where there is none of it
    };
    /// Reads the text twice: which kinds there are, and then the sections.
    Result<Totals> show(const Visit& visit);

  private:
    SectionListing(Dump& dump, const std::string& file, SectionsOptions options)
        : dump_(dump), facts_(query::dump_facts(dump, file)), options_(std::move(options)) {}
    Result<void> each(const std::function<void(const records::CrashSection&)>& visit);

    Dump& dump_;
    DumpFacts facts_;
    SectionsOptions options_;
};

}  // namespace beamdump::query
