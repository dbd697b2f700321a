#pragma once

#include <libdump/base/scratch_array.h>

#include <compare>
#include <cstdint>

namespace beamdump {

/// The dominator tree of an acyclic graph rooted at node 0: a node's immediate dominator is the
/// last node that every path from node 0 to it passes through. Memory: 33 bytes a node and 8 for
/// each edge beyond the first to its target, in scratch space; functions that add to the graph fail
/// if that does.
class DominatorTree {
  public:
    using Node = std::uint32_t;

    /// Non-owning; null: all in memory.
    explicit DominatorTree(ScratchSpace* space = nullptr);

    /// Adds a node first reached from `parent`, with its own weight. The first is node 0, its own
    /// parent.
    [[nodiscard]] Result<Node> add(Node parent, std::uint64_t weight);
    void add_weight(Node node, std::uint64_t weight) { weight_[node] += weight; }
    /// Adds a further edge to `target`.
    [[nodiscard]] Result<void> add_edge(Node source, Node target) {
        return further_.push_back({target, source});
    }
    /// To be called once for every node but 0, after all that `node` leads to.
    [[nodiscard]] Result<void> finish(Node node) {
        is_finished_[node] = true;
        return finished_.push_back(node);
    }
    [[nodiscard]] bool is_finished(Node node) const { return is_finished_[node]; }

    /// Computes the dominators, and adds to each node's weight those of all nodes that it
    /// dominates.
    [[nodiscard]] Result<void> solve();

    [[nodiscard]] std::size_t size() const { return weight_.size(); }
    /// After solve().
    [[nodiscard]] std::uint64_t retained(Node node) const { return weight_[node]; }
    [[nodiscard]] Node dominator(Node node) const { return dominator_[node]; }
    /// The largest weight of a node that it immediately dominates; 0 if there is none.
    [[nodiscard]] std::uint64_t largest_part(Node node) const { return largest_part_[node]; }

  private:
    struct Edge {
        Node target = 0;
        Node source = 0;
        auto operator<=>(const Edge&) const = default;
    };
    [[nodiscard]] Node common(Node a, Node b) const;
    void place(Node node, Node dominator);

    ScratchArray<Node> dominator_;  // until solve(): the node that it was first reached from
    ScratchArray<Node> depth_;
    ScratchArray<Node> jump_;  // a dominator further up, for steps of growing length
    ScratchArray<std::uint64_t> weight_;
    ScratchArray<std::uint64_t> largest_part_;
    ScratchArray<Node> finished_;
    ScratchArray<bool> is_finished_;
    ScratchArray<Edge> further_;
};

}  // namespace beamdump
