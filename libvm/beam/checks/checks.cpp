#include <libvm/beam/checks/checks.h>

#include <fmt/format.h>

namespace beamdump::beam {

void Checks::add(const Checks& other) {
    for (const auto& [name, of_other] : other.tallies_) {
        auto& tally = tallies_[name];
        tally.made += of_other.made;
        if (tally.failed == 0) {
            tally.example = of_other.example;
        }
        tally.failed += of_other.failed;
    }
}

std::vector<std::string> Checks::failed() const {
    std::vector<std::string> names;
    for (const auto& [name, tally] : tallies_) {
        if (tally.failed != 0) {
            names.push_back(name);
        }
    }
    return names;
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
