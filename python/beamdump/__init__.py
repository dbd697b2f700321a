"""Asks dumps of Erlang/OTP nodes, also Erlang crash dumps.

Everything is read by the program beamdump-analyze: that of the wheel, of BEAMDUMP_ANALYZE, or of PATH.
"""

from ._answer import Answer, Memory, Tree
from ._dump import Dump, open
from ._program import Error, IncompleteWarning
from ._table import Table
from ._terms import Atom, Binary, Fun, List, Map, Pid, Port, Process, Reference, Term, Tuple

__all__ = ["Answer", "Atom", "Binary", "Dump", "Error", "Fun", "IncompleteWarning", "List", "Map", "Memory", "Pid",
           "Port", "Process", "Reference", "Table", "Term", "Tree", "Tuple", "open"]
