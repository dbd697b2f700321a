#include "capture/copy/run_writer.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/layout/struct_view.h>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kInlineWords = 8192;  // larger fragments are regions of their own

}  // namespace

Result<void> RunWriter::region(format::RegionKind kind, const beam::Span& span, Address off_heap) {
    RegionCopier::Request request;
    request.owner_kind = owner_kind_;
    request.owner_id = owner_id_;
    request.kind = kind;
    request.address = span.begin;
    request.total = span.words();
    request.observer = observer_;
    return copier_.copy(request, [&](records::RegionRef& ref) {
        words_ += ref.here();
        unreadable_ |= ref.state() == static_cast<std::uint32_t>(format::RegionState::kUnreadable);
        if (off_heap != 0) {
            ref.set_off_heap_first_address(off_heap);
        }
        return records_.region(std::move(ref));
    });
}

Result<void> RunWriter::left_out(format::RegionKind kind, const beam::Span& span) {
    records::RegionRef ref;
    ref.set_kind(static_cast<std::uint32_t>(kind));
    ref.set_state(static_cast<std::uint32_t>(format::RegionState::kLeftOut));
    ref.set_address(span.begin);
    ref.set_total(span.words());
    ref.set_here(0);
    return records_.region(std::move(ref));
}

Result<void> RunWriter::pack_words(const beam::Fragment& fragment, format::RegionKind kind,
                                   records::PackedRegion& into) {
    into.set_kind(static_cast<std::uint32_t>(kind));
    into.set_address(fragment.words_begin);
    into.set_total_words(fragment.used_words);
    if (fragment.off_heap != 0) {
        into.set_off_heap_first_address(fragment.off_heap);
    }
    auto& words = *into.mutable_words();
    words.Resize(static_cast<int>(fragment.used_words), 0);
    const auto bytes = std::as_writable_bytes(
        std::span(words.mutable_data(), static_cast<std::size_t>(words.size())));
    RETURN_IF_ERROR(vm_.memory().read(fragment.words_begin, bytes));
    if (observer_ != nullptr) {
        (*observer_)(fragment.words_begin, bytes);
    }
    copier_.scrub_words(bytes, fragment.words_begin);
    words_ += fragment.used_words;
    return {};
}

Result<void> RunWriter::fragment(format::RegionKind kind, const beam::Fragment& fragment) {
    if (fragment.used_words > kInlineWords) {
        return region(kind, {fragment.words_begin, fragment.words_begin + fragment.used_words * 8},
                      fragment.off_heap);
    }
    RETURN_IF_ERROR(pack_words(fragment, kind, packed_));
    return records_.packed_region(packed_);
}

Result<void> RunWriter::external(const beam::QueueEntry& entry, records::External& into) {
    if (into.total_bytes() > limits::kInlineBytes) {
        for (const auto& part : entry.external) {
            RETURN_IF_ERROR(external_part(part, into));
        }
        return {};
    }
    auto& data = *into.mutable_data();
    data.resize(into.total_bytes());
    auto left = std::as_writable_bytes(std::span(data));
    for (const auto& part : entry.external) {
        const auto bytes = left.first(part.end - part.begin);
        if (auto done = vm_.memory().read(part.begin, bytes); !done) {
            return wrap("an undecoded message", done.error());
        }
        left = left.subspan(bytes.size());
    }
    copier_.secrets().scrub(data);
    return {};
}

Result<void> RunWriter::external_part(const beam::Span& part, records::External& into) {
    RegionCopier::Request request;
    request.owner_kind = owner_kind_;
    request.owner_id = owner_id_;
    request.kind = format::RegionKind::kExternalData;
    request.unit = format::RegionUnit::kBytes;
    request.address = part.begin;
    request.total = part.end - part.begin;
    return copier_.copy(request, [&](records::RegionRef& ref) {
        unreadable_ |= ref.state() == static_cast<std::uint32_t>(format::RegionState::kUnreadable);
        *into.add_part() = ref;
        return Result<void>();
    });
}

Result<void> RunWriter::message(beam::QueueEntry& entry) {
    std::uint64_t inline_words = 0;
    for (const auto& fragment : entry.fragments) {
        if (inline_words + fragment.used_words > kInlineWords) {
            entry.message.add_large_fragment_address(fragment.words_begin);
            RETURN_IF_ERROR(
                region(format::RegionKind::kMessageFragment,
                       {fragment.words_begin, fragment.words_begin + fragment.used_words * 8}));
            continue;
        }
        inline_words += fragment.used_words;
        RETURN_IF_ERROR(pack_words(fragment, format::RegionKind::kMessageFragment,
                                   *entry.message.add_fragment()));
    }
    if (entry.message.has_external()) {
        RETURN_IF_ERROR(external(entry, *entry.message.mutable_external()));
    }
    return records_.message(std::move(entry.message));
}

}  // namespace beamdump::capture
