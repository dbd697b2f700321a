#include "capture/run_writer.h"

#include "beam/struct_view.h"

#include <algorithm>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kInlineWords = 8192;    // larger fragments are regions of their own
constexpr std::size_t kPackBytes = 96U << 10U;  // a pack is flushed beyond this
constexpr std::size_t kPackEntries = 4096;
constexpr std::size_t kDirectoryReferences = 1024;
constexpr std::uint64_t kMessageInlineBytes = 32U << 10U;  // more of an undecoded message: regions
constexpr std::size_t kEntryBytes = 64;                    // a small message's fields, about

}  // namespace

Result<void> RunWriter::referenced() {
    if (++references_ < kDirectoryReferences) {
        return {};
    }
    auto offset = copier_.writer().append(format::RecordKind::kRunDirectory, directory_);
    if (!offset) {
        return std::unexpected(offset.error());
    }
    directory_.Clear();
    directory_.set_previous_offset(*offset);
    references_ = 0;
    return {};
}

Result<void> RunWriter::region(format::RegionKind kind, const beam::Span& span, Address off_heap) {
    RegionCopier::Request request;
    request.owner_kind = owner_kind_;
    request.owner_id = owner_id_;
    request.kind = kind;
    request.address = span.begin;
    request.total = span.words();
    return copier_.copy(request, [&](records::RegionRef& ref) {
        words_ += ref.here();
        unreadable_ |= ref.state() == static_cast<std::uint32_t>(format::RegionState::kUnreadable);
        if (off_heap != 0) {
            ref.set_off_heap_first_address(off_heap);
        }
        *directory_.add_region() = ref;
        return referenced();
    });
}

Result<void> RunWriter::left_out(format::RegionKind kind, const beam::Span& span) {
    auto& ref = *directory_.add_region();
    ref.set_kind(static_cast<std::uint32_t>(kind));
    ref.set_state(static_cast<std::uint32_t>(format::RegionState::kLeftOut));
    ref.set_address(span.begin);
    ref.set_total(span.words());
    ref.set_here(0);
    return referenced();
}

void RunWriter::widen(records::PackRef& ref, Address begin, std::uint64_t words) {
    const auto end = begin + words * 8;
    ref.set_lowest_address(ref.has_lowest_address() ? std::min(ref.lowest_address(), begin)
                                                    : begin);
    ref.set_highest_address(std::max(ref.highest_address(), end));
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
    if (auto done = vm_.memory().read(fragment.words_begin, bytes); !done) {
        return done;
    }
    copier_.secrets().scrub(bytes, fragment.words_begin);
    words_ += fragment.used_words;
    return {};
}

Result<void> RunWriter::fragment(format::RegionKind kind, const beam::Fragment& fragment) {
    if (fragment.used_words > kInlineWords) {
        return region(kind, {fragment.words_begin, fragment.words_begin + fragment.used_words * 8},
                      fragment.off_heap);
    }
    if (auto done = pack_words(fragment, kind, *regions_.add_region()); !done) {
        return done;
    }
    widen(regions_ref_, fragment.words_begin, fragment.used_words);
    regions_bytes_ += fragment.used_words * 8 + kEntryBytes;
    if (regions_bytes_ < kPackBytes) {
        return {};
    }
    return flush_regions();
}

Result<void> RunWriter::external(const beam::QueueEntry& entry, records::External& into) {
    if (into.total_bytes() > kMessageInlineBytes) {
        for (const auto& part : entry.external) {
            if (auto done = external_part(part, into); !done) {
                return done;
            }
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
            if (auto done =
                    region(format::RegionKind::kMessageFragment,
                           {fragment.words_begin, fragment.words_begin + fragment.used_words * 8});
                !done) {
                return done;
            }
            continue;
        }
        inline_words += fragment.used_words;
        if (auto done = pack_words(fragment, format::RegionKind::kMessageFragment,
                                   *entry.message.add_fragment());
            !done) {
            return done;
        }
        widen(messages_ref_, fragment.words_begin, fragment.used_words);
    }
    if (messages_.entry_size() == 0) {
        messages_.set_first_index(entries_);
    }
    ++entries_;
    messages_bytes_ += inline_words * 8 + kEntryBytes * (1 + entry.fragments.size());
    if (entry.message.has_external()) {
        if (auto done = external(entry, *entry.message.mutable_external()); !done) {
            return done;
        }
        messages_bytes_ += entry.message.external().data().size() +
                           static_cast<std::size_t>(entry.message.external().atom_size()) * 5 +
                           static_cast<std::size_t>(entry.message.external().part_size()) * 40;
    }
    *messages_.add_entry() = std::move(entry.message);
    if (messages_bytes_ < kPackBytes &&
        static_cast<std::size_t>(messages_.entry_size()) < kPackEntries) {
        return {};
    }
    return flush_messages();
}

Result<void> RunWriter::relations(const records::Relations& page) {
    auto offset = copier_.writer().append(format::RecordKind::kRelations, page);
    if (!offset) {
        return std::unexpected(offset.error());
    }
    auto& ref = *directory_.add_relations();
    ref.set_offset(*offset);
    ref.set_count(static_cast<std::uint64_t>(page.link_size()) +
                  static_cast<std::uint64_t>(page.monitor_size()));
    return referenced();
}

Result<void> RunWriter::flush_regions() {
    if (regions_.region_size() == 0) {
        return {};
    }
    auto offset = copier_.writer().append(format::RecordKind::kPackedRegions, regions_);
    if (!offset) {
        return std::unexpected(offset.error());
    }
    regions_ref_.set_offset(*offset);
    regions_ref_.set_count(static_cast<std::uint64_t>(regions_.region_size()));
    *directory_.add_packed_regions() = regions_ref_;
    regions_.Clear();
    regions_ref_.Clear();
    regions_bytes_ = 0;
    return referenced();
}

Result<void> RunWriter::flush_messages() {
    if (messages_.entry_size() == 0) {
        return {};
    }
    auto offset = copier_.writer().append(format::RecordKind::kMessages, messages_);
    if (!offset) {
        return std::unexpected(offset.error());
    }
    messages_ref_.set_offset(*offset);
    messages_ref_.set_first_index(messages_.first_index());
    messages_ref_.set_count(static_cast<std::uint64_t>(messages_.entry_size()));
    *directory_.add_messages() = messages_ref_;
    messages_.Clear();
    messages_ref_.Clear();
    messages_bytes_ = 0;
    return referenced();
}

Result<records::RunDirectory> RunWriter::finish() {
    if (auto done = flush_regions(); !done) {
        return std::unexpected(done.error());
    }
    if (auto done = flush_messages(); !done) {
        return std::unexpected(done.error());
    }
    return std::move(directory_);
}

}  // namespace beamdump::capture
