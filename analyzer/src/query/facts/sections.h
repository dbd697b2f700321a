#pragma once

#include "query/facts/dump_facts.h"

#include <libdump/base/error.h>
#include <libdump/crash/text/section_lines.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

struct SectionsOptions {
    std::string tag;  ///< show the sections of this kind; empty: count those of each kind
    /// Maximum sections, or lines if there is only one section of the kind; 0: all.
    std::uint64_t limit = 20;
};

/// Sections of a kind in a crash dump's text.
struct SectionCount {
    std::string tag;
    std::uint64_t sections = 0;
    std::uint64_t bytes = 0;  ///< of their lines
};

using crash::SectionLine;

/// The other sections of a crash dump, verbatim: tables, ports, timers, allocators, schedulers,
/// modules and whatever else a release writes. Memory: one page of text, and a line (4 MiB at most;
/// longer lines are split).
class SectionListing {
  public:
    /// kNotFound if the dump was not converted from a crash dump.
    static Result<std::unique_ptr<SectionListing>> open(Dump& dump, const std::string& file,
                                                        SectionsOptions options);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const SectionsOptions& options() const { return options_; }

    /// In the order in which the text has the first of each kind.
    Result<std::vector<SectionCount>> counts();

    /// Called for each shown section: argument, lines, end.
    struct Visit {
        std::function<void(std::string_view)> begin;
        std::function<void(const SectionLine&)> line;
        std::function<void()> end;
    };
    struct Totals {
        std::uint64_t sections = 0;          ///< of the kind
        std::optional<std::uint64_t> lines;  ///< of its only section, if lines were limited
        std::string nearest;  ///< the most similar kind, if there is none of this kind
    };
    /// Reads the text twice: for the kinds, then for the sections.
    Result<Totals> show(const Visit& visit);

    /// Calls `begin` with the kind and the argument, then the others, for each section of these
    /// kinds, in the text's order, whatever the options. Reads the text once.
    struct VisitKinds {
        std::function<void(std::string_view, std::string_view)> begin;
        std::function<void(const SectionLine&)> line;
        std::function<void()> end;
    };
    Result<void> show_kinds(std::span<const std::string_view> tags, const VisitKinds& visit);

  private:
    SectionListing(Dump& dump, const std::string& file, SectionsOptions options)
        : dump_(dump), facts_(query::dump_facts(dump, file)), options_(std::move(options)) {}
    Result<void> each(const std::function<void(const records::CrashSection&)>& visit);

    Dump& dump_;
    DumpFacts facts_;
    SectionsOptions options_;
};

}  // namespace beamdump::query
