#include <libdump/term/map_cells.h>

#include <bit>

namespace beamdump {

MapCells::MapCells(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                   std::uint64_t header)
    : scheme_(&scheme),
      reader_(&reader),
      // No map has more slots than the words of one region.
      slots_left_(reader.context().region_bytes_bound() / kWordBytes) {
    levels_[depth_++] = {.slot = address + otp25::kHashHeadItems * kWordBytes,
                         .left = static_cast<std::uint64_t>(std::popcount(map_bitmap(header)))};
}

bool MapCells::stop() {
    broken_ = true;
    depth_ = 0;
    return false;
}

bool MapCells::next(std::uint64_t& cell) {
    while (depth_ != 0) {
        Level& level = levels_[depth_ - 1];
        if (level.left == 0) {
            --depth_;
            continue;
        }
        std::uint64_t word = 0;
        std::uint64_t first = 0;
        if (slots_left_-- == 0 || reader_->read(level.slot, word) != WordStatus::kHere ||
            reader_->read(pointer_of(word), first) != WordStatus::kHere) {
            return stop();
        }
        level.slot += kWordBytes;
        --level.left;
        const WordKind kind = word_kind(*scheme_, word);
        if (kind == WordKind::kList) {
            cell = pointer_of(word);
            return true;
        }
        const BoxedKind boxed = boxed_kind(*scheme_, first);
        const bool node = boxed == BoxedKind::kHashMapNode;
        // Pairs whose keys have the same hash value are in a tuple.
        const bool tuple = boxed == BoxedKind::kTuple && header_arity(first) != 0 &&
                           header_arity(first) <= scheme_->max_tuple_arity;
        if (kind != WordKind::kBoxed || (!node && !tuple) || depth_ == levels_.size()) {
            return stop();
        }
        levels_[depth_++] = {
            .slot = pointer_of(word) + kWordBytes,
            .left = node ? static_cast<std::uint64_t>(std::popcount(map_bitmap(first)))
                         : header_arity(first)};
    }
    return false;
}

}  // namespace beamdump
