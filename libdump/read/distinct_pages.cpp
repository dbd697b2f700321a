#include <libdump/read/distinct_pages.h>

#include <cstdint>
#include <unordered_set>

namespace beamdump {

namespace {

/// Not a page: every dump has a FrameStart there.
constexpr std::uint64_t kNoPage = 0;

/// Removes items without a place and repeated places from a list; returns how many.
template <typename Items, typename OffsetOf>
std::uint64_t keep_first_of_each(Items& items, const OffsetOf& offset_of) {
    std::unordered_set<std::uint64_t> seen = {kNoPage};
    int kept = 0;
    for (int i = 0; i < items.size(); ++i) {
        if (seen.insert(offset_of(items.at(i))).second) {
            if (kept != i) {
                items.SwapElements(kept, i);
            }
            ++kept;
        }
    }
    const int dropped = items.size() - kept;
    items.DeleteSubrange(kept, dropped);
    return static_cast<std::uint64_t>(dropped);
}

std::uint64_t keep_first_of_each(google::protobuf::RepeatedField<std::uint64_t>& offsets) {
    std::unordered_set<std::uint64_t> seen = {kNoPage};
    int kept = 0;
    for (const std::uint64_t offset : offsets) {
        if (seen.insert(offset).second) {
            offsets.Set(kept++, offset);
        }
    }
    const int dropped = offsets.size() - kept;
    offsets.Truncate(kept);
    return static_cast<std::uint64_t>(dropped);
}

/// Every row has an owner, so the place of that column identifies a page.
std::uint64_t owner_column(const records::ProcessPageRef& page) {
    return page.column_offset_size() > records::PROCESS_COLUMN_OWNER_ID
               ? page.column_offset(records::PROCESS_COLUMN_OWNER_ID)
               : kNoPage;
}

}  // namespace

std::uint64_t keep_distinct_pages(records::Trailer& trailer) {
    std::uint64_t dropped = keep_first_of_each(
        *trailer.mutable_atoms(), [](const records::AtomPageRef& page) { return page.offset(); });
    dropped += keep_first_of_each(*trailer.mutable_binary_pages(),
                                  [](const records::BinaryPageRef& page) { return page.offset(); });
    dropped += keep_first_of_each(*trailer.mutable_process_pages(), owner_column);
    for (auto* offsets :
         {trailer.mutable_module_index_offset(), trailer.mutable_exports_offset(),
          trailer.mutable_fun_entries_offset(),  trailer.mutable_node_entries_offset(),
          trailer.mutable_catches_offset(),      trailer.mutable_code_points_offset(),
          trailer.mutable_epoch_offset(),        trailer.mutable_crash_sections_offset(),
          trailer.mutable_allocator_offset(),    trailer.mutable_carriers_offset(),
          trailer.mutable_ets_tables_offset(),   trailer.mutable_ets_rows_offset(),
          trailer.mutable_ports_offset(),        trailer.mutable_schedulers_offset(),
          trailer.mutable_distribution_offset(), trailer.mutable_persistent_terms_offset(),
          trailer.mutable_timers_offset(),       trailer.mutable_samples_offset(),
          trailer.mutable_sockets_offset(),      trailer.mutable_loaded_modules_offset(),
          trailer.mutable_history_offset(),      trailer.mutable_crash_offset(),
          trailer.mutable_emulator_offset(),     trailer.mutable_resource_types_offset(),
          trailer.mutable_blocks_offset()}) {
        dropped += keep_first_of_each(*offsets);
    }
    return dropped;
}

}  // namespace beamdump
