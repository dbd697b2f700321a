"""The layouts of the schemas, and which of their fields the writer's checks verify."""

from support.paths import ROOT
from support.release import RELEASE

LAYOUTS = ROOT / "schemas" / "layouts"
LAYOUT = LAYOUTS / f"otp-{RELEASE}.json"

# Fields for which a check fails if their offset is 8 bytes too large, as far as the release has them.
# docs/capture.md describes the checks.
CHECKED = """
Process.common.id Process.common.reg Process.stop Process.heap Process.hend
Process.arg_reg Process.i Process.u.initial Process.current Process.high_water
Process.off_heap.first Process.mbuf Process.psd
Process.sig_qs.len Process.old_heap
ErtsPTab.tab ErtsPTab.max ErtsPTab.pix_mask RegProc.p RegProc.name
Hash.name Hash.shift Hash.nobjs Hash.bucket IndexTable.htable.name IndexTable.entries
IndexTable.seg_table Atom.index Atom.len Atom.name
Module.curr ModuleInstance.code_hdr BeamCodeHeader.num_functions
BeamCodeHeader.functions ErtsCodeInfo.mfa ErtsCodeMFA.function ErtsCodeMFA.arity
ErlNode.sysname CatchPool.high_mark CatchPool.tabsize CatchPool.beam_catches
""".split()

# Structures that are not read yet.
UNREAD = set("""
ErtsPrtSD
ErtsAlignedRunQueue ErtsRunPrioQueue RunQueueLinks PortQueueLinks
DistRelations ErtsDistOutputBuf ErlIOVec
""".split())
# Structures that no check verifies, whether they are read or not. An inferred layout has a group of
# these only if both neighbours agree on the whole group.
UNDECIDED = UNREAD | set("""
ErtsAllocatorInfo ErtsAllocatorThrSpec Allctr AllctrBlockStats AllctrCount Carrier CarrierPoolData
AlignedMsegAllctr
ErtsAlcFixList ErtsMsegAllctr MsegCacheEntry ErtsMemMapper CodeRanges
DbTableCommon DbHash DbHashLockSlot DbHashLocks DbHashLock DbHashRow DbTree DbTreeRow DbCATree DbCATreeNode DbRow
DbFixation DbRwLock DecentralizedCounters DecentralizedCounterSlot EtsScheduler EtsRunQueue
Port ErtsDriver ErtsSchedulerData ErtsSchedulerSleep ErtsRunQueue ErtsRunQueueInfo
PersistentTerms PersistentTermArea CodeAttributes BifExport SchedulerCollections
ErtsTimerWheel ErtsTWheelTimer ErtsTmrHead ErtsHLTimer ErtsTWTimer ErtsBifTimer ErtsHLTimerService
TimerOwner DistEntry ErtsProcList
SystemTaskProcess ErtsProcSysTaskQs ErtsProcSysTask SchedulerProgress ErtsResourceType CodePermission
CodePermissionItem PersistentTermUpdateItem TracedProcess ErtsTracerRef ErtsTraceSession
GenericBp GenericBpData
""".split())
UNDECIDED_CONSTANTS = ("allocator_", "fix_", "ets_", "port_state_", "port_task_", "scheduler_",
                       "dist_")
