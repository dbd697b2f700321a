#include "cli/command_table.h"
#include "cli/list_command.h"
#include "query/activity/emulator.h"

namespace beamdump::cli {

std::unique_ptr<Command> resources_command() {
    return make_list_command(
        {.description = {"resources", "List the types of NIF resources, the most living first",
                         "resources node.beamdump --filter 'living>1000'\n"
                         "resources node.beamdump --sort module\n"
                         "resources node.beamdump --group-by module"},
         .columns = query::resource_columns(),
         .sort = "living,module,name",
         .texts = {"beamdump.resources/1", "resources", "types of resources", "type of resources"},
         .list = query::list_resources});
}

}  // namespace beamdump::cli
