#include "query/facts/process_starts.h"

namespace beamdump::query {

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kNanoseconds = 1e9;
/// A node that starts a million processes a second, which is more than was seen, would need longer
/// to start 2^32, after which its count begins anew.
constexpr double kCountsOnce = 3600;

}  // namespace

std::optional<ProcessStarts> process_starts(const Dump& dump) {
    const auto& meanwhile = dump.trailer().meanwhile();
    if (!meanwhile.has_processes_started() || meanwhile.ran_ns() == 0) {
        return std::nullopt;
    }
    const double seconds = static_cast<double>(meanwhile.ran_ns()) / kNanoseconds;
    return ProcessStarts{meanwhile.processes_started(), seconds, seconds > kCountsOnce};
}

std::optional<ProcessStarts> process_starts_between(const Dump& first, const Dump& second) {
    const auto& begin = first.capture();
    const auto& end = second.capture();
    if (!first.node().has_processes_started() || !second.node().has_processes_started() ||
        !begin.has_started_us() || !end.has_started_us() ||
        begin.started_us() >= end.started_us()) {
        return std::nullopt;
    }
    const double seconds =
        static_cast<double>(end.started_us() - begin.started_us()) / kMicroseconds;
    // Modulo 2^32, as the node counts.
    const std::uint32_t count =
        second.node().processes_started() - first.node().processes_started();
    return ProcessStarts{count, seconds, seconds > kCountsOnce};
}

}  // namespace beamdump::query
