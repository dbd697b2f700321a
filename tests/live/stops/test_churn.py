"""No healthy node is refused: a node whose tables change as fast as it can (churn.erl), one kind of
change at a time, is captured in each mode and sampled. Each ends well and can be read, and none reads
more than a few times what the node has resident, or than what it has of processes and tables asks for.

BEAMDUMP_CHURNS is how many captures of each kind in each mode (soak: 100). Without it there is one of
each kind, of the modes in turn; those whose refusals were seen are captured in three."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support import tools
from support.node import ApplicationStart
from support.paths import CAPTURE, SAMPLE
from support.release import of_release

CHURNS = int(os.environ.get("BEAMDUMP_CHURNS", "0"))
KINDS = os.environ.get("BEAMDUMP_CHURN_KINDS")
# For comparisons: refusals are counted, and do not fail.
COUNT_ONLY = "BEAMDUMP_CHURN_COUNT" in os.environ
MODES = ("live", "auto", "snapshot", "freeze")
# Persistent terms, code and relations are read with a protocol of their own.
KNOWN = ("monitors", "code", "persistent")
# What is born and dies while it is read: each capture could go on for ever.
BORN = ("processes", "ets")
SAMPLES = {"stacks": ("--all",), "top": ("--json", "--interval", "200ms", "--once"),
           "profile": ("--duration", "300ms", "--format", "folded"),
           "profile --stops": ("--duration", "300ms")}
# In the soak, every command of the sampler.
if CHURNS:
    SAMPLES |= {
        "profile --off-cpu": ("--duration", "300ms"),
        "threads": ("--duration", "300ms"),
        "alloc": ("--duration", "300ms", "--stacks"),
        "blame": ("--duration", "300ms", "--native", "gc"),
        "blame --exact": ("--duration", "300ms", "--native", "<garbage_collect>"),
        "perf-map": (),
    }
DONE, INCOMPLETE = 0, 3
# All that is resident is read at most so many times, and besides so many bytes of tables.
MOST_TIMES_RESIDENT = 4
TABLE_BYTES = 256 << 20
# System calls that read: so many times those of the node at rest, and for each process and table.
MOST_TIMES_REST, READS_EACH = 4, 30


def start():
    """A node with a name, and how to start another one that connects to it and disconnects."""
    start = ApplicationStart()
    common = ["erl", "-noinput", "-setcookie", start.cookie, "-pa", str(start.ebin),
              "-kernel", "inet_dist_use_interface", "{127,0,0,1}"]
    node = start.run([*common, "-sname", "near@localhost", "-run", "control", "start",
                      str(start.directory / "control"), "-run", "churn", "start", "1"], "kernel", {})

    def start_far():
        far = subprocess.Popen(
            of_release(*common, "-sname", "far@localhost", "-run", "churn", "far", "near@localhost"),
            env=start.environment, cwd=start.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        node.ends_with(far)
    return node, start_far


class Churn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node, cls.start_far = start()
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        at_rest = cls.scratch / "rest.beamdump"
        tools.capture(cls.node, at_rest, "--mode", "live")
        cls.reads_at_rest = tools.analyze_json("summary", at_rest)["capture"]["reads"]

    def captures(self, kind):
        """The modes of the captures to make."""
        if CHURNS:
            return MODES * CHURNS
        first = sum(map(ord, kind)) % len(MODES)
        if kind in BORN:
            return MODES
        return MODES[1:] if kind in KNOWN else (MODES[first],)

    def check(self, kind):
        if KINDS and kind not in KINDS.split(","):
            self.skipTest(f"{kind} is not among the kinds")
        self.assertEqual(self.node.ask(f"churn {kind}"), "churning")
        refused, made, most, most_reads = [], 0, 0, 0
        for mode in self.captures(kind):
            made += 1
            dump = self.scratch / "churned.beamdump"
            for _ in range(tools.MOST_TRIES):
                ended = tools.run_measured([CAPTURE, "--quiet", "--force", "--mode", mode, "-o", dump,
                                            self.node.pid])
                if tools.NO_PROCESSOR not in ended.diagnostics:
                    break
            if ended.status not in (DONE, INCOMPLETE):
                refused.append(f"{mode} ({ended.status}): {ended.diagnostics.strip()}")
                continue
            read, reads = self.check_dump(dump)
            most, most_reads = max(most, read), max(most_reads, reads)
        for command, options in SAMPLES.items():
            for _ in range(max(1, CHURNS)):
                made += 1
                ended = tools.run_measured([SAMPLE, *command.split(), *options, self.node.pid])
                if ended.status not in (DONE, INCOMPLETE):
                    refused.append(f"{command} ({ended.status}): {ended.diagnostics.strip()}")
        print(f"{kind}: {len(refused)} of {made} refused; at most {most / 1e6:.0f} MB read, by {most_reads} "
              f"calls ({self.reads_at_rest} at rest)", flush=True)
        if COUNT_ONLY:
            for line in sorted(set(refused)):
                print("   ", line, flush=True)
        else:
            self.assertEqual(refused, [])
        self.assertEqual(self.node.ask("churn rest"), "churning")
        self.assertEqual(self.node.ask("ping"), "pong")

    def check_dump(self, dump):
        """It can be read, has what nodes have, and was made with bounded reading. Gives the bytes
        and the system calls of that."""
        summary = tools.analyze_json("summary", dump)
        processes = tools.analyze_json("processes", dump, "--limit", "0")["processes"]
        self.assertTrue(any(process.get("registered_name") == "init" for process in processes))
        self.assertEqual([said for said in summary["warnings"] if "not found" in said], [])
        read = summary["capture"]["bytes_read"]
        resident = self.node.status_field("VmRSS") << 10
        self.assertLess(read, MOST_TIMES_RESIDENT * resident + TABLE_BYTES)
        reads = summary["capture"]["reads"]
        things = len(processes) + len(tools.analyze_json("ets", dump, "--limit", "0")["tables"])
        self.assertLess(reads, MOST_TIMES_REST * self.reads_at_rest + READS_EACH * things)
        return read, reads

    def test_monitors(self):
        self.check("monitors")

    def test_links(self):
        self.check("links")

    def test_code(self):
        self.check("code")

    def test_atoms(self):
        self.check("atoms")

    def test_processes(self):
        self.check("processes")

    def test_ports(self):
        self.check("ports")

    def test_timers(self):
        self.check("timers")

    def test_ets(self):
        self.check("ets")

    def test_persistent_terms(self):
        self.check("persistent")

    def test_distribution(self):
        """The other node runs on: what is tested later is connected, too."""
        type(self).start_far()
        self.check("distribution")

    def test_all_at_once(self):
        self.check("all")


if __name__ == "__main__":
    unittest.main(verbosity=2)
