#include "command/top_options.h"

#include <libdump/base/return_if_error.h>
#include <program/duration.h>
#include <program/number_check.h>

#include <fmt/format.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMostRows = 10'000;
constexpr std::uint64_t kMostRefreshes = 1'000'000'000;

auto up_to(std::uint64_t most) {
    return program::number_check(most, fmt::format("a number from 1 to {}", most));
}

}  // namespace

void declare_top(CLI::App& command, RawTop& raw) {
    command
        .add_option("--sort", raw.sort,
                    "What comes first: reductions (a second), memory (heaps),\ngrowth (of heaps, a "
                    "second), queue (waiting messages) or\nqueue-growth (a second)")
        ->capture_default_str()
        ->type_name("WHAT");
    command
        .add_option("--filter", raw.filter,
                    "Only processes with this text in pid, name, initial call or\ncurrent function")
        ->type_name("TEXT");
    command.add_option("--limit", raw.limit, "Processes in lines and JSON, at most")
        ->capture_default_str()
        ->type_name("N")
        ->check(up_to(kMostRows), "");
    command.add_option("--interval", raw.interval, "Time between readings: 2s, 500ms")
        ->capture_default_str()
        ->type_name("TIME")
        ->check(program::duration_error, "");
    command.add_option("--count", raw.count, "Write so many refreshes as lines, then end")
        ->type_name("N")
        ->check(up_to(kMostRefreshes), "");
    command.add_flag("--once", raw.once, "As --count 1");
    command.footer(
        "On a terminal it is a screen, with keys as shown there; elsewhere, and with\n"
        "--json, --count or --once, it writes lines.\n"
        "Example: beamdump-sample top rabbit@host --sort queue-growth");
}

Result<TopSettings> top_settings(const RawTop& raw) {
    if (raw.once && raw.count > 1) {
        return fail(ErrorCode::kUsage, "--once and --count exclude each other");
    }
    TopSettings settings;
    ASSIGN_OR_RETURN(settings.options.sort, parse_top_sort(raw.sort));
    settings.options.limit = raw.limit;
    settings.options.filter = raw.filter;
    settings.interval = program::duration_of(raw.interval).value_or(settings.interval);
    if (raw.once || raw.count != 0) {
        settings.count = raw.once ? 1 : raw.count;
    }
    return settings;
}

}  // namespace beamdump::sampler
