"""The layouts of the schemas, and which of their fields the writer's checks see."""

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
