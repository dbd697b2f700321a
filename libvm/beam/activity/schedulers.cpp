#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/off_heap_circle.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/read_until_equal.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace beamdump::beam {
namespace {

constexpr std::size_t kPriorities = 4;  // max, high, normal, low (erl_process.h)

/// Notes one that could not be read.
Result<void> pass_over(const Error& error, SchedulerReader::Read& read) {
    if (error.code == ErrorCode::kTargetDied) {
        return std::unexpected(error);
    }
    if (read.unreadable++ == 0) {
        read.why = error.message;
    }
    return {};
}

}  // namespace

struct SchedulerReader::State {
    Address process = 0, port = 0, queue = 0;
    Address freed = 0;  ///< a process that has ended
    Address sleep = 0;
    std::uint32_t sleep_flags = 0;
    std::optional<std::uint64_t> owner_id, freed_owner_id, port_number;
    bool operator==(const State&) const = default;
};

struct SchedulerReader::Lengths {
    Address address = 0;
    std::uint32_t length = 0, ports = 0;
    std::array<std::uint32_t, kPriorities> by_priority{};
    bool operator==(const Lengths&) const = default;
};

struct SchedulerReader::Queue {
    Address address = 0;
    OwnedStruct bytes;
};

SchedulerReader::SchedulerReader(Vm& vm, PidWords pids, LayoutNames& names)
    : vm_(&vm), pids_(pids) {
    type_ = names.field(runtime::ErtsSchedulerData::type);
    number_ = names.field(runtime::ErtsSchedulerData::no);
    dirty_number_ = names.field(runtime::ErtsSchedulerData::dirty_no);
    sleep_ = names.field(runtime::ErtsSchedulerData::ssi);
    process_ = names.field(runtime::ErtsSchedulerData::current_process);
    freed_ = names.field(runtime::ErtsSchedulerData::free_process);
    port_ = names.field(runtime::ErtsSchedulerData::current_port);
    queue_ = names.field(runtime::ErtsSchedulerData::run_queue);
    scheduler_end_ =
        end_of({type_, number_, dirty_number_, sleep_, process_, freed_, port_, queue_});
    stride_ = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
    sleep_flags_ = names.field(runtime::ErtsSchedulerSleep::flags);
    aux_work_ = names.field(runtime::ErtsSchedulerSleep::aux_work);
    process_id_ = names.field(runtime::Process::common_id);
    process_state_ = names.field(runtime::Process::state);
    process_off_heap_ = names.field(runtime::Process::off_heap_first);
    off_heap_next_ = names.field(runtime::OffHeapHeader::next);
    exiting_ = names.constant(runtime::constant::state_exiting);
    port_id_ = names.field(runtime::Port::common_id);
    index_ = names.field(runtime::ErtsRunQueue::ix);
    owner_ = names.field(runtime::ErtsRunQueue::scheduler);
    length_ = names.field(runtime::ErtsRunQueue::len);
    by_priority_ = names.field(runtime::ErtsRunQueue::procs_prio_info);
    ports_ = names.field(runtime::ErtsRunQueue::ports_info);
    reductions_ = names.field(runtime::ErtsRunQueue::procs_reductions);
    queue_bytes_ = names.bytes(runtime::ErtsRunQueue::kName);
    info_length_ = names.field(runtime::ErtsRunQueueInfo::len);
    info_bytes_ = names.bytes(runtime::ErtsRunQueueInfo::kName);
    sleeping_ = names.constant(runtime::constant::scheduler_sleep_sleeping);
    waiting_ = names.constant(runtime::constant::scheduler_sleep_waiting);
    suspended_ = names.constant(runtime::constant::scheduler_sleep_suspended);
    port_tag_ = names.constant(runtime::constant::port_tag);
}

Result<SchedulerReader> SchedulerReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto scheme, port_scheme(vm));
    LayoutNames names(vm.layout());
    SchedulerReader reader(vm, pids, names);
    RETURN_IF_ERROR(names.outcome());
    reader.scheme_ = scheme;
    for (const auto& kind : reader.kinds()) {
        if (kind.count > kMaxSchedulers) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("expected at most {} {}, found {}", kMaxSchedulers, kind.name,
                                    kind.count));
        }
    }
    const auto is_found = [](const Kind& kind) { return kind.array != 0; };
    if (std::ranges::none_of(reader.kinds(), is_found)) {
        return fail(ErrorCode::kNotFound, "their place was not found");
    }
    return reader;
}

std::array<SchedulerReader::Kind, 3> SchedulerReader::kinds() const {
    const auto& tables = vm_->tables();
    const auto& facts = vm_->facts();
    // erl_process.h, ErtsSchedType
    return {{{records::SCHEDULER_KIND_NORMAL, "schedulers", 0, tables.schedulers, facts.schedulers},
             {records::SCHEDULER_KIND_DIRTY_CPU, "dirty CPU schedulers", 1,
              tables.dirty_cpu_schedulers, facts.dirty_cpu_schedulers},
             {records::SCHEDULER_KIND_DIRTY_IO, "dirty I/O schedulers", 2,
              tables.dirty_io_schedulers, facts.dirty_io_schedulers}}};
}

Result<SchedulerReader::Read> SchedulerReader::read() {
    Read read;
    for (const auto& kind : kinds()) {
        if (kind.array == 0) {
            read.not_found.emplace_back(kind.name);
            continue;
        }
        for (std::uint32_t number = 1; number <= kind.count; ++number) {
            RETURN_IF_ERROR(scheduler(kind, number, read));
            // The dirty schedulers of a kind have one queue.
            if (kind.type == 0 || number == 1) {
                const auto at = kind.array + (number - 1) * std::uint64_t{stride_};
                RETURN_IF_ERROR(queue(kind, number, at, read));
            }
        }
    }
    return read;
}

Result<std::uint64_t> SchedulerReader::reductions() {
    const auto kind = kinds().front();
    if (kind.array == 0) {
        return fail(ErrorCode::kNotFound, fmt::format("the place of {} is not known", kind.name));
    }
    std::uint64_t sum = 0;
    for (std::uint32_t number = 1; number <= kind.count; ++number) {
        const auto at = kind.array + (number - 1) * std::uint64_t{stride_};
        ASSIGN_OR_RETURN(const auto queue, run_queue(kind, number, at));
        sum += queue.bytes.view().get(reductions_);
    }
    return sum;
}

Result<void> SchedulerReader::scheduler(const Kind& kind, std::uint32_t number, Read& read) {
    auto& scheduler = *read.schedulers.add_scheduler();
    scheduler.set_kind(kind.kind);
    scheduler.set_number(number);
    const auto address = kind.array + (number - 1) * std::uint64_t{stride_};
    scheduler.set_struct_address(address);
    read.processes.push_back(0);
    const auto now = read_until_equal([&] { return state(kind, number, address); });
    if (!now) {
        return pass_over(now.error(), read);
    }
    read.processes.back() = now->process;
    scheduler.set_sleep_flags(now->sleep_flags);
    // It changes more often than the rest, and belongs to none of that.
    if (const auto work = vm_->bulk().value<std::uint32_t>(now->sleep + aux_work_.offset)) {
        scheduler.set_aux_work_flags(*work);
    }
    scheduler.set_sleeping((now->sleep_flags & (sleeping_ | waiting_)) != 0);
    scheduler.set_suspended((now->sleep_flags & suspended_) != 0);
    scheduler.set_busy(now->process != 0 || now->port != 0 || now->freed != 0);
    if (now->owner_id) {
        scheduler.set_current_owner_id(*now->owner_id);
    }
    if (now->port_number) {
        scheduler.set_current_port_number(*now->port_number);
    }
    if (now->freed_owner_id) {
        scheduler.set_freed_owner_id(*now->freed_owner_id);
    }
    // A list that could not be walked to its end tells nothing.
    if (const auto added = add_circle(*now, scheduler);
        !added && added.error().code == ErrorCode::kTargetDied) {
        return added;
    }
    if (!scheduler.has_off_heap_circle()) {
        return {};
    }
    const auto after = state(kind, number, address);
    if (!after || after->process != now->process || after->freed != now->freed) {
        scheduler.clear_off_heap_circle();
        scheduler.clear_off_heap_circle_address();
    }
    return {};
}

Result<void> SchedulerReader::add_circle(const State& now, records::Scheduler& scheduler) {
    auto& memory = vm_->bulk();
    auto process = now.freed;
    if (process == 0 && now.process != 0) {
        ASSIGN_OR_RETURN(const auto bits,
                         memory.value<std::uint32_t>(now.process + process_state_.offset));
        process = (bits & exiting_) != 0 ? now.process : 0;
    }
    if (process == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto first, memory.word(process + process_off_heap_.offset));
    ASSIGN_OR_RETURN(const auto circle,
                     find_off_heap_circle(memory, off_heap_next_, first, kMostOffHeap));
    if (!circle) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto again,
                     find_off_heap_circle(memory, off_heap_next_, circle->address, kMostOffHeap));
    if (again == circle) {
        scheduler.set_off_heap_circle_address(circle->address);
        scheduler.set_off_heap_circle(circle->members);
    }
    return {};
}

Result<SchedulerReader::State> SchedulerReader::state(const Kind& kind, std::uint32_t number,
                                                      Address address) {
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(memory, address, scheduler_end_));
    const auto view = read.view();
    const auto found = view.get(kind.type == 0 ? number_ : dirty_number_);
    if (view.get(type_) != kind.type || found != number) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("scheduler at {:#x}: expected number {} of type {}, found {} of {}",
                                address, number, kind.type, found, view.get(type_)));
    }
    State state;
    state.process = view.get(process_);
    state.freed = view.get(freed_);
    state.port = view.get(port_);
    state.queue = view.get(queue_);
    state.sleep = view.get(sleep_);
    ASSIGN_OR_RETURN(state.sleep_flags,
                     memory.value<std::uint32_t>(state.sleep + sleep_flags_.offset));
    if (state.process != 0) {
        ASSIGN_OR_RETURN(const auto id, memory.word(state.process + process_id_.offset));
        state.owner_id = pids_.owner_id(id);
        if (!state.owner_id) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("process at {:#x}, which scheduler {} has: expected a pid, "
                                    "found {:#x}",
                                    state.process, number, id));
        }
    }
    if (state.freed != 0) {
        ASSIGN_OR_RETURN(const auto id, memory.word(state.freed + process_id_.offset));
        state.freed_owner_id = pids_.owner_id(id);
    }
    if (state.port != 0) {
        ASSIGN_OR_RETURN(const auto id, memory.word(state.port + port_id_.offset));
        if ((id & kImmediateTagMask) != (port_tag_ & kImmediateTagMask)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("port at {:#x}, which scheduler {} has: expected a port's id, "
                                    "found {:#x}",
                                    state.port, number, id));
        }
        state.port_number = port_number(scheme_, id);
    }
    return state;
}

Result<void> SchedulerReader::queue(const Kind& kind, std::uint32_t number, Address scheduler,
                                    Read& read) {
    auto& queue = *read.schedulers.add_run_queue();
    queue.set_kind(kind.kind);
    if (kind.type == 0) {
        queue.set_number(number);
    }
    const auto now = read_until_equal([&] { return lengths(kind, number, scheduler); });
    if (!now) {
        return pass_over(now.error(), read);
    }
    queue.set_struct_address(now->address);
    queue.set_length(now->length);
    queue.set_max_length(now->by_priority[0]);
    queue.set_high_length(now->by_priority[1]);
    queue.set_normal_length(now->by_priority[2]);
    queue.set_low_length(now->by_priority[3]);
    queue.set_port_length(now->ports);
    return {};
}

Result<SchedulerReader::Queue> SchedulerReader::run_queue(const Kind& kind, std::uint32_t number,
                                                          Address scheduler) {
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto address, memory.word(scheduler + queue_.offset));
    ASSIGN_OR_RETURN(auto read, OwnedStruct::read(memory, address, queue_bytes_));
    const auto view = read.view();
    // erl_process.c, erts_init_scheduling(): the dirty queues follow those of the schedulers, and
    // belong to the first dirty scheduler of their kind.
    const auto index = kind.type == 0 ? number - 1 : vm_->facts().schedulers + kind.type - 1;
    if (view.get(index_) != index || view.get(owner_) != scheduler) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("run queue at {:#x}: expected number {} of the scheduler at {:#x}, "
                                "found {} of {:#x}",
                                address, index, scheduler, view.get(index_), view.get(owner_)));
    }
    return Queue{address, std::move(read)};
}

Result<SchedulerReader::Lengths> SchedulerReader::lengths(const Kind& kind, std::uint32_t number,
                                                          Address scheduler) {
    ASSIGN_OR_RETURN(const auto queue, run_queue(kind, number, scheduler));
    const auto view = queue.bytes.view();
    Lengths lengths{.address = queue.address};
    const auto length_of = [&](Field infos, std::size_t at) {
        return view.u32(
            {static_cast<std::uint32_t>(infos.offset + at * info_bytes_ + info_length_.offset),
             info_length_.bytes});
    };
    lengths.length = view.u32(length_);
    lengths.ports = length_of(ports_, 0);
    for (std::size_t at = 0; at < kPriorities; ++at) {
        lengths.by_priority.at(at) = length_of(by_priority_, at);
    }
    // Both are changed under the queue's lock, one after the other (erts_inc_runq_len()).
    const auto sum = std::accumulate(lengths.by_priority.begin(), lengths.by_priority.end(),
                                     std::uint64_t{lengths.ports});
    if (sum != lengths.length) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("run queue at {:#x}: expected a length of {}, the sum of its "
                                "parts, found {}",
                                lengths.address, sum, lengths.length));
    }
    return lengths;
}

}  // namespace beamdump::beam
