"""beamdump-watch --record-profile: the function that runs leads the profile of the recording and of a dump,
also when node and watcher have been killed; where perf events are refused the recording goes on."""

import json
import pathlib
import signal
import sys
import time
import unittest

from support import tools
from support.paths import ANALYZE
from support.tools import on_processor
from watching import READY_SECONDS, Watch, WithNode, run

RATE = 20
# Of processor time that the planted function gets.
SECONDS = 3
PLANTED = "spinning:spin/3"
LIVE = pathlib.Path(__file__).resolve().parents[1]
# Starts a program for which perf events are forbidden, as in most containers.
FORBIDDEN = (sys.executable, "-c", f"""
import os, sys
sys.path.insert(0, {str(LIVE)!r})
from support import tools
tools.without_perf_events()
os.execv(sys.argv[1], sys.argv[1:])""")


def history_of(file):
    return json.loads(run(ANALYZE, "history", file, "--json").stdout)


def samples_of(profile, function):
    return sum(one["self"] for one in profile["functions"] if one["function"] == function)


def leads(profile):
    """Whether the planted function has most samples of a profile, and some."""
    return samples_of(profile, PLANTED) > 1 and profile["functions"][0]["function"] == PLANTED


def seconds_of(profiles):
    """The planted function's processor time."""
    return sum(samples_of(profile, PLANTED) for profile in profiles) / RATE


class Profiles(WithNode):
    def setUp(self):
        super().setUp()
        self.go = self.scratch / "go"
        self.node = self.started("+S", "2:2", "-eval", f"""
            Go = fun Wait() -> case file:read_file_info("{self.go}") of
                {{ok, _}} -> ok; _ -> timer:sleep(20), Wait() end end,
            spawn(fun() -> Go(), spinning:spinner(1) end).""")

    def spin(self, seconds):
        """Lets the planted function run until the node has had that much processor time, however busy the machine is."""
        self.go.touch()
        wanted, deadline = on_processor(self.node.pid) + seconds, time.monotonic() + READY_SECONDS
        while on_processor(self.node.pid) < wanted:
            self.assertLess(time.monotonic(), deadline, "the node got no processor")
            time.sleep(0.1)

    def recorded(self, watch, holds):
        """The history in the recording, once that holds."""
        file = pathlib.Path(watch.wait_for("watching")[0]["recording"])
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if file.exists() and holds(history := history_of(file)):
                return history
            time.sleep(0.1)
        raise RuntimeError(f"{file}: {watch.log.read_text()}")

    def watched(self, *options, begin=()):
        return Watch(self.belongings, self.scratch / "dumps", "--rule", "processes > 99%", "--interval", "100ms",
                     "--record-profile", RATE, *options, self.node.pid, begin=begin)

    def test_the_function_that_runs_leads_recording_and_dump(self):
        watch = self.watched("--record", "60s")
        before = self.recorded(watch, lambda history: len(history.get("profiles", [])) > 1)["profiles"]
        self.assertEqual([samples_of(profile, PLANTED) for profile in before], [0] * len(before))
        self.assertEqual({profile["rate"] for profile in before}, {RATE})
        self.spin(SECONDS)
        self.recorded(watch, lambda history: sum(map(leads, history["profiles"])) > 3
                      and seconds_of(filter(leads, history["profiles"])) > SECONDS)
        watch.process.send_signal(signal.SIGUSR1)
        dump = watch.wait_for("captured")[0]["file"]
        # Nothing can be written after this: the file alone tells it.
        watch.process.kill()
        watch.process.wait()
        self.node.stop()
        recording = watch.events("watching")[0]["recording"]
        for file in recording, dump:
            history = history_of(file)
            profiles = history["profiles"]
            self.assertEqual([one["at_us"] for one in profiles], sorted(one["at_us"] for one in profiles))
            self.assertEqual(profiles[:len(before)], before)
            busy = [profile for profile in profiles if leads(profile)]
            self.assertGreater(len(busy), 3)
            # Samples of all threads tell the processor time that the kernel counted for the node meanwhile.
            begin, end = busy[0]["at_us"], busy[-1]["at_us"]
            seconds = sum(one["samples"] + one["lost"] for one in profiles if begin <= one["at_us"] < end) / RATE
            used = [one["processor"] for one in history["readings"] if begin <= one["at_us"] < end]
            by_kernel = sum(used) / len(used) / 1000 * (end - begin) / 1e6
            print(f"the node ran {seconds:.1f} s by samples, {by_kernel:.1f} s by the kernel; {PLANTED} ran "
                  f"{seconds_of(busy[:-1]):.1f} s", flush=True)
            self.assertGreater(seconds, 0.6 * by_kernel)
            self.assertLess(seconds, 1.4 * by_kernel)
        text = run(ANALYZE, "history", recording).stdout
        first = text[text.index("Functions that took most processor time"):].splitlines()[3]
        self.assertRegex(first, rf"^ *[\d.]+% +[\d.]+% +[\d.]+%  {PLANTED}  ")
        whole, last = (float(part.rstrip("%")) for part in first.split()[:2])
        self.assertGreater(last, whole)

    def test_the_last_moments_of_a_node_are_in_the_recording(self):
        # A profile of 24 minutes: none is complete when the node ends.
        watch = self.watched("--record", "24h")
        watch.wait_for("watching")
        tools.wait_for_perf_events(self, watch.process, len(list(pathlib.Path(f"/proc/{self.node.pid}/task").iterdir())))
        self.spin(SECONDS)
        self.node.stop()
        watch.wait_for("ended")
        self.assertEqual(watch.process.wait(30), 0)
        history = history_of(watch.events("watching")[0]["recording"])
        self.assertIn("node_ended_us", history)
        self.assertEqual(len(history["profiles"]), 1)
        profile = history["profiles"][0]
        self.assertTrue(leads(profile), profile["functions"][:3])
        self.assertGreater(seconds_of([profile]) + profile["lost"] / RATE, SECONDS / 2)
        self.assertEqual(watch.events("unprofiled"), [])

    def test_a_dump_has_the_profile_up_to_its_moment(self):
        watch = self.watched("--record", "24h", "--capture", "--redact structure")
        watch.wait_for("watching")
        tools.wait_for_perf_events(self, watch.process, 1)
        self.spin(SECONDS)
        fired_us = time.time() * 1e6
        watch.process.send_signal(signal.SIGUSR1)
        profile = history_of(watch.wait_for("captured")[0]["file"])["profiles"][0]
        # A starved watcher loses some.
        self.assertGreater((profile["functions"][0]["self"] + profile["lost"]) / RATE, SECONDS / 2)
        self.assertGreater(profile["at_us"] + profile["took_us"], fired_us)
        # The recording goes on with the next one.
        self.spin(SECONDS)
        self.assertEqual(watch.end(), 0)
        history = history_of(watch.events("watching")[0]["recording"])
        self.assertEqual(len(history["profiles"]), 2)
        self.assertTrue(all(map(leads, history["profiles"])))
        redacted = self.scratch / "redacted"
        run(ANALYZE, "redact", watch.events("watching")[0]["recording"], "-o", redacted, "--policy", "structure")
        self.assertEqual([profile["samples"] for profile in history_of(redacted)["profiles"]],
                         [profile["samples"] for profile in history["profiles"]])

    def test_where_perf_events_are_refused_the_recording_goes_on(self):
        watch = self.watched("--record", "60s", begin=FORBIDDEN)
        self.assertIn("sampling by perf events is forbidden", watch.wait_for("unprofiled")[0]["why"])
        count = len(self.recorded(watch, lambda history: len(history["readings"]) > 2)["readings"])
        after = self.recorded(watch, lambda history: len(history["readings"]) > count + 20)
        self.assertNotIn("profiles", after)
        self.assertEqual(len(watch.events("unprofiled")), 1)
        self.assertEqual(watch.end(), 0)

    def test_nothing_is_sampled_unless_it_is_asked_for(self):
        watch = Watch(self.belongings, self.scratch / "dumps", "--rule", "processes > 99%", "--record", "60s",
                      "--interval", "100ms", self.node.pid)
        self.assertNotIn("profiles", self.recorded(watch, lambda history: len(history["readings"]) > 20))
        self.assertEqual(watch.events("unprofiled"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
