#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// What a thing has: a size in bytes, a count of what is in it (messages, rows), and how many
/// things of one dump have its key (processes of a group, atoms of a pattern).
enum class Measure : std::uint8_t { kSize, kCount, kMembers };
inline constexpr std::array kMeasures = {Measure::kSize, Measure::kCount, Measure::kMembers};

/// What one dump says of a thing. Nothing: it does not say it.
struct Amounts {
    std::optional<std::uint64_t> size = {};
    std::optional<std::uint64_t> count = {};
    std::uint64_t members = 1;
    /// Things of equal key and different identity are different things: a pid that was used again.
    std::optional<std::uint64_t> identity = {};
    /// Changes when the thing is replaced by another version: code that was loaded again.
    std::optional<std::uint64_t> version = {};
    std::uint64_t place = 0;  ///< where the dump has it: a row
};

/// The things of one section of a comparison, each with its amounts in all dumps. Memory: 120 bytes
/// and the key for each thing, and 24 for each thing and dump.
class ThingTable {
  public:
    struct Thing {
        std::string key;
        std::optional<std::uint32_t> container;  ///< index in containers()
        std::optional<std::uint64_t> identity;
        std::optional<std::uint64_t> version;
        bool changed = false;         ///< its version differs between two dumps
        std::uint32_t last_dump = 0;  ///< the last one that it is in
        std::uint64_t place = 0;      ///< there
    };

    explicit ThingTable(std::size_t dumps) : has_(dumps), whole_(dumps) {}

    /// The things of this dump follow. `whole`: they are all that the node had; otherwise it is not
    /// known of the others whether they were there.
    void begin(std::size_t dump, bool whole = true);
    /// Amounts of equal keys are added up, as far as they are known. `container`: the key of a
    /// thing of another section that this one is a part of.
    void add(std::string_view key, const Amounts& amounts, std::string_view container = {});

    [[nodiscard]] std::size_t dumps() const { return has_.size(); }
    /// Whether the dump has the section.
    [[nodiscard]] bool has(std::size_t dump) const { return has_[dump]; }
    [[nodiscard]] bool is_whole(std::size_t dump) const { return has_[dump] && whole_[dump]; }
    [[nodiscard]] const std::vector<Thing>& things() const { return things_; }
    [[nodiscard]] const std::vector<std::string>& containers() const { return containers_; }

    [[nodiscard]] bool is_in(std::size_t thing, std::size_t dump) const {
        return value(thing, Measure::kMembers, dump).value_or(0) != 0;
    }
    /// Nothing: the dump does not say it. 0 where the dump has the section whole, without the
    /// thing.
    [[nodiscard]] std::optional<std::uint64_t> value(std::size_t thing, Measure measure,
                                                     std::size_t dump) const;
    /// The sum over all things; nothing where the dump lacks one of them.
    [[nodiscard]] std::optional<std::uint64_t> sum(Measure measure, std::size_t dump) const;

  private:
    static constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

    std::size_t thing_of(std::string_view key, const Amounts& amounts, std::string_view container);
    [[nodiscard]] std::size_t cell(std::size_t thing, Measure measure, std::size_t dump) const {
        return (thing * dumps() + dump) * kMeasures.size() + static_cast<std::size_t>(measure);
    }

    /// Lets keys be found by a view of them.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    using Numbers = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

    std::vector<bool> has_;
    std::vector<bool> whole_;
    std::size_t dump_ = 0;
    std::vector<Thing> things_;
    Numbers by_key_;
    std::vector<std::string> containers_;
    Numbers container_numbers_;
    std::vector<std::uint64_t> values_;
};

}  // namespace beamdump::query
