#include "query/heap_reading.h"

#include "query/dump_facts.h"
#include "query/term_path.h"

#include <libdump/format/crash_regions.h>

namespace beamdump::query {

HeapReading::HeapReading(Dump& dump, OpenedProcess& process, const HeapOptions& options)
    : dump_(dump),
      process_(process),
      options_(options),
      space_({.max_memory_bytes = options.max_memory, .directory = {}}),
      words_(process.context),
      printer_(process.context, process.scheme),
      of_crash_dump_(query::is_of_crash_dump(dump)) {}

HeapArea HeapReading::area_of(std::uint64_t address) {
    const records::Process& facts = process_.run.process;
    if (of_crash_dump_) {
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
    switch (place_in_crash_dump(process_.run.process, !literals.regions().empty(), address)) {
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
    constexpr std::size_t kMostLines = 1000;
    return options_.limit == 0 ? kMostLines : options_.limit;
}

TermText HeapReading::text(std::uint64_t word) {
    return allowance_.use(term_text(printer_, word, allowance_.of(options_.term_bytes)));
}

RootLine HeapReading::line_of(const HeapRoot& root, const TermSizes& sizes) {
    RootLine line;
    line.kind = root.kind;
    line.frame = root.frame;
    line.index = root.index;
    line.name = root.name;
    if (root.kind == RootKind::kDictionary) {
        line.key = text(root.key_word);
    }
    line.term = text(root.word);
    line.flat_words = sizes.flat;
    line.shared_words = sizes.shared;
    line.whole = sizes.unreadable == 0;
    return line;
}

LargeTermLine HeapReading::line_of(const LargeTerm& term, const RootLine& root) {
    return {term.words, root_text(root), path_texts(term.path, process_.scheme, words_, printer_),
            text(term.word)};
}

}  // namespace beamdump::query
