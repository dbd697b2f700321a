"""The layouts of the schemas, and which of their fields the writer's checks verify."""

from support.paths import ROOT
from support.release import RELEASE

LAYOUTS = ROOT / "schemas" / "layouts"
LAYOUT = LAYOUTS / f"otp-{RELEASE}.json"

# Fields that a check sees when they stand 8 bytes off, where the release has them. docs/capture.md
# says what the checks are.
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

# Structures that no check of a layout reads. An inferred layout has each group of them where both
# neighbours lay all of it out alike, and else nothing of it.
UNCHECKED = set("""
ErtsAllocatorInfo ErtsAllocatorThrSpec Allctr AllctrBlockStats AllctrCount Carrier CarrierPoolData
ErtsAlcFixList ErtsMsegAllctr AlignedMsegAllctr MsegCacheEntry ErtsMemMapper
ExportBlob FunBlob CodeRanges
Port ErtsPrtSD ErtsDriver
ErtsSchedulerData ErtsSchedulerSleep ErtsRunQueue ErtsAlignedRunQueue ErtsRunQueueInfo
ErtsRunPrioQueue RunQueueLinks PortQueueLinks
ErtsTimerWheel ErtsTWheelTimer ErtsTmrHead ErtsHLTimer ErtsTWTimer ErtsBifTimer ErtsHLTimerService
DistEntry ErtsDistOutputBuf ErlIOVec ErtsProcList PersistentTerms
""".split())
UNCHECKED_CONSTANTS = ("allocator_", "fix_", "port_state_", "port_task_", "scheduler_",
                       "dist_")
