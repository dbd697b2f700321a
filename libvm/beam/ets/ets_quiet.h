#pragma once

#include <libvm/beam/ets/ets_group.h>
#include <libvm/beam/ets/ets_table.h>
#include <libvm/beam/processes/process_proof.h>
#include <libvm/beam/tables/id_table.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace beamdump::beam {

/// Where the runtime has one scheduler, its tables have no locks (erl_db_util.h: DB_LOCK_FREE). No
/// table is written while the scheduler waits for work, nor a private or protected one while its
/// owner does not run.
///
/// That the scheduler waited: its count of switches to a process was read, then that it waits, and
/// at the end the same count. A scheduler that waits is not about to run a process that is counted
/// already (erl_process.c, erts_schedule(): counted, then made the current one), so that one which
/// ran after that would be counted.
class EtsOneScheduler {
  public:
    static Result<EtsOneScheduler> open(Vm& vm);

    /// For the reads of one group of the table: see EtsQuiet.
    EtsQuiet quiet(std::uint64_t owner_word, bool is_public);

    /// Whether, in a node that does not move, the process that the scheduler runs may be writing
    /// the table at this moment.
    Result<bool> may_be_written(std::uint64_t owner_word, bool is_public);

  private:
    EtsOneScheduler(Vm& vm, PidWords pids, IdTable processes, ProcessProof proof)
        : vm_(&vm), pids_(pids), processes_(processes), proof_(std::move(proof)) {}
    /// What the scheduler runs; 0: nothing.
    Result<Address> running();
    /// How often it has switched to a process.
    Result<std::uint64_t> switches();
    Result<bool> waits();
    Result<Address> process(std::uint64_t owner_word);

    struct State {
        std::optional<std::uint64_t> switches;  ///< the scheduler waited, after this many
        Address owner = 0;
        ProcessReading before, after;
    };
    Vm* vm_;
    PidWords pids_;
    IdTable processes_;
    ProcessProof proof_;
    Field current_, id_, queue_, switches_, sleep_, sleep_flags_;
    std::uint64_t waiting_ = 0;
};

}  // namespace beamdump::beam
