#include "beam/checks.h"

#include <fmt/format.h>

namespace beamdump::beam {

void Checks::add(const Checks& other) {
    for (const auto& [name, tally] : other.tallies_) {
        auto& mine = tallies_[name];
        mine.made += tally.made;
        if (mine.failed == 0) {
            mine.example = tally.example;
        }
        mine.failed += tally.failed;
    }
}

std::optional<std::string> Checks::verdict() const {
    for (const auto& [name, tally] : tallies_) {
        if (tally.failed * 10 > tally.made) {
            return fmt::format("{}: {} of {} do not fit: {}", name, tally.failed, tally.made,
                               tally.example);
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::beam
