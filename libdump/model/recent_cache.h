#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace beamdump {

/// An LRU cache of a fixed number of values by key, for a few dozen entries at most (the search is
/// linear, the last hit first). Values are shared: an evicted one lives as long as it is in use.
/// Not thread-safe.
template <typename Key, typename Value>
class RecentCache {
  public:
    explicit RecentCache(std::size_t capacity) { slots_.reserve(capacity); }

    /// The value under `key`, or null.
    std::shared_ptr<const Value> find(const Key& key) {
        if (last_ < slots_.size() && slots_[last_].key == key) {
            return slots_[last_].value;
        }
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].key == key) {
                slots_[i].used = ++clock_;
                last_ = i;
                return slots_[i].value;
            }
        }
        return nullptr;
    }

    std::shared_ptr<const Value> insert(Key key, Value value) {
        auto shared = std::make_shared<const Value>(std::move(value));
        if (slots_.size() < slots_.capacity()) {
            last_ = slots_.size();
            slots_.push_back({std::move(key), ++clock_, shared});
            return shared;
        }
        std::size_t oldest = 0;
        for (std::size_t i = 1; i < slots_.size(); ++i) {
            if (slots_[i].used < slots_[oldest].used) {
                oldest = i;
            }
        }
        slots_[oldest] = {std::move(key), ++clock_, shared};
        last_ = oldest;
        return shared;
    }

  private:
    struct Slot {
        Key key;
        std::uint64_t used = 0;
        std::shared_ptr<const Value> value;
    };
    std::vector<Slot> slots_;
    std::uint64_t clock_ = 0;
    std::size_t last_ = 0;
};

}  // namespace beamdump
