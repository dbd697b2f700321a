#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/process_list.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

constexpr int kListTries = 4;
constexpr std::uint64_t kMostSuspended = 1U << 20U;

}  // namespace

ProcessListReader::ProcessListReader(Vm& vm, PidWords pids, LayoutNames& names)
    : vm_(&vm), pids_(pids) {
    pid_ = names.field(runtime::ErtsProcList::pid);
    next_ = names.field(runtime::ErtsProcList::next);
    prev_ = names.field(runtime::ErtsProcList::prev);
    member_bytes_ = names.bytes(runtime::ErtsProcList::kName);
}

Result<ProcessListReader::Listed> ProcessListReader::read(Address head) const {
    Result<Listed> listed;
    for (int tries = 0; tries < kListTries && (tries == 0 || !listed); ++tries) {
        ASSIGN_OR_RETURN(const auto first, vm_->bulk().word(head));
        listed = members(first);
        ASSIGN_OR_RETURN(const auto now, vm_->bulk().word(head));
        if (listed && now != first) {
            listed = fail(ErrorCode::kImplausible,
                          fmt::format("process list at {:#x}: expected the first member {:#x} in "
                                      "two reads, found {:#x}",
                                      head, first, now));
        }
    }
    return listed;
}

Result<ProcessListReader::Listed> ProcessListReader::members(Address first) const {
    Listed listed;
    Address before = 0, last = 0;
    for (auto at = first; at != 0; ++listed.count) {
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, member_bytes_));
        const auto view = read.view();
        const auto pid = pids_.owner_id(view.get(pid_));
        last = before == 0 ? view.get(prev_) : last;
        if (!pid || (before != 0 && view.get(prev_) != before) || listed.count >= kMostSuspended) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("process list at {:#x}: expected member {} of at most {} with "
                                    "a pid, after {:#x}, found {:#x} after {:#x}",
                                    at, listed.count + 1, kMostSuspended, before, view.get(pid_),
                                    view.get(prev_)));
        }
        if (listed.owner_ids.size() < kMostNamed) {
            listed.owner_ids.push_back(*pid);
        }
        before = at;
        at = view.get(next_) == first ? 0 : view.get(next_);
    }
    if (before != last) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("process list at {:#x}: expected {:#x} as the last of {} members, "
                                "found {:#x}",
                                first, last, listed.count, before));
    }
    return listed;
}

}  // namespace beamdump::beam
