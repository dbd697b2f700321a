#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>

namespace beamdump {

records::RegionRef region_ref(const format::RegionHeader& header,
                              const DumpWriter::Placement& placed) {
    records::RegionRef ref;
    ref.set_kind(static_cast<std::uint32_t>(header.region_kind));
    if (placed.here < header.total) {
        ref.set_state(static_cast<std::uint32_t>(format::RegionState::kUnreadable));
    }
    ref.set_address(header.address);
    ref.set_total(header.total);
    ref.set_here(placed.here);
    ref.set_offset(placed.offset);
    ref.set_striped(placed.striped);
    return ref;
}

Result<void> append_noted(DumpWriter& writer, format::RecordKind kind,
                          const google::protobuf::MessageLite& record,
                          google::protobuf::RepeatedField<std::uint64_t>& offsets) {
    ASSIGN_OR_RETURN(auto offset, writer.append(kind, record));
    offsets.Add(offset);
    return {};
}

Result<void> append_atoms(DumpWriter& writer, const records::Atoms& page,
                          records::Trailer& trailer) {
    ASSIGN_OR_RETURN(auto offset, writer.append(format::RecordKind::kAtoms, page));
    auto& ref = *trailer.add_atoms();
    ref.set_first_index(page.first_index());
    ref.set_count(static_cast<std::uint32_t>(page.text_size()));
    ref.set_offset(offset);
    return {};
}

Result<void> append_module(DumpWriter& writer, const records::Module& module,
                           records::ModuleIndexPage& index) {
    ASSIGN_OR_RETURN(auto offset, writer.append(format::RecordKind::kModule, module));
    auto& ref = *index.add_module();
    ref.set_name_atom(module.name_atom());
    ref.set_instance(module.instance());
    ref.set_code_start(module.code_start());
    ref.set_code_end(module.code_end());
    ref.set_offset(offset);
    return {};
}

Result<void> append_history(DumpWriter& writer, records::History history,
                            records::Trailer& trailer) {
    records::History all;
    all.mutable_reading()->Swap(history.mutable_reading());
    all.mutable_profile()->Swap(history.mutable_profile());
    records::History page;
    std::size_t bytes = 0;
    const auto append = [&] {
        bytes = 0;
        const auto done = append_noted(writer, format::RecordKind::kHistory, page,
                                       *trailer.mutable_history_offset());
        page.Clear();
        return done;
    };
    const auto moved = [&](auto& from, auto& to) {
        bytes += from.ByteSizeLong();
        to.Swap(&from);
        return bytes < limits::kHistoryOfAPageBytes ? Result<void>() : append();
    };
    for (auto& reading : *all.mutable_reading()) {
        RETURN_IF_ERROR(moved(reading, *page.add_reading()));
    }
    for (auto& profile : *all.mutable_profile()) {
        RETURN_IF_ERROR(moved(profile, *page.add_profile()));
    }
    page.MergeFrom(history);
    return page.ByteSizeLong() == 0 ? Result<void>() : append();
}

Result<void> append_binary_index(
    DumpWriter& writer, std::uint32_t run,
    std::span<const std::pair<std::uint64_t, std::uint64_t>> entries,
    google::protobuf::RepeatedPtrField<records::BinaryPageRef>& pages) {
    while (!entries.empty()) {
        const auto part = entries.first(std::min(entries.size(), limits::kBinariesOfAnIndexPage));
        records::BinaryIndexPage page;
        page.set_run(run);
        for (const auto& [address, offset] : part) {
            page.add_address(address);
            page.add_record_offset(offset);
        }
        ASSIGN_OR_RETURN(auto offset, writer.append(format::RecordKind::kBinaryIndexPage, page));
        auto& ref = *pages.Add();
        ref.set_run(run);
        ref.set_lowest_address(part.front().first);
        ref.set_highest_address(part.back().first);
        ref.set_count(part.size());
        ref.set_offset(offset);
        entries = entries.subspan(part.size());
    }
    return {};
}

}  // namespace beamdump
