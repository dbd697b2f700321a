#include "rules/quantity.h"

#include <libdump/base/amount_text.h>
#include <program/command_line.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace beamdump::watch {
namespace {

constexpr std::chrono::milliseconds kSecond{1000};

}  // namespace

const std::array<QuantityFacts, kQuantities>& quantities() {
    static constexpr std::array<QuantityFacts, kQuantities> kAll{{
        {Quantity::kMemory, "memory", Unit::kBytes, "memory", "the limit"},
        {Quantity::kResident, "resident", Unit::kBytes, "resident memory", "the machine's memory"},
        {Quantity::kTotal, "total", Unit::kBytes, "erlang:memory(total)", "the machine's memory"},
        {Quantity::kProcessesMemory, "processes_memory", Unit::kBytes, "erlang:memory(processes)",
         "the machine's memory"},
        {Quantity::kSystem, "system", Unit::kBytes, "erlang:memory(system)",
         "the machine's memory"},
        {Quantity::kBinary, "binary", Unit::kBytes, "erlang:memory(binary)",
         "the machine's memory"},
        {Quantity::kCode, "code", Unit::kBytes, "erlang:memory(code)", "the machine's memory"},
        {Quantity::kEts, "ets", Unit::kBytes, "erlang:memory(ets)", "the machine's memory"},
        {Quantity::kProcesses, "processes", Unit::kCount, "the number of processes",
         "the process limit"},
        {Quantity::kPorts, "ports", Unit::kCount, "the number of ports", "the port limit"},
        {Quantity::kAtoms, "atoms", Unit::kCount, "the number of atoms", "the atom limit"},
        {Quantity::kEtsTables, "ets_tables", Unit::kCount, "the number of ETS tables", ""},
        {Quantity::kRunQueue, "run_queue", Unit::kCount, "the length of all run queues", ""},
        {Quantity::kSchedulerTime, "scheduler_time", Unit::kPercent,
         "the processor time of the schedulers' threads", ""},
        {Quantity::kStalled, "stalled", Unit::kSeconds,
         "the time in which no process ran though some were ready", ""},
        {Quantity::kHeld, "held", Unit::kSeconds,
         "the longest time for which a scheduler had the same process without a pause", ""},
        {Quantity::kMailbox, "mailbox", Unit::kCount, "the longest mailbox", "", true},
        {Quantity::kMailboxes, "mailboxes", Unit::kCount, "the number of messages in all mailboxes",
         "", true},
        {Quantity::kPressure, "pressure", Unit::kPercent, "memory pressure", ""},
        {Quantity::kLimitReached, "limit_reached", Unit::kCount,
         "how often the memory limit was reached", ""},
    }};
    return kAll;
}

const QuantityFacts& facts_of(Quantity quantity) {
    return quantities()[static_cast<std::size_t>(quantity)];
}

std::optional<Quantity> quantity_named(std::string_view name) {
    const auto found = std::ranges::find(quantities(), name, &QuantityFacts::name);
    return found == quantities().end() ? std::nullopt : std::optional(found->quantity);
}

std::string names_of_quantities() {
    std::vector<std::string_view> names;
    for (const auto& facts : quantities()) {
        names.push_back(facts.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string measure_text(Quantity quantity, double value) {
    switch (facts_of(quantity).unit) {
        case Unit::kBytes:
            return bytes_text(static_cast<std::uint64_t>(value));
        case Unit::kPercent:
            return fmt::format("{:.1f}%", value);
        case Unit::kSeconds: {
            const std::chrono::milliseconds time(static_cast<std::int64_t>(value * 1000));
            return time.count() == 0
                       ? "0 s"
                       : program::duration_text(time < kSecond ? time : time / kSecond * kSecond);
        }
        case Unit::kCount:
            break;
    }
    return count_text(static_cast<std::uint64_t>(value));
}

}  // namespace beamdump::watch
