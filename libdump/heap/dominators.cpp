#include <libdump/base/return_if_error.h>
#include <libdump/heap/dominators.h>

#include <algorithm>

namespace beamdump {

DominatorTree::DominatorTree(ScratchSpace* space)
    : dominator_(space),
      depth_(space),
      jump_(space),
      weight_(space),
      largest_part_(space),
      finished_(space),
      is_finished_(space),
      further_(space) {}

Result<DominatorTree::Node> DominatorTree::add(Node parent, std::uint64_t weight) {
    const auto node = static_cast<Node>(weight_.size());
    RETURN_IF_ERROR(dominator_.push_back(parent));
    RETURN_IF_ERROR(weight_.push_back(weight));
    RETURN_IF_ERROR(is_finished_.push_back(false));
    return node;
}

// Steps up a tree by parents and by jumps whose lengths follow the skew-binary numbers take a
// number of steps logarithmic in the depth (Myers, An applicative random-access stack, 1983).
void DominatorTree::place(Node node, Node dominator) {
    dominator_[node] = dominator;
    depth_[node] = depth_[dominator] + 1;
    const Node far = jump_[dominator];
    jump_[node] = depth_[dominator] - depth_[far] == depth_[far] - depth_[jump_[far]] ? jump_[far]
                                                                                      : dominator;
}

DominatorTree::Node DominatorTree::common(Node a, Node b) const {
    while (depth_[a] > depth_[b]) {
        a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : dominator_[a];
    }
    while (depth_[b] > depth_[a]) {
        b = depth_[jump_[b]] >= depth_[a] ? jump_[b] : dominator_[b];
    }
    while (a != b) {
        if (jump_[a] != jump_[b]) {
            a = jump_[a];
            b = jump_[b];
        } else {
            a = dominator_[a];
            b = dominator_[b];
        }
    }
    return a;
}

Result<void> DominatorTree::solve() {
    RETURN_IF_ERROR(depth_.assign(size(), 0));
    RETURN_IF_ERROR(jump_.assign(size(), 0));
    RETURN_IF_ERROR(largest_part_.assign(size(), 0));
    std::ranges::sort(further_);
    // In an acyclic graph a node's predecessors are finished after it: in reverse order they are
    // all known before it.
    for (std::size_t i = finished_.size(); i-- > 0;) {
        const Node node = finished_[i];
        Node dominator = dominator_[node];
        const Edge* edge = std::ranges::lower_bound(further_, Edge{node, 0});
        for (; edge != further_.end() && edge->target == node; ++edge) {
            dominator = common(dominator, edge->source);
        }
        place(node, dominator);
    }
    for (const Node node : finished_) {
        const Node dominator = dominator_[node];
        weight_[dominator] += weight_[node];
        largest_part_[dominator] = std::max(largest_part_[dominator], weight_[node]);
    }
    return {};
}

}  // namespace beamdump
