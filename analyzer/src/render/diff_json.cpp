#include "render/diff.h"
#include "render/shared/json.h"

#include <vector>

namespace beamdump::render {

namespace {

void write_group(JsonWriter& json, std::string_view name, const query::ProcessGroup& group) {
    json.begin_object(name);
    json.member("count", group.count);
    json.member("memory", group.memory_bytes);
    json.begin_array("largest");
    for (const query::ProcessLine& line : group.largest) {
        json.begin_object();
        write_process_members(json, line);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

void write_grown(JsonWriter& json, std::string_view name,
                 const std::vector<query::GrownProcess>& grown) {
    json.begin_array(name);
    for (const query::GrownProcess& process : grown) {
        json.begin_object();
        json.member("memory_change", process.memory_growth_bytes);
        json.member("message_queue_len_change", process.queue_growth);
        json.member("reductions_change", process.reductions);
        json.begin_object("before");
        write_process_members(json, process.before);
        json.end_object();
        json.begin_object("after");
        write_process_members(json, process.after);
        json.end_object();
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void diff_json(Output& output, const query::DumpDiff& diff) {
    JsonWriter json(output, "beamdump.diff/1");
    write_dump(json, "before", diff.before);
    write_dump(json, "after", diff.after);
    json.member("elapsed_us", diff.elapsed_us);
    json.member("same_run", diff.same_run);
    json.begin_object("totals");
    for (const query::Change& change : diff.totals) {
        json.begin_object(change.name);
        json.member("before", change.before);
        json.member("after", change.after);
        json.end_object();
    }
    json.end_object();
    if (const auto names = query::not_comparable(diff); !names.empty()) {
        json.begin_array("not_comparable");
        for (const std::string& name : names) {
            json.value(name);
        }
        json.end_array();
    }
    write_group(json, "born", diff.born);
    write_group(json, "gone", diff.gone);
    json.begin_object("common");
    json.member("count", diff.common);
    json.member("grown", diff.grown_count);
    json.member("shrunk", diff.shrunk_count);
    json.end_object();
    write_grown(json, "most_memory_gained", diff.grown);
    write_grown(json, "most_messages_gained", diff.grown_queues);
    json.finish();
}

}  // namespace beamdump::render
