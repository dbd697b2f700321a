#include "beam/checks/checks.h"

#include <fmt/format.h>

namespace beamdump::beam {

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
