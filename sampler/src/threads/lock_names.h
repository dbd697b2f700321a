#pragma once

#include <libsample/profile/sample_stacks.h>
#include <libvm/beam/allocators/allocators.h>
#include <libvm/memory/memory_source.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// Names what a lock protects by where it is: in a run queue, an allocator, a variable.
class LockNames {
  public:
    /// Reads where run queues and allocators are; those that cannot be read are left out.
    /// Non-owning. Only kTargetDied is an error.
    static Result<LockNames> open(ObservedNode& node, SampleStacks& stacks);

    /// "run queue of scheduler 2", "binary_alloc, instance 1", "planted+0x10"; nothing where none
    /// of these is there.
    std::optional<std::string> at(Address address);

    /// The ETS table whose lock a thread waits for, by the structure of its events: "sessions,
    /// owner <0.82.0>". Nothing: it waits for none, or the tables cannot be read. Reads a word of
    /// each table. Only kTargetDied is an error.
    Result<std::optional<std::string>> table_of(Address event);

  private:
    struct Named {
        memory::AddressRange range{};
        std::string name{};
    };
    LockNames(ObservedNode& node, SampleStacks& stacks) : node_(&node), stacks_(&stacks) {}
    Result<void> add_run_queues();
    void add_allocators();
    bool waits_in(Address first, Address event);

    ObservedNode* node_;
    SampleStacks* stacks_;
    std::vector<Named> named_;
};

}  // namespace beamdump::sampler
