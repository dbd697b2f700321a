#pragma once

#include "query/process/every_process.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/profile/stack_tree.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace beamdump::query {

/// What a process adds to the weight of its stack.
enum class StackWeight : std::uint8_t { kCount, kMemory, kQueue };

/// count, memory or queue. kUsage.
Result<StackWeight> parse_stack_weight(std::string_view name);
std::string_view stack_weight_text(StackWeight weight);

struct StackProfileOptions {
    StackWeight weight = StackWeight::kCount;
    bool lines = true;  ///< false: places of one function are one
    bool sensitive = false;
    InputLimits limits = {};
    ReadProgress progress = {};
    /// Told of each process that counts, with the node that its whole stack is; `process` is null
    /// where its terms are not read.
    std::function<Result<void>(const ProcessLine& line, std::uint64_t owner, std::uint32_t node,
                               OpenedProcess* process)>
        visit = {};
};

/// The different stacks of all processes, with their weights.
class StackProfile {
  public:
    [[nodiscard]] const StackTree& stacks() const { return stacks_; }
    /// Processes whose weight is not known, which are left out.
    [[nodiscard]] std::uint64_t unweighted() const { return unweighted_; }
    [[nodiscard]] const ProcessesRead& read() const { return read_; }

    /// Stacks of processes that are not read count as one of the place "(stack not in the dump)" or
    /// "(flagged sensitive)". Of a deep stack the 256 innermost frames count, below
    /// "(further frames)". kLimit: the stacks need more memory than allowed.
    static Result<StackProfile> make(Dump& dump, const StackProfileOptions& options);

  private:
    friend class ProfileReader;

    StackTree stacks_;
    std::uint64_t unweighted_ = 0;
    ProcessesRead read_;
};

}  // namespace beamdump::query
