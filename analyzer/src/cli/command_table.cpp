#include "cli/command_table.h"

namespace beamdump::cli {

// A command NAME is NAME.cpp in cli/commands or a folder of it, which defines NAME_command(), and
// one line here.
#define BEAMDUMP_COMMANDS(COMMAND) \
    COMMAND(summary)               \
    COMMAND(processes)             \
    COMMAND(tree)                  \
    COMMAND(waits)                 \
    COMMAND(process)               \
    COMMAND(messages)              \
    COMMAND(dictionary)            \
    COMMAND(backtrace)             \
    COMMAND(diff)                  \
    COMMAND(heap)                  \
    COMMAND(term)                  \
    COMMAND(ports)                 \
    COMMAND(sockets)               \
    COMMAND(schedulers)            \
    COMMAND(profile)               \
    COMMAND(timers)                \
    COMMAND(nodes)                 \
    COMMAND(binaries)              \
    COMMAND(refs)                  \
    COMMAND(search)                \
    COMMAND(atoms)                 \
    COMMAND(modules)               \
    COMMAND(ets)                   \
    COMMAND(persistent_terms)      \
    COMMAND(memory)                \
    COMMAND(allocators)            \
    COMMAND(sections)              \
    COMMAND(report)                \
    COMMAND(export)                \
    COMMAND(crash_dump)            \
    COMMAND(convert)               \
    COMMAND(redact)

#define BEAMDUMP_DECLARE(name) std::unique_ptr<Command> name##_command();
BEAMDUMP_COMMANDS(BEAMDUMP_DECLARE)
#undef BEAMDUMP_DECLARE

std::vector<std::unique_ptr<Command>> make_commands() {
    std::vector<std::unique_ptr<Command>> commands;
#define BEAMDUMP_MAKE(name) commands.push_back(name##_command());
    BEAMDUMP_COMMANDS(BEAMDUMP_MAKE)
#undef BEAMDUMP_MAKE
    return commands;
}

#undef BEAMDUMP_COMMANDS

}  // namespace beamdump::cli
