#pragma once

#include <array>
#include <string_view>

namespace beamdump::query {

/// A value or group and its sources, separated by spaces: fields; all fields of a structure
/// ("Atom."); the sources of another entry ("@memory").
struct SourceEntry {
    std::string_view name;
    std::string_view sources;
};

/// Groups that several values share; not values themselves.
inline constexpr std::array kSourceGroups = std::to_array<SourceEntry>({
    {"#tables", "IndexTable. Hash. HashBucket."},
    {"#atoms", "@#tables Atom. ErlHeapBits. ErlSubBits."},
    {"#modules", "@#tables Module. ModuleInstance.code_hdr ModuleInstance.code_length"},
    {"#functions",
     "@#modules @#atoms BeamCodeHeader.num_functions BeamCodeHeader.functions "
     "ErtsCodeInfo. ErtsCodeMFA."},
    {"#lines", "@#modules BeamCodeHeader.line_table BeamCodeLineTab."},
    {"#instruction", "Process.i Process.current"},
    {"#stack", "Process.stop Process.hend"},
    {"#heap", "Process.heap Process.htop"},
    {"#old_heap", "Process.old_heap Process.old_htop"},
    {"#fragment_sizes",
     "ErlHeapFragment.next ErlHeapFragment.alloc_size ErlHeapFragment.used_size "
     "ErlHeapFragment.mem"},
    {"#fragments", "@#fragment_sizes Process.mbuf Process.msg_frag"},
    {"#message_fragments", "@#entries @#fragment_sizes"},
    {"#arguments", "Process.arity Process.arg_reg Process.def_arg_reg"},
    {"#dictionary", "Process.dictionary ProcDict.usedSlots ProcDict.data"},
    {"#buffered_length",
     "Process.sig_inq_buffers ErtsSignalInQueueBufferArray. ErtsSignalInQueueBuffer.queue.len "
     "ErtsSignalInQueueBuffer.queue.mlenoffs ErtsSignalInQueueBuffer.queue.nmsigs.next "
     "ErtsSignalInQueueBuffer.queue.nmsigs.last"},
    {"#entries",
     "Process.sig_qs.first Process.sig_qs.cont Process.sig_inq.first Process.sig_inq.last "
     "Process.sig_inq_buffers ErtsSignalInQueueBufferArray. "
     "ErtsSignalInQueueBuffer.queue.first ErtsSignalInQueueBuffer.queue.last ErtsMessage. "
     "ErtsNonMsgSignal.tag"},
    {"#signal_counts",
     "ErtsNonMsgSignal.mlenoffs ErtsNonMsgSignal.next ErtsNonMsgSignal.specific.next"},
    {"#inner_length",
     "Process.sig_qs.len Process.sig_qs.mq_len Process.sig_qs.mlenoffs "
     "Process.sig_qs.nmsigs.next Process.sig_qs.nmsigs.last"},
    {"#outer_length",
     "Process.sig_inq.len Process.sig_inq.mlenoffs Process.sig_inq.nmsigs.next "
     "Process.sig_inq.nmsigs.last"},
    {"#relation_walk",
     "ErtsMonLnkNode.tree.left ErtsMonLnkNode.tree.right ErtsMonLnkNode.offset "
     "ErtsMonLnkNode.flags ErtsMonLnkNode.type"},
    {"#others", "@#relation_walk ErtsMonLnkNode.other"},
    {"#monitors",
     "@#others Process.common.monitors ErtsMonitorDataExtended. ErtsMonLnkDist. @#atoms"},
    {"#local_targets", "Process.common.lt_monitors ErtsMonLnkNode.list.next"},
    {"#off_heap",
     "Process.off_heap.first Process.wrt_bins ErlHeapFragment.off_heap.first "
     "OffHeapHeader. ProcBin. BinRef."},
    {"#other_roots",
     "Process.group_leader Process.parent Process.fvalue Process.ftrace "
     "Process.seq_trace_token Process.psd ErtsPSD. ErtsNativeFunc."},
    {"#bounds", "@#stack @#heap @#old_heap @#fragments Process.old_hend Process.abandoned_heap"},
    {"#ets",
     "ErtsAlignedSchedulerData. EtsScheduler. DbTableCommon.all.next DbTableCommon.all.prev "
     "DbTableCommon.btid ErtsMagicBinary."},
    {"#ports", "ErtsPTab. Port.common.id"},
    {"#persistent", "PersistentTerms. PersistentTermArea.start PersistentTermArea.end"},
    {"#schedulers",
     "ErtsAlignedSchedulerData. ErtsSchedulerSleepInfo. ErtsSchedulerData.type "
     "ErtsSchedulerData.no ErtsSchedulerData.dirty_no"},
    {"#run_queues",
     "@#schedulers ErtsSchedulerData.run_queue ErtsRunQueue.ix ErtsRunQueue.scheduler "
     "ErtsRunQueue.len ErtsRunQueue.procs.prio_info ErtsRunQueue.ports.info "
     "ErtsRunQueueInfo.len"},
    {"#timers",
     "ErtsAlignedSchedulerData. ErtsSchedulerData.timer_wheel ErtsSchedulerData.timer_service "
     "ErtsTimerWheel.slots ErtsTimerWheel.w ErtsTWTimer.tw_tmr ErtsTWheelTimer.next "
     "ErtsTWheelTimer.prev ErtsTWheelTimer.arg ErtsTWheelTimer.slot ErtsTmrHead.roflgs "
     "ErtsHLTimerService.time_tree ErtsHLTimer.tree.parent ErtsHLTimer.tree.right "
     "ErtsHLTimer.tree.left ErtsHLTimer.tree.list_prev ErtsHLTimer.tree.list_next "
     "ErtsHLTimer.tree.same_time ErtsBifTimer.btm.state ErtsTmrHead.receiver "
     "TimerOwner.common.timer"},
    {"#nodes",
     "DistEntry.sysname DistEntry.creation DistEntry.cid DistEntry.connection_id "
     "DistEntry.state @#atoms"},
    {"#allocators",
     "ErtsAllocatorInfo. ErtsAllocatorThrSpec. Allctr. AllctrBlockStats. AllctrCount."},
    {"#carriers", "@#allocators Carrier. CarrierPoolData."},
    {"#segments", "ErtsMsegAllctr. MsegCacheEntry."},
    {"#live", "@#bounds @#arguments @#dictionary @#entries @#other_roots"},
    {"#shown_name", "@registered_name @initial_call @#dictionary"},
});

}  // namespace beamdump::query
