#include <libdump/base/return_if_error.h>
#include <libdump/heap/retained_sizes.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace beamdump {

namespace {

using Node = DominatorTree::Node;
using IsLiteral = std::function<bool(std::uint64_t)>;

/// First walk: finds objects with more than one reference.
class Sharing final : public WalkObserver {
  public:
    Sharing(AddressMarks& shared, const IsLiteral& is_literal)
        : shared_(shared), is_literal_(is_literal) {}

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        return Entered{.go_on = !is_literal_(object.address)};
    }
    Result<void> again(std::uint64_t address, std::span<WalkLevel> /*path*/) override {
        if (!is_literal_(address)) {
            RETURN_IF_ERROR(shared_.add(address));
        }
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }

  private:
    AddressMarks& shared_;
    const IsLiteral& is_literal_;
};

/// The nodes of a walk's levels. A level and those above it get nodes when a shared object is
/// reached in or below it. Every walk over the same roots makes the same nodes in the same order.
class LevelNodes {
  public:
    /// The node of the path's last level; node 0 for the empty path. `make` makes the node for a
    /// level, given the node above it.
    template <typename Make>
    Result<Node> node_of(std::span<const WalkLevel> path, const Make& make) {
        while (nodes_.size() < path.size()) {
            ASSIGN_OR_RETURN(const Node node, make(nodes_.empty() ? Node{0} : nodes_.back()));
            nodes_.push_back(node);
        }
        return nodes_.empty() ? Node{0} : nodes_.back();
    }
    /// Adds the node of a new level below all that have nodes.
    void push(Node node) { nodes_.push_back(node); }
    /// Removes and returns the node of the path's last level, if it has one.
    std::optional<Node> take(std::span<const WalkLevel> path) {
        if (nodes_.size() < path.size()) {
            return std::nullopt;
        }
        const Node node = nodes_.back();
        nodes_.pop_back();
        return node;
    }

  private:
    std::vector<Node> nodes_;
};

/// Common to the second and third walk: which objects get nodes, and when.
class NodeWalk : public WalkObserver {
  public:
    NodeWalk(const AddressMarks& shared, const IsLiteral& is_literal)
        : shared_(shared), is_literal_(is_literal) {}

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) final {
        if (is_literal_(object.address)) {
            return Entered{.go_on = false, .uncounted = true};
        }
        if (!shared_.has(object.address)) {
            alone(object, path);
            return Entered{};
        }
        if (is_full()) {
            return Entered{.go_on = false};
        }
        ASSIGN_OR_RETURN(const Node above, node_of(path));
        ASSIGN_OR_RETURN(const Node node, make(above));
        named(object.address, node);
        if (object.terms.count == 0) {
            RETURN_IF_ERROR(leaf(object, node, path));
            return Entered{.go_on = false, .uncounted = true};
        }
        levels_.push(node);
        return Entered{.own_level = true};
    }
    Result<void> again(std::uint64_t address, std::span<WalkLevel> path) final {
        if (is_literal_(address)) {
            return {};
        }
        ASSIGN_OR_RETURN(const Node from, node_of(path));
        return met_again(address, from);
    }
    Result<void> leave(std::span<WalkLevel> path) final {
        const auto node = levels_.take(path);
        RETURN_IF_ERROR(left(path, node));
        if (node) {
            path.back().words = 0;
        }
        return {};
    }

  private:
    Result<Node> node_of(std::span<const WalkLevel> path) {
        return levels_.node_of(path, [this](Node parent) { return make(parent); });
    }

    /// Whether the limit of nodes is reached: the walk's result is not used then.
    [[nodiscard]] virtual bool is_full() const = 0;
    virtual Result<Node> make(Node parent) = 0;
    virtual void named(std::uint64_t address, Node node) = 0;
    virtual void alone(const HeapObject& object, std::span<const WalkLevel> path) = 0;
    virtual Result<void> leaf(const HeapObject& object, Node node,
                              std::span<const WalkLevel> path) = 0;
    virtual Result<void> met_again(std::uint64_t address, Node from) = 0;
    virtual Result<void> left(std::span<const WalkLevel> path, std::optional<Node> node) = 0;

    const AddressMarks& shared_;
    const IsLiteral& is_literal_;
    LevelNodes levels_;
};

/// Second walk: the graph of shared objects and of those that lead to them.
class Numbering final : public NodeWalk {
  public:
    /// Leaves room for one node for each level of a path.
    static constexpr std::uint64_t kMaxNodes = std::numeric_limits<Node>::max() / 2;

    Numbering(const AddressMarks& shared, const IsLiteral& is_literal, DominatorTree& tree,
              ScratchArray<Node>& node_of)
        : NodeWalk(shared, is_literal), shared_(shared), tree_(tree), node_of_(node_of) {}

    [[nodiscard]] bool is_full() const override { return tree_.size() > kMaxNodes; }

  private:
    Result<Node> make(Node parent) override { return tree_.add(parent, 0); }
    void named(std::uint64_t address, Node node) override {
        node_of_[shared_.number_of_member(address)] = node;
    }
    void alone(const HeapObject& /*object*/, std::span<const WalkLevel> /*path*/) override {}
    Result<void> leaf(const HeapObject& object, Node node,
                      std::span<const WalkLevel> /*path*/) override {
        tree_.add_weight(node, object.words);
        return tree_.finish(node);
    }
    Result<void> met_again(std::uint64_t address, Node from) override {
        // Edges back into the current path, in a torn heap, are ignored.
        const Node node = shared_.has(address) ? node_of_[shared_.number_of_member(address)] : 0;
        return node != 0 && tree_.is_finished(node) ? tree_.add_edge(from, node) : Result<void>();
    }
    Result<void> left(std::span<const WalkLevel> path, std::optional<Node> node) override {
        if (!node) {
            return {};
        }
        tree_.add_weight(*node, path.back().words);
        return tree_.finish(*node);
    }

    const AddressMarks& shared_;
    DominatorTree& tree_;
    ScratchArray<Node>& node_of_;
};

/// Third walk: makes the same nodes in the same order, and offers their retained sizes.
class Offering final : public NodeWalk {
  public:
    Offering(const AddressMarks& shared, const IsLiteral& is_literal, const TagScheme& scheme,
             const DominatorTree& tree, LargestTerms& largest)
        : NodeWalk(shared, is_literal), scheme_(scheme), tree_(tree), largest_(largest) {}

    void set_root(std::uint64_t root) { root_ = root; }

  private:
    [[nodiscard]] bool is_full() const override { return false; }
    Result<Node> make(Node /*parent*/) override { return ++last_; }
    void named(std::uint64_t /*address*/, Node /*node*/) override {}
    void alone(const HeapObject& object, std::span<const WalkLevel> path) override {
        if (object.terms.count == 0) {
            offer(word_to(scheme_, object.address, false), object.words, path);
        }
    }
    Result<void> leaf(const HeapObject& object, Node node,
                      std::span<const WalkLevel> path) override {
        offer(word_to(scheme_, object.address, false), tree_.retained(node), path);
        return {};
    }
    Result<void> met_again(std::uint64_t /*address*/, Node /*from*/) override { return {}; }
    Result<void> left(std::span<const WalkLevel> path, std::optional<Node> node) override {
        const WalkLevel& level = path.back();
        const std::uint64_t words = node ? tree_.retained(*node) : level.words;
        const std::uint64_t part =
            node ? std::max(tree_.largest_part(*node), level.largest_part) : level.largest_part;
        if (exceeds_largest_part(words, part)) {
            offer(word_to(scheme_, level), words, path.first(path.size() - 1));
        }
        return {};
    }
    void offer(std::uint64_t word, std::uint64_t words, std::span<const WalkLevel> path) {
        largest_.offer(root_, word, words, path);
    }

    const TagScheme& scheme_;
    const DominatorTree& tree_;
    LargestTerms& largest_;
    Node last_ = 0;
    std::uint64_t root_ = 0;
};

}  // namespace

RetainedSizes::RetainedSizes(const TagScheme& scheme, WordReader& reader, ScratchSpace& space,
                             IsLiteral is_literal, const Options& options)
    : scheme_(scheme),
      reader_(reader),
      space_(space),
      is_literal_(std::move(is_literal)),
      seen_(&space),
      shared_(&space),
      tree_(&space),
      node_of_(&space),
      largest_(options.largest) {}

Result<void> RetainedSizes::run(const Roots& roots, const Visit& visit) {
    RETURN_IF_ERROR(find_shared(roots));
    RETURN_IF_ERROR(number(roots));
    RETURN_IF_ERROR(tree_.solve());
    return report(roots, visit);
}

Result<void> RetainedSizes::find_shared(const Roots& roots) {
    Sharing sharing(shared_, is_literal_);
    TermWalk walk(scheme_, reader_, seen_, TermWalk::Measure::kHeap, &space_);
    return roots([&](std::uint64_t, std::uint64_t word) -> Result<void> {
        RETURN_IF_ERROR(walk.walk(word, sharing));
        return {};
    });
}

Result<void> RetainedSizes::number(const Roots& roots) {
    seen_.clear();
    RETURN_IF_ERROR(node_of_.assign(shared_.number_members(), 0));
    RETURN_IF_ERROR(tree_.add(0, 0));
    Numbering numbering(shared_, is_literal_, tree_, node_of_);
    TermWalk walk(scheme_, reader_, seen_, TermWalk::Measure::kHeap, &space_);
    const auto number_root = [&](std::uint64_t, std::uint64_t word) -> Result<void> {
        if (!numbering.is_full()) {
            RETURN_IF_ERROR(walk.walk(word, numbering));
        }
        return {};
    };
    RETURN_IF_ERROR(roots(number_root));
    if (numbering.is_full()) {
        return fail(ErrorCode::kLimit,
                    fmt::format("this process has more than {} objects that are shared or "
                                "reference shared ones: too many for retained sizes",
                                Numbering::kMaxNodes));
    }
    return {};
}

Result<void> RetainedSizes::report(const Roots& roots, const Visit& visit) {
    seen_.clear();
    node_of_.release();
    Offering offering(shared_, is_literal_, scheme_, tree_, largest_);
    TermWalk walk(scheme_, reader_, seen_, TermWalk::Measure::kHeap, &space_);
    return roots([&](std::uint64_t root, std::uint64_t word) -> Result<void> {
        offering.set_root(root);
        RETURN_IF_ERROR(walk.walk(word, offering));
        std::ranges::for_each(largest_.of_root(root), visit);
        return {};
    });
}

std::vector<LargeTerm> RetainedSizes::largest() const {
    return largest_.sorted();
}

}  // namespace beamdump
