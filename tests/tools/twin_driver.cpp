// Makes a twin of a process, reads it and removes it; says what it cost.
#include "memory/process_memory.h"
#include "target/mappings.h"
#include "target/twin.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace {

using namespace beamdump;

int report(const Error& error) {
    fmt::print(stderr, "twin_driver: {}\n", error.message);
    return 1;
}

}  // namespace

int main(int count, char** arguments) {
    CLI::App app("Makes a twin of a process, reads it and removes it.");
    pid_t pid = 0;
    target::TwinLimits limits;
    app.add_option("PID", pid)->required();
    app.add_option("--thread", limits.threads, "name of a thread that may be borrowed");
    CLI11_PARSE(app, count, arguments);

    auto twin = target::Twin::make(pid, limits);
    if (!twin) {
        return report(twin.error());
    }
    fmt::print("twin {} reaper {} stop {} us threads {}\n", twin->pid(), twin->reaper(),
               twin->stop_cost().length_ns / 1000, twin->stop_cost().threads);
    std::fflush(stdout);
    if (auto good = twin->check(); !good) {
        return report(good.error());
    }
    if (auto removed = twin->remove(); !removed) {
        return report(removed.error());
    }
    return 0;
}
