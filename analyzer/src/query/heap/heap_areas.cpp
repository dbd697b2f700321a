#include "query/heap/heap_areas.h"

#include <libdump/heap/heap_growth.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace beamdump::query {

namespace {

/// F_HEAP_GROW (erl_process.h, OTP 25.2.3).
constexpr std::uint32_t kHeapGrowFlag = 1U << 3U;

}  // namespace

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
    const bool crash = reading.is_of_crash_dump();
    const bool heap_bounds = facts.has_heap_address() && facts.has_heap_end_address();
    const auto area = [&](HeapArea which, std::string name, Words block, Words used) {
        AreaUse use{std::move(name), block, used, {}, {}, {}};
        if (unplaced.objects == 0 || (which == HeapArea::kHeap && heap_bounds)) {
            const ObjectCount& live = census.in(which);
            use.live_words = live.words;
            use.live_objects = live.objects;
            // A crash dump lacks roots (saved x registers) and objects (environments of funs).
            if (!crash && used && *used >= live.words) {
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
        facts.has_fragment_words() && (!crash || facts.message_queue_length() == 0);
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

}  // namespace beamdump::query
