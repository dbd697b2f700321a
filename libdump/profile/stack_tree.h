#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump {

/// A place in the code, of stacks.
struct StackPlace {
    std::string function{};
    std::optional<std::string> file{};
    std::optional<std::uint32_t> line{};
    auto operator<=>(const StackPlace&) const = default;
};

/// In place of a stack's callers that are not known, or left out.
inline constexpr std::string_view kCallersNotKnown = "(callers not known)";
inline constexpr std::string_view kFurtherCallers = "(further callers)";

/// Different stacks with their weights; stacks that begin alike share nodes.
class StackTree {
  public:
    /// A stack whose current function is `place` and that goes on with that of `parent`.
    struct Node {
        std::uint32_t parent = kRoot;
        std::uint32_t place = 0;
        std::uint64_t weight = 0;  ///< of what has exactly this stack
    };
    static constexpr std::uint32_t kRoot = 0;

    /// The number of a place; equal places have one.
    std::uint32_t place(StackPlace wanted);
    /// Adds weight to a stack of places; gives its node.
    std::uint32_t add(std::span<const std::uint32_t> innermost_first, std::uint64_t weight);
    /// Adds weight to the stack of a node that add() gave.
    void add_weight(std::uint32_t node, std::uint64_t weight);

    /// The first node is the root, which has no place; parents come before their children.
    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<StackPlace>& places() const { return places_; }
    /// Places of a node, the outermost first.
    [[nodiscard]] std::vector<std::uint32_t> stack(std::uint32_t node) const;
    /// The weight of all stacks.
    [[nodiscard]] std::uint64_t total() const { return total_; }
    /// The memory that it takes, about.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    std::vector<Node> nodes_ = {Node{}};
    std::vector<StackPlace> places_;
    std::map<StackPlace, std::uint32_t> numbers_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
    std::uint64_t total_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace beamdump
