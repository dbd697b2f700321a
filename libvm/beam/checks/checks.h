#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::beam {

/// Counts of named checks over many objects: how often each was made and failed, and the first
/// failure's text.
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

    /// Adds what another one counted.
    void add(const Checks& other);

    /// The first check that failed for more than one in ten objects. Of few objects each counts: a
    /// misfit is added only if the object did not change meanwhile (docs/layouts.md).
    [[nodiscard]] std::optional<std::string> verdict() const;
    /// The names of the checks that failed, ascending.
    [[nodiscard]] std::vector<std::string> failed() const;
    /// How often a check was made.
    [[nodiscard]] std::uint64_t made(const std::string& name) const {
        const auto found = tallies_.find(name);
        return found == tallies_.end() ? 0 : found->second.made;
    }

  private:
    std::map<std::string, Tally> tallies_;
};

}  // namespace beamdump::beam
