#include "query/facts/node_run.h"

#include <libdump/model/dump_form.h>

#include <cstdlib>

namespace beamdump::query {

namespace {

template <typename Value>
bool may_be_equal(const std::optional<Value>& a, const std::optional<Value>& b) {
    return !a || !b || *a == *b;
}

}  // namespace

NodeRun node_run(const Dump& dump, const std::optional<std::string>& node_name) {
    NodeRun run;
    run.node_name = node_name;
    const records::Node& node = dump.node();
    if (node.has_boot_us()) {
        run.boot_us = node.boot_us();
    }
    if (dump.capture().has_os_pid()) {
        run.os_pid = dump.capture().os_pid();
    }
    if (node.has_creation()) {
        run.creation = node.creation();
    }
    if (is_of_crash_dump(dump)) {
        run.crash.emplace(dump.capture().slogan(), dump.capture().crash_date());
    }
    return run;
}

bool same_run(const NodeRun& before, const NodeRun& after) {
    // Boot times are computed from clocks read at capture and may be slightly off.
    constexpr std::int64_t kSlackUs = 5'000'000;
    const bool same_boot =
        !before.boot_us || !after.boot_us || std::abs(*before.boot_us - *after.boot_us) <= kSlackUs;
    return same_boot && may_be_equal(before.os_pid, after.os_pid) &&
           may_be_equal(before.creation, after.creation) &&
           may_be_equal(before.node_name, after.node_name) &&
           may_be_equal(before.crash, after.crash);
}

}  // namespace beamdump::query
