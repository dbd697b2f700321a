#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/system_tasks.h>
#include <libvm/beam/vm/read_until_equal.h>

#include <fmt/format.h>

namespace beamdump::beam {

namespace {

constexpr std::uint32_t kQueues = 4;  // max, high, normal, low
constexpr std::size_t kMostTasks = 4096;

/// ErtsProcSysTaskType (erl_process.c, OTP 24 to 29).
records::SystemTaskKind kind_of(std::uint64_t type) {
    constexpr std::uint64_t kTypes = 8;
    return type < kTypes ? static_cast<records::SystemTaskKind>(type + 1)
                         : records::SYSTEM_TASK_KIND_UNKNOWN;
}

}  // namespace

SystemTaskReader::SystemTaskReader(Vm& vm, LayoutNames& names, PidWords pids, AtomWords atoms)
    : vm_(&vm), pids_(pids), atoms_(atoms) {
    queues_ = names.field(runtime::SystemTaskProcess::sys_task_qs);
    dirty_ = names.field(runtime::SystemTaskProcess::dirty_sys_tasks);
    extended_ = names.field(runtime::SystemTaskProcess::extended_state);
    heads_ = names.field(runtime::ErtsProcSysTaskQs::q);
    queues_bytes_ = names.bytes(runtime::ErtsProcSysTaskQs::kName);
    next_ = names.field(runtime::ErtsProcSysTask::next);
    type_ = names.field(runtime::ErtsProcSysTask::type);
    requester_ = names.field(runtime::ErtsProcSysTask::requester);
    argument_ = names.field(runtime::ErtsProcSysTask::arg);
    task_bytes_ = end_of({next_, type_, requester_, argument_});
}

Result<SystemTaskReader> SystemTaskReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    SystemTaskReader reader(vm, names, pids, atoms);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

/// Adds the task at an address; returns the next one's.
Result<Address> SystemTaskReader::take(Address address, std::optional<std::uint32_t> priority,
                                       std::vector<Task>& into) {
    if (into.size() >= kMostTasks) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("system tasks do not end after {}", kMostTasks));
    }
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), address, task_bytes_));
    const auto view = read.view();
    into.push_back(
        {address, view.get(type_), view.get(requester_), view.word(argument_, 0), priority});
    return view.get(next_);
}

Result<std::vector<SystemTaskReader::Task>> SystemTaskReader::tasks(Address queues, Address dirty) {
    std::vector<Task> tasks;
    if (queues != 0) {
        ASSIGN_OR_RETURN(const auto heads, OwnedStruct::read(vm_->bulk(), queues, queues_bytes_));
        for (std::uint32_t priority = 0; priority < kQueues; ++priority) {
            const auto first = heads.view().word(heads_, priority);
            for (auto at = first; at != 0;) {
                ASSIGN_OR_RETURN(at, take(at, priority, tasks));
                if (at == first) {  // a circle
                    break;
                }
            }
        }
    }
    for (auto at = dirty; at != 0;) {
        ASSIGN_OR_RETURN(at, take(at, std::nullopt, tasks));
    }
    return tasks;
}

Result<void> SystemTaskReader::read(StructView process, records::Process& into) {
    into.set_extended_state_bits(process.u32(extended_));
    const auto queues = process.get(queues_);
    const auto dirty = process.get(dirty_);
    if (queues == 0 && dirty == 0) {
        return {};
    }
    const auto waiting = read_until_equal([&] { return tasks(queues, dirty); });
    if (!waiting) {
        if (waiting.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(waiting.error());
        }
        into.set_system_tasks_unread(true);
        return {};
    }
    for (const Task& task : *waiting) {
        auto& record = *into.add_system_task();
        record.set_kind(kind_of(task.type));
        if (task.priority) {
            record.set_priority(*task.priority);
        } else {
            record.set_dirty(true);
        }
        if (const auto owner = pids_.owner_id(task.requester)) {
            record.set_requester_owner_id(*owner);
        }
        if (record.kind() == records::SYSTEM_TASK_KIND_CHECK_PROCESS_CODE) {
            if (const auto module = atoms_.index(task.argument)) {
                record.set_module_atom(*module);
            }
        }
    }
    return {};
}

}  // namespace beamdump::beam
