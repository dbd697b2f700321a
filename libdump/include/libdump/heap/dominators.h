#pragma once

#include <libdump/base/scratch_array.h>

#include <compare>
#include <cstdint>

namespace beamdump {

/// The dominator tree of a graph that grows from node 0 without circles: the immediate dominator of
/// a node is the last one that every way from node 0 to it leads through. Memory: 33 bytes a node
/// and 8 an edge beyond the first of its target, in scratch space; what adds to the graph fails
/// where that does.
class DominatorTree {
  public:
    using Node = std::uint32_t;

    /// Non-owning; null: all in memory.
    explicit DominatorTree(ScratchSpace* space = nullptr);

    /// A node that is first reached from `parent`, with its own weight. The first is node 0, and
    /// its own parent.
    [[nodiscard]] Result<Node> add(Node parent, std::uint64_t weight);
    void add_weight(Node node, std::uint64_t weight) { weight_[node] += weight; }
    /// A further way to `target`.
    [[nodiscard]] Result<void> add_edge(Node source, Node target) {
        return further_.push_back({target, source});
    }
    /// All that `node` leads to has been finished. Every node but 0 is finished once.
    [[nodiscard]] Result<void> finish(Node node) {
        is_finished_[node] = true;
        return finished_.push_back(node);
    }
    [[nodiscard]] bool is_finished(Node node) const { return is_finished_[node]; }

    /// Makes the weights those of all that the node dominates, itself included.
    [[nodiscard]] Result<void> solve();

    [[nodiscard]] std::size_t size() const { return weight_.size(); }
    /// After solve().
    [[nodiscard]] std::uint64_t retained(Node node) const { return weight_[node]; }
    [[nodiscard]] Node dominator(Node node) const { return dominator_[node]; }
    /// The largest weight among those that it dominates immediately; 0 if there is none.
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
