#include "query/activity/timers.h"

#include "cli/command_table.h"
#include "cli/list_command.h"

namespace beamdump::cli {

std::unique_ptr<Command> timers_command() {
    return make_list_command(
        {.description = {"timers", "List timers and their receivers, the latest timeout first",
                         "timers node.beamdump --filter orphaned=true\n"
                         "timers node.beamdump --sort -left_ms --limit 5\n"
                         "timers node.beamdump --group-by receiver"},
         .columns = query::timer_columns(),
         .sort = "left_ms",
         .texts = {"beamdump.timers/1", "timers", "timers", "timer"},
         .list = query::list_timers,
         .counted_by = "kind"});
}

}  // namespace beamdump::cli
