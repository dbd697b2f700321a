#pragma once

#include "query/process/every_process.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace beamdump::query {

/// What a process adds to the weight of its stack.
enum class StackWeight : std::uint8_t { kCount, kMemory, kQueue };

/// count, memory or queue. kUsage.
Result<StackWeight> parse_stack_weight(std::string_view name);
std::string_view stack_weight_text(StackWeight weight);

/// A place in the code, of stacks.
struct StackPlace {
    std::string function;
    std::optional<std::string> file;
    std::optional<std::uint32_t> line;
    auto operator<=>(const StackPlace&) const = default;
};

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
    /// A stack whose current function is `place` and that goes on with that of `parent`.
    struct Node {
        std::uint32_t parent = kRoot;
        std::uint32_t place = 0;
        std::uint64_t weight = 0;  ///< of processes whose whole stack this is
    };
    static constexpr std::uint32_t kRoot = 0;

    /// The first node is the root, which has no place; parents come before their children.
    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<StackPlace>& places() const { return places_; }
    /// Places of a node, the outermost first.
    [[nodiscard]] std::vector<std::uint32_t> stack(std::uint32_t node) const;
    [[nodiscard]] std::uint64_t total() const { return total_; }
    /// Processes whose weight is not known, which are left out.
    [[nodiscard]] std::uint64_t unweighted() const { return unweighted_; }
    [[nodiscard]] const ProcessesRead& read() const { return read_; }

    /// Stacks of processes that are not read count as one of the place "(stack not in the dump)" or
    /// "(flagged sensitive)". Of a deep stack the 256 innermost frames count, below
    /// "(further frames)". kLimit: the stacks need more memory than allowed.
    static Result<StackProfile> make(Dump& dump, const StackProfileOptions& options);

  private:
    friend class ProfileReader;

    std::vector<Node> nodes_ = {Node{}};
    std::vector<StackPlace> places_;
    std::uint64_t total_ = 0;
    std::uint64_t unweighted_ = 0;
    ProcessesRead read_;
};

}  // namespace beamdump::query
