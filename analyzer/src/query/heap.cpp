#include "query/heap.h"

#include "query/heap_roots.h"
#include "query/term_path.h"

#include <libdump/heap/heap_census.h>
#include <libdump/heap/heap_growth.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/heap/retained_sizes.h>
#include <libdump/heap/term_sizes.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::uint64_t kMostLines = 1000;
/// F_HEAP_GROW (erl_process.h, OTP 25.2.3).
constexpr std::uint32_t kHeapGrowFlag = 1U << 3U;
constexpr std::array kRootKinds = {RootKind::kStack, RootKind::kArgument, RootKind::kDictionary,
                                   RootKind::kOther, RootKind::kMessage};

std::string_view boxed_kind_text(BoxedKind kind) {
    switch (kind) {
        case BoxedKind::kTuple:
            return "tuple";
        case BoxedKind::kMatchContext:
            return "match_context";
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return "big_integer";
        case BoxedKind::kReference:
            return "reference";
        case BoxedKind::kFun:
            return "fun";
        case BoxedKind::kFloat:
            return "float";
        case BoxedKind::kRefcBinary:
            return "refc_binary";
        case BoxedKind::kHeapBinary:
            return "heap_binary";
        case BoxedKind::kSubBinary:
            return "sub_binary";
        case BoxedKind::kExternalPid:
            return "external_pid";
        case BoxedKind::kExternalPort:
            return "external_port";
        case BoxedKind::kExternalReference:
            return "external_reference";
        case BoxedKind::kFlatMap:
            return "small_map";
        case BoxedKind::kHashMapNode:
            return "large_map_node";
        case BoxedKind::kHashMapHead:
            return "large_map";
        case BoxedKind::kUnknown:
            break;
    }
    return "unknown";
}

void sort_by_words(std::vector<KindCount>& counts, std::size_t limit) {
    std::ranges::stable_sort(counts, std::ranges::greater(), &KindCount::words);
    counts.resize(std::min(counts.size(), limit));
}

void add_rest(std::vector<KindCount>& counts, const ObjectCount& rest) {
    if (rest.objects > 0) {
        counts.push_back({"others", rest.objects, rest.words});
    }
}

/// Reads one process's heap.
class Reading {
  public:
    Reading(Dump& dump, OpenedProcess& process, const HeapOptions& options, HeapReport& into)
        : dump_(dump),
          process_(process),
          facts_(process.run.process),
          options_(options),
          into_(into),
          space_({.max_memory_bytes = options.max_memory, .directory = {}}),
          words_(process.context),
          printer_(process.context, process.scheme),
          sizer_(process.scheme, words_, &space_),
          census_(process.scheme, words_,
                  [this](std::uint64_t address) { return area_of(address); },
                  {.largest = most_lines(), .space = &space_}) {}

    Result<void> run() {
        for (const RootKind kind : kRootKinds) {
            into_.roots.push_back({kind, 0, 0, {}});
        }
        auto visits = visit_roots(dump_, process_, [this](const HeapRoot& root) { visit(root); });
        if (!visits) {
            return std::unexpected(visits.error());
        }
        into_.undecoded_messages = visits->undecoded_messages;
        into_.unreadable += visits->malformed;
        if (auto done = count_dictionary_slots(); !done) {
            return done;
        }
        for (RootGroup& group : into_.roots) {
            keep_largest(group);
        }
        list_large_terms();
        count_kinds();
        use_of_areas();
        if (options_.terms) {
            list_top_level_terms();
        }
        return options_.retained ? find_retained() : Result<void>();
    }

  private:
    [[nodiscard]] HeapArea area_of(std::uint64_t address) {
        const auto within = [address](std::uint64_t from, std::uint64_t to) {
            return from <= address && address < to;
        };
        if (within(facts_.heap_address(), facts_.heap_end_address())) {
            return HeapArea::kHeap;
        }
        if (within(facts_.old_heap_address(), facts_.old_heap_end_address())) {
            return HeapArea::kOldHeap;
        }
        return dump_.literals().covers(address) ? HeapArea::kLiteral : HeapArea::kFragment;
    }

    void visit(const HeapRoot& root) {
        if (root.kind == RootKind::kMessage) {
            // No words of one message may pass for another's.
            words_.forget();
        }
        census_.set_root(roots_++);
        const TermSizes sizes = sizer_.sizes(root.word, &census_);
        into_.unreadable += sizes.unreadable;
        RootGroup& group = *std::ranges::find(into_.roots, root.kind, &RootGroup::kind);
        ++group.total;
        group.shared_words += sizes.shared;
        const bool listed = !is_full(group) || sizes.shared > group_least(group);
        const auto large_terms = census_.largest_of_root();
        if (listed || !large_terms.empty()) {
            printer_.forget();
            RootLine line = describe(root, sizes);
            for (const LargeTerm& term : large_terms) {
                large_[{term.root, term.word}] = describe(term, line);
            }
            if (listed) {
                add_line(group, std::move(line));
            }
        }
        if (root.kind == RootKind::kDictionary) {
            census_.set_root(roots_, false);
            into_.unreadable += sizer_.sizes(root.key_word, &census_).unreadable;
        }
    }

    [[nodiscard]] bool is_full(const RootGroup& group) const {
        return options_.limit != 0 && group.lines.size() >= options_.limit;
    }

    /// Shared words that a root needs more than, to be listed in a full group.
    [[nodiscard]] std::uint64_t group_least(const RootGroup& group) const {
        const auto least = least_.find(group.kind);
        return least == least_.end() ? 0 : least->second;
    }

    void add_line(RootGroup& group, RootLine line) {
        group.lines.push_back(std::move(line));
        if (options_.limit != 0 && group.lines.size() >= 2 * options_.limit) {
            keep_largest(group);
        }
        if (group.lines.size() == options_.limit) {
            least_[group.kind] =
                std::ranges::min_element(group.lines, {}, &RootLine::shared_words)->shared_words;
        }
    }

    void keep_largest(RootGroup& group) const {
        if (options_.limit != 0) {
            std::ranges::stable_sort(group.lines, std::ranges::greater(), &RootLine::shared_words);
            group.lines.resize(std::min<std::size_t>(group.lines.size(), options_.limit));
        }
    }

    RootLine describe(const HeapRoot& root, const TermSizes& sizes) {
        RootLine line;
        line.kind = root.kind;
        line.frame = root.frame;
        line.index = root.index;
        line.name = root.name;
        if (root.kind == RootKind::kDictionary) {
            line.key = term_text(printer_, root.key_word, options_.term_bytes);
        }
        line.term = term_text(printer_, root.word, options_.term_bytes);
        line.flat_words = sizes.flat;
        line.shared_words = sizes.shared;
        line.whole = sizes.unreadable == 0;
        return line;
    }

    void list_large_terms() {
        for (const LargeTerm& term : census_.largest_terms()) {
            into_.largest.push_back(large_[{term.root, term.word}]);
        }
        for (const KeptBinary& binary : census_.largest_binaries()) {
            const auto info = process_.context.binary_at(binary.address);
            into_.largest_binaries.push_back(
                {binary.address, binary.bytes,
                 info ? std::optional(info->references) : std::nullopt});
        }
        into_.binaries = census_.binaries();
        into_.binary_bytes = census_.binary_bytes();
    }

    Result<void> find_retained() {
        RetainedSizes sizes(
            process_.scheme, words_, space_,
            [this](std::uint64_t address) { return area_of(address) == HeapArea::kLiteral; },
            {.largest = most_lines()});
        std::map<std::pair<std::uint64_t, std::uint64_t>, LargeTermLine> lines;
        HeapRoot current;
        const auto roots = [&](const auto& walk) -> Result<void> {
            std::uint64_t number = 0;
            auto visits = visit_roots(dump_, process_, [&](const HeapRoot& root) {
                if (root.kind == RootKind::kMessage) {
                    words_.forget();
                }
                current = root;
                walk(number, root.word);
                if (root.kind == RootKind::kDictionary) {
                    walk(number, root.key_word);
                }
                ++number;
            });
            return visits ? Result<void>() : std::unexpected(visits.error());
        };
        auto done = sizes.run(roots, [&](const LargeTerm& term) {
            printer_.forget();
            lines[{term.root, term.word}] = describe(term, describe(current, {}));
        });
        if (!done) {
            return done;
        }
        into_.retained.emplace();
        for (const LargeTerm& term : sizes.largest()) {
            into_.retained->push_back(lines[{term.root, term.word}]);
        }
        return {};
    }

    /// The blocks of the heap that collections sweep; fragments of messages are not among them.
    [[nodiscard]] std::vector<std::pair<std::string_view, HeapBlock>> heap_blocks() const {
        std::vector<std::pair<std::string_view, HeapBlock>> blocks;
        const auto add = [&](std::string_view area, format::RegionKind kind) {
            for (const Region& region : process_.run.directory.regions) {
                if (region.kind == kind) {
                    blocks.push_back(
                        {area, {region.address, region.address + region.here * kWordBytes}});
                }
            }
        };
        add("heap", format::RegionKind::kHeap);
        add("old_heap", format::RegionKind::kOldHeap);
        add("abandoned_heap", format::RegionKind::kAbandonedHeap);
        add("fragments", format::RegionKind::kHeapFragment);
        add("fragments", format::RegionKind::kReceivedFragment);
        return blocks;
    }

    void list_top_level_terms() {
        words_.forget();
        printer_.forget();
        const auto blocks = heap_blocks();
        TopLevelTerms terms(
            process_.scheme, words_,
            [this](std::uint64_t address) {
                return census_.is_live(address) || area_of(address) == HeapArea::kLiteral;
            },
            &space_);
        for (const auto& [area, block] : blocks) {
            terms.add(block);
        }
        TopLevelTermList& list = into_.terms.emplace();
        const auto has_room = [&] {
            return list.lines.size() < options_.limit || options_.limit == 0;
        };
        for (const auto& [area, block] : blocks) {
            terms.visit(
                block,
                [&](const TopLevelTerms::Term& term) {
                    ++list.total;
                    list.dead += term.dead ? 1 : 0;
                    list.dead_words += term.dead ? term.words : 0;
                    if (has_room()) {
                        list.lines.push_back({std::string(area), term.address, term.words,
                                              term.dead, false,
                                              term_text(printer_, term.word, options_.term_bytes)});
                    }
                },
                [&](const UnreadableStretch& stretch) {
                    list.unreadable_words += stretch.words;
                    if (has_room()) {
                        list.lines.push_back(
                            {std::string(area), stretch.address, stretch.words, false, true, {}});
                    }
                });
        }
    }

    LargeTermLine describe(const LargeTerm& term, const RootLine& root) {
        return {term.words, root_text(root), path_texts(term.path, words_, printer_),
                term_text(printer_, term.word, options_.term_bytes)};
    }

    [[nodiscard]] std::size_t most_lines() const {
        return options_.limit == 0 ? kMostLines : options_.limit;
    }

    /// The pairs and buckets that the dictionary's slots lead to keep themselves alive.
    Result<void> count_dictionary_slots() {
        const Region* region = process_.run.region(format::RegionKind::kDictionary);
        if (region == nullptr) {
            return {};
        }
        census_.set_root(roots_, false);
        words_.forget();
        for (std::uint64_t slot = 0; slot < region->here; ++slot) {
            auto word = process_.context.word(region->address + slot * kWordBytes);
            if (!word) {
                return wrap("reading the dictionary", std::move(word.error()));
            }
            if (leads_to_object(process_.scheme, *word)) {
                sizer_.sizes(*word, &census_);
            }
        }
        return {};
    }

    void count_kinds() {
        const std::size_t limit = most_lines();
        if (census_.cells().objects > 0) {
            into_.kinds.push_back({"cell", census_.cells().objects, census_.cells().words});
        }
        std::map<std::string_view, ObjectCount> kinds;
        for (const auto& [kind, count] : census_.kinds()) {
            kinds[boxed_kind_text(kind)].objects += count.objects;
            kinds[boxed_kind_text(kind)].words += count.words;
        }
        for (const auto& [name, count] : kinds) {
            into_.kinds.push_back({std::string(name), count.objects, count.words});
        }
        sort_by_words(into_.kinds, kMostLines);
        for (const auto& [tag, count] : census_.tags()) {
            into_.tags.push_back({tag_text(tag), count.objects, count.words});
        }
        add_rest(into_.tags, census_.other_tags());
        sort_by_words(into_.tags, limit);
        for (const auto& [keys, count] : census_.key_sets()) {
            into_.key_sets.push_back({keys_text(keys), count.objects, count.words});
        }
        add_rest(into_.key_sets, census_.other_key_sets());
        sort_by_words(into_.key_sets, limit);
    }

    std::string tag_text(const HeapCensus::Tag& tag) {
        constexpr std::uint32_t kMostPlaces = 16;
        std::string text = "{" + atom_text(dump_, tag.first);
        for (std::uint32_t i = 1; i < std::min(tag.second, kMostPlaces); ++i) {
            text += ",_";
        }
        return text +
               (tag.second > kMostPlaces ? fmt::format(",... {} elements}}", tag.second) : "}");
    }

    std::string keys_text(const HeapCensus::KeySet& keys) {
        std::vector<std::string> texts;
        for (const std::uint64_t key : keys) {
            texts.push_back(key == process_.scheme.non_value
                                ? "_"
                                : term_text(printer_, key, options_.term_bytes).text);
        }
        return fmt::format("#{{{}}}", fmt::join(texts, ","));
    }

    void use_of_areas() {
        using Words = std::optional<std::uint64_t>;
        const auto known = [](bool has, std::uint64_t words) {
            return has ? Words(words) : std::nullopt;
        };
        const auto area = [this](HeapArea which, std::string name, Words block, Words used) {
            const ObjectCount& live = census_.in(which);
            into_.areas.push_back({std::move(name), block, used, live.words, live.objects});
        };
        const Words heap = known(facts_.has_heap_words(), facts_.heap_words());
        const Words used = known(facts_.has_heap_used_words(), facts_.heap_used_words());
        const Words old_used =
            known(facts_.has_old_heap_used_words(), facts_.old_heap_used_words());
        const Words fragments = known(facts_.has_fragment_words(),
                                      facts_.fragment_words() + process_.run.end.message_words());
        area(HeapArea::kHeap, "heap", heap, used);
        area(HeapArea::kOldHeap, "old_heap",
             known(facts_.has_old_heap_words(), facts_.old_heap_words()), old_used);
        area(HeapArea::kFragment, "fragments", fragments, fragments);
        into_.literal_words = census_.in(HeapArea::kLiteral).words;
        into_.stack_words = known(facts_.has_stack_words(), facts_.stack_words());
        if (!heap || !used || !old_used || !into_.stack_words) {
            return;
        }
        const std::uint64_t taken = *used + *into_.stack_words;
        into_.free_words = *heap > taken ? *heap - taken : 0;
        into_.heap_words_after_major = heap_words_after_major(
            {.used_words = *used + *old_used + facts_.fragment_words(),
             .live_words = census_.in(HeapArea::kHeap).words +
                           census_.in(HeapArea::kOldHeap).words + facts_.fragment_words(),
             .stack_words = *into_.stack_words,
             .min_heap_words = facts_.min_heap_words(),
             .grow_next = (facts_.flags() & kHeapGrowFlag) != 0,
             .heap_words = *heap});
    }

    Dump& dump_;
    OpenedProcess& process_;
    const records::Process& facts_;
    const HeapOptions& options_;
    HeapReport& into_;
    ScratchSpace space_;
    WordReader words_;
    TermPrinter printer_;
    TermSizer sizer_;
    HeapCensus census_;
    std::uint64_t roots_ = 0;
    std::map<RootKind, std::uint64_t> least_;
    /// By root and word.
    std::map<std::pair<std::uint64_t, std::uint64_t>, LargeTermLine> large_;
};

}  // namespace

std::string root_text(const RootLine& line) {
    switch (line.kind) {
        case RootKind::kStack:
            return fmt::format("y({}) of frame {}", line.index, line.frame);
        case RootKind::kArgument:
            return fmt::format("x({})", line.index);
        case RootKind::kDictionary:
            return fmt::format("dictionary {}", line.key ? line.key->text : "?");
        case RootKind::kMessage:
            return fmt::format("message {}", line.index);
        case RootKind::kOther:
            break;
    }
    return line.name;
}

Result<HeapReport> heap_report(Dump& dump, const std::string& file, std::string_view name,
                               const HeapOptions& options) {
    auto process = open_process(dump, name);
    if (!process) {
        return std::unexpected(process.error());
    }
    HeapReport report;
    report.dump = dump_facts(dump, file);
    report.line = (*process)->line;
    if ((*process)->run.end.has_detail()) {
        report.void_detail = (*process)->run.end.detail();
    }
    report.withheld = terms_withheld((*process)->run, options.sensitive) != Withheld::kNo;
    if (!report.withheld) {
        try {
            if (auto done = Reading(dump, **process, options, report).run(); !done) {
                return std::unexpected(done.error());
            }
        } catch (const ScratchError& failure) {
            return wrap("looking at the heap", failure.error());
        }
    }
    return report;
}

}  // namespace beamdump::query
