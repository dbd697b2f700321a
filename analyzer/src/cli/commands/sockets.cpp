#include "query/activity/sockets.h"

#include "cli/command_table.h"
#include "cli/list_command.h"

namespace beamdump::cli {

std::unique_ptr<Command> sockets_command() {
    return make_list_command(
        {.description = {"sockets",
                         "List the node's sockets as the kernel tells of them, with port and owner",
                         "sockets node.beamdump --filter state=CLOSE_WAIT\n"
                         "sockets node.beamdump --group-by state,owner\n"
                         "sockets node.beamdump --filter 'receive_queue>0'"},
         .columns = query::socket_columns(),
         .sort = "receive_queue",
         .texts = {"beamdump.sockets/1", "sockets", "sockets"},
         .list = query::list_sockets});
}

}  // namespace beamdump::cli
