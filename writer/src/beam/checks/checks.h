#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::beam {

/// Tallies of named checks over many objects: each keeps how often it was made, how often it
/// failed, and the first failure in words.
class Checks {
  public:
    struct Tally {
        std::uint64_t made = 0;
        std::uint64_t failed = 0;
        std::string example;
    };

    template <typename Words>
    void expect(std::string_view name, bool holds, Words&& words) {
        auto& tally = tallies_[std::string(name)];
        ++tally.made;
        if (!holds) {
            if (tally.failed++ == 0) {
                tally.example = words();
            }
        }
    }

    /// The first check that failed in more than one of ten objects. While a node runs, a few
    /// objects are always caught in motion.
    [[nodiscard]] std::optional<std::string> verdict() const;
    /// How often a check was made.
    [[nodiscard]] std::uint64_t made(const std::string& name) const {
        const auto found = tallies_.find(name);
        return found == tallies_.end() ? 0 : found->second.made;
    }

  private:
    std::map<std::string, Tally> tallies_;
};

}  // namespace beamdump::beam
