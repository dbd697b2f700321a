#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace beamdump::query {

/// Keeps the `limit` (0: all) items that stand first by an order, in memory for twice as many.
template <typename Item, typename Before>
class FirstItems {
  public:
    FirstItems(std::uint64_t limit, Before before) : limit_(limit), before_(std::move(before)) {}

    void add(Item item) {
        kept_.push_back(std::move(item));
        if (limit_ != 0 && kept_.size() / 2 >= limit_) {
            cut();
        }
    }

    /// The items in order.
    std::vector<Item> take() {
        if (limit_ != 0 && kept_.size() > limit_) {
            cut();
        }
        std::ranges::sort(kept_, before_);
        return std::move(kept_);
    }

  private:
    void cut() {
        const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(limit_);
        std::ranges::nth_element(kept_, middle, before_);
        kept_.erase(middle, kept_.end());
    }

    std::uint64_t limit_;
    Before before_;
    std::vector<Item> kept_;
};

}  // namespace beamdump::query
