#include "query/heap/heap.h"

#include "query/heap/heap_areas.h"
#include "query/heap/heap_counts.h"
#include "query/heap/heap_reading.h"
#include "query/heap/heap_roots.h"
#include "query/heap/retained_terms.h"
#include "query/heap/root_groups.h"
#include "query/heap/top_level_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/heap_census.h>
#include <libdump/heap/term_sizes.h>

#include <fmt/format.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

/// Walks all roots of a process once and fills a report with what is found.
class RootWalk {
  public:
    RootWalk(HeapReading& reading, HeapReport& into)
        : reading_(reading),
          into_(into),
          sizer_(reading.process().scheme, reading.words(), &reading.space()),
          census_(reading.process().scheme, reading.words(),
                  [&reading](std::uint64_t address) { return reading.area_of(address); },
                  {.largest = reading.most_lines(), .space = &reading.space()}),
          groups_(reading.options().limit) {}

    Result<void> run() {
        ASSIGN_OR_RETURN(auto visits,
                         visit_roots(reading_.dump(), reading_.process(),
                                     [this](const HeapRoot& root) { return visit(root); }));
        into_.undecoded_messages = visits.undecoded_messages;
        into_.unreadable += visits.malformed;
        RETURN_IF_ERROR(count_dictionary_slots());
        into_.roots = groups_.take();
        list_large_terms();
        list_binaries();
        return {};
    }

    [[nodiscard]] const HeapCensus& census() const { return census_; }

  private:
    Result<void> visit(const HeapRoot& root) {
        if (root.kind == RootKind::kMessage) {
            // Messages may have different words at the same addresses.
            reading_.words().forget();
        }
        census_.set_root(roots_++);
        ASSIGN_OR_RETURN(const TermSizes sizes, sizes_of(root));
        into_.unreadable += sizes.unreadable;
        const bool listed = groups_.count(root.kind, sizes.shared);
        const auto large_terms = census_.largest_of_root();
        if (listed || !large_terms.empty()) {
            reading_.forget_texts();
            RootLine line = reading_.line_of(root, sizes);
            for (const LargeTerm& term : large_terms) {
                large_[{term.root, term.word}] = reading_.line_of(term, line);
            }
            if (listed) {
                groups_.add(std::move(line));
            }
        }
        if (root.kind == RootKind::kDictionary) {
            census_.set_root(roots_, false);
            ASSIGN_OR_RETURN(const TermSizes key, sizer_.sizes(root.key_word, &census_));
            into_.unreadable += key.unreadable;
        }
        return {};
    }

    /// Caches the sizes of large terms, which many entries may have in common. Walking them again
    /// would not change the census.
    Result<TermSizes> sizes_of(const HeapRoot& root) {
        constexpr std::uint64_t kLargeWords = 64;
        constexpr std::size_t kMaxKnown = 1U << 16U;
        if (const auto known = known_.find(root.word);
            known != known_.end() && root.kind != RootKind::kMessage) {
            return known->second;
        }
        ASSIGN_OR_RETURN(const TermSizes sizes, sizer_.sizes(root.word, &census_));
        // Another message may have other words at the same address.
        if (root.kind != RootKind::kMessage && sizes.shared >= kLargeWords &&
            known_.size() < kMaxKnown) {
            known_.emplace(root.word, sizes);
        }
        return sizes;
    }

    /// Counts the dictionary's own pairs and buckets as live.
    Result<void> count_dictionary_slots() {
        OpenedProcess& process = reading_.process();
        const Region* region = process.run.region(format::RegionKind::kDictionary);
        if (region == nullptr) {
            return {};
        }
        census_.set_root(roots_, false);
        reading_.words().forget();
        for (std::uint64_t slot = 0; slot < region->here; ++slot) {
            auto word = process.context().word(region->address + slot * kWordBytes);
            if (!word) {
                return wrap("reading the dictionary", std::move(word.error()));
            }
            if (leads_to_object(process.scheme, *word)) {
                RETURN_IF_ERROR(sizer_.sizes(*word, &census_));
            }
        }
        return {};
    }

    void list_large_terms() {
        for (const LargeTerm& term : census_.largest_terms()) {
            into_.largest.push_back(large_[{term.root, term.word}]);
        }
    }

    void list_binaries() {
        for (const KeptBinary& binary : census_.largest_binaries()) {
            const auto info = reading_.process().context().binary_at(binary.address);
            into_.largest_binaries.push_back(
                {binary.address, binary.bytes, info ? info->references : std::nullopt});
        }
        into_.binaries = census_.binaries();
        into_.binary_bytes = census_.binary_bytes();
        into_.unsized_binaries = census_.unsized_binaries();
    }

    HeapReading& reading_;
    HeapReport& into_;
    TermSizer sizer_;
    std::unordered_map<std::uint64_t, TermSizes> known_;  ///< of large roots, by their words
    HeapCensus census_;
    RootGroups groups_;
    std::uint64_t roots_ = 0;
    /// By root and word.
    std::map<std::pair<std::uint64_t, std::uint64_t>, LargeTermLine> large_;
};

Result<void> fill(HeapReading& reading, HeapReport& report) {
    RootWalk walk(reading, report);
    RETURN_IF_ERROR(walk.run());
    list_counts(reading, walk.census(), report);
    list_areas(reading, walk.census(), report);
    if (reading.options().terms) {
        ASSIGN_OR_RETURN(report.terms, top_level_terms(reading, walk.census()));
    }
    if (reading.options().retained) {
        ASSIGN_OR_RETURN(report.retained, retained_terms(reading));
    }
    return reading.process().context().read_rest();
}

}  // namespace

std::string root_text(const RootLine& line) {
    switch (line.kind) {
        case RootKind::kStack:
            return fmt::format("y({}) of frame {}", line.index, line.frame);
        case RootKind::kArgument:
            return fmt::format("x({})", line.index);
        case RootKind::kDictionary:
            return fmt::format("dictionary {}{}", line.key ? line.key->text : "?",
                               line.key && line.key->more ? "..." : "");
        case RootKind::kMessage:
            return fmt::format("message {}", line.index);
        case RootKind::kOther:
            break;
    }
    return line.name;
}

Result<HeapReport> heap_report(Dump& dump, const std::string& file, std::string_view name,
                               const HeapOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name, HeapUse::kWhole));
    HeapReport report;
    report.dump = dump_facts(dump, file);
    report.line = process->line;
    report.of_crash_dump = is_of_crash_dump(dump);
    if (process->run.end.has_detail()) {
        report.void_detail = process->run.end.detail();
    }
    report.withheld = terms_withheld(process->run, options.sensitive) != Withheld::kNo;
    if (!report.withheld) {
        HeapReading reading(dump, std::move(process), options);
        RETURN_IF_ERROR(fill(reading, report));
    }
    return report;
}

}  // namespace beamdump::query
