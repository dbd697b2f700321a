#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::watch {

/// What a rule can look at.
enum class Quantity : std::uint8_t {
    kMemory,
    kResident,
    kTotal,
    kProcessesMemory,
    kSystem,
    kBinary,
    kCode,
    kEts,
    kProcesses,
    kPorts,
    kAtoms,
    kEtsTables,
    kRunQueue,
    kSchedulerTime,
    kStalled,
    kHeld,
    kMailbox,
    kMailboxes,
    kPressure,
    kLimitReached,
};
inline constexpr std::size_t kQuantities = 20;

enum class Unit : std::uint8_t { kBytes, kCount, kPercent, kSeconds };

/// How a quantity is named in rules and spoken of in sentences.
struct QuantityFacts {
    Quantity quantity;
    std::string_view name;  ///< in rules
    Unit unit;
    std::string_view subject;  ///< of a sentence: "resident memory"
    std::string_view whole;    ///< what a share is of: "the machine's memory"; empty: it has none
    bool scans = false;        ///< reads every process: asked less often
};

/// All of them, by their number.
const std::array<QuantityFacts, kQuantities>& quantities();
const QuantityFacts& facts_of(Quantity quantity);
/// The names of all in rules: "memory, resident".
std::string names_of_quantities();
/// By its name in rules.
std::optional<Quantity> quantity_named(std::string_view name);

/// A value as read, and what a share of it is of, where that is known.
struct Measured {
    double value = 0;
    std::optional<double> whole{};
    /// In place of facts_of().whole: "the limit of cgroup /docker/1f".
    std::string whole_name{};
    /// Whose value it is, as "inbox (<0.82.0>)"; empty: the node's.
    std::string owner{};
};

/// What was read at about one moment. A quantity that could not be read is absent.
using Measurements = std::map<Quantity, Measured>;

/// "512.0 MiB", "1,000", "12.5%" or "30 s".
std::string measure_text(Quantity quantity, double value);

}  // namespace beamdump::watch
