#pragma once

#include "beam/ets/ets_group.h"
#include "beam/ets/ets_table.h"
#include "beam/processes/process_proof.h"
#include "beam/tables/id_table.h"
#include "beam/tables/pid_words.h"

#include <memory>

namespace beamdump::beam {

/// Where the runtime has one scheduler, its tables have no locks (erl_db_util.h: DB_LOCK_FREE). A
/// table is not written while that scheduler runs nothing, nor, if it is private or protected,
/// while its owner does not run.
class EtsOneScheduler {
  public:
    static Result<EtsOneScheduler> open(Vm& vm);

    /// For the reads of one group of the table: see EtsQuiet.
    EtsQuiet quiet(std::uint64_t owner_word, bool is_public);

    /// Of a node that does not move: whether the process that the scheduler runs may be writing the
    /// table at this moment.
    Result<bool> may_be_written(std::uint64_t owner_word, bool is_public);

  private:
    /// What the scheduler runs, and how often it has begun to run something else.
    struct Turn {
        Address process = 0;
        std::uint64_t switches = 0;
        bool operator==(const Turn&) const = default;
    };
    EtsOneScheduler(Vm& vm, PidWords pids, IdTable processes, ProcessProof proof)
        : vm_(&vm), pids_(pids), processes_(processes), proof_(std::move(proof)) {}
    Result<Turn> turn();
    Result<Address> process(std::uint64_t owner_word);

    struct State {
        Turn turn;
        Address owner = 0;
        ProcessReading before, after;
    };
    Vm* vm_;
    PidWords pids_;
    IdTable processes_;
    ProcessProof proof_;
    Field current_, run_queue_, switches_, id_;
};

}  // namespace beamdump::beam
