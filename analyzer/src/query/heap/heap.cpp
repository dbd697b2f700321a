#include "query/heap/heap.h"

#include "query/heap/heap_roots.h"
#include "query/process/deferred_texts.h"
#include "query/process/opened_process.h"
#include "query/term/term_path.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/format/crash_regions.h>
#include <libdump/heap/heap_census.h>
#include <libdump/heap/heap_growth.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/retained_sizes.h>
#include <libdump/heap/term_sizes.h>
#include <libdump/model/dump.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/pointer_text.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

/// The readers that all parts of a heap report share. Dump, process and options must outlive it.
class HeapReading {
  public:
    HeapReading(Dump& dump, std::shared_ptr<OpenedProcess> process, const HeapOptions& options);

    [[nodiscard]] Dump& dump() { return dump_; }
    [[nodiscard]] OpenedProcess& process() { return *process_; }
    [[nodiscard]] const OpenedProcess& process() const { return *process_; }
    [[nodiscard]] const HeapOptions& options() const { return options_; }
    [[nodiscard]] ScratchSpace& space() { return space_; }
    [[nodiscard]] WordReader& words() { return words_; }
    /// Drops the cached words of texts.
    void forget_texts() {
        texts_->forget();
        paths_.forget();
    }

    [[nodiscard]] HeapArea area_of(std::uint64_t address);
    [[nodiscard]] bool has_areas() const { return has_areas_; }
    [[nodiscard]] bool is_literal(std::uint64_t address) {
        return area_of(address) == HeapArea::kLiteral;
    }
    /// Maximum lines of a list that is limited even with --limit 0.
    [[nodiscard]] std::size_t most_lines() const;

    /// A term's text, truncated as the options say. `message`: as for DeferredTexts::word().
    TermText text(std::uint64_t word, std::optional<std::uint64_t> message = std::nullopt);
    RootLine line_of(const HeapRoot& root, const TermSizes& sizes);
    LargeTermLine line_of(const LargeTerm& term, const RootLine& root);

  private:
    HeapArea area_in_crash_dump(std::uint64_t address);

    Dump& dump_;
    std::shared_ptr<OpenedProcess> process_;
    const HeapOptions& options_;
    ScratchSpace space_;
    WordReader words_;
    std::shared_ptr<DeferredTexts> texts_;
    TermPrinter paths_;
    bool has_areas_;  ///< DumpForm::heap_areas
};

/// Where a root's term is read from.
template <typename Root>
std::optional<std::uint64_t> message_of(const Root& root) {
    return root.kind == RootKind::kMessage ? std::optional(root.index) : std::nullopt;
}

HeapReading::HeapReading(Dump& dump, std::shared_ptr<OpenedProcess> process,
                         const HeapOptions& options)
    : dump_(dump),
      process_(std::move(process)),
      options_(options),
      space_({.max_memory_bytes = options.limits.memory,
              .max_file_bytes = options.limits.temporary_bytes()}),
      words_(process_->context()),
      texts_(DeferredTexts::make(dump, process_, options.term_bytes)),
      paths_(process_->context(), without_resource_types(process_->scheme)),
      has_areas_(form_of(dump).heap_areas) {}

HeapArea HeapReading::area_of(std::uint64_t address) {
    const records::Process& facts = process_->run.process;
    if (!has_areas_) {
        return area_in_crash_dump(address);
    }
    const auto within = [address](std::uint64_t from, std::uint64_t to) {
        return from <= address && address < to;
    };
    if (within(facts.heap_address(), facts.heap_end_address())) {
        return HeapArea::kHeap;
    }
    if (within(facts.old_heap_address(), facts.old_heap_end_address())) {
        return HeapArea::kOldHeap;
    }
    return dump_.literals().covers(address) ? HeapArea::kLiteral : HeapArea::kFragment;
}

HeapArea HeapReading::area_in_crash_dump(std::uint64_t address) {
    RegionMap& literals = dump_.literals();
    if (literals.covers(address)) {
        return HeapArea::kLiteral;
    }
    switch (place_in_crash_dump(process_->run.process, !literals.regions().empty(), address)) {
        case format::RegionKind::kHeap:
            return HeapArea::kHeap;
        case format::RegionKind::kOldHeap:
            return HeapArea::kOldHeap;
        case format::RegionKind::kHeapFragment:
            return HeapArea::kFragment;
        default:
            return HeapArea::kUnplaced;
    }
}

std::size_t HeapReading::most_lines() const {
    constexpr std::size_t kMaxLines = 1000;
    return options_.limit == 0 ? kMaxLines : options_.limit;
}

TermText HeapReading::text(std::uint64_t word, std::optional<std::uint64_t> message) {
    return texts_->word(word, message);
}

RootLine HeapReading::line_of(const HeapRoot& root, const TermSizes& sizes) {
    RootLine line;
    line.kind = root.kind;
    line.frame = root.frame;
    line.index = root.index;
    line.name = root.name;
    line.is_state = root.is_state;
    if (root.kind == RootKind::kDictionary) {
        line.key = text(root.key_word);
    }
    line.term = text(root.word, message_of(root));
    line.flat_words = sizes.flat;
    line.shared_words = sizes.shared;
    line.whole = sizes.unreadable == 0;
    return line;
}

LargeTermLine HeapReading::line_of(const LargeTerm& term, const RootLine& root) {
    return {term.words, root_text(root), path_texts(term.path, process_->scheme, words_, paths_),
            text(term.word, message_of(root))};
}

/// F_HEAP_GROW (erl_process.h, OTP 25.2.3).
constexpr std::uint32_t kHeapGrowFlag = 1U << 3U;

/// Fills the report's memory areas and the estimate of a major collection.
void list_areas(const HeapReading& reading, const HeapCensus& census, HeapReport& report) {
    const ProcessRun& run = reading.process().run;
    const records::Process& facts = run.process;
    using Words = std::optional<std::uint64_t>;
    const auto known = [](bool has, std::uint64_t words) {
        return has ? Words(words) : std::nullopt;
    };
    const ObjectCount& unplaced = census.in(HeapArea::kUnplaced);
    report.unplaced_words = unplaced.words;
    report.unplaced_objects = unplaced.objects;
    const bool has_areas = reading.has_areas();
    const bool heap_bounds = facts.has_heap_address() && facts.has_heap_end_address();
    const auto area = [&](HeapArea which, std::string name, Words block, Words used) {
        AreaUse use{std::move(name), block, used, {}, {}, {}};
        if (unplaced.objects == 0 || (which == HeapArea::kHeap && heap_bounds)) {
            const ObjectCount& live = census.in(which);
            use.live_words = live.words;
            use.live_objects = live.objects;
            // A crash dump lacks roots (saved x registers) and objects (environments of funs).
            if (has_areas && used && *used >= live.words) {
                use.dead_words = *used - live.words;
            }
        }
        report.areas.push_back(std::move(use));
    };
    const Words heap = known(facts.has_heap_words(), facts.heap_words());
    const Words used = known(facts.has_heap_used_words(), facts.heap_used_words());
    const Words old_used = known(facts.has_old_heap_used_words(), facts.old_heap_used_words());
    // A crash dump has no sizes of messages.
    const bool fragments_known =
        facts.has_fragment_words() && (has_areas || facts.message_queue_length() == 0);
    const Words fragments =
        known(fragments_known, facts.fragment_words() + run.end.message_words());
    area(HeapArea::kHeap, "heap", heap, used);
    area(HeapArea::kOldHeap, "old_heap", known(facts.has_old_heap_words(), facts.old_heap_words()),
         old_used);
    area(HeapArea::kFragment, "fragments", fragments, fragments);
    report.literal_words = census.in(HeapArea::kLiteral).words;
    report.stack_words = known(facts.has_stack_words(), facts.stack_words());
    if (!heap || !used || !old_used || !report.stack_words || !facts.has_min_heap_words()) {
        return;
    }
    const std::uint64_t taken = *used + *report.stack_words;
    report.free_words = *heap > taken ? *heap - taken : 0;
    report.heap_words_after_major = heap_words_after_major(
        {.used_words = *used + *old_used + facts.fragment_words(),
         .live_words = census.in(HeapArea::kHeap).words + census.in(HeapArea::kOldHeap).words +
                       facts.fragment_words(),
         .stack_words = *report.stack_words,
         .min_heap_words = facts.min_heap_words(),
         .grow_next = (facts.flags() & kHeapGrowFlag) != 0,
         .heap_words = *heap});
}

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
        case BoxedKind::kSubBits:
            return "sub_bits";
        case BoxedKind::kFunRef:
            return "fun_reference";
        case BoxedKind::kRecord:
            return "native_record";
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

void sort_by_words(std::vector<KindCount>& counts, std::size_t most) {
    // Ties by name, as atom indexes differ between a dump and its conversions.
    std::ranges::sort(counts, [](const KindCount& a, const KindCount& b) {
        return a.words != b.words ? a.words > b.words : a.name < b.name;
    });
    counts.resize(std::min(counts.size(), most));
}

void add_rest(std::vector<KindCount>& counts, const ObjectCount& rest) {
    if (rest.objects > 0) {
        counts.push_back({"others", rest.objects, rest.words});
    }
}

std::string tag_text(TermContext& context, const HeapCensus::Tag& tag) {
    constexpr std::uint32_t kMaxPlaces = 16;
    std::string text = "{" + atom_text(context, tag.first);
    for (std::uint32_t i = 1; i < std::min(tag.second, kMaxPlaces); ++i) {
        text += ",_";
    }
    return text + (tag.second > kMaxPlaces ? fmt::format(",... {} elements}}", tag.second) : "}");
}

std::string keys_text(HeapReading& reading, TermPrinter& printer, const HeapCensus::KeySet& keys) {
    std::vector<std::string> texts;
    for (const std::uint64_t key : keys) {
        texts.push_back(key == reading.process().scheme.non_value
                            ? "_"
                            : term_text(printer, key, reading.options().term_bytes).text);
    }
    return fmt::format("#{{{}}}", fmt::join(texts, ","));
}

/// Fills the report's histograms: kinds of terms, record tags, map key sets.
void list_counts(HeapReading& reading, const HeapCensus& census, HeapReport& report) {
    constexpr std::size_t kAllKinds = 1000;
    const std::size_t limit = reading.most_lines();
    // Patterns of terms, not terms: written as Erlang's in any syntax.
    TermPrinter patterns(reading.process().context(), without_style(reading.process().scheme));
    if (census.cells().objects > 0) {
        report.kinds.push_back({"cell", census.cells().objects, census.cells().words});
    }
    std::map<std::string_view, ObjectCount> kinds;
    for (const auto& [kind, count] : census.kinds()) {
        kinds[boxed_kind_text(kind)].objects += count.objects;
        kinds[boxed_kind_text(kind)].words += count.words;
    }
    for (const auto& [name, count] : kinds) {
        report.kinds.push_back({std::string(name), count.objects, count.words});
    }
    sort_by_words(report.kinds, kAllKinds);
    for (const auto& [tag, count] : census.tags()) {
        report.tags.push_back(
            {tag_text(reading.process().context(), tag), count.objects, count.words});
    }
    add_rest(report.tags, census.other_tags());
    sort_by_words(report.tags, limit);
    for (const auto& [keys, count] : census.key_sets()) {
        report.key_sets.push_back({keys_text(reading, patterns, keys), count.objects, count.words});
    }
    add_rest(report.key_sets, census.other_key_sets());
    sort_by_words(report.key_sets, limit);
}

/// Collects the roots of a process by kind: the sums over all, and lines of the largest.
class RootGroups {
  public:
    /// 0: lines of all roots.
    explicit RootGroups(std::uint64_t limit);

    /// Counts a root; true if add() would keep its line.
    bool count(RootKind kind, std::uint64_t shared_words);
    void add(RootLine line);

    /// Largest first if there is a limit, else in the order of roots.
    std::vector<RootGroup> take();

  private:
    RootGroup& group(RootKind kind);
    void keep_largest(RootGroup& group) const;

    std::uint64_t limit_;
    std::vector<RootGroup> groups_;
    /// A root with more shared words than this enters a full group.
    std::map<RootKind, std::uint64_t> least_;
};

RootGroups::RootGroups(std::uint64_t limit) : limit_(limit) {
    for (const RootKind kind : {RootKind::kStack, RootKind::kArgument, RootKind::kDictionary,
                                RootKind::kOther, RootKind::kMessage}) {
        groups_.push_back({kind, 0, 0, {}});
    }
}

RootGroup& RootGroups::group(RootKind kind) {
    return *std::ranges::find(groups_, kind, &RootGroup::kind);
}

bool RootGroups::count(RootKind kind, std::uint64_t shared_words) {
    RootGroup& of_kind = group(kind);
    ++of_kind.total;
    of_kind.shared_words += shared_words;
    const auto least = least_.find(kind);
    return limit_ == 0 || of_kind.lines.size() < limit_ ||
           shared_words > (least == least_.end() ? 0 : least->second);
}

void RootGroups::add(RootLine line) {
    RootGroup& of_kind = group(line.kind);
    of_kind.lines.push_back(std::move(line));
    if (limit_ != 0 && of_kind.lines.size() >= 2 * limit_) {
        keep_largest(of_kind);
    }
    if (of_kind.lines.size() == limit_) {
        least_[of_kind.kind] =
            std::ranges::min_element(of_kind.lines, {}, &RootLine::shared_words)->shared_words;
    }
}

void RootGroups::keep_largest(RootGroup& group) const {
    if (limit_ != 0) {
        std::ranges::stable_sort(group.lines, std::ranges::greater(), &RootLine::shared_words);
        group.lines.resize(std::min<std::size_t>(group.lines.size(), limit_));
    }
}

std::vector<RootGroup> RootGroups::take() {
    std::ranges::for_each(groups_, [this](RootGroup& group) { keep_largest(group); });
    return std::move(groups_);
}

/// The terms with the largest retained sizes, largest first. Walks the heap three times.
Result<std::vector<LargeTermLine>> retained_terms(HeapReading& reading) {
    OpenedProcess& process = reading.process();
    RetainedSizes sizes(process.scheme, reading.words(), reading.space(),
                        [&](std::uint64_t address) { return reading.is_literal(address); },
                        {.largest = reading.most_lines()});
    std::map<std::pair<std::uint64_t, std::uint64_t>, LargeTermLine> lines;  // by root and word
    HeapRoot current;
    const auto roots = [&](const RetainedSizes::VisitRoot& walk) -> Result<void> {
        std::uint64_t number = 0;
        const auto visit = [&](const HeapRoot& root) -> Result<void> {
            if (root.kind == RootKind::kMessage) {
                reading.words().forget();
            }
            current = root;
            RETURN_IF_ERROR(walk(number, root.word));
            if (root.kind == RootKind::kDictionary) {
                RETURN_IF_ERROR(walk(number, root.key_word));
            }
            ++number;
            return {};
        };
        RETURN_IF_ERROR(visit_roots(reading.dump(), process, visit));
        return {};
    };
    RETURN_IF_ERROR(sizes.run(roots, [&](const LargeTerm& term) {
        reading.forget_texts();
        lines[{term.root, term.word}] = reading.line_of(term, reading.line_of(current, {}));
    }));
    std::vector<LargeTermLine> largest;
    for (const LargeTerm& term : sizes.largest()) {
        largest.push_back(lines[{term.root, term.word}]);
    }
    return largest;
}

/// The blocks of the heap that collections sweep, for live dumps without fragments of messages.
std::vector<std::pair<std::string_view, HeapBlock>> heap_blocks(const ProcessRun& run) {
    std::vector<std::pair<std::string_view, HeapBlock>> blocks;
    const auto add = [&](std::string_view area, format::RegionKind kind) {
        for (const Region& region : run.directory.regions) {
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
    add("unplaced", format::RegionKind::kUnplaced);
    return blocks;
}

/// The terms of the heap's blocks that no other object refers to, in address order; those that the
/// census has not reached are dead, except in crash dumps, which have only objects that the VM
/// reached. Fails if the scratch space does.
Result<TopLevelTermList> top_level_terms(HeapReading& reading, const HeapCensus& census) {
    const HeapOptions& options = reading.options();
    reading.words().forget();
    reading.forget_texts();
    const auto blocks = heap_blocks(reading.process().run);
    TopLevelTerms terms(
        reading.process().scheme, reading.words(),
        [&](std::uint64_t address) {
            return !reading.has_areas() || census.is_live(address) || reading.is_literal(address);
        },
        &reading.space());
    for (const auto& [area, block] : blocks) {
        RETURN_IF_ERROR(terms.add(block));
    }
    TopLevelTermList list;
    if (reading.has_areas()) {
        list.dead = 0;
        list.dead_words = 0;
    }
    const auto in_node = [&](std::uint64_t address) {
        return address_in_node(reading.process().scheme, address);
    };
    const auto has_room = [&] { return list.lines.size() < options.limit || options.limit == 0; };
    for (const auto& [area, block] : blocks) {
        RETURN_IF_ERROR(terms.visit(
            block,
            [&](const TopLevelTerms::Term& term) {
                ++list.total;
                if (term.dead) {
                    ++*list.dead;
                    *list.dead_words += term.words;
                }
                if (has_room()) {
                    list.lines.push_back({std::string(area), in_node(term.address), term.words,
                                          term.dead, false, reading.text(term.word)});
                }
            },
            [&](const UnreadableStretch& stretch) {
                if (stretch.absent && !reading.has_areas()) {
                    return;  // Unknown whether anything was there: the VM prints only live objects.
                }
                list.unreadable_words += stretch.words;
                if (has_room()) {
                    list.lines.push_back({std::string(area),
                                          in_node(stretch.address),
                                          stretch.words,
                                          false,
                                          true,
                                          {}});
                }
            }));
    }
    return list;
}

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
            return line.is_state ? std::string(kStateRoot)
                                 : fmt::format("y({}) of frame {}", line.index, line.frame);
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
    report.reached_only = !form_of(dump).heap_areas;
    if (process->run.is_void() && process->run.end.has_detail()) {
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
