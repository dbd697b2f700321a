#include "capture/ets_capture.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <optional>
#include <unistd.h>

namespace beamdump::capture {
namespace {

/// Processors of this machine as the runtime counts them (erl_misc_utils.c: configured ones).
std::optional<std::uint32_t> processors_here() {
    const auto count = ::sysconf(_SC_NPROCESSORS_CONF);
    return count > 0 ? std::optional(static_cast<std::uint32_t>(count)) : std::nullopt;
}

}  // namespace

Result<void> EtsCapture::tables(const beam::Moving& moving, bool here) {
    auto reader = beam::EtsReader::open(vm_, here ? processors_here() : std::nullopt);
    auto list =
        reader ? reader->read(moving) : Result<beam::EtsTableList>(std::unexpected(reader.error()));
    if (!list) {
        if (list.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(list.error());
        }
        trailer_.add_warning("ETS tables are left out: " + list.error().message);
        return {};
    }
    for (auto& doubt : list->doubts) {
        trailer_.add_warning(std::move(doubt));
    }
    return write(list->tables);
}

Result<void> EtsCapture::write(const std::vector<beam::EtsTableView>& tables) {
    records::EtsTables page;
    page.set_first_index(0);
    for (std::size_t index = 0; index < tables.size(); ++index) {
        if (page.table_size() == limits::kEtsTablesOfAPage) {
            RETURN_IF_ERROR(append_noted(copier_.writer(), format::RecordKind::kEtsTables, page,
                                         *trailer_.mutable_ets_tables_offset()));
            page.Clear();
            page.set_first_index(index);
        }
        *page.add_table() = tables[index].facts;
    }
    // A node without tables has one empty page.
    return append_noted(copier_.writer(), format::RecordKind::kEtsTables, page,
                        *trailer_.mutable_ets_tables_offset());
}

}  // namespace beamdump::capture
