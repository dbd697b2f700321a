#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace beamdump {

/// The dominator tree of a graph that grows from node 0 without circles: the immediate dominator of
/// a node is the last one that every way from node 0 to it leads through. Memory: 32 bytes a node
/// and 8 an edge beyond the first of its target.
class DominatorTree {
  public:
    using Node = std::uint32_t;

    DominatorTree() { add(0, 0); }

    /// A node that is first reached from `parent`, with its own weight.
    Node add(Node parent, std::uint64_t weight);
    void add_weight(Node node, std::uint64_t weight) { weight_[node] += weight; }
    /// A further way to `target`.
    void add_edge(Node source, Node target) { further_.emplace_back(target, source); }
    /// All that `node` leads to has been finished. Every node but 0 is finished once.
    void finish(Node node) {
        finished_.push_back(node);
        is_finished_[node] = true;
    }
    [[nodiscard]] bool is_finished(Node node) const { return is_finished_[node]; }

    /// Makes the weights those of all that the node dominates, itself included.
    void solve();

    [[nodiscard]] std::size_t size() const { return weight_.size(); }
    /// After solve().
    [[nodiscard]] std::uint64_t retained(Node node) const { return weight_[node]; }
    [[nodiscard]] Node dominator(Node node) const { return dominator_[node]; }
    /// The largest weight among those that it dominates immediately; 0 if there is none.
    [[nodiscard]] std::uint64_t largest_part(Node node) const { return largest_part_[node]; }

  private:
    [[nodiscard]] Node common(Node a, Node b) const;
    void place(Node node, Node dominator);

    std::vector<Node> dominator_;  // until solve(): the node that it was first reached from
    std::vector<Node> depth_;
    std::vector<Node> jump_;  // a dominator further up, for steps of growing length
    std::vector<std::uint64_t> weight_;
    std::vector<std::uint64_t> largest_part_;
    std::vector<Node> finished_;
    std::vector<bool> is_finished_;
    std::vector<std::pair<Node, Node>> further_;  // target, source
};

}  // namespace beamdump
