#include <libdump/base/return_if_error.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/twin/twin_needs.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::target {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLeastCopied = 64 * kMebibyte;
constexpr std::uint64_t kMaxCopied = 1024 * kMebibyte;
/// Measured were 5 to 70 ms a gigabyte, on most machines 12 to 30 (docs/capture.md).
constexpr std::uint64_t kLeastForkNsPerMebibyte = 15'000;
constexpr std::uint64_t kTasks = 2;  // the twin and its reaper

Result<void> enough_memory(const HeadRoom& room, std::uint64_t needed, std::string_view what) {
    ASSIGN_OR_RETURN(const auto left, room.memory(needed));
    if (left.amount < needed) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("{} may need {}, and {} are left: {}{}", what, mebibytes_text(needed),
                        mebibytes_text(left.amount), left.limit,
                        left.ends_group
                            ? ", and running out of it would kill the node (memory.oom.group is 1)"
                            : ""));
    }
    return {};
}

}  // namespace

Result<TwinNeeds> twin_needs(std::string_view status, const TwinLimits& limits) {
    const auto tables = listed_bytes(status, "VmPTE");
    const auto resident = listed_bytes(status, "VmRSS");
    const auto data = listed_bytes(status, "VmData");
    if (!tables || !resident || !data) {
        return fail(ErrorCode::kImplausible,
                    "the kernel's description of the process lacks VmPTE, VmRSS or VmData");
    }
    return TwinNeeds{
        *tables, limits.copied_bytes.value_or(std::clamp(*resident / 8, kLeastCopied, kMaxCopied)),
        *data, std::chrono::nanoseconds(*resident / 1024 * kLeastForkNsPerMebibyte / 1024)};
}

Result<void> check_needs(const TwinNeeds& needs, const HeadRoom& node, const HeadRoom& own,
                         std::uint64_t own_bytes) {
    const auto what = fmt::format(
        "a twin of the node (page tables {}, pages that the node changes during the capture {})",
        mebibytes_text(needs.page_table_bytes), mebibytes_text(needs.copied_bytes));
    RETURN_IF_ERROR(enough_memory(node, needs.memory_bytes(), what));
    RETURN_IF_ERROR(enough_memory(own, own_bytes, "this program"));
    RETURN_IF_ERROR(enough_memory(
        node.shared_with(own), needs.memory_bytes() + own_bytes,
        fmt::format("{} and this program ({}) together", what, mebibytes_text(own_bytes))));
    ASSIGN_OR_RETURN(const auto tasks, node.tasks());
    if (tasks.amount < kTasks) {
        return fail(
            ErrorCode::kLimit,
            fmt::format(
                "a twin of the node needs a thread and a process, and the limit leaves {}: {}",
                tasks.amount, tasks.limit));
    }
    ASSIGN_OR_RETURN(const auto committable_bytes, node.committable_bytes());
    if (committable_bytes.amount < needs.promised_bytes) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("a twin of the node commits {}, and only {} can still be committed: {}",
                        mebibytes_text(needs.promised_bytes),
                        mebibytes_text(committable_bytes.amount), committable_bytes.limit));
    }
    return {};
}

}  // namespace beamdump::target
