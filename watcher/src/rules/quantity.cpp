#include "rules/quantity.h"

#include <libdump/base/amount_text.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::watch {

const std::array<QuantityFacts, kQuantities>& quantities() {
    static constexpr std::array<QuantityFacts, kQuantities> kAll{{
        {Quantity::kMemory, "memory", Unit::kBytes, "memory", "the limit",
         "what counts against the node's memory limit: of its cgroup without page cache that can "
         "be "
         "taken back, else what the machine has used"},
        {Quantity::kResident, "resident", Unit::kBytes, "resident memory", "the machine's memory",
         "the node's resident memory"},
        {Quantity::kTotal, "total", Unit::kBytes, "erlang:memory(total)", "the machine's memory",
         "erlang:memory(total)"},
        {Quantity::kProcessesMemory, "processes_memory", Unit::kBytes, "erlang:memory(processes)",
         "the machine's memory", "erlang:memory(processes)"},
        {Quantity::kSystem, "system", Unit::kBytes, "erlang:memory(system)", "the machine's memory",
         "erlang:memory(system)"},
        {Quantity::kBinary, "binary", Unit::kBytes, "erlang:memory(binary)", "the machine's memory",
         "erlang:memory(binary)"},
        {Quantity::kCode, "code", Unit::kBytes, "erlang:memory(code)", "the machine's memory",
         "erlang:memory(code)"},
        {Quantity::kEts, "ets", Unit::kBytes, "erlang:memory(ets)", "the machine's memory",
         "erlang:memory(ets), where the release tells it"},
        {Quantity::kProcesses, "processes", Unit::kCount, "the number of processes",
         "the process limit", "number of processes"},
        {Quantity::kPorts, "ports", Unit::kCount, "the number of ports", "the port limit",
         "number of ports"},
        {Quantity::kAtoms, "atoms", Unit::kCount, "the number of atoms", "the atom limit",
         "number of atoms"},
        {Quantity::kRunQueue, "run_queue", Unit::kCount, "the length of all run queues", "",
         "processes and ports in all normal run queues"},
        {Quantity::kMailbox, "mailbox", Unit::kCount, "the longest mailbox", "",
         "messages in the longest mailbox", true},
        {Quantity::kMailboxes, "mailboxes", Unit::kCount, "the number of messages in all mailboxes",
         "", "messages in all mailboxes", true},
        {Quantity::kPressure, "pressure", Unit::kPercent, "memory pressure", "",
         "share of the last 10 s in which a task of the node's cgroup (or the machine) waited for "
         "memory (PSI, some)"},
        {Quantity::kLimitReached, "limit_reached", Unit::kCount,
         "how often the memory limit was reached", "",
         "how often the node's cgroup was about to exceed its limit (memory.events max, failcnt)"},
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

std::string measure_text(Quantity quantity, double value) {
    switch (facts_of(quantity).unit) {
        case Unit::kBytes:
            return bytes_text(static_cast<std::uint64_t>(value));
        case Unit::kPercent:
            return fmt::format("{:.1f}%", value);
        case Unit::kCount:
            break;
    }
    return count_text(static_cast<std::uint64_t>(value));
}

}  // namespace beamdump::watch
