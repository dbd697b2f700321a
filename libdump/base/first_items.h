#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace beamdump {

/// Keeps the `limit` (0: all) items that stand first by a strict order, and no more of them in
/// memory. Of equal items the ones that were added first stay.
template <typename Item, typename Before = std::function<bool(const Item&, const Item&)>>
class FirstItems {
  public:
    FirstItems(std::uint64_t limit, Before before) : limit_(limit), before_(std::move(before)) {}

    /// Whether add() would keep the item.
    [[nodiscard]] bool wants(const Item& item) const {
        return !is_full() || before_(item, kept_.front());
    }

    /// The item that is not kept for it, or itself; absent where all are kept.
    std::optional<Item> add(Item item) {
        std::optional<Item> dropped;
        if (is_full()) {
            if (!before_(item, kept_.front())) {
                return item;
            }
            std::ranges::pop_heap(kept_, before_);
            dropped = std::exchange(kept_.back(), std::move(item));
        } else {
            kept_.push_back(std::move(item));
        }
        if (limit_ != 0) {
            std::ranges::push_heap(kept_, before_);
        }
        return dropped;
    }

    /// The items so far, in no order. What an item is compared by must not be changed.
    [[nodiscard]] const std::vector<Item>& items() const { return kept_; }
    [[nodiscard]] std::vector<Item>& items() { return kept_; }

    /// The items in order; none is left.
    [[nodiscard]] std::vector<Item> take() {
        auto items = std::exchange(kept_, {});
        std::ranges::sort(items, before_);
        return items;
    }

  private:
    [[nodiscard]] bool is_full() const { return limit_ != 0 && kept_.size() >= limit_; }

    std::uint64_t limit_;
    Before before_;
    std::vector<Item> kept_;  ///< with a limit, a heap: the last in order is in front
};

}  // namespace beamdump
