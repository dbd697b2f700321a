#pragma once

#include "beam/ets/ets_group.h"
#include "beam/ets/ets_table.h"
#include "beam/processes/process_proof.h"
#include "beam/tables/id_table.h"
#include "beam/tables/pid_words.h"

#include <memory>

namespace beamdump::beam {

/// Where the runtime has one scheduler, its tables have no locks (erl_db_util.h: DB_LOCK_FREE).
/// Private and protected tables are not written while their owner does not run. Of public ones
/// nothing can be proven while the node runs.
class EtsOneScheduler {
  public:
    static Result<EtsOneScheduler> open(Vm& vm);

    /// For the reads of one group of the table: see EtsQuiet.
    EtsQuiet quiet(std::uint64_t owner_word, bool is_public);

    /// Of a node that does not move: whether the process that the scheduler runs may be writing the
    /// table at this moment.
    Result<bool> may_be_written(std::uint64_t owner_word, bool is_public);

  private:
    EtsOneScheduler(Vm& vm, PidWords pids, IdTable processes, ProcessProof proof)
        : vm_(&vm), pids_(pids), processes_(processes), proof_(std::move(proof)) {}
    /// What the scheduler runs; 0: nothing.
    Result<Address> running();
    Result<Address> process(std::uint64_t owner_word);

    struct State {
        Address owner = 0;
        ProcessReading before, after;
    };
    Vm* vm_;
    PidWords pids_;
    IdTable processes_;
    ProcessProof proof_;
    Field current_, id_;
};

}  // namespace beamdump::beam
