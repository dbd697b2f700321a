#include "query/heap/top_level_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/term/pointer_text.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

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

}  // namespace

Result<TopLevelTermList> top_level_terms(HeapReading& reading, const HeapCensus& census) {
    const HeapOptions& options = reading.options();
    reading.words().forget();
    reading.forget_texts();
    const auto blocks = heap_blocks(reading.process().run);
    TopLevelTerms terms(
        reading.process().scheme, reading.words(),
        [&](std::uint64_t address) {
            return reading.is_of_crash_dump() || census.is_live(address) ||
                   reading.is_literal(address);
        },
        &reading.space());
    for (const auto& [area, block] : blocks) {
        RETURN_IF_ERROR(terms.add(block));
    }
    TopLevelTermList list;
    if (!reading.is_of_crash_dump()) {
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
                if (stretch.absent && reading.is_of_crash_dump()) {
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

}  // namespace beamdump::query
