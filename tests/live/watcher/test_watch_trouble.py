"""beamdump-watch where things go wrong: a disk that is full or gone, a node that starts again and again or ends
in a capture, thousands of requests, a watcher or a capture that is killed. The limits hold, the node is
unharmed, and the watcher says what it could not do."""

import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from support.node import ApplicationStart
from support.paths import ANALYZE, ROOT
from support.release import of_release
from watching import READY_SECONDS, Watch, WithNode, run, summary_of

MIB = 1 << 20
DISK_MIB = 8
FREE_MIB = 4
STARTS = 8
REQUESTS = 3000
# Lines of one kind about one thing in an hour, as docs/watch.md says.
MOST_LINES = 3


def free_bytes(folder):
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()]


def until(true):
    deadline = time.monotonic() + READY_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError("it did not come")
        time.sleep(0.01)


class Trouble(WithNode):
    def by_hand(self, node, *options):
        """A watcher whose dumps are asked for."""
        watch = self.watch("--rule", "processes > 99%", *options, node.pid)
        watch.wait_for("watching")
        return watch

    def assert_unharmed(self, node):
        self.assertEqual(node.stopped_threads(), [])
        self.assertEqual(node.ask("ping"), "pong")


class Disk(Trouble):
    @unittest.skipUnless(os.geteuid() == 0, "a disk needs root: NOT TESTED here")
    def setUp(self):
        super().setUp()
        self.disk = self.scratch / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "beamdump", self.disk], check=True)
        self.belongings.callback(subprocess.run, ["umount", "--lazy", self.disk], check=True)

    def of_disk(self, node, *options):
        watch = Watch(self.belongings, self.disk, "--rule", "processes > 99%", "--record", "off", *options, node.pid)
        watch.wait_for("watching")
        return watch

    def test_the_reserve_stays_free_during_a_capture(self):
        node = self.workload("standard", 0.3)
        watch = self.of_disk(node, "--free", f"{FREE_MIB}M", "--distance", "1ms")
        least, done = [free_bytes(self.disk)], threading.Event()

        def look():
            while not done.wait(0.002):
                least.append(free_bytes(self.disk))

        looking = threading.Thread(target=look)
        looking.start()
        watch.process.send_signal(signal.SIGUSR1)
        try:
            captured = watch.wait_for("captured")[0]
            # Now there is less than the reserve and a dump's least bytes.
            watch.process.send_signal(signal.SIGUSR1)
            self.assertIn("stay free", watch.wait_for("refused")[0]["why"])
        finally:
            done.set()
            looking.join()
        self.assertEqual(captured["status"], "3", "the dump was not cut: it tests nothing")
        self.assertGreaterEqual(min(least), FREE_MIB * MIB)
        self.assertEqual(summary_of(captured["file"])["capture"]["reason"], "by_hand: asked for by hand")
        self.assert_unharmed(node)

    def test_a_disk_that_others_fill_during_a_capture(self):
        node = self.workload("standard", 0.3)
        watch = self.of_disk(node)
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("fired")
        with (self.disk / "other").open("wb", buffering=0) as other, contextlib.suppress(OSError):
            while True:
                other.write(bytes(MIB // 16))
        until(lambda: watch.events("failed") or watch.events("captured"))
        if failed := watch.events("failed"):
            self.assertEqual(failed[0]["status"], "1")
            self.assertIn("No space left on device", watch.errors.read_text())
            # Nothing was taken, so that nothing is counted.
            (self.disk / "other").unlink()
            watch.process.send_signal(signal.SIGUSR1)
            watch.wait_for("captured")
        self.assert_unharmed(node)
        self.assertEqual(watch.end(), 0)

    def test_a_folder_that_is_gone(self):
        node = self.workload("sample", 0.1)
        watch = self.by_hand(node, "--interval", "100ms")
        for file in watch.folder.iterdir():
            file.unlink()
        watch.folder.rmdir()
        watch.process.send_signal(signal.SIGUSR1)
        self.assertIn("No such file or directory", watch.wait_for("refused")[0]["why"])
        watch.folder.mkdir()
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("captured")
        self.assert_unharmed(node)
        self.assertEqual(watch.end(), 0)


class Node(Trouble):
    def test_a_release_without_a_layout(self):
        layouts = self.scratch / "layouts"
        layouts.mkdir()
        other = ROOT / "schemas" / "layouts" / "otp-25-aarch64.json"
        (layouts / other.name).write_bytes(other.read_bytes())
        node = self.workload("sample", 0.1)
        watch = self.watch("--rule", "processes > 99%", "--layout", layouts / other.name, node.pid)
        self.assertEqual(watch.process.wait(READY_SECONDS), 1)
        self.assertRegex(watch.errors.read_text(), r"\Abeamdump-watch: .*layout.*\n\Z")
        # Of several nodes the others are watched: the watcher goes on, and says so three times an hour.
        watch = Watch(self.belongings, self.scratch / "all", "--all", "--rule", "processes > 99%", "--layout",
                      layouts / other.name)
        self.assertIn("layout", watch.wait_for("unwatched")[0]["sentence"])
        self.assertEqual(watch.end(), 0)

    def test_a_node_that_starts_again_and_again(self):
        config = self.scratch / "watch.toml"
        config.write_text("""
            interval = "100ms"
            nodes = ["again@localhost"]
            [limits]
            most = 2
            distance = "1ms"
            keep = 2
            [[rule]]
            on = "start"
            """)
        watch = self.watch("--config", config)
        start = ApplicationStart()
        self.belongings.callback(start.stop)
        command = of_release("erl", "-noinput", "-sname", "again@localhost", "-kernel", "inet_dist_use_interface",
                             "{127,0,0,1}", "-eval", "timer:sleep(2000), halt().")
        for _ in range(STARTS):
            subprocess.run(command, env=start.environment, cwd=start.directory, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, timeout=READY_SECONDS, check=True)
            self.assertLessEqual(len(watch.dumps()), 2)
        until(lambda: len(watch.events("captured")) == 2 or watch.events("failed"))
        self.assertEqual(watch.end(), 0)
        lines = collections.Counter((event["event"], event.get("rule")) for event in watch.all_events())
        for kind, count in lines.items():
            if kind[0] not in ("captured", "removed"):
                self.assertLessEqual(count, MOST_LINES, kind)
        self.assertLessEqual(len(list(watch.folder.glob("*.recording"))), 3)

    def test_a_node_that_ends_in_a_capture(self):
        node = self.workload("standard", 0.3)
        watch = self.by_hand(node)
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("fired")
        until(lambda: any(watch.folder.glob("*.partial")) or watch.events("captured"))
        node.stop()
        self.assertEqual(watch.process.wait(READY_SECONDS), 0)
        self.assertEqual(len(watch.events("ended")), 1)
        # What was copied until then is a dump, or there is none; either is said.
        told = watch.events("captured") + watch.events("failed")
        self.assertEqual(len(told), 1)
        self.assertEqual(len(watch.dumps()), len(watch.events("captured")))
        for dump in watch.dumps():
            run(ANALYZE, "summary", dump)

    def test_thousands_of_requests(self):
        node = self.workload("sample", 0.1)
        watch = self.by_hand(node, "--most", 3, "--distance", "1ms", "--keep", 2)
        for _ in range(REQUESTS):
            watch.process.send_signal(signal.SIGUSR1)
            time.sleep(0.001)
            self.assertLessEqual(len(watch.dumps()), 2)
        watch.wait_for("refused")
        self.assertEqual(len(watch.events("captured")), 3)
        self.assertLessEqual(len(watch.events("refused")), MOST_LINES)
        self.assert_unharmed(node)
        self.assertEqual(watch.end(), 0)

    def test_a_watcher_and_a_capture_that_are_killed(self):
        node = self.workload("standard", 0.3)
        watch = self.by_hand(node)
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("fired")
        until(lambda: any(watch.folder.glob("*.partial")))
        seen = int(time.time())
        capture = children(watch.process.pid)
        watch.process.kill()
        watch.process.wait()
        for pid in capture:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # The capture's guardian lets the node go on.
        until(lambda: not node.stopped_threads())
        self.assertEqual(node.ask("ping"), "pong")
        partial = list(watch.folder.glob("*.partial")) + watch.dumps()
        self.assertEqual(len(partial), 1)
        # It counts, also for the next watcher.
        again = self.watch("--rule", "processes > 99%", "--most", 1, node.pid)
        again.wait_for("watching")
        again.process.send_signal(signal.SIGUSR1)
        self.assertIn("1 dump of this node", again.wait_for("refused")[0]["why"])
        self.assertEqual(again.end(), 0)
        # And is the first to go. How old it is counts in whole seconds.
        until(lambda: int(time.time()) > seen)
        third = self.watch("--rule", "processes > 99%", "--keep", 1, "--distance", "1ms", node.pid)
        third.wait_for("watching")
        third.process.send_signal(signal.SIGUSR1)
        third.wait_for("captured")
        self.assertFalse(partial[0].exists())
        self.assert_unharmed(node)


if __name__ == "__main__":
    unittest.main(verbosity=2)
