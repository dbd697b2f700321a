#include <libdump/profile/stack_tree.h>

#include <algorithm>
#include <ranges>

namespace beamdump {
namespace {

/// What a node or a place takes besides its texts.
constexpr std::uint64_t kEach = 100;
/// The texts of a place are in two containers.
constexpr std::uint64_t kCopies = 2;

}  // namespace

std::uint32_t StackTree::place(StackPlace wanted) {
    const auto [known, is_new] =
        numbers_.emplace(std::move(wanted), static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
        places_.push_back(known->first);
        bytes_ += kEach + kCopies * (sizeof(StackPlace) + known->first.function.size() +
                                     known->first.file.value_or("").size());
    }
    return known->second;
}

std::uint32_t StackTree::add(std::span<const std::uint32_t> innermost_first, std::uint64_t weight) {
    std::uint32_t at = kRoot;
    for (const std::uint32_t place : std::ranges::reverse_view(innermost_first)) {
        const auto [known, is_new] =
            children_.emplace(std::pair(at, place), static_cast<std::uint32_t>(nodes_.size()));
        if (is_new) {
            nodes_.push_back({at, place, 0});
            bytes_ += kEach;
        }
        at = known->second;
    }
    add_weight(at, weight);
    return at;
}

void StackTree::add_weight(std::uint32_t node, std::uint64_t weight) {
    nodes_[node].weight += weight;
    total_ += weight;
}

std::vector<std::uint32_t> StackTree::stack(std::uint32_t node) const {
    std::vector<std::uint32_t> places;
    for (; node != kRoot; node = nodes_[node].parent) {
        places.push_back(nodes_[node].place);
    }
    std::ranges::reverse(places);
    return places;
}

}  // namespace beamdump
