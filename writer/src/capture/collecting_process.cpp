// How a process in the middle of a collection is captured.

#include "capture/process_capture.h"

#include <libdump/base/return_if_error.h>

#include <array>
#include <utility>

namespace beamdump::capture {
namespace {

/// Fragments of a process that is in the middle of a collection: more are not looked through.
constexpr std::size_t kMostCollectedFragments = 65536;

}  // namespace

/// Where the words are of a process in the middle of a collection.
Result<void> ProcessCapture::find_collection(const Try& request, beam::ProcessView& process) {
    collecting_.reset();
    if (process.void_reason != records::VOID_REASON_COLLECTING || !request.standing) {
        return {};
    }
    auto spaces = collections_.read(beam::StructView(request.structure), process,
                                    [&] { return fragment_spans(process); });
    if (!spaces && spaces.error().code == ErrorCode::kTargetDied) {
        return std::unexpected(spaces.error());
    }
    if (!spaces) {
        process.void_detail = spaces.error().message;
        return {};
    }
    process.void_reason = records::VOID_REASON_NONE;
    process.stack = spaces->stack;
    process.facts.set_stack_words(spaces->stack.words());
    process.facts.set_stack_top_address(spaces->stack.begin);
    process.facts.set_heap_end_address(spaces->stack.end);
    // As a region, in which words that lead to objects that were copied are shown as such.
    const auto count = process.facts.argument_words_size();
    if (count != 0 && process.facts.argument_array_address() != 0) {
        const auto begin = process.facts.argument_array_address();
        process.arguments = {begin, begin + static_cast<std::uint64_t>(count) * 8};
        process.facts.clear_argument_words();
    }
    collecting_ = std::move(*spaces);
    return {};
}

Result<std::vector<beam::Span>> ProcessCapture::fragment_spans(const beam::ProcessView& process) {
    std::vector<beam::Span> spans;
    const auto add = [&](const beam::Fragment& fragment) -> Result<void> {
        if (spans.size() == kMostCollectedFragments) {
            return fail(ErrorCode::kChanged, "it has too many heap fragments for a collection");
        }
        spans.push_back({fragment.words_begin, fragment.words_begin + fragment.used_words * 8});
        return {};
    };
    RETURN_IF_ERROR(fragments_.chain(process.mbuf, parts_.chain_limit, add));
    RETURN_IF_ERROR(messages_.received(process, parts_.chain_limit, add));
    return spans;
}

/// All that is collected, then what it was copied to: how far that goes is known from the former.
Result<void> ProcessCapture::collected_heaps(const beam::ProcessView& process, RunWriter& run,
                                             Outcome& outcome) {
    using format::RegionKind;
    const auto& spaces = *collecting_;
    for (const auto& [kind, span] : {std::pair{RegionKind::kStack, process.stack},
                                     std::pair{RegionKind::kArguments, process.arguments},
                                     std::pair{RegionKind::kArguments, process.native_arguments},
                                     std::pair{RegionKind::kDictionary, process.dictionary}}) {
        RETURN_IF_ERROR(run.region(kind, span));
    }
    if (spaces.whole) {
        RETURN_IF_ERROR(run.region(RegionKind::kHeap, spaces.block));
        return run.region(RegionKind::kOldHeap, spaces.old_heap);
    }
    beam::MovedObjects moved(spaces);
    const RegionCopier::Observer look = [&](Address begin, std::span<const std::byte> words) {
        moved.look(begin, words);
    };
    run.observe(&look);
    const auto collected = [&]() -> Result<void> {
        for (const auto& span : spaces.from) {
            RETURN_IF_ERROR(run.region(RegionKind::kCollectedHeap, span));
        }
        return fragments(process, run);
    }();
    run.observe(nullptr);
    RETURN_IF_ERROR(collected);
    records::Collection collection;
    RETURN_IF_ERROR(moved.finish(parts_.vm, collection));
    for (const auto& target : collection.target()) {
        RETURN_IF_ERROR(run.region(RegionKind::kCopiedHeap, {target.begin(), target.end()}));
    }
    for (const auto& spans : {spaces.from, spaces.fragments}) {
        for (const auto& span : spans) {
            auto& from = *collection.add_from();
            from.set_begin(span.begin);
            from.set_end(span.end);
        }
    }
    *outcome.end.mutable_collection() = std::move(collection);
    return {};
}

}  // namespace beamdump::capture
