#include "query/diff/node_run.h"

#include <libdump/model/node_scheme.h>

#include <cstdint>
#include <cstdlib>

namespace beamdump::query {

namespace {

/// A node writes one crash dump: two different crash dumps are of different runs.
bool other_crash(const Dump& before, const Dump& after) {
    const auto& a = before.capture();
    const auto& b = after.capture();
    return is_of_crash_dump(before) && is_of_crash_dump(after) &&
           (a.slogan() != b.slogan() || a.crash_date() != b.crash_date());
}

}  // namespace

bool same_run(const Dump& before, const DumpFacts& facts_before, const Dump& after,
              const DumpFacts& facts_after) {
    const records::Node& a = before.node();
    const records::Node& b = after.node();
    // Boot times are computed from clocks read at capture and may be slightly off.
    constexpr std::int64_t kSlackUs = 5'000'000;
    const bool same_boot =
        !a.has_boot_us() || !b.has_boot_us() || std::abs(a.boot_us() - b.boot_us()) <= kSlackUs;
    const bool same_pid = !before.capture().has_os_pid() || !after.capture().has_os_pid() ||
                          before.capture().os_pid() == after.capture().os_pid();
    const bool same_creation =
        !a.has_creation() || !b.has_creation() || a.creation() == b.creation();
    const bool same_name = !facts_before.node_name || !facts_after.node_name ||
                           facts_before.node_name == facts_after.node_name;
    return same_boot && same_pid && same_creation && same_name && !other_crash(before, after);
}

}  // namespace beamdump::query
