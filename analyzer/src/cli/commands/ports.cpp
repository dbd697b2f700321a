#include "query/activity/ports.h"

#include "cli/command_table.h"
#include "cli/list_command.h"

namespace beamdump::cli {

std::unique_ptr<Command> ports_command() {
    return make_list_command(
        {.description = {"ports", "List ports and their owners, those with the longest queue first",
                         "ports node.beamdump --filter driver=tcp_inet\n"
                         "ports node.beamdump --group-by driver\n"
                         "ports node.beamdump --filter orphaned=true"},
         .columns = query::port_columns(),
         .sort = "queue",
         .texts = {"beamdump.ports/1", "ports", "ports", "port"},
         .list = query::list_ports});
}

}  // namespace beamdump::cli
