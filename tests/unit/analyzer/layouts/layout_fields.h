#pragma once

#include <rapidjson/document.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace beamdump::test {

inline const std::string kSchemas = BEAMDUMP_SCHEMAS;

/// Fields of the layouts that no answer shows anything of.
inline const std::set<std::string> kShownNowhere = {
    "ErtsMonitorDataHeap.ref_heap",
    // Lead to cookies, which no answer shows.
    "DbTableHash.common.owner",
    "DbTableHash.common.btid",
    "DbTableHash.nactive",
    "DbTableHash.segtab",
    "HashDbTerm.next",
    "HashDbTerm.dbterm.tpl",
    "BifExport.bif_number",               // of the sampler
    "SchedulerCollections.garbage_cols",  // of the sampler
    "Process.common.started_interval",
    "SystemTaskProcess.extended_state",
    "Process.fcalls",
    "Process.freason",
    "Process.return_trace_frames",
    "Port.control_flags",
    "Port.psd",
    "Port.common.started_interval",
    "Port.common.links",
    "Port.common.lt_monitors",
    "Port.common.monitors",
    "Port.run_queue",
    "ErtsSchedulerData.dirty_shadow_process",
    "ErtsRunQueue.waiting",
    "ErtsRunQueue.flags",
    "ErtsRunQueue.max_len",
    "ErtsRunQueue.procs.context_switches",
    "ErtsRunQueue.procs.reductions",
    "ErtsRunQueue.procs.prio",
    "ErtsRunQueue.misc.start",
    "ErtsRunQueue.ports.start",
    "ErtsRunQueue.ports.end",
    "ErtsRunQueueInfo.max_len",
    "ErtsTimerWheel.nto",
    "ErtsTimerWheel.at_once.nto",
    "ErtsTimerWheel.soon.nto",
    "ErtsTimerWheel.later.nto",
    "ErtsTWheelTimer.timeout",
    "ErtsTmrHead.refc",
    "ErtsTmrHead.u.arg",
    "ErtsBifTimer.btm.tree.parent",
    "ErtsBifTimer.btm.tree.right",
    "ErtsBifTimer.btm.tree.left",
    "ErtsBifTimer.btm.message",
    "ErtsHLTimerService.btm_tree",
    "ErtsHLTimerService.next_timeout",
    "DbTableCommon.refc",
    "DbTableCommon.fixlock",
    "DbTableCommon.is_thread_safe",
    "DbTableCommon.type",
    "DbTableCommon.heir_data",
    "DbTableCommon.time.monotonic",
    "DbTableCommon.time.offset",
    "DbTableCommon.fixing_procs",
    "DistEntry.next",
    "DistEntry.prev",
    "DistEntry.rwmtx",
    "DistEntry.opts",
    "DistEntry.mld",
    "DistEntry.notify",
    "DistEntry.input_handler",
    "DistEntry.out_queue.first",
    "DistEntry.finalized_out_queue.first",
    "DistEntry.tmp_out_queue.first",
};

/// Structures that the layouts have for readers to come: of tables, ports, run queues,
/// connections.
inline constexpr std::string_view kReadByNothing =
    " DbFixation ErtsPrtSD "
    "ErtsRunPrioQueue RunQueueLinks PortQueueLinks "
    "ErtsDistOutputBuf ErlIOVec DistRelations ";

inline bool is_shown_nowhere(const std::string& field) {
    const auto structure = ' ' + field.substr(0, field.find('.')) + ' ';
    return kShownNowhere.contains(field) ||
           kReadByNothing.find(structure) != std::string_view::npos;
}

inline std::string file_text(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::set<std::string> layout_fields() {
    std::set<std::string> fields;
    for (const std::string release : {"25", "27", "29"}) {
        rapidjson::Document layout;
        layout.Parse(file_text(kSchemas + "/layouts/otp-" + release + ".json").c_str());
        for (const auto& structure : layout["structs"].GetObject()) {
            for (const auto& field : structure.value["fields"].GetObject()) {
                fields.insert(std::string(structure.name.GetString()) + "." +
                              field.name.GetString());
            }
        }
    }
    return fields;
}

}  // namespace beamdump::test
