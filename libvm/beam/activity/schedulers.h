#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/id_table.h>

#include <records.pb.h>

#include <array>

namespace beamdump::beam {

/// Reads the node's schedulers and run queues (erl_process.h).
class SchedulerReader {
  public:
    /// kNotFound: there is no scheduler whose place is known.
    static Result<SchedulerReader> open(Vm& vm);

    struct Read {
        /// Every scheduler and queue of the kinds that were found, the normal ones first; of those
        /// that could not be read only kind and number.
        records::Schedulers schedulers;
        /// The structure of the process that each of them has, in the same order; 0: none, or
        /// unreadable.
        std::vector<Address> processes;
        std::vector<std::string> not_found;  ///< "dirty CPU schedulers": their place is not known
        std::uint64_t unreadable = 0;        ///< schedulers and queues, or that changed meanwhile
        std::string why;                     ///< the first of these was so
    };
    /// Each scheduler and each queue is read twice, until both reads are equal: their facts are
    /// those of one moment, a moment for each. A queue's parts must add up to its length. Of a
    /// process that exits, or has ended and is being freed, the list of off-heap objects is walked
    /// to where it leads back into itself, at most kMostOffHeap members; such a circle is met
    /// twice. Memory: some 50 bytes a scheduler. Only kTargetDied is an error.
    Result<Read> read();
    static constexpr std::uint64_t kMostOffHeap = 2'000;

    /// Reductions of all processes since the node began, those that have ended too, as
    /// erlang:statistics(reductions) counts them when processes leave a normal scheduler
    /// (erl_process.c, erts_get_total_reductions(); OTP 25.2.3, 27.3.4.1 and 29.1.1). kNotFound.
    Result<std::uint64_t> reductions();

  private:
    struct Kind {
        records::SchedulerKind kind;
        std::string_view name;
        std::uint64_t type;  ///< ErtsSchedType
        Address array;
        std::uint32_t count;
    };
    struct State;
    struct Lengths;
    struct Queue;

    SchedulerReader(Vm& vm, PidWords pids, LayoutNames& names);
    [[nodiscard]] std::array<Kind, 3> kinds() const;
    Result<void> scheduler(const Kind& kind, std::uint32_t number, Read& read);
    Result<void> add_circle(const State& now, records::Scheduler& scheduler);
    Result<State> state(const Kind& kind, std::uint32_t number, Address address);
    Result<void> queue(const Kind& kind, std::uint32_t number, Address scheduler, Read& read);
    Result<Queue> run_queue(const Kind& kind, std::uint32_t number, Address scheduler);
    Result<Lengths> lengths(const Kind& kind, std::uint32_t number, Address scheduler);

    Vm* vm_;
    PidWords pids_;
    TagScheme scheme_;
    Field type_, number_, dirty_number_, sleep_, process_, freed_, port_, queue_;
    Field sleep_flags_, aux_work_, process_id_, process_state_, process_off_heap_, off_heap_next_,
        port_id_;
    Field index_, owner_, length_, by_priority_, ports_, reductions_, info_length_;
    std::uint32_t scheduler_end_ = 0, stride_ = 0, queue_bytes_ = 0, info_bytes_ = 0;
    std::uint64_t sleeping_ = 0, waiting_ = 0, suspended_ = 0, port_tag_ = 0, exiting_ = 0;
};

}  // namespace beamdump::beam
