#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_quiet.h>
#include <libvm/beam/layout/runtime_names.h>

namespace beamdump::beam {

Result<EtsOneScheduler> EtsOneScheduler::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(auto processes, IdTable::processes(vm));
    ASSIGN_OR_RETURN(auto proof, ProcessProof::open(vm.layout(), vm.target().memory()));
    EtsOneScheduler one(vm, pids, processes, std::move(proof));
    LayoutNames names(vm.layout());
    one.current_ = names.field(runtime::EtsScheduler::current_process);
    one.id_ = names.field(runtime::Process::common_id);
    one.queue_ = names.field(runtime::EtsScheduler::run_queue);
    one.switches_ = names.field(runtime::EtsRunQueue::context_switches);
    one.sleep_ = names.field(runtime::ErtsSchedulerData::ssi);
    one.sleep_flags_ = names.field(runtime::ErtsSchedulerSleep::flags);
    one.waiting_ = names.constant(runtime::constant::scheduler_sleep_waiting);
    RETURN_IF_ERROR(names.outcome());
    return one;
}

Result<Address> EtsOneScheduler::running() {
    return vm_->target().memory().word(vm_->tables().schedulers + current_.offset);
}

Result<std::uint64_t> EtsOneScheduler::switches() {
    auto& memory = vm_->target().memory();
    ASSIGN_OR_RETURN(const auto queue, memory.word(vm_->tables().schedulers + queue_.offset));
    return memory.word(queue + switches_.offset);
}

Result<bool> EtsOneScheduler::waits() {
    auto& memory = vm_->target().memory();
    ASSIGN_OR_RETURN(const auto sleep, memory.word(vm_->tables().schedulers + sleep_.offset));
    ASSIGN_OR_RETURN(const auto flags, memory.value<std::uint32_t>(sleep + sleep_flags_.offset));
    return (flags & waiting_) != 0;
}

/// The process of a pid, by its slot; 0: there is none.
Result<Address> EtsOneScheduler::process(std::uint64_t owner_word) {
    ASSIGN_OR_RETURN(const auto used,
                     processes_.used(static_cast<std::uint32_t>(pids_.slot(owner_word)), 1));
    if (used.empty()) {
        return 0;
    }
    const auto id = vm_->target().memory().word(used.front().address + id_.offset);
    return id && *id == owner_word ? used.front().address : 0;
}

EtsQuiet EtsOneScheduler::quiet(std::uint64_t owner_word, bool is_public) {
    const auto state = std::make_shared<State>();
    const auto begin = [this, state, owner_word, is_public]() -> Result<bool> {
        ASSIGN_OR_RETURN(const auto counted, switches());
        ASSIGN_OR_RETURN(const auto waiting, waits());
        state->switches = waiting ? std::optional(counted) : std::nullopt;
        // Any process may write a public table.
        if (waiting || is_public) {
            return waiting;
        }
        ASSIGN_OR_RETURN(const auto now, running());
        vm_->forget();
        ASSIGN_OR_RETURN(state->owner, process(owner_word));
        if (state->owner == 0 || state->owner == now) {
            return false;
        }
        ASSIGN_OR_RETURN(const auto here, proof_.read(state->owner, state->before));
        return here && proof_.busy(state->before) == records::VOID_REASON_NONE;
    };
    const auto end = [this, state]() -> Result<bool> {
        if (state->switches) {
            ASSIGN_OR_RETURN(const auto counted, switches());
            return counted == *state->switches;
        }
        ASSIGN_OR_RETURN(const auto here, proof_.read(state->owner, state->after));
        return here && proof_.changed(state->before, state->after) == records::VOID_REASON_NONE;
    };
    return {begin, end};
}

Result<bool> EtsOneScheduler::may_be_written(std::uint64_t owner_word, bool is_public) {
    ASSIGN_OR_RETURN(const auto now, running());
    if (now == 0) {
        return false;
    }
    if (is_public) {
        return true;
    }
    const auto id = vm_->target().memory().word(now + id_.offset);
    return !id || *id == owner_word;
}

}  // namespace beamdump::beam
