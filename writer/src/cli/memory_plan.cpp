#include "cli/memory_plan.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <program/own_memory.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::cli {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

/// What a capture takes at most on a usual node (docs/capture.md, "Memory of the writer").
std::uint64_t usual_bytes(const DumpWriterOptions& writer) {
    constexpr std::uint64_t kWithoutThreads = 32 * kMebibyte;
    constexpr std::uint64_t kReadAhead = 8 * kMebibyte;
    constexpr int kSmallTables = 3;  // levels above have larger ones
    const auto thread = (writer.level <= kSmallTables ? 3 : 10) * kMebibyte;
    return kWithoutThreads + writer.threads * thread + (writer.threads > 1 ? kReadAhead : 0);
}

}  // namespace

Result<void> plan_memory(Options& options, const target::HeadRoom& own) {
    const auto usual = usual_bytes(options.writer);
    const auto left = own.memory(usual);
    if (!left) {
        return {};  // it is not known; a limit would show at the first page beyond
    }
    RETURN_IF_ERROR(program::check_own_memory(*left, kLeastMemory));
    if (std::min(options.memory.value_or(left->amount), left->amount) >= usual) {
        options.memory_plan = left->limit.empty()
                                  ? fmt::format("up to {}", mebibytes_text(usual))
                                  : fmt::format("up to {}; {} are left: {}", mebibytes_text(usual),
                                                mebibytes_text(left->amount), left->limit);
        return {};
    }
    const auto why =
        options.memory.value_or(left->amount) < left->amount
            ? fmt::format("--memory is {}", mebibytes_text(*options.memory))
            : fmt::format("{} are left: {}", mebibytes_text(left->amount), left->limit);
    if (options.profile) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("--profile takes more memory than there is ({}): leave it out", why));
    }
    options.memory = std::min(options.memory.value_or(kLeastMemory), left->amount);
    options.small = true;
    options.memory_plan = fmt::format("at most {}, with one thread and level 1, since {}",
                                      mebibytes_text(*options.memory), why);
    options.writer.threads = 1;
    options.writer.buffers = 2;
    options.writer.level = 1;
    options.capture.read_ahead = false;
    options.capture.sizes = memory::kSmallSizes;
    options.capture.own_bytes = options.memory;
    return {};
}

Result<void> keep_to_plan(const Options& options) {
    return options.memory ? program::limit_own_memory(*options.memory) : Result<void>();
}

std::string plan_text(const Options& options) {
    return options.memory_plan.empty() ? ""
                                       : fmt::format("  takes {} of memory\n", options.memory_plan);
}

}  // namespace beamdump::cli
