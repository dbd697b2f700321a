#include "query/activity/nodes.h"

#include "cli/command_table.h"
#include "cli/list_command.h"

namespace beamdump::cli {

std::unique_ptr<Command> nodes_command() {
    return make_list_command(
        {.description = {"nodes",
                         "List other nodes and the connections to them, those with the longest "
                         "queue first",
                         "nodes node.beamdump --filter busy=true\n"
                         "nodes node.beamdump --sort node\n"
                         "nodes node.beamdump --group-by type,state"},
         .columns = query::node_columns(),
         .sort = "queue",
         .texts = {"beamdump.nodes/1", "nodes", "nodes", "not_connected"},
         .list = query::list_nodes,
         .counted_by = "type"});
}

}  // namespace beamdump::cli
