#include <libdump/read/frames/frame_cache.h>

#include <utility>

namespace beamdump {

std::shared_ptr<const Frame> FrameCache::find(std::size_t position) {
    const auto found = by_position_.find(position);
    if (found == by_position_.end()) {
        return nullptr;
    }
    frames_.splice(frames_.begin(), frames_, found->second);
    return found->second->frame;
}

void FrameCache::insert(std::size_t position, std::shared_ptr<const Frame> frame) {
    held_bytes_ += frame->memory_bytes();
    frames_.push_front({position, std::move(frame)});
    by_position_[position] = frames_.begin();
    while (held_bytes_ > capacity_bytes_ && frames_.size() > 1) {
        held_bytes_ -= frames_.back().frame->memory_bytes();
        by_position_.erase(frames_.back().position);
        frames_.pop_back();
    }
}

}  // namespace beamdump
