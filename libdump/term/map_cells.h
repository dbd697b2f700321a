#pragma once

#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace beamdump {

/// The pairs of a large map, in the order of its nodes: cells of a key and its value (erl_map.h,
/// OTP 25.2.3 to 29.1.1). Non-owning. Memory: one level for each of the map's.
class MapCells {
  public:
    /// `address`: of the map's head, whose header is `header`.
    MapCells(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
             std::uint64_t header);

    /// The address of the next cell, which is readable. False at the end, or where the map's words
    /// are missing or make no map.
    bool next(std::uint64_t& cell);
    [[nodiscard]] bool is_broken() const { return broken_; }

  private:
    struct Level {
        std::uint64_t slot = 0;
        std::uint64_t left = 0;
    };
    /// 16 nodes of four bits of a hash value each, one of equal values, and one to notice a torn
    /// map by.
    static constexpr std::size_t kLevels = 18;

    bool stop();

    const TagScheme* scheme_;
    WordReader* reader_;
    std::array<Level, kLevels> levels_{};
    std::size_t depth_ = 0;
    std::uint64_t slots_left_;  ///< a torn map may lead in a circle
    bool broken_ = false;
};

}  // namespace beamdump
