#include "cli/options.h"
#include "cli/own_resources.h"
#include "cli/watcher.h"

#include <libdump/base/return_if_error.h>
#include <libvm/nodes/locate_options.h>
#include <program/start.h>

#include <csignal>

namespace beamdump::watch {
namespace {

/// Set by SIGUSR1: its handler can reach nothing else.
std::atomic<bool> asked_for_dump = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void take_requests() {
    struct sigaction action{};
    action.sa_handler = [](int) { asked_for_dump = true; };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR1, &action, nullptr);
}

Result<void> watch(WatchCommand command, program::Streams& streams,
                   const std::atomic<bool>& cancelled) {
    if (!command.config.cgroup.empty() && !command.check) {
        RETURN_IF_ERROR(move_to_cgroup(command.config.cgroup));
    }
    stay_in_memory();
    ASSIGN_OR_RETURN(auto how, nodes::locate_options(command.layout, false));
    ASSIGN_OR_RETURN(auto store, DumpStore::open(command.config.folder, command.config.limits));
    DescriptorOutput output(streams.out_descriptor, "standard output");
    EventLog log(output, command.json);
    Watcher watcher(std::move(command.config), std::move(how), std::move(store), log,
                    asked_for_dump, cancelled);
    if (!command.check) {
        return watcher.run();
    }
    ASSIGN_OR_RETURN(const auto lines, watcher.check());
    for (const auto& line : lines) {
        output.print("{}\n", line);
    }
    output.flush();
    return output.ok() ? Result<void>() : std::unexpected(*output.error());
}

int run(const std::vector<std::string>& arguments, program::Streams& streams,
        const std::atomic<bool>& cancelled) {
    auto parsed = parse_options(arguments);
    if (!parsed) {
        return program::give_up(streams, "beamdump-watch", parsed.error());
    }
    if (const auto* const text = std::get_if<std::string>(&*parsed)) {
        streams.out << *text << std::flush;
        return program::kDone;
    }
    take_requests();
    // A signal ends a dump under way in order.
    streams.finishing();
    const auto outcome = watch(std::get<WatchCommand>(std::move(*parsed)), streams, cancelled);
    return outcome ? program::kDone : program::give_up(streams, "beamdump-watch", outcome.error());
}

}  // namespace
}  // namespace beamdump::watch

int main(int argc, char** argv) {
    using beamdump::program::Stops;
    using beamdump::program::Streams;
    // A dump is another program's work, which has a guardian of its own.
    return beamdump::program::run_as_main(
        "beamdump-watch",
        [&](Streams& streams, const std::atomic<bool>& cancelled, beamdump::target::StopTracker&) {
            return beamdump::watch::run({argv + (argc > 0 ? 1 : 0), argv + argc}, streams,
                                        cancelled);
        },
        Stops::kNever);
}
