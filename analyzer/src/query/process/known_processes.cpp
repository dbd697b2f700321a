#include "query/process/known_processes.h"

#include "query/process/process_applications.h"
#include "query/process/process_line.h"
#include "query/process/process_names.h"
#include "query/rows/cells.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

/// Whether all processes were listed in one stop, or of one twin, as what else the node has was:
/// what the capture read in other epochs may be of other processes, and where a stop or twin ended
/// early the rest was.
Result<bool> are_of_one_moment(Dump& dump) {
    const auto& trailer = dump.trailer();
    const auto abandoned = [](std::string_view warning) {
        return warning.starts_with("snapshot abandoned");
    };
    const auto& reasons = trailer.totals().void_by_reason();
    if (trailer.epoch_offset_size() != 1 || std::ranges::any_of(trailer.warning(), abandoned) ||
        (reasons.size() > records::VOID_REASON_LIMIT && reasons[records::VOID_REASON_LIMIT] != 0)) {
        return false;
    }
    ASSIGN_OR_RETURN(const auto epoch, dump.reader().message_at<records::Epoch>(
                                           trailer.epoch_offset(0), format::RecordKind::kEpoch));
    return epoch.source() == records::MEMORY_SOURCE_STOPPED ||
           epoch.source() == records::MEMORY_SOURCE_TWIN;
}

}  // namespace

Result<KnownProcesses> KnownProcesses::read(Dump& dump) {
    constexpr std::array kAsked = {records::PROCESS_COLUMN_OWNER_ID,
                                   records::PROCESS_COLUMN_REGISTERED_NAME};
    KnownProcesses known;
    known.cut_off_ = dump.capture().has_cut_off();
    if (is_of_crash_dump(dump)) {
        known.all_ = !dump.capture().has_cut_off();
    } else {
        ASSIGN_OR_RETURN(known.all_, are_of_one_moment(dump));
    }
    RETURN_IF_ERROR(dump.processes().visit(kAsked, [&](std::uint64_t, ProcessIndex::Values values) {
        if (values[0]) {
            known.ids_.push_back(*values[0]);
        }
        if (values[1]) {
            auto name = atom_text(dump, static_cast<std::uint32_t>(*values[1]));
            known.names_.insert(name);
            if (values[0]) {
                known.name_of_.emplace(pid_text(*values[0]), std::move(name));
            }
        }
        return true;
    }));
    std::ranges::sort(known.ids_);
    return known;
}

Cell KnownProcesses::name_of(const std::string& pid) const {
    const auto found = name_of_.find(pid);
    return found == name_of_.end() ? Cell() : Cell(found->second);
}

std::optional<bool> KnownProcesses::is_missing(std::uint64_t owner_id) const {
    if (std::ranges::binary_search(ids_, owner_id)) {
        return false;
    }
    return all_ ? std::optional(true) : std::nullopt;
}

std::optional<bool> KnownProcesses::is_missing(std::string_view pid) const {
    const auto owner_id = parse_pid(pid);
    return owner_id ? is_missing(*owner_id) : std::nullopt;
}

std::optional<bool> KnownProcesses::is_missing_name(const std::string& name) const {
    if (names_.contains(name)) {
        return false;
    }
    return cut_off_ ? std::nullopt : std::optional(true);
}

Result<void> name_processes(Dump& dump, RowList& list, const OwnerColumns& columns) {
    return list.derive([&](std::span<Row* const> rows) -> Result<void> {
        std::set<std::uint64_t> owners;
        for (const Row* row : rows) {
            if (const auto owner = parse_pid(cell_text((*row)[columns.pid]))) {
                owners.insert(*owner);
            }
        }
        ASSIGN_OR_RETURN(const auto shown, ProcessNames(dump).shown(owners));
        std::unordered_map<std::uint64_t, std::string> applications;
        if (columns.application) {
            ASSIGN_OR_RETURN(applications, applications_of(dump, owners));
        }
        for (Row* row : rows) {
            const auto owner = parse_pid(cell_text((*row)[columns.pid]));
            const auto process = owner ? shown.find(*owner) : shown.end();
            if (process == shown.end()) {
                continue;
            }
            (*row)[columns.name] = cell(process->second.name);
            if (columns.initial_call) {
                (*row)[*columns.initial_call] = cell(process->second.initial_call);
            }
            if (const auto application = applications.find(*owner);
                application != applications.end()) {
                (*row)[*columns.application] = cell(application->second);
            }
        }
        return {};
    });
}

}  // namespace beamdump::query
