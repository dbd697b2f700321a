#pragma once

#include <libdump/read/frames/frame.h>

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

namespace beamdump {

/// The most recently used frames, up to a number of bytes; at least one.
class FrameCache {
  public:
    explicit FrameCache(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

    /// Null if it is not cached.
    std::shared_ptr<const Frame> find(std::size_t position);
    [[nodiscard]] bool holds(std::size_t position) const { return by_position_.contains(position); }
    void insert(std::size_t position, std::shared_ptr<const Frame> frame);

    [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

  private:
    struct Held {
        std::size_t position;
        std::shared_ptr<const Frame> frame;
    };

    std::size_t capacity_bytes_;
    std::size_t held_bytes_ = 0;
    std::list<Held> frames_;  // used last first
    std::unordered_map<std::size_t, std::list<Held>::iterator> by_position_;
};

}  // namespace beamdump
