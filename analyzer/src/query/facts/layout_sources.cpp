#include "query/facts/layout_sources.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace beamdump::query {

namespace {

/// A value or group and its sources, separated by spaces: fields; all fields of a structure
/// ("Atom."); the sources of another entry ("@memory").
struct SourceEntry {
    std::string_view name;
    std::string_view sources;
};

/// Groups that several values share; not values themselves.
constexpr std::array kSourceGroups = std::to_array<SourceEntry>({
    {"#tables", "IndexTable. Hash. HashBucket."},
    {"#atoms", "@#tables Atom. ErlHeapBits. ErlSubBits."},
    {"#modules", "@#tables Module. ModuleInstance.code_hdr ModuleInstance.code_length"},
    {"#functions",
     "@#modules @#atoms BeamCodeHeader.num_functions BeamCodeHeader.functions "
     "ErtsCodeInfo. ErtsCodeMFA."},
    {"#lines", "@#modules BeamCodeHeader.line_table BeamCodeLineTab."},
    {"#permissions", "CodePermission. CodePermissionItem. PersistentTermUpdateItem."},
    {"#progress", "@#schedulers SchedulerProgress."},
    {"#system_tasks",
     "SystemTaskProcess.sys_task_qs SystemTaskProcess.dirty_sys_tasks ErtsProcSysTaskQs. "
     "ErtsProcSysTask."},
    {"#traces", "Process.common.trace_flags TracedProcess. ErtsTracerRef. ErtsTraceSession."},
    {"#traced_functions",
     "@#functions Export.info.mfa ModuleInstance.num_breakpoints ModuleInstance.num_traced_exports "
     "GenericBp. GenericBpData. ErtsTraceSession.name_atom"},
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
    {"#application", "@group_leader @current_function @#stack"},
    {"#shown_name", "@registered_name @initial_call @#dictionary"},
});

constexpr std::array kSourceValues = std::to_array<SourceEntry>({
    // Each process, in lists and alone.
    {"pid", "ErtsPTab. Process.common.id"},
    {"registered_name", "Process.common.reg RegProc. @#atoms"},
    {"initial_call", "Process.u.initial @#atoms"},
    {"current_function", "@#instruction @#functions"},
    {"status", "Process.state"},
    {"void_reason", "Process.state Process.lock.flags"},
    {"memory",
     "Process.heap_sz Process.mbuf_sz Process.heap Process.hend Process.old_heap "
     "Process.old_hend Process.abandoned_heap @#arguments Process.dictionary "
     "ProcDict.arraySize ProcDict.data Process.psd @#relation_walk Process.common.links "
     "Process.common.monitors @#local_targets ErtsMonitorData. @#message_fragments"},
    {"reductions", "Process.reds"},
    {"message_queue_len", "@#inner_length @#outer_length @#signal_counts @#buffered_length"},
    {"total_heap_size",
     "Process.heap_sz Process.old_heap Process.old_hend Process.mbuf_sz @#message_fragments"},
    {"stack_size", "@#stack"},

    // process
    {"translated_initial_call", "@#dictionary"},
    {"label", "@#dictionary"},
    {"process_name", "@#dictionary"},
    {"group_leader", "Process.group_leader"},
    {"processes.application", "@#application"},
    {"parent", "Process.parent"},
    {"error_handler", "Process.psd ErtsPSD."},
    {"unique", "Process.uniq"},
    {"struct_address", "ErtsPTab."},
    {"current_location", "Process.i @#lines"},
    {"instruction_address", "Process.i"},
    {"priority", "Process.state"},
    {"trap_exit", "Process.flags"},
    {"sensitive", "Process.common.trace_flags"},
    {"hibernated", "Process.flags"},
    {"catchlevel", "Process.catches"},
    {"sequential_trace_token", "Process.seq_trace_token"},
    {"suspend_count", "Process.rcount"},
    {"state_bits", "Process.state"},
    {"state_names", "Process.state"},
    {"flag_names", "Process.flags"},
    {"signal_queue_flag_names", "Process.sig_qs.flags"},
    {"flags", "Process.flags"},
    {"trace_flags", "Process.common.trace_flags"},
    {"trace_flag_names", "Process.common.trace_flags"},
    {"process.memory.heap_size", "Process.heap_sz"},
    {"process.memory.old_heap_size", "Process.old_heap Process.old_hend"},
    {"heap_used", "@#heap"},
    {"old_heap_used", "@#old_heap"},
    {"process.memory.fragments", "Process.mbuf_sz"},
    {"fragment_count", "@#fragments"},
    {"captured", "@#bounds"},
    {"minor_gcs", "Process.gen_gcs"},
    {"fullsweep_after", "Process.max_gen_gcs"},
    {"min_heap_size", "Process.min_heap_size"},
    {"min_bin_vheap_size", "Process.min_vheap_size"},
    {"max_heap_size", "Process.max_heap_size"},
    {"max_heap_size_kill", "Process.max_heap_size"},
    {"max_heap_size_error_logger", "Process.max_heap_size"},
    {"max_heap_size_include_shared_binaries", "Process.max_heap_size"},
    {"heap_block_size", "Process.heap_sz"},
    {"old_heap_block_size", "Process.old_heap Process.old_hend"},
    {"mbuf_size", "Process.mbuf_sz @#message_fragments"},
    {"recent_size", "Process.high_water Process.heap"},
    {"process.garbage_collection_info.heap_size", "@#heap"},
    {"process.garbage_collection_info.old_heap_size", "@#old_heap"},
    {"bin_vheap_size", "Process.off_heap.overhead"},
    {"bin_vheap_block_size", "Process.bin_vheap_sz"},
    {"bin_old_vheap_size", "Process.bin_old_vheap"},
    {"bin_old_vheap_block_size", "Process.bin_old_vheap_sz"},
    {"message_queue_data", "Process.sig_qs.flags"},
    {"inner", "@#inner_length @#signal_counts"},
    {"middle", "@#inner_length @#signal_counts"},
    {"outer", "@#outer_length @#signal_counts"},
    {"buffered", "@#buffered_length @#signal_counts"},
    {"other_signals", "@#entries"},
    {"links", "@#others Process.common.links"},
    {"unlinking", "ErtsMonLnkNode.offset ErtsILink. ErtsELink."},
    {"monitors", "@#monitors"},
    {"monitored_by", "@#monitors @#local_targets"},
    {"reference", "ErtsMonLnkNode.offset ErtsMonitorData.ref ErtsORefThing. ErtsMagicBinary."},
    {"suspending", "@#others Process.common.monitors ErtsMonitorSuspend."},
    {"binary", "@#off_heap"},
    {"size_bytes", "Binary.orig_size Binary.flags"},
    {"references", "Binary.refc"},
    {"regions", "@#bounds"},

    // Lists of terms.
    {"dictionary", "@#dictionary"},
    {"dictionary.entries", "Process.dictionary ProcDict.numElements"},
    {"messages", "@#message_fragments"},
    {"messages.entries", "@#entries"},
    {"histogram", "@messages"},
    {"senders", "@messages"},

    // Stacks.
    {"current_stacktrace", "@#instruction @#stack"},
    {"frames", "@#instruction @#stack"},
    {"registers", "@#stack"},
    {"function", "@#functions"},
    {"file", "@#lines"},
    {"line", "@#lines"},
    {"catch", "CatchPool. BeamCatch. ModuleInstance.catches"},

    // heap
    {"heap.memory.heap.block_words", "Process.heap_sz"},
    {"heap.memory.heap.used_words", "@#heap"},
    {"heap.memory.old_heap.block_words", "Process.old_heap Process.old_hend"},
    {"heap.memory.old_heap.used_words", "@#old_heap"},
    {"heap.memory.fragments.block_words", "@mbuf_size"},
    {"heap.memory.fragments.used_words", "@mbuf_size"},
    {"live_words", "@#live"},
    {"live_objects", "@#live"},
    {"dead_words", "@#live"},
    {"stack_words", "@#stack"},
    {"free_words", "Process.heap_sz @#heap @#stack"},
    {"literal_words", "@#live BeamCodeHeader.literal_area ErtsLiteralArea."},
    {"heap_words_after_major_collection",
     "@#live Process.heap_sz Process.mbuf_sz Process.min_heap_size Process.flags"},
    {"heap.roots.stack", "@#stack"},
    {"heap.roots.argument", "@#arguments"},
    {"arguments", "@#arguments"},
    {"heap.roots.dictionary", "@#dictionary"},
    {"heap.roots.message", "@messages"},
    {"heap.roots.other", "@#other_roots"},
    {"undecoded_messages", "@#entries"},
    {"kinds", "@#live"},
    {"tags", "@#live"},
    {"key_sets", "@#live"},
    {"largest_terms", "@#live"},
    {"retained", "@#live"},
    {"terms", "@#bounds"},
    {"heap.binaries.bytes", "@size_bytes"},
    {"heap.binaries.largest", "@#live ProcBin. BinRef."},

    // ets
    {"ets.id", "@#ets"},
    {"ets.name", "@#ets DbTableCommon.the_name @#atoms"},
    {"ets.type", "@#ets DbTableCommon.status"},
    {"ets.size",
     "@#ets DbTableCommon.counters.nr_of_counters DbTableCommon.counters.is_decentralized "
     "DbTableCommon.counters.u DecentralizedCounters. DecentralizedCounterSlot."},
    {"ets.memory_bytes", "@ets.size"},
    {"ets.memory_words", "@ets.size"},
    {"ets.protection", "@#ets DbTableCommon.status"},
    {"ets.owner", "@#ets DbTableCommon.owner"},
    {"ets.owner_application", "@ets.owner @#application"},
    {"ets.heir", "@#ets DbTableCommon.heir"},
    {"ets.keypos", "@#ets DbTableCommon.keypos"},
    {"ets.named_table", "@#ets DbTableCommon.status"},
    {"ets.ca_tree", "@#ets DbTableCommon.status"},
    {"ets.read_concurrency", "@#ets DbTableCommon.status"},
    {"ets.write_concurrency", "@#ets DbTableCommon.status"},
    {"ets.decentralized_counters", "@#ets DbTableCommon.counters.is_decentralized"},
    {"ets.compressed", "@#ets DbTableCommon.compress"},
    {"ets.fixed", "@#ets DbTableCommon.fix_count"},
    {"ets.rows",
     "@#ets DbTableCommon.status DbTableCommon.compress DbTableCommon.rwlock DbRwLock. DbHash. "
     "DbHashRow. DbHashLockSlot. DbTree. DbTreeRow. DbCATree. DbCATreeNode. DbRow. EtsRunQueue. "
     "@#off_heap"},

    // ports
    {"ports.port", "@#ports"},
    {"ports.name", "@#ports Port.name"},
    {"ports.driver", "@#ports Port.drv_ptr ErtsDriver."},
    {"ports.connected", "@#ports Port.connected Port.state"},
    {"ports.owner", "@ports.connected @registered_name"},
    {"ports.owner_display_name", "@ports.connected @#shown_name"},
    {"ports.owner_application", "@ports.connected @#application"},
    {"ports.registered_name", "@#ports Port.common.reg RegProc. @#atoms"},
    {"ports.input", "@#ports Port.bytes_in"},
    {"ports.output", "@#ports Port.bytes_out"},
    {"ports.queue", "@#ports Port.ioq.size"},
    {"ports.queued_binaries",
     "@#ports Port.ioq.size Port.ioq.v_head Port.ioq.v_tail Port.ioq.b_head"},
    {"ports.queued_binary_bytes", "@ports.queued_binaries Binary.orig_size"},
    {"ports.suspended",
     "@#ports Port.suspended ErtsProcList.pid ErtsProcList.next ErtsProcList.prev"},
    {"ports.suspended_processes", "@ports.suspended"},
    {"ports.owner_initial_call", "@ports.connected @initial_call @translated_initial_call"},
    {"ports.os_pid", "@#ports Port.os_pid"},
    {"ports.busy", "@#ports Port.sched.flags"},
    {"ports.distribution", "@#ports Port.state"},
    {"ports.closing", "@#ports Port.state"},
    {"ports.orphaned", "@ports.connected @pid"},

    // sockets: only these are read from the node's memory
    {"sockets.port", "@#ports Port.drv_data"},
    {"sockets.connected", "@sockets.port @ports.connected"},
    {"sockets.owner", "@sockets.connected @registered_name"},
    {"sockets.owner_display_name", "@sockets.connected @#shown_name"},
    {"sockets.owner_application", "@sockets.connected @#application"},

    // emulator, resources
    {"emulator.permissions.held", "@#permissions"},
    {"emulator.permissions.holder", "@#permissions @pid"},
    {"emulator.permissions.waiting", "@#permissions @pid"},
    {"emulator.thread_progress.scheduler", "@#progress"},
    {"emulator.thread_progress.state", "@#progress"},
    {"emulator.thread_progress.leader", "@#progress"},
    {"emulator.thread_progress.blocking", "@#progress"},
    {"emulator.system_tasks.kind", "@#system_tasks"},
    {"emulator.system_tasks.module", "@#system_tasks @#atoms"},
    {"emulator.system_tasks.priority", "@#system_tasks"},
    {"emulator.system_tasks.requester", "@#system_tasks @pid"},
    {"emulator.traces.session", "@#traces @#atoms"},
    {"emulator.traces.tracer", "@#traces @pid"},
    {"emulator.traces.port", "@#traces"},
    {"emulator.traces.module", "@#traces @#atoms"},
    {"emulator.traces.flags", "@#traces"},
    {"emulator.traced_functions", "@#traced_functions"},
    {"emulator.function_traces.function", "@#traced_functions"},
    {"emulator.function_traces.session", "@#traced_functions"},
    {"emulator.function_traces.flags", "@#traced_functions"},
    {"resources.module", "ErtsResourceType. @#atoms"},
    {"resources.name", "ErtsResourceType. @#atoms"},
    {"resources.living", "ErtsResourceType."},
    {"resources.loaded", "ErtsResourceType."},
    {"resources.destructor", "ErtsResourceType."},

    // persistent-terms
    {"terms.key", "@#persistent"},
    {"terms.words", "@#persistent"},
    {"terms.memory", "@#persistent"},
    {"terms.value", "@#persistent PersistentTermArea.off_heap"},
    {"terms.left_out", "@#persistent"},
    {"terms.count", "@#persistent"},

    // schedulers
    {"schedulers.kind", "@#schedulers"},
    {"schedulers.scheduler", "@#schedulers"},
    {"schedulers.state",
     "@#schedulers ErtsSchedulerData.ssi ErtsSchedulerSleep.flags "
     "ErtsSchedulerData.current_process ErtsSchedulerData.current_port"},
    {"schedulers.online", "@#schedulers ErtsSchedulerData.ssi ErtsSchedulerSleep.flags"},
    {"schedulers.process", "@#schedulers ErtsSchedulerData.current_process Process.common.id"},
    {"schedulers.name", "@schedulers.process @registered_name"},
    {"schedulers.process_display_name", "@schedulers.process @#shown_name"},
    {"schedulers.aux_work", "@#schedulers ErtsSchedulerData.ssi ErtsSchedulerSleep.aux_work"},
    {"schedulers.frees", "@#schedulers ErtsSchedulerData.free_process Process.common.id"},
    {"schedulers.off_heap_circle",
     "@schedulers.frees Process.state Process.off_heap.first OffHeapHeader.next"},
    {"schedulers.port", "@#schedulers ErtsSchedulerData.current_port Port.common.id"},
    {"schedulers.queue", "@#run_queues"},
    {"schedulers.max", "@#run_queues"},
    {"schedulers.high", "@#run_queues"},
    {"schedulers.normal", "@#run_queues"},
    {"schedulers.low", "@#run_queues"},
    {"schedulers.ports", "@#run_queues"},

    // timers
    {"timers.kind", "@#timers"},
    {"timers.receiver", "@#timers Process.common.id Port.common.id @#atoms"},
    {"timers.name", "@timers.receiver @registered_name"},
    {"timers.receiver_display_name", "@timers.receiver @#shown_name"},
    {"timers.receiver_application", "@timers.receiver @#application"},
    {"timers.left_ms",
     "@#timers ErtsTimerWheel.pos ErtsTWheelTimer.timeout_pos ErtsHLTimer.timeout"},
    {"timers.orphaned", "@timers.receiver @registered_name @pid"},
    {"timers.message_words", "@#timers ErtsBifTimer.btm.bp ErlHeapFragment.used_size"},
    {"timers.reference", "@#timers ErtsBifTimer.btm.refn"},
    {"timers.scheduler", "@#timers"},
    {"timers.level", "@#timers"},

    // nodes
    {"nodes.node", "@#nodes"},
    {"nodes.type", "@#nodes DistEntry.dflags"},
    {"nodes.state", "@#nodes"},
    {"nodes.controller", "@#nodes"},
    {"nodes.name", "@#nodes @registered_name"},
    {"nodes.controller_display_name", "@#nodes @#shown_name"},
    {"nodes.queue", "@#nodes DistEntry.qsize DistEntry.total_qsize"},
    {"nodes.busy", "@#nodes DistEntry.qflgs"},
    {"nodes.suspended",
     "@#nodes DistEntry.suspended ErtsProcList.pid ErtsProcList.next ErtsProcList.prev"},
    {"nodes.processes", "@nodes.suspended"},
    {"nodes.in", "@#nodes DistEntry.in"},
    {"nodes.out", "@#nodes DistEntry.out"},
    {"nodes.creation", "@#nodes"},
    {"nodes.connection_id", "@#nodes"},

    // summary and diff
    {"node", "ErlNode.sysname @#atoms"},
    {"process_limit", "ErtsPTab.max"},
    {"processes_started", "ErtsPTab."},
    {"schedulers", "ErtsAlignedSchedulerData. ErtsSchedulerSleepInfo."},
    {"dirty_cpu_schedulers", "ErtsAlignedSchedulerData. ErtsSchedulerSleepInfo."},
    {"dirty_io_schedulers", "ErtsAlignedSchedulerData. ErtsSchedulerSleepInfo."},
    {"summary.counts.processes", "@pid"},
    {"summary.counts.messages", "@message_queue_len"},
    {"summary.counts.binaries", "@#off_heap"},
    {"summary.counts.atoms", "@#tables"},
    {"summary.counts.module_instances", "@#modules"},
    {"processes_void", "@void_reason"},
    {"void_by_reason", "@void_reason"},
    {"summary.memory.processes", "@memory"},
    {"process_heaps", "@total_heap_size"},
    {"summary.memory.binaries", "@#off_heap @size_bytes"},
    {"binaries_captured", "@#off_heap @size_bytes"},
    {"summary.memory.code", "@#modules"},
    {"literals", "BeamCodeHeader.literal_area ErtsLiteralArea."},
    {"summary.memory.atoms", "@#tables Atom.len"},
    {"diff.memory.bytes", "@categories"},
    {"diff.processes.memory", "@memory"},
    {"diff.processes.messages", "@message_queue_len"},
    {"diff.processes.processes", "@pid"},
    {"diff.groups.memory", "@memory"},
    {"diff.groups.messages", "@message_queue_len"},
    {"diff.groups.processes", "@pid"},
    {"diff.mailboxes.messages", "@message_queue_len"},
    {"diff.ets_tables.memory", "@ets.memory_bytes"},
    {"diff.ets_tables.rows", "@ets.size"},
    {"diff.ets_tables.tables", "@#ets"},
    {"diff.ets_names.memory", "@ets.memory_bytes"},
    {"diff.ets_names.rows", "@ets.size"},
    {"diff.ets_names.tables", "@#ets"},
    {"diff.binary_holders.bytes", "@#off_heap @size_bytes"},
    {"diff.binary_holders.references", "@#off_heap"},
    {"diff.binaries.bytes", "@#off_heap @size_bytes"},
    {"diff.binaries.binaries", "@#off_heap"},
    {"diff.atoms.text_bytes", "@#tables Atom.len"},
    {"diff.atoms.atoms", "@#tables"},
    {"diff.modules.code", "@#modules"},
    {"diff.modules.instances", "@#modules"},
    {"diff.heap_roots.bytes", "@#live"},
    {"diff.heap_roots.roots", "@#live"},
    {"diff.heap_root_kinds.bytes", "@#live"},
    {"diff.heap_root_kinds.roots", "@#live"},
    {"diff.heap_paths.bytes", "@#live"},
    {"diff.heap_kinds.bytes", "@#live"},
    {"diff.heap_kinds.objects", "@#live"},
    {"diff.heap_tags.bytes", "@#live"},
    {"diff.heap_tags.objects", "@#live"},
    {"diff.heap_key_sets.bytes", "@#live"},
    {"diff.heap_key_sets.objects", "@#live"},
    {"diff.heap_binaries.bytes", "@#live @size_bytes"},
    {"diff.ports.queue", "@ports.queue"},
    {"diff.ports.ports", "@#ports"},
    {"diff.persistent_terms.memory", "@terms.memory"},
    {"diff.persistent_terms.terms", "@terms.key"},

    // atoms and modules
    {"atoms.count", "@#tables"},
    {"code_bytes", "@#modules"},
    {"literal_bytes", "@literals @#modules"},
    {"functions", "@#modules BeamCodeHeader.num_functions"},
    {"md5", "@#modules BeamCodeHeader.md5_ptr"},
    {"vsn", "@#modules CodeAttributes."},
    {"application", "@#modules @ets.rows"},
    {"application_vsn", "@#modules @ets.rows"},

    // allocators and memory
    {"carriers", "@#allocators"},
    {"carrier_bytes", "@#allocators"},
    {"single_block_carriers", "@#allocators"},
    {"single_block_bytes", "@#allocators"},
    {"pooled_carriers", "@#allocators"},
    {"pooled_bytes", "@#allocators"},
    {"mseg_bytes", "@#allocators"},
    {"blocks", "@#allocators"},
    {"block_bytes", "@#allocators"},
    {"free_bytes", "@#allocators"},
    {"utilisation", "@#allocators"},
    {"delayed_blocks", "@#allocators Allctr.dd.q.head.first"},
    {"delayed_bytes", "@delayed_blocks"},
    {"allocators.resident_bytes", "@#carriers"},
    {"allocators.carrier_list", "@#carriers"},
    {"allocators.free_blocks", "@#carriers"},
    {"cached_segments", "@#segments"},
    {"cached_bytes", "@#segments"},
    {"cached_resident_bytes", "@#segments"},
    {"os_bytes", "ErtsMemMapper."},
    {"super_carrier_bytes", "ErtsMemMapper."},
    {"super_carrier_used_bytes", "ErtsMemMapper."},
    {"fixed_sizes.allocated_bytes", "@#allocators ErtsAlcFixList."},
    {"fixed_sizes.used_bytes", "@#allocators ErtsAlcFixList."},
    {"categories", "@#allocators ErtsAlcFixList. CodeRanges. @#tables @#modules ErtsPTab.max"},
    {"node_memory", "@categories"},
    {"resident_parts", "@#carriers @#segments"},
    {"unexplained_bytes", "@#carriers @#segments"},
    {"allocator_free_bytes", "@#allocators"},
    {"cached_segment_bytes", "@#segments"},
    {"binary_bytes", "@summary.memory.binaries"},
    {"binary_count", "@#off_heap"},
    {"module_instances", "@#modules"},
    {"atom_count", "@#tables"},

    // Parts of terms in all answers.
    {"term.atom", "@#atoms"},
    {"term.binary", "Binary. ProcBin. BinRef. ErlHeapBits. ErlSubBits. OffHeapHeader."},
    {"term.external_identifier", "ExternalThing. ErlNode. @#tables"},
    {"term.external_fun", "Export. ExportEntry. @#tables"},
    {"term.fun", "ErlFunEntry. ErlFunEntryContainer. FunTableEntry. ErlFunThing. FunRef. @#tables"},
    {"term.record", "ErtsRecordInstance. ErtsRecordDefinition."},
    {"term.reference", "ErtsORefThing. ErtsMagicBinary. MagicRef."},
    {"term.undecoded_message", "ErtsDistExternal. ErtsDistExternalData. ErtsAtomTranslationTable."},
});

template <typename Visit>
bool any_source(std::string_view sources, Visit visit) {
    while (!sources.empty()) {
        const auto end = std::min(sources.find(' '), sources.size());
        if (visit(sources.substr(0, end))) {
            return true;
        }
        sources.remove_prefix(std::min(end + 1, sources.size()));
    }
    return false;
}

const SourceEntry* find_entry(std::string_view name) {
    const auto* group = std::ranges::find(kSourceGroups, name, &SourceEntry::name);
    if (group != kSourceGroups.end()) {
        return group;
    }
    const auto* value = std::ranges::find(kSourceValues, name, &SourceEntry::name);
    return value == kSourceValues.end() ? nullptr : value;
}

bool read_through(const SourceEntry& entry, std::string_view field) {
    return any_source(entry.sources, [field](std::string_view source) {
        if (source.starts_with('@')) {
            const SourceEntry* other = find_entry(source.substr(1));
            return other != nullptr && read_through(*other, field);
        }
        return source.ends_with('.') ? field.starts_with(source) : field == source;
    });
}

/// `path`: the entries that led here.
void look_for_faults(const SourceEntry& entry, std::vector<std::string_view>& path,
                     std::vector<std::string>& faults) {
    if (std::ranges::find(path, entry.name) != path.end()) {
        faults.push_back(std::string(entry.name) + " contains itself");
        return;
    }
    path.push_back(entry.name);
    any_source(entry.sources, [&](std::string_view source) {
        if (source.starts_with('@')) {
            if (const SourceEntry* other = find_entry(source.substr(1))) {
                look_for_faults(*other, path, faults);
            } else {
                faults.push_back(std::string(source) + " is not in the tables");
            }
        }
        return false;
    });
    path.pop_back();
}

}  // namespace

std::vector<std::string> values_read_through(std::span<const std::string> fields) {
    std::vector<std::string> values;
    for (const SourceEntry& value : kSourceValues) {
        if (std::ranges::any_of(fields, [&value](const std::string& field) {
                return read_through(value, field);
            })) {
            values.emplace_back(value.name);
        }
    }
    std::ranges::sort(values);
    return values;
}

std::vector<std::string> source_faults() {
    std::vector<std::string> faults;
    std::vector<std::string_view> path;
    for (const SourceEntry& value : kSourceValues) {
        look_for_faults(value, path, faults);
    }
    return faults;
}

}  // namespace beamdump::query
