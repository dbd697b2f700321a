#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_tree_walk.h>

#include <cstring>

namespace beamdump::beam {
namespace {

/// Rows whose places are proven together: fewer are lost where a tree is being changed.
constexpr std::size_t kRowsOfATreeGroup = 32;
// erl_db_tree.c: STACK_NEED 50; a contention adapting tree is not balanced.
constexpr std::size_t kDeepest = 128;
constexpr std::size_t kDeepestRoute = 256;

}  // namespace

/// A field that leads on; nothing where it cannot be read.
std::optional<EtsLink> EtsTreeWalk::link(Address structure, const Field& field) {
    const auto address = structure + field.offset;
    std::uint64_t value = 0;
    const auto done = walk_.vm_->memory().read(
        address, std::as_writable_bytes(std::span(&value, 1)).first(field.bytes));
    return done ? std::optional(EtsLink{address, field.bytes, value}) : std::nullopt;
}

Result<void> EtsTreeWalk::tree() {
    const auto root = link(walk_.request_.table, walk_.fields_.tree_root);
    if (!root) {
        broken();
        return {};
    }
    ASSIGN_OR_RETURN(const auto whole, rows({}, *root, 0));
    static_cast<void>(whole);
    return {};
}

Result<void> EtsTreeWalk::ca_tree() {
    const auto& fields = walk_.fields_;
    const auto root = link(walk_.request_.table, fields.ca_root);
    if (!root) {
        broken();
        return {};
    }
    std::vector<Node> stack = {{*root, 0}};
    std::vector<EtsLink> way;
    for (std::uint64_t nodes = 0; !stack.empty(); ++nodes) {
        const auto node = stack.back();
        stack.pop_back();
        if (nodes > walk_.request_.most_rows || node.depth > kDeepestRoute) {
            broken();
            return {};
        }
        if (walk_.request_.how.moving) {
            walk_.vm_->forget();
        }
        const auto address = node.link.expected;
        const auto is_base = link(address, fields.is_base);
        // A route node's way has a second link, that it is valid.
        way.resize(std::min(way.size(), node.depth * 2));
        way.push_back(node.link);
        if (!is_base || is_base->expected > 1) {
            broken();
            continue;
        }
        if (is_base->expected == 0) {
            if (!ca_node(node, way, stack)) {
                broken();
            }
            continue;
        }
        const auto base_root = link(address, fields.base_root);
        const auto valid = link(address, fields.base_valid);
        if (!base_root || !valid || valid->expected != 1) {
            broken();
            continue;
        }
        auto full = way;
        full.push_back(*valid);
        ASSIGN_OR_RETURN(const auto go_on,
                         rows(full, *base_root, address + fields.base_lock.offset));
        if (!go_on) {
            return {};
        }
    }
    return {};
}

/// A route node: both ways on from it.
bool EtsTreeWalk::ca_node(const Node& node, std::vector<EtsLink>& way, std::vector<Node>& stack) {
    const auto& fields = walk_.fields_;
    const auto address = node.link.expected;
    const auto valid = link(address, fields.route_valid);
    const auto left = link(address, fields.route_left);
    const auto right = link(address, fields.route_right);
    if (!valid || valid->expected != 1 || !left || !right) {
        return false;
    }
    way.push_back(*valid);
    stack.push_back({*right, node.depth + 1});
    stack.push_back({*left, node.depth + 1});
    return true;
}

/// The rows of one AVL tree, in preorder. A group has the way to its first row and what leads to
/// the others, whose parents are on that way or in the group: all of it is the same before and
/// after. So every row is at its place between the keys of the rows above it, which are the same at
/// each group: none is met again that went elsewhere in the tree. False: the walk is to end.
Result<bool> EtsTreeWalk::rows(const std::vector<EtsLink>& way, const EtsLink& root, Address lock) {
    const auto& fields = walk_.fields_;
    std::vector<Node> stack;
    std::vector<EtsLink> path;
    std::size_t bytes = 0;
    if (root.expected != 0) {
        stack.push_back({root, 0});
    }
    while (!stack.empty()) {
        const auto node = stack.back();
        stack.pop_back();
        const auto address = node.link.expected;
        const auto size = walk_.row_bytes(address, fields.tree_row);
        const auto left = link(address, fields.tree_left);
        const auto right = link(address, fields.tree_right);
        if (++seen_ > walk_.request_.most_rows || node.depth > kDeepest || !size || !left ||
            !right) {
            broken();
            continue;
        }
        path.resize(node.depth);
        path.push_back(node.link);
        if (group_.empty()) {
            group_.links = way;
            group_.links.insert(group_.links.end(), path.begin(), path.end());
            bytes = 0;
        } else {
            group_.links.push_back(node.link);
        }
        group_.rows.push_back({address, *size, lock, node.link, 0, false});
        bytes += *size;
        for (const auto& child : {*right, *left}) {
            if (child.expected != 0) {
                stack.push_back({child, node.depth + 1});
            }
        }
        if (group_.rows.size() >= kRowsOfATreeGroup || bytes >= kEtsGroupBytes) {
            RETURN_IF_ERROR(flush());
            ASSIGN_OR_RETURN(const auto go_on, walk_.may_go_on());
            if (!go_on) {
                return false;
            }
        }
    }
    RETURN_IF_ERROR(flush());
    return true;
}

Result<void> EtsTreeWalk::flush() {
    using Outcome = EtsGroupReader::Outcome;
    auto outcome = Outcome::kUnreadable;
    for (int attempt = 1; !group_.rows.empty() && attempt <= walk_.tries(); ++attempt) {
        std::uint64_t visited = 0;
        ASSIGN_OR_RETURN(outcome, walk_.take(group_, walk_.fields_.tree_row, visited));
        if (outcome == Outcome::kRead) {
            break;
        }
        walk_.wait_a_moment();
    }
    if (!group_.rows.empty() && outcome != Outcome::kRead) {
        walk_.leave_out(outcome, group_.rows.size());
    }
    group_.clear();
    return {};
}

}  // namespace beamdump::beam
