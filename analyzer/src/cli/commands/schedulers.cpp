#include "query/activity/schedulers.h"

#include "cli/command_table.h"
#include "cli/list_command.h"

namespace beamdump::cli {

std::unique_ptr<Command> schedulers_command() {
    return make_list_command(
        {.description = {"schedulers",
                         "List schedulers, what they run and what waits, longest run queue first",
                         "schedulers node.beamdump --filter state=running\n"
                         "schedulers node.beamdump --sort queue\n"
                         "schedulers node.beamdump --group-by kind,state"},
         .columns = query::scheduler_columns(),
         .sort = "queue",
         .texts = {"beamdump.schedulers/1", "schedulers", "schedulers and shared run queues"},
         .list = query::list_schedulers});
}

}  // namespace beamdump::cli
