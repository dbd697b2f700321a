#include <libvm/fit/layout_part.h>

#include <algorithm>
#include <array>

namespace beamdump::fit {

std::span<const LayoutPart> layout_parts() {
    using beam::CheckStage;
    static const std::vector<LayoutPart> parts = {
        {"hash and index tables",
         {"Hash", "HashBucket", "IndexTable"},
         {"index_page_shift", "code_indexes"}},
        {"process table", {"ErtsPTab"}, {}},
        {"schedulers", {"ErtsAlignedSchedulerData", "ErtsSchedulerSleepInfo"}, {}, {}, false},
        {"atoms", {"Atom"}, {"atom_"}, CheckStage::kAtoms},
        {"modules", {"Module", "ModuleInstance"}, {}, CheckStage::kModules},
        {"code",
         {"BeamCodeHeader", "BeamCodeLineTab", "ErtsCodeInfo", "ErtsCodeMFA", "ErtsLiteralArea"},
         {},
         CheckStage::kModules},
        {"attributes of modules", {"CodeAttributes"}, {}, {}, false, false},
        {"numbers of BIFs", {"BifExport"}, {}, {}, false, false},
        {"schedulers' collections", {"SchedulerCollections"}, {}, {}, false, false},
        {"exports", {"Export", "ExportEntry"}, {}, CheckStage::kExports},
        {"funs", {"ErlFunEntry", "ErlFunEntryContainer", "FunTableEntry"}, {}, CheckStage::kFuns},
        {"nodes", {"ErlNode"}, {}, CheckStage::kNodes},
        {"catches", {"CatchPool", "BeamCatch"}, {}, CheckStage::kCatches},
        {"processes",
         {"Process", "RegProc", "ProcDict", "ErtsSignalInQueueBuffer",
          "ErtsSignalInQueueBufferArray", "ErtsNonMsgSignal"},
         {"state_", "flag_", "trace_flag_", "lock_", "message_queue_"},
         CheckStage::kProcesses},
        {"pids and ports", {"-"}, {"pid_", "port_tag"}, CheckStage::kProcesses},
        {"process-specific data", {"ErtsPSD", "ErtsNativeFunc"}, {"psd_"}},
        {"links and monitors",
         {"ErtsMonLnkNode", "ErtsMonLnkDist", "ErtsMonitorData", "ErtsMonitorDataExtended",
          "ErtsMonitorDataHeap", "ErtsMonitorSuspend", "ErtsILink", "ErtsELink"},
         {"monitor_", "link_", "relation_"},
         CheckStage::kRelations},
        {"messages",
         {"ErtsMessage", "ErlHeapFragment", "ErtsRecvMarker"},
         {"combined_message_marker", "signal_op_receive_mark"}},
        {"signals that are not messages", {"-"}, {"signal_"}, {}, false},
        {"undecoded messages of other nodes",
         {"ErtsDistExternal", "ErtsDistExternalData", "ErtsAtomTranslationTable"},
         {"external_flag_"},
         {},
         false},
        {"tables of terms", {"DbTableHash", "HashDbTerm"}, {}},
        {"allocators",
         {"ErtsAllocatorInfo", "ErtsAllocatorThrSpec", "Allctr", "AllctrBlockStats", "AllctrCount",
          "Carrier", "CarrierPoolData", "ErtsAlcFixList", "ErtsMsegAllctr", "AlignedMsegAllctr",
          "MsegCacheEntry", "ErtsMemMapper"},
         {"allocator_", "fix_"},
         {},
         false,
         false},
        {"code ranges", {"CodeRanges"}, {}, {}, false, false},
        {"ETS tables",
         {"DbTableCommon", "DbHash", "DbHashLockSlot", "DbHashLocks", "DbHashLock", "DbHashRow",
          "DbTree", "DbTreeRow", "DbCATree", "DbCATreeNode", "DbRow", "DbFixation", "DbRwLock",
          "DecentralizedCounters", "DecentralizedCounterSlot", "EtsScheduler", "EtsRunQueue"},
         {"ets_"},
         {},
         false,
         false},
        {"ports",
         {"Port", "ErtsPrtSD", "ErtsDriver"},
         {"port_state_", "port_task_"},
         {},
         false,
         false},
        {"run queues",
         {"ErtsSchedulerData", "ErtsSchedulerSleep", "ErtsRunQueue", "ErtsAlignedRunQueue",
          "ErtsRunQueueInfo", "ErtsRunPrioQueue", "RunQueueLinks", "PortQueueLinks"},
         {"scheduler_"},
         {},
         false,
         false},
        {"timers",
         {"ErtsTimerWheel", "ErtsTWheelTimer", "ErtsTmrHead", "ErtsHLTimer", "ErtsTWTimer",
          "ErtsBifTimer", "ErtsHLTimerService", "TimerOwner"},
         {},
         {},
         false,
         false},
        {"distribution",
         {"DistEntry", "DistRelations", "ErtsDistOutputBuf", "ErlIOVec", "ErtsProcList"},
         {"dist_"},
         {},
         false,
         false},
        {"emulator",
         {"SystemTaskProcess", "ErtsProcSysTaskQs", "ErtsProcSysTask", "SchedulerProgress",
          "ErtsResourceType", "CodePermission", "CodePermissionItem", "PersistentTermUpdateItem",
          "TracedProcess", "ErtsTracerRef", "ErtsTraceSession", "GenericBp", "GenericBpData"},
         {},
         {},
         false,
         false},
        {"persistent terms", {"PersistentTerms", "PersistentTermArea"}, {}, {}, false, false},
        {"terms", {}, {}, CheckStage::kTerms},
    };
    return parts;
}

std::size_t part_of_structure(std::string_view name) {
    const auto parts = layout_parts();
    const auto found = std::ranges::find_if(parts, [&](const LayoutPart& part) {
        return part.structs.empty() || std::ranges::find(part.structs, name) != part.structs.end();
    });
    return static_cast<std::size_t>(found - parts.begin());
}

std::size_t part_of_constant(std::string_view name) {
    const auto parts = layout_parts();
    const auto found = std::ranges::find_if(parts, [&](const LayoutPart& part) {
        return part.structs.empty() ||
               std::ranges::any_of(part.constants, [&](std::string_view beginning) {
                   return name.starts_with(beginning);
               });
    });
    return static_cast<std::size_t>(found - parts.begin());
}

bool is_array_element(std::string_view structure) {
    constexpr std::array kElements = {std::string_view("ErtsAlignedSchedulerData"),
                                      std::string_view("ErtsAlignedRunQueue"),
                                      std::string_view("ErtsAllocatorInfo"),
                                      std::string_view("ErtsAllocatorThrSpec"),
                                      std::string_view("ErtsAlcFixList"),
                                      std::string_view("AlignedMsegAllctr"),
                                      std::string_view("AllctrBlockStats"),
                                      std::string_view("AllctrCount"),
                                      std::string_view("DbHashLockSlot"),
                                      std::string_view("DecentralizedCounterSlot"),
                                      std::string_view("ErtsRunQueueInfo"),
                                      std::string_view("ErtsRunPrioQueue"),
                                      std::string_view("ErtsSignalInQueueBuffer"),
                                      std::string_view("ErtsDistExternalData"),
                                      std::string_view("BeamCatch"),
                                      std::string_view("CatchPool"),
                                      std::string_view("IndexTable")};
    return std::ranges::find(kElements, structure) != kElements.end();
}

}  // namespace beamdump::fit
