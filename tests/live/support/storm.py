"""Processes of testdata/workloads/storm in a running node, and what a dump holds of them."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

from support.nif import build_nif
from support.node import start_workload
from support.paths import PROGRAMS

# The bytes of a process for each item, between its collections; measured on OTP 25.
ITEM_BYTES = {
    "waiting": 314, "map": 600, "list": 1430, "append": 410, "recursion": 1310, "mailbox": 1180,
    "concat": 120, "reverse": 135, "binary_to_term": 290, "tab2list": 1090, "hibernate": 190,
    "dirty_nif": 280, "nif": 280, "waiting_bif": 280, "compare": 560, "cons": 280, "registers": 280, "tuple": 300, "md5": 280,
    "send": 280, "bignum": 280,
}
# Of those at work.
KINDS = tuple(kind for kind in ITEM_BYTES if kind != "waiting")
# How many versions the items that a process holds can be apart.
VERSIONS = {"map": 1, "list": 1, "recursion": 1, "hibernate": 1, "waiting": 0}


def items_of(kind, megabytes):
    return max(1, round(megabytes * 1e6 / ITEM_BYTES[kind]))


class StormNode:
    """A node in which storms are started and ended."""

    def __init__(self):
        with contextlib.ExitStack() as belongings:
            scratch = pathlib.Path(belongings.enter_context(tempfile.TemporaryDirectory()))
            os.environ["BEAMDUMP_STORM_NIF"] = str(build_nif(scratch, "storm"))
            self.node = start_workload("storm")
            belongings.callback(self.node.stop)
            self._belongings = belongings.pop_all()

    def stop(self):
        self._belongings.close()

    @contextlib.contextmanager
    def storm(self, kind, items, processes):
        """While it goes on; the names of its processes."""
        self.node.ask(f"storm start {kind} {items} {processes}", 900)
        try:
            yield [f"storm_{kind}_{number}" for number in range(1, processes + 1)]
        finally:
            self.node.ask("storm end", 900)

    def rounds(self):
        """How often the processes have worked through their items."""
        return int(self.node.ask("storm rounds", 900))

    def wait_for_rounds(self, count):
        """Until they have done so that often: they go on after captures."""
        deadline = time.monotonic() + 600
        while self.rounds() < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the processes have stopped after {self.rounds()} rounds")
            time.sleep(0.1)


def checked(dump, items):
    """What storm_check says of the processes, by name."""
    ended = subprocess.run([PROGRAMS / "storm_check", dump, str(items)], capture_output=True,
                           text=True, check=True)
    return {line["name"]: line for line in map(json.loads, ended.stdout.splitlines())}


# Items that a function of the workload has at hand.
MOST_IN_REGISTERS = 2


def lacks(process, items, kind):
    """What a process in a dump lacks or contradicts, as one line; None if nothing."""
    if process is None:
        return "is not in the dump"
    if process["void_reason"]:
        return ": ".join(filter(None, ("void", process["void_reason"], process["void_detail"])))
    if process.get("error"):
        return process["error"]
    if process["fault_count"] or process["unreadable"] or process["malformed_roots"]:
        return (f"{process['fault_count']} items torn, {process['unreadable']} words unreadable, "
                f"{process['malformed_roots']} roots malformed: {process['faults'][:3]}")
    # A process in the middle of compiled code may have items in registers alone: the dump says so.
    in_registers = MOST_IN_REGISTERS if "registers" in process.get("void_detail", "") else 0
    if items - process["distinct"] > in_registers or items - process["highest"] > in_registers:
        return (f"{process['distinct']} of {items} items, up to {process['highest']}; missing "
                f"{process['missing'][:5]}; at {process['current_function']}")
    if kind in VERSIONS and process["highest_version"] - process["lowest_version"] > VERSIONS[kind]:
        return f"items of versions {process['lowest_version']} to {process['highest_version']}"
    return None
