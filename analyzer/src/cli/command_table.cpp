#include "cli/command_table.h"

namespace beamdump::cli {

// A command NAME is NAME.cpp in cli/commands, which defines NAME_command(), and one line here, in
// its group of the help.
#define BEAMDUMP_COMMANDS(COMMAND)                \
    COMMAND(summary, "Node")                      \
    COMMAND(memory, "Node")                       \
    COMMAND(allocators, "Node")                   \
    COMMAND(schedulers, "Node")                   \
    COMMAND(emulator, "Node")                     \
    COMMAND(profile, "Node")                      \
    COMMAND(history, "Node")                      \
    COMMAND(crash, "Node")                        \
    COMMAND(nodes, "Node")                        \
    COMMAND(modules, "Node")                      \
    COMMAND(atoms, "Node")                        \
    COMMAND(processes, "Processes")               \
    COMMAND(tree, "Processes")                    \
    COMMAND(waits, "Processes")                   \
    COMMAND(hang, "Processes")                    \
    COMMAND(process, "Processes")                 \
    COMMAND(backtrace, "Processes")               \
    COMMAND(messages, "Processes")                \
    COMMAND(dictionary, "Processes")              \
    COMMAND(heap, "Terms and tables")             \
    COMMAND(term, "Terms and tables")             \
    COMMAND(binaries, "Terms and tables")         \
    COMMAND(refs, "Terms and tables")             \
    COMMAND(search, "Terms and tables")           \
    COMMAND(ets, "Terms and tables")              \
    COMMAND(persistent_terms, "Terms and tables") \
    COMMAND(resources, "Terms and tables")        \
    COMMAND(ports, "Ports, sockets and timers")   \
    COMMAND(sockets, "Ports, sockets and timers") \
    COMMAND(timers, "Ports, sockets and timers")  \
    COMMAND(sql, "Compare and ask")               \
    COMMAND(diff, "Compare and ask")              \
    COMMAND(sections, "Crash dumps")              \
    COMMAND(mcp, kServingGroup)                   \
    COMMAND(report, kWritingGroup)                \
    COMMAND(export, kWritingGroup)                \
    COMMAND(crash_dump, kWritingGroup)            \
    COMMAND(convert, kWritingGroup)               \
    COMMAND(redact, kWritingGroup)

#define BEAMDUMP_DECLARE(name, group) std::unique_ptr<Command> name##_command();
BEAMDUMP_COMMANDS(BEAMDUMP_DECLARE)
#undef BEAMDUMP_DECLARE

std::vector<GroupedCommand> make_commands() {
    std::vector<GroupedCommand> commands;
#define BEAMDUMP_MAKE(name, group) commands.push_back({name##_command(), group});
    BEAMDUMP_COMMANDS(BEAMDUMP_MAKE)
#undef BEAMDUMP_MAKE
    return commands;
}

#undef BEAMDUMP_COMMANDS

}  // namespace beamdump::cli
