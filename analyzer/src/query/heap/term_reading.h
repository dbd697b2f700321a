#pragma once

#include "query/facts/dump_facts.h"
#include "query/heap/heap_roots.h"
#include "query/process/opened_process.h"
#include "query/process/process_line.h"
#include "query/term/path_finder.h"
#include "query/term/term_text.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/term_sizes.h>
#include <libdump/model/messages.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// A root of a process's terms, as a path begins with it.
struct NamedRoot {
    std::uint64_t word = 0;
    std::string text;  ///< "y(3) of frame 0", "dictionary key", "message 12"
    std::unique_ptr<MessageWalker> walker = {};  ///< holds the message that is read, if it is one
};

struct TermQuery {
    std::string path;             ///< empty: all roots of the process
    std::uint64_t depth = 1;      ///< levels of parts
    std::uint64_t limit = 20;     ///< parts of each term, the largest; 0: all, in their order
    std::size_t part_bytes = 80;  ///< of each part's text; 0: all
    bool sensitive = false;       ///< show a process flagged sensitive
    /// The term's text, kind and count alone are wanted: sizes are not computed, which walks all of
    /// it, and those of term() must not be used.
    bool without_sizes = false;
    InputLimits limits;  ///< of the marks of terms that are sized
};

/// A term, or a part of one.
struct TermPartLine {
    std::string step;                  ///< the step that leads to it; a root's name
    std::optional<std::string> field;  ///< of a record whose fields are known
    std::string_view kind;
    std::optional<std::uint64_t> count;  ///< parts of a list, tuple, map, fun or native record
    TermSizes sizes;                     ///< in words; 0 for what takes none
    /// The reference-counted binaries that it keeps, each once and whole; nothing where the dump
    /// lacks one of them.
    std::optional<std::uint64_t> binary_bytes;
    TermText text;            ///< of a part
    std::uint64_t depth = 0;  ///< 1: a part of the term itself
};

/// One term of a process by its path, and its parts level by level. Memory: as that of sizes, and
/// that of one part for each level.
class TermReading {
  public:
    struct PartSizes {
        TermSizes words;
        std::uint64_t binary_bytes = 0;      ///< of binaries whose size is known
        std::uint64_t unsized_binaries = 0;  ///< the others
    };

    static Result<std::unique_ptr<TermReading>> open(Dump& dump, const std::string& file,
                                                     std::string_view process,
                                                     const TermQuery& query);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const ProcessLine& line() const { return process_->line; }
    [[nodiscard]] Withheld withheld() const { return withheld_; }
    [[nodiscard]] const std::string& void_detail() const { return process_->run.end.detail(); }
    /// The root and the steps from it; empty for all roots.
    [[nodiscard]] const std::vector<std::string>& path() const { return path_; }
    /// The term itself; nullopt for all roots, or where it is withheld.
    [[nodiscard]] const std::optional<TermPartLine>& term() const { return term_; }

    /// The term's word, to be read through the process's context; 0 for all roots.
    [[nodiscard]] std::uint64_t word() const { return word_; }
    [[nodiscard]] OpenedProcess& process() { return *process_; }

    /// Tells a part, its own parts if they are asked for, and how many of these are left out.
    struct Visitor {
        std::function<void(const TermPartLine&)> begin;
        std::function<void(const TermPartLine&, std::uint64_t omitted)> end;
    };
    /// All parts, or roots; gives how many were left out.
    Result<std::uint64_t> each_part(const Visitor& visitor);

    /// Starts the text of the whole term.
    TermPrinter& start_text();
    /// The text of the whole term, cut at TermQuery::part_bytes.
    [[nodiscard]] TermText text() { return term_text(printer_, word_, query_.part_bytes); }

    /// What in texts and sizes could not be shown.
    [[nodiscard]] std::uint64_t placeholders() const {
        return query::placeholders(printer_.statistics());
    }
    [[nodiscard]] std::uint64_t unreadable() const { return unreadable_; }
    /// Parts that were not sized, since that would take too long: larger ones may be among them.
    [[nodiscard]] std::uint64_t unsized_parts() const { return unsized_parts_; }

  private:
    TermReading(Dump& dump, const std::string& file, std::shared_ptr<OpenedProcess> process,
                const TermQuery& query);

    Result<void> find();
    Result<PartSizes> sizes_of(std::uint64_t word);
    TermPartLine line_of(std::uint64_t word, std::string step, const PartSizes& sizes);
    Result<std::uint64_t> parts_of(std::uint64_t word, std::uint64_t whole_words,
                                   std::uint64_t depth, const Visitor& visitor);
    Result<std::uint64_t> each_root(const Visitor& visitor);
    Result<void> visit_part(std::uint64_t word, TermPartLine line, const Visitor& visitor);
    [[nodiscard]] std::optional<std::uint64_t> count_of(std::uint64_t word, std::string_view kind);
    std::optional<std::string> field_of(std::uint64_t whole, const TermPart& part);

    Dump& dump_;
    DumpFacts facts_;
    std::shared_ptr<OpenedProcess> process_;
    TermQuery query_;
    Withheld withheld_;
    ScratchSpace space_;
    PathFinder finder_;
    TermPrinter printer_;
    TermSizer sizer_;
    AddressMarks binaries_seen_;
    std::optional<NamedRoot> root_;
    std::uint64_t word_ = 0;
    std::vector<std::string> path_;
    std::optional<TermPartLine> term_;
    std::uint64_t unreadable_ = 0;
    std::uint64_t unsized_parts_ = 0;
};

}  // namespace beamdump::query
