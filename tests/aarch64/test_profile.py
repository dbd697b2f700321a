"""beamdump-sample profile --stops beside a node of aarch64, in an emulated machine: shares of functions are those that the
workload measures itself, and callers lead to its loop. BEAMDUMP_OTP: the node's release."""

import pathlib
import shutil
import sys
import tempfile
import unittest

import machine
from support import schemas, tools
from support.paths import ROOT
from support.release import RELEASE

sys.path.append(str(ROOT / "tests" / "live" / "sampler"))
from profiles import PARTS, add_counts, by_part, check_sums, spent

SAMPLES, MOST_RUNS = 600, 20
POINTS = 8  # the standard error of a share is 2 at most, and the machine is emulated


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.machine = machine.Machine(scratch, RELEASE)
        cls.addClassCleanup(cls.machine.stop)
        shutil.copy(machine.STATIC / "beamdump-sample", cls.machine.share)
        cls.node = machine.start_workload(cls.machine, RELEASE,
                                          machine.compiled_testdata(cls.machine, RELEASE), "profiled")

    def sample(self, options):
        return self.machine.run(f"exec {self.machine.share}/beamdump-sample {options} {self.node.pid}")

    def test_shares(self):
        parts, told = dict.fromkeys(PARTS, 0), dict.fromkeys(PARTS, 0)
        account, unknown, rooted = {}, {}, 0
        for run in range(1, MOST_RUNS + 1):
            before = spent(self, self.node)
            answer = tools.parse(tools.expect(self.sample("profile --json --stops --duration 10s"), 0, 3))
            for part, after in spent(self, self.node).items():
                told[part] += after - before[part]
            schemas.validate(answer, "profile")
            check_sums(self, answer)
            add_counts(account, answer["account"])
            add_counts(unknown, answer["not_known"])
            for part, stack in by_part(self, answer):
                if part is not None:
                    parts[part] += stack["samples"]
                    rooted += stack["samples"] if stack["frames"][0] in ("profiled:loop/1", "(further callers)") else 0
            if sum(parts.values()) >= SAMPLES:
                break
        total = sum(parts.values())
        print(f"OTP {RELEASE}: {total} samples of parts in {run} runs, {rooted} lead to its loop; {account}, not known: "
              f"{unknown}; {answer['stops']}", flush=True)
        self.assertGreaterEqual(total, SAMPLES)
        for part, lasted in told.items():
            share, own = 100 * parts[part] / total, 100 * lasted / sum(told.values())
            print(f"{part:8} {share:5.1f}%, by its own clock {own:5.1f}%", flush=True)
            self.assertAlmostEqual(share, own, delta=POINTS, msg=part)
        self.assertGreater(rooted, 0.7 * total)
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_without_stops_it_reads_where_processes_paused(self):
        answer = tools.parse(tools.expect(self.sample("profile --json --duration 2s"), 0, 3))
        schemas.validate(answer, "profile")
        self.assertEqual(answer["mode"], "readings")
        self.assertRegex(" ".join(answer["remarks"]), "cannot sample threads on aarch64 yet .--stops needs none")


if __name__ == "__main__":
    unittest.main(verbosity=2)
