"""How many processes a node starts: between two dumps as many as it was told to start, and while it is
captured; where they end as soon as they were started it is a finding."""

import pathlib
import tempfile
import unittest

from support import schemas, tools
from support.node import start_workload

# Each question is answered by a few processes.
MOST_OTHERS = 50
# A capture of a machine that others use can be of a moment in which the node hardly ran.
ATTEMPTS = 20


class ProcessStarts(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.node = start_workload("starting")
        self.addCleanup(self.node.stop)

    def capture(self, name, *options):
        dump = self.scratch / f"{name}.beamdump"
        tools.capture(self.node, dump, "--force", *options)
        return dump

    def summary(self, dump):
        answer = tools.analyze_json("summary", dump)
        schemas.validate(answer, "summary")
        return answer

    def test_between_dumps(self):
        self.node.ask("ping")
        first = self.capture("first")
        started = int(self.node.ask("starting some"))
        for mode in ("auto", "freeze", "snapshot"):
            second = self.capture(mode, "--mode", mode)
            answer = tools.analyze_json("diff", first, second)
            schemas.validate(answer, "diff")
            starts = answer["processes_started"]
            print(mode, starts, flush=True)
            self.assertTrue(started <= starts["count"] <= started + MOST_OTHERS, starts)
            self.assertNotIn("at_least", starts)
            self.assertEqual(starts["span_us"], answer["elapsed_us"])
        meanwhile = self.summary(first)["capture"]["processes_started"]
        self.assertLess(meanwhile["count"], MOST_OTHERS)
        self.assertGreater(meanwhile["span_us"], 0)

    def test_finding(self):
        self.assertEqual(self.node.ask("starting go"), "going")
        for attempt in range(ATTEMPTS):
            answer = self.summary(self.capture("going"))
            found = [finding for finding in answer["findings"] if finding["id"] == "process_starts"]
            if found:
                break
        self.assertTrue(found, f"no finding in {ATTEMPTS} captures: {answer['capture']}")
        [finding] = found
        print(finding["sentence"], flush=True)
        starts = answer["capture"]["processes_started"]
        self.assertEqual(finding["figures"]["started"], starts["count"])
        self.assertAlmostEqual(finding["figures"]["per_second"],
                               starts["count"] / starts["span_us"] * 1e6,
                               delta=1 + finding["figures"]["per_second"] / 1000)

    def test_version(self):
        """The version is the one that the installation says."""
        told = self.node.ask("version")
        self.assertEqual(self.summary(self.capture("version"))["node"]["otp_version"], told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
