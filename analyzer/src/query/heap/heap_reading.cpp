#include "query/heap/heap_reading.h"

#include "query/node/dump_facts.h"
#include "query/term/term_path.h"

#include <libdump/format/crash_regions.h>

#include <utility>

namespace beamdump::query {
namespace {

/// Where a root's term is read from.
template <typename Root>
std::optional<std::uint64_t> message_of(const Root& root) {
    return root.kind == RootKind::kMessage ? std::optional(root.index) : std::nullopt;
}

}  // namespace

HeapReading::HeapReading(Dump& dump, std::shared_ptr<OpenedProcess> process,
                         const HeapOptions& options)
    : dump_(dump),
      process_(std::move(process)),
      options_(options),
      space_({.max_memory_bytes = options.limits.memory,
              .max_file_bytes = options.limits.temporary_bytes()}),
      words_(process_->context()),
      texts_(DeferredTexts::make(dump, process_, options.term_bytes)),
      of_crash_dump_(beamdump::is_of_crash_dump(dump)) {}

HeapArea HeapReading::area_of(std::uint64_t address) {
    const records::Process& facts = process_->run.process;
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
    return {term.words, root_text(root),
            path_texts(term.path, process_->scheme, words_, texts_->printer()),
            text(term.word, message_of(root))};
}

}  // namespace beamdump::query
