#include <libdump/base/return_if_error.h>
#include <libdump/write/record_limits.h>
#include <libdump/write/run_record_writer.h>

#include <algorithm>

namespace beamdump {
namespace {

constexpr std::size_t kWordBytes = 8;

/// Extends a pack's address range by a region.
void widen(records::PackRef& ref, const records::PackedRegion& region) {
    const auto begin = region.address();
    const auto end = begin + static_cast<std::uint64_t>(region.words_size()) * kWordBytes;
    ref.set_lowest_address(ref.has_lowest_address() ? std::min(ref.lowest_address(), begin)
                                                    : begin);
    ref.set_highest_address(std::max(ref.highest_address(), end));
}

std::size_t bytes_of(const records::PackedRegion& region) {
    return static_cast<std::size_t>(region.words_size()) * kWordBytes + limits::kEntryBytes;
}

std::size_t bytes_of(const records::Message& message) {
    constexpr std::size_t kAtomBytes = 5;
    constexpr std::size_t kPartBytes = 40;
    auto bytes =
        limits::kEntryBytes * (1 + static_cast<std::size_t>(message.large_fragment_address_size()));
    for (const auto& fragment : message.fragment()) {
        bytes += bytes_of(fragment);
    }
    const auto& external = message.external();
    return bytes + external.data().size() +
           static_cast<std::size_t>(external.atom_size()) * kAtomBytes +
           static_cast<std::size_t>(external.part_size()) * kPartBytes;
}

}  // namespace

void RunRecordWriter::begin() {
    directory_.Clear();
    references_ = 0;
    entries_ = 0;
    // Without the memory of their parts, which would become that of the largest ones.
    records::PackedRegions().Swap(&regions_);
    records::Messages().Swap(&messages_);
}

Result<void> RunRecordWriter::referenced() {
    if (++references_ < limits::kDirectoryReferences) {
        return {};
    }
    ASSIGN_OR_RETURN(auto offset, writer_->append(format::RecordKind::kRunDirectory, directory_));
    directory_.Clear();
    directory_.set_previous_offset(offset);
    references_ = 0;
    return {};
}

Result<void> RunRecordWriter::region(records::RegionRef ref) {
    directory_.add_region()->Swap(&ref);
    return referenced();
}

Result<void> RunRecordWriter::packed_region(records::PackedRegion& region) {
    widen(regions_ref_, region);
    regions_bytes_ += bytes_of(region);
    regions_.add_region()->Swap(&region);
    region.Clear();
    return regions_bytes_ < limits::kPackBytes ? Result<void>() : flush_regions();
}

Result<void> RunRecordWriter::message(records::Message message) {
    if (messages_.entry_size() == 0) {
        messages_.set_first_index(entries_);
    }
    ++entries_;
    for (const auto& fragment : message.fragment()) {
        widen(messages_ref_, fragment);
    }
    messages_bytes_ += bytes_of(message);
    *messages_.add_entry() = std::move(message);
    const bool full =
        messages_bytes_ >= limits::kPackBytes || messages_.entry_size() >= limits::kPackEntries;
    return full ? flush_messages() : Result<void>();
}

Result<void> RunRecordWriter::relations(const records::Relations& page) {
    ASSIGN_OR_RETURN(auto offset, writer_->append(format::RecordKind::kRelations, page));
    auto& ref = *directory_.add_relations();
    ref.set_offset(offset);
    ref.set_count(static_cast<std::uint64_t>(page.link_size()) +
                  static_cast<std::uint64_t>(page.monitor_size()));
    return referenced();
}

Result<void> RunRecordWriter::flush_regions() {
    if (regions_.region_size() == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(auto offset, writer_->append(format::RecordKind::kPackedRegions, regions_));
    regions_ref_.set_offset(offset);
    regions_ref_.set_count(static_cast<std::uint64_t>(regions_.region_size()));
    *directory_.add_packed_regions() = regions_ref_;
    regions_.Clear();
    regions_ref_.Clear();
    regions_bytes_ = 0;
    return referenced();
}

Result<void> RunRecordWriter::flush_messages() {
    if (messages_.entry_size() == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(auto offset, writer_->append(format::RecordKind::kMessages, messages_));
    messages_ref_.set_offset(offset);
    messages_ref_.set_first_index(messages_.first_index());
    messages_ref_.set_count(static_cast<std::uint64_t>(messages_.entry_size()));
    *directory_.add_messages() = messages_ref_;
    messages_.Clear();
    messages_ref_.Clear();
    messages_bytes_ = 0;
    return referenced();
}

Result<void> RunRecordWriter::finish(records::RunDirectory& into) {
    RETURN_IF_ERROR(flush_regions());
    RETURN_IF_ERROR(flush_messages());
    into.Swap(&directory_);
    return {};
}

Result<std::uint64_t> RunRecordWriter::finish_as_record() {
    records::RunDirectory directory;
    RETURN_IF_ERROR(finish(directory));
    return writer_->append(format::RecordKind::kRunDirectory, directory);
}

}  // namespace beamdump
