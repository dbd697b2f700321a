"""beamdump-watch: takes the dump before a container's memory limit ends the node, keeps its limits, goes
on after restarts, and harms nothing.

BEAMDUMP_LEAKS: how often each kind of leak (1; soak: 25)."""

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import json
import mmap
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import time
import unittest

from support.memory.cgroup import MIB, MOUNT, MemoryCgroup, parent
from support.nif import build_nif
from support.node import (ApplicationStart, Node, base_environment, compile_testdata,
                          temporary_directory)
from support.paths import ANALYZE, WATCH
from support.release import of_release
from watching import READY_SECONDS, Watch, WithNode, run, summary_of, wait_past

LEAKS = int(os.environ.get("BEAMDUMP_LEAKS", "1"))
LIMIT_MIB = 400
KINDS = "mailbox", "heap", "rows", "binaries"
CAP_IPC_LOCK = 14  # linux/capability.h


def capable(capability):
    """Whether this process has it, in the first user namespace or not."""
    effective = re.search(r"CapEff:\s+(\w+)", pathlib.Path("/proc/self/status").read_text())[1]
    return int(effective, 16) >> capability & 1 == 1


def cached_bytes(file):
    """How much of a file is in the page cache (mincore(2)); None in a file system that is in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    if subprocess.run(["stat", "-f", "-c", "%T", file], capture_output=True, text=True).stdout == "tmpfs\n":
        return None
    size = file.stat().st_size
    with file.open("rb") as opened:
        mapped = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, opened.fileno(), 0)
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    if libc.mincore(mapped, size, pages) != 0:
        raise OSError(ctypes.get_errno(), "mincore")
    libc.munmap(mapped, size)
    return mmap.PAGESIZE * sum(page & 1 for page in pages.raw)


def history_of(file):
    return json.loads(run(ANALYZE, "history", file, "--json").stdout)


@dataclasses.dataclass
class Incident:
    """What is left of a node that the kernel ended."""
    summary: dict
    dump: pathlib.Path
    recording: str


def bytes_of(line):
    """The change in a line of the text of `history`: "+299.4 MiB"."""
    amount, unit = re.search(r"([+-][\d.]+) (B|KiB|MiB|GiB)", line).groups()
    return float(amount) * 1024 ** ("B", "KiB", "MiB", "GiB").index(unit)


class Rules(WithNode):
    def test_a_mailbox_that_grows(self):
        node = self.workload("leaking", 1)
        config = self.scratch / "watch.toml"
        # The second rule tells that the first one was asked again after its dump.
        config.write_text(f"""
            interval = "100ms"
            scan_interval = "100ms"
            capture = ["--mode", "live"]
            [[rule]]
            of = "mailbox"
            above = 10000
            command = 'echo "$BEAMDUMP_RULE $BEAMDUMP_FILE" > {self.scratch}/done'
            [[rule]]
            of = "mailboxes"
            above = 30000
            dump = false
            """)
        watch = self.watch("--config", config, node.pid)
        watch.wait_for("watching")
        self.assertEqual(watch.dumps(), [])
        self.assertEqual(node.ask("leaking mailbox"), "leaked")
        captured = watch.wait_for("captured")[0]
        dump = watch.dumps()[0]
        self.assertEqual(captured["file"], str(dump))
        self.assertEqual(dump.stat().st_mode & 0o777, 0o600)
        self.assertRegex(captured["reason"], r"^the longest mailbox was \d\d,\d{3} in <\d+\.\d+\.\d+>$")
        self.assertEqual(summary_of(dump)["capture"]["reason"], "mailbox: " + captured["reason"])
        deadline = time.monotonic() + READY_SECONDS
        done = self.scratch / "done"
        while not (done.exists() and done.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(done.read_text(), f"mailbox {dump}\n")
        # It is above for good: no second dump.
        self.assertEqual(node.ask("leaking mailbox"), "leaked")
        self.assertEqual([event["rule"] for event in watch.wait_for("fired", 2)], ["mailbox", "mailboxes"])
        self.assertEqual((watch.events("refused"), watch.dumps()), ([], [dump]))
        self.assertEqual(node.ask("ping"), "pong")

    def test_a_signal_takes_a_dump_and_limits_hold(self):
        node = self.workload("sample", 0.1)
        watch = self.watch("--rule", "processes > 99%", "--most", 2, "--distance", "1ms", node.pid)
        watch.wait_for("watching")
        for number in 1, 2:
            watch.process.send_signal(signal.SIGUSR1)
            captured = watch.wait_for("captured", number)[-1]
            # Nothing of it counts as the memory of a container.
            self.assertIn(cached_bytes(pathlib.Path(captured["file"])), (0, None))
            # Two dumps of one second would have one name.
            wait_past(captured["file"])
        watch.process.send_signal(signal.SIGUSR1)
        self.assertIn("2 dumps of this node", watch.wait_for("refused")[0]["why"])
        self.assertEqual(len(watch.dumps()), 2)
        self.assertEqual(watch.end(), 0)
        self.assertEqual(watch.errors.read_text().count("beamdump-watch:"), 0)

    def test_it_ends_in_a_capture(self):
        node = self.workload("standard", 0.3)
        watch = self.watch("--rule", "processes > 99%", node.pid)
        watch.wait_for("watching")
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("fired")
        self.assertEqual(watch.end(), 0)
        self.assertEqual(node.stopped_threads(), [])
        self.assertEqual(node.ask("ping"), "pong")

    def test_what_the_rules_see(self):
        node = self.workload("sample", 0.1)
        ended = run(WATCH, "--check", "-o", self.scratch, node.pid)
        lines = dict(line.split(": ", 1) for line in ended.stdout.splitlines()[1:])
        self.assertEqual(lines.keys(), {"memory", "atoms", "processes", "ports"})
        self.assertRegex(lines["memory"], r"^memory is [\d.]+ [KMG]iB, [\d.]+% of the .*\(")
        # The limit of the release: 262,144, and 1,048,576 from OTP 27 on.
        limit = f"{1048576 if int(node.release) >= 27 else 262144:,}"
        self.assertRegex(lines["processes"], rf"^the number of processes is [\d,]+, [\d.]+% of the "
                                             rf"process limit \({limit}\)$")
        # The counts are the node's.
        ended = run(WATCH, "--check", "-o", self.scratch, "--rule", "processes > 99%", "--rule",
                    "mailboxes > 99999999", node.pid)
        lines = dict(line.split(": ", 1) for line in ended.stdout.splitlines()[1:])
        # Without the one that answers.
        count = len(node.ask("processes").split())
        shown = int(lines["processes"].split(" is ")[1].split(", ")[0].replace(",", ""))
        self.assertLessEqual(abs(shown - count), 3)
        self.assertIn("messages in all mailboxes is 50", lines["mailboxes"])
        ended = run(WATCH, "--check", "-o", self.scratch, "--rule", "ets_tables > 99999", "--rule",
                    "held > 10s", node.pid)
        lines = ended.stdout.splitlines()
        self.assertEqual(lines[1], f"ets_tables: the number of ETS tables is {node.ask('tables')}")
        self.assertRegex(lines[2], "^held: the longest time .* without a pause is 0 s$")


class Events(WithNode):
    def test_a_native_call_that_does_not_return_and_processes_that_cannot_run(self):
        """The only scheduler is lost to a native call, while others are ready to run."""
        library, go = build_nif(self.scratch, "wedged"), self.scratch / "go"
        node = self.started("+S", "1:1", "-eval", f"""
            ok = wedged:start(0.1),
            Go = fun Wait() -> case file:read_file_info("{go}") of
                {{ok, _}} -> ok; _ -> timer:sleep(100), Wait() end end,
            spawn(fun() -> Go(), [spawn(fun Spin() -> Spin() end) || _ <- [1, 2]],
                           wedged:tell(<<"sleeping">>) end).""", BEAMDUMP_WEDGED_NIF=str(library))
        config = self.scratch / "watch.toml"
        config.write_text("""
            interval = "100ms"
            [[rule]]
            of = "stalled"
            above = "2s"
            dump = false
            [[rule]]
            of = "held"
            above = "4s"
            """)
        watch = self.watch("--config", config, node.pid)
        watch.wait_for("watching")
        go.touch()
        captured = watch.wait_for("captured")[0]
        reasons = {event["rule"]: event["reason"] for event in watch.events("fired")}
        self.assertRegex(reasons["stalled"], r"^the time in which no process ran though some were ready was \d+ s$")
        held = re.fullmatch(r"the longest time for which a scheduler had the same process without a pause was "
                            r"\d+ s in (<[\d.]+>)", captured["reason"])[1]
        listed = json.loads(run(ANALYZE, "processes", captured["file"], "--limit", 0, "--json").stdout)
        names = {process["pid"]: process.get("registered_name") for process in listed["processes"]}
        self.assertEqual(names[held], "sleeping")

    def test_processor_time_of_schedulers(self):
        node = self.workload("leaking", 1)
        watch = self.watch("--rule", "scheduler_time > 1%", "--interval", "100ms", node.pid)
        self.assertRegex(watch.wait_for("fired")[0]["reason"],
                         r"^the processor time of the schedulers' threads was [\d.]+%$")

    def test_the_start_and_the_end_of_a_node(self):
        config = self.scratch / "watch.toml"
        told = self.scratch / "told"
        config.write_text(f"""
            nodes = ["started_*@localhost"]
            [[rule]]
            on = "start"
            [[rule]]
            on = "end"
            command = 'echo "$BEAMDUMP_NODE $BEAMDUMP_REASON" >> {told}'
            """)
        self.started("-sname", "started_before@localhost")
        watch = self.watch("--config", config)
        watch.wait_for("watching")
        later = self.started("-sname", "started_later@localhost")
        captured = watch.wait_for("captured")[0]
        self.assertEqual((captured["node"], captured["reason"]), ("started_later@localhost", "the node started"))
        self.assertEqual(summary_of(captured["file"])["capture"]["reason"], "start: the node started")
        later.stop()
        watch.wait_for("ended")
        deadline = time.monotonic() + READY_SECONDS
        while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(told.read_text(), "started_later@localhost the node ended\n")
        # The one that ran before did not start.
        self.assertEqual(len(watch.dumps()), 1)

    def test_a_file_asks_for_a_dump(self):
        node = self.workload("sample", 0.1)
        watch = self.watch("--rule", "processes > 99%", node.pid)
        watch.wait_for("watching")
        request = watch.folder / "take-dump"
        request.touch()
        self.assertEqual(watch.wait_for("captured")[0]["reason"], "asked for by hand")
        self.assertFalse(request.exists())


class Recordings(WithNode):
    def recorded(self, node, watch, holds, number=1):
        """The history in the recording of the watcher, once that holds."""
        file = watch.wait_for("watching", number)[-1]["recording"]
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if pathlib.Path(file).exists() and holds(history := history_of(file)):
                return history
            time.sleep(0.05)
        raise RuntimeError(f"{file}: {watch.log.read_text()}")

    def test_what_grew_is_in_the_dump_and_stays_when_watcher_and_node_are_killed(self):
        node = self.workload("leaking", 1)
        config = self.scratch / "watch.toml"
        config.write_text("""
            interval = "100ms"
            scan_interval = "100ms"
            record = "60s"
            capture = ["--mode", "live"]
            [[rule]]
            of = "mailbox"
            above = 10000
            """)
        watch = self.watch("--config", config, node.pid)
        # Two readings of all processes before the leak.
        before = self.recorded(node, watch, lambda history: any(
            len(process["seen"]) > 1 for process in history["processes"]))
        self.assertTrue(before["recording"])
        shown = before["readings"][-1]
        # The counts are the node's; without the process that answers.
        self.assertLessEqual(abs(shown["processes"] - len(node.ask("processes").split())), 3)
        self.assertEqual(shown["processes_memory"] + shown["system"], shown["total"])
        self.assertGreater(shown["resident"], 0)
        names = {process["name"] for process in before["processes"] if "name" in process}
        self.assertIn("code_server", names)
        self.assertEqual(node.ask("leaking mailbox"), "leaked")
        captured = watch.wait_for("captured")[0]
        leaker = re.search(r"in (<[\d.]+>)$", captured["reason"])[1]

        def has_leak(history):
            return any(process["pid"] == leaker and process.get("messages_growth", 0) > 10000
                       for process in history["processes"])

        dump = history_of(captured["file"])
        self.assertFalse(dump["recording"])
        self.assertEqual(dump["readings"][0], before["readings"][0])
        self.assertEqual(dump["dump"]["node"], before["dump"]["node"])
        # Both are killed: the file is all that there is.
        self.recorded(node, watch, has_leak)
        watch.process.kill()
        watch.process.wait()
        node.stop()
        after = self.recorded(node, watch, has_leak)
        self.assertNotIn("node_ended_us", after)
        self.assertIn("When the node ended is not known; it ran at ", after["end"])
        text = run(ANALYZE, "history", watch.events("watching")[0]["recording"]).stdout
        self.assertIn("Mailboxes that grew most\nPID", text)
        self.assertIn("is a recording of beamdump-watch", subprocess.run(
            [ANALYZE, "processes", watch.events("watching")[0]["recording"]], capture_output=True,
            text=True).stderr)

    def test_the_end_of_a_killed_node_and_of_a_watcher_is_in_the_recording(self):
        node = self.workload("sample", 0.1)
        options = "--rule", "processes > 99%", "--interval", "100ms", "--record", "60s", node.pid
        first = self.watch(*options)
        self.recorded(node, first, lambda history: len(history["readings"]) > 2)
        self.assertEqual(first.end(), 0)
        history = history_of(first.events("watching")[0]["recording"])
        self.assertIn("watcher_ended_us", history)
        wait_past(first.events("watching")[0]["recording"])
        second = self.watch(*options)
        self.recorded(node, second, lambda history: len(history["readings"]) > 2)
        killed_us = time.time() * 1e6
        node.stop()
        second.wait_for("ended")
        self.assertEqual(second.process.wait(30), 0)
        history = history_of(second.events("watching")[0]["recording"])
        self.assertGreaterEqual(history["node_ended_us"], killed_us)
        self.assertLessEqual(history["readings"][-1]["at_us"], history["node_ended_us"])
        self.assertTrue(history["end"].startswith("The node had ended by "))
        # That of the run of the watcher before is still there.
        self.assertEqual(len(list(second.folder.glob("*.recording"))), 2)

    def test_no_recording_if_none_is_wanted(self):
        node = self.workload("sample", 0.1)
        watch = self.watch("--rule", "processes > 99%", "--record", "off", node.pid)
        self.assertNotIn("recording", watch.wait_for("watching")[0])
        watch.process.send_signal(signal.SIGUSR1)
        captured = watch.wait_for("captured")[0]
        self.assertIn("the dump has no readings", subprocess.run(
            [ANALYZE, "history", captured["file"]], capture_output=True, text=True).stderr)
        self.assertEqual(watch.end(), 0)
        self.assertEqual(list(watch.folder.glob("*.recording")), [])


class Restarts(WithNode):
    def test_a_node_that_starts_later_and_again(self):
        watch = self.watch("--rule", "processes > 99%", "watched@localhost")
        watch.wait_for("waiting")
        for number in 1, 2:
            with contextlib.ExitStack() as belongings:
                start = ApplicationStart()
                node = start.run(["erl", "-noinput", "-sname", "watched@localhost", "-pa", start.ebin,
                                  "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-run", "control",
                                  "start", start.directory / "control"], "kernel", {})
                belongings.callback(node.stop)
                told = watch.wait_for("watching", number)[-1]
                self.assertEqual((told["node"], told["pid"]), ("watched@localhost", str(node.pid)))
            watch.wait_for("ended", number)
        self.assertEqual(watch.end(), 0)


class Several(WithNode):
    """Nodes with names, each with an epmd of its own."""

    def named(self, name):
        return self.started("-sname", name)

    def test_a_node_that_gets_its_name_later_is_noticed(self):
        node = self.started("-eval", "timer:sleep(4000), {ok, _} = net_kernel:start("
                                     "[named_later@localhost, shortnames]).")
        watch = self.watch("--rule", "processes > 99%", "named_*@localhost")
        self.assertEqual(watch.wait_for("watching")[0]["pid"], str(node.pid))

    def test_nodes_of_a_pattern_each_with_limits_of_its_own(self):
        first = self.named("shop_a@localhost")
        self.named("other@localhost")
        watch = self.watch("--rule", "processes > 99%", "--most", 1, "shop_*@localhost")
        self.assertEqual(watch.wait_for("watching")[0]["node"], "shop_a@localhost")
        # One that starts later is noticed.
        second = self.named("shop_b@localhost")
        self.assertEqual(watch.wait_for("watching", 2)[1]["pid"], str(second.pid))
        watch.process.send_signal(signal.SIGUSR1)
        captured = watch.wait_for("captured", 2)
        self.assertEqual({event["node"]: event["pid"] for event in captured},
                         {"shop_a@localhost": str(first.pid), "shop_b@localhost": str(second.pid)})
        for event in captured:
            self.assertIn(event["node"], event["file"])
            self.assertEqual(summary_of(event["file"])["node"]["name"], event["node"])
        # The dumps were taken one after the other.
        kinds = [event["event"] for event in watch.all_events() if event["event"] in ("fired", "captured")]
        self.assertEqual(kinds, ["fired", "captured"] * 2)
        watch.process.send_signal(signal.SIGUSR1)
        refused = watch.wait_for("refused", 2)
        self.assertEqual({event["node"] for event in refused}, {"shop_a@localhost", "shop_b@localhost"})
        # The end of one does not end the watch of the other.
        first.stop()
        self.assertEqual(watch.wait_for("ended")[0]["node"], "shop_a@localhost")
        self.assertEqual(len(watch.events("watching")), 2)
        self.assertEqual(watch.end(), 0)
        self.assertEqual(second.ask("ping"), "pong")

    @unittest.skipUnless(os.geteuid() == 0, "PID namespaces need root: NOT TESTED here")
    def test_a_node_in_another_pid_namespace_is_named_by_its_container(self):
        directory = temporary_directory(self.belongings)
        process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
             *of_release("erl", "-noinput", "-start_epmd", "false", "-pa", compile_testdata(directory),
                         "-run", "control", "start", directory / "control")],
            env=base_environment(directory), cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.belongings.callback(process.wait)
        self.belongings.callback(process.kill)
        watch = self.watch("--all", "--rule", "processes > 99%")
        deadline = time.monotonic() + READY_SECONDS
        inside = []
        while not inside and time.monotonic() < deadline:
            inside = [event for event in watch.events("watching") if "container" in event]
            time.sleep(0.05)
        self.assertEqual(inside[0]["node"], "nonode@nohost")
        cgroups = pathlib.Path(f"/proc/{inside[0]['pid']}/cgroup").read_text()
        self.assertIn(":" + inside[0]["container"] + "\n", cgroups)


class CrashDumps(WithNode):
    def test_a_crash_dump_is_converted_and_the_original_stays(self):
        start = ApplicationStart()
        crash = start.directory / "crash"
        start.environment |= {"ERL_CRASH_DUMP": str(crash), "ERL_CRASH_DUMP_BYTES": str(1 << 30)}
        node = start.run(["erl", "-noinput", "-sname", "crashing@localhost", "-pa", start.ebin, "-kernel",
                          "inet_dist_use_interface", "{127,0,0,1}", "-run", "control", "start",
                          start.directory / "control"], "kernel", {})
        self.belongings.callback(node.stop)
        watch = self.watch("--rule", "processes > 99%", "--crash-dumps", "redact", node.pid)
        watch.wait_for("watching")
        # The VM writes its crash dump at this signal.
        os.kill(node.pid, signal.SIGUSR1)
        captured = watch.wait_for("captured")[0]
        self.assertEqual((captured["node"], captured["rule"]), ("crashing@localhost", "crash_dump"))
        self.assertIn("crashing@localhost_crash-", captured["file"])
        self.assertTrue(crash.read_text(errors="replace").startswith("=erl_crash_dump:"))
        # Without the values in it, of which the name is one.
        self.assertNotIn("crashing", summary_of(captured["file"])["node"]["name"])
        self.assertEqual(watch.process.wait(30), 0)


@unittest.skipUnless(os.geteuid() == 0 and parent(), "no memory cgroup of version 1 can be made: "
                                                     "NOT TESTED here: watching a container")
class Container(WithNode):
    def start_in_cgroup(self, belongings, kind):
        cgroup = MemoryCgroup(kind)
        belongings.callback(cgroup.remove)
        directory = temporary_directory(belongings)
        ebin = compile_testdata(directory)
        process = subprocess.Popen(
            cgroup.holding(*of_release("erl", "-noinput", "-start_epmd", "false", "-pa", ebin, "-run",
                                       "workload", "start", "sample", "0.1", directory)),
            env=base_environment(directory), cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        belongings.callback(process.wait)
        belongings.callback(process.kill)
        deadline = time.monotonic() + READY_SECONDS
        ready = directory / "ready"
        while not (ready.exists() and ready.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        node = Node(int(ready.read_text()), directory, contextlib.ExitStack())
        node.wait_until_quiet()
        cgroup.leave(LIMIT_MIB)
        return process, node, cgroup

    def leak(self, kind, number):
        """The summary of the dump that a leak of that kind leads to, after the node's end."""
        with contextlib.ExitStack() as belongings:
            process, node, cgroup = self.start_in_cgroup(belongings, kind)
            watch = Watch(belongings, self.scratch / f"{kind}-{number}", "--rule", "memory > 60%",
                          "--interval", "200ms", node.pid)
            watch.wait_for("watching")
            self.assertEqual(node.ask(f"filling {kind}"), "filling")
            captured = watch.wait_for("captured")[0]
            # The node lived until the end; what moves too fast may lack (3).
            self.assertIn(captured["status"], ("0", "3"))
            self.assertIn("of the limit of cgroup", captured["reason"])
            summary = summary_of(watch.dumps()[0])
            self.assertEqual(summary["capture"]["reason"], "memory: " + captured["reason"])
            # The leak goes on, and the kernel ends the node.
            cgroup.tighten(8)
            deadline = time.monotonic() + READY_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertIsNotNone(process.poll(), "the node still lives")
            watch.wait_for("ended")
            self.assertEqual(watch.process.wait(30), 0)
            # The recording alone tells what the node ended of.
            history = history_of(watch.events("watching")[0]["recording"])
            self.assertGreaterEqual(history["oom_kills_at_end"], 1, f"the node ended with {process.returncode}")
            memory = [reading["memory"] for reading in history["readings"]]
            self.assertGreater(memory[-1], memory[0] + LIMIT_MIB * MIB // 4)
            return Incident(summary, watch.dumps()[0], watch.events("watching")[0]["recording"])

    def test_a_leak_is_in_a_dump_before_the_kill(self):
        # A leak is mostly a wait, each in a container of its own: all kinds at the same time.
        with concurrent.futures.ThreadPoolExecutor(len(KINDS)) as pool:
            for number in range(LEAKS):
                leaks = {kind: pool.submit(self.leak, kind, number) for kind in KINDS}
                for kind, leak in leaks.items():
                    with self.subTest(kind=kind, number=number):
                        # The first finding names what fills the node.
                        self.assertIn(f"filling_{kind}", leak.result().summary["findings"][0]["sentence"])

    def test_four_commands_name_the_culprit_of_an_incident(self):
        """Those of docs/watch.md, "Afterwards": what leaks is not known to who asks."""
        kind = random.SystemRandom().choice(KINDS)
        incident = self.leak(kind, 0)
        history = run(ANALYZE, "history", incident.recording).stdout
        self.assertRegex(history, r"(?m)^The node had ended by .* \(OOM kill\)\.$")
        grew = {line.split()[0]: bytes_of(line) for line in history.splitlines()
                if re.match(r"(processes_memory|binary|ets) ", line)}
        print(f"grew by {grew}", flush=True)
        summary = run(ANALYZE, "summary", incident.dump).stdout
        first = re.search(r"(?m)^Findings\b.*\n  (\S(?:.|\n(?! +beamdump))*)\n +(beamdump-analyze .*)$", summary)
        self.assertIsNotNone(first, summary)
        finding, command = first.groups()
        shown = run(ANALYZE, *shlex.split(command)[1:]).stdout
        # A process, or a table whose owner the command shows.
        table = re.search(r"ETS\s+table\s+(\w+)", finding)
        culprit = (re.search(rf"(?m)^{table[1]} .* <[\d.]+> +(\w+)", shown) if table
                   else re.search(r"(\w+)\s+\(<[\d.]+>\)", finding))[1]
        process = run(ANALYZE, "process", incident.dump, culprit).stdout
        print(f"{kind}: {finding}\n{command}", flush=True)
        # Now it is told.
        self.assertEqual(culprit, f"filling_{kind}")
        if kind != "binaries":  # its terms show all that it keeps, and the command lists what they do not show
            self.assertIn(culprit, shown)
        self.assertIn("filling:fill/1", process)
        self.assertEqual(max(grew, key=grew.get), {"binaries": "binary", "rows": "ets"}.get(kind, "processes_memory"))


class OwnResources(WithNode):
    def locked(self, watch):
        """Bytes that the kernel may not take back (VmLck)."""
        watch.wait_for("watching")
        status = pathlib.Path(f"/proc/{watch.process.pid}/status").read_text()
        return int(re.search(r"VmLck:\s+(\d+) kB", status)[1]) * 1024

    @unittest.skipUnless(os.geteuid() == 0, "locked memory without a limit needs root: NOT TESTED here")
    def test_what_it_runs_stays_in_memory_where_that_has_no_limit(self):
        node = self.workload("sample", 0.1)
        limit = ("prlimit", "--memlock=65536:65536")
        bounded = Watch(self.belongings, self.scratch / "bounded", node.pid,
                        begin=("setpriv", "--bounding-set", "-ipc_lock", *limit))
        self.assertEqual(self.locked(bounded), 0)
        bounded.process.send_signal(signal.SIGUSR1)
        bounded.wait_for("captured")
        if not capable(CAP_IPC_LOCK):
            self.skipTest("this root may not lock memory")
        watch = Watch(self.belongings, self.scratch / "unbounded", node.pid, begin=limit)
        # The program's file is a part of it.
        self.assertGreater(self.locked(watch), WATCH.stat().st_size // 2)
        # Its limit is as it was, for its children.
        soft = re.search(r"Max locked memory\s+(\d+)", pathlib.Path(f"/proc/{watch.process.pid}/limits").read_text())
        self.assertEqual(int(soft[1]), 65536)
        watch.process.send_signal(signal.SIGUSR1)
        watch.wait_for("captured")

    @unittest.skipUnless(os.geteuid() == 0 and parent(), "no memory cgroup of version 1 can be made: NOT TESTED here")
    def test_it_moves_to_a_cgroup_of_its_own(self):
        of_node = MemoryCgroup("of-node")
        self.belongings.callback(of_node.remove)
        own = MemoryCgroup("own")
        self.belongings.callback(own.remove)
        own.remove()
        node = self.workload("sample", 0.1)
        name = own.directory.relative_to(MOUNT)
        watch = Watch(self.belongings, self.scratch / "dumps", "--cgroup", name, "--rule", "processes > 1", "--command",
                      f"cat /proc/self/cgroup > {self.scratch}/told.new; mv {self.scratch}/told.new {self.scratch}/told",
                      node.pid, begin=of_node.holding())
        watch.wait_for("captured")
        told, deadline = self.scratch / "told", time.monotonic() + READY_SECONDS
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        # What it starts, too.
        self.assertRegex(told.read_text(), f"(?m)^\\d+:memory:.*/{own.directory.name}$")
        self.assertNotIn(str(watch.process.pid), (of_node.directory / "cgroup.procs").read_text().split())
        self.assertIn(str(watch.process.pid), (own.directory / "cgroup.procs").read_text().split())
        self.assertEqual(watch.end(), 0)
        for pair in (("../x", 2, "such as beamdump"), ("cgroup.procs/x", 1, "cgroup.procs/x: Not a directory")):
            ended = subprocess.run([WATCH, "--cgroup", pair[0], str(node.pid)], stdin=subprocess.DEVNULL,
                                   capture_output=True, text=True, timeout=READY_SECONDS)
            self.assertEqual(ended.returncode, pair[1], ended.stderr)
            self.assertIn(pair[2], ended.stderr)


class Refusals(WithNode):
    def refused(self, status, sentence, *options):
        ended = subprocess.run([WATCH, *map(str, options)], stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, cwd=self.scratch)
        self.assertEqual((ended.returncode, ended.stdout), (status, ""), ended.stderr)
        self.assertIn(sentence, ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1)

    def test_one_sentence_each(self):
        node = self.workload("sample", 0.1)
        self.refused(2, '"90%" is no threshold of mailbox', "--rule", "mailbox > 90%", node.pid)
        self.refused(1, "/nonexistent", "--config", "/nonexistent/watch.toml", node.pid)
        wrong = self.scratch / "wrong.toml"
        wrong.write_text('interval = "1s"\n[[rule]]\nof = "memroy"\nabove = "90%"\n')
        self.refused(2, "wrong.toml:3: of is", "--config", wrong, node.pid)
        self.refused(1, "/proc/nowhere", "-o", "/proc/nowhere", node.pid)
        self.refused(1, "not an Erlang", os.getpid())
        watch = self.watch("--rule", "processes > 99%", node.pid)
        watch.wait_for("watching")
        self.refused(1, "another beamdump-watch", "-o", watch.folder, node.pid)

    def test_a_disk_without_room_keeps_the_node_and_says_so(self):
        node = self.workload("sample", 0.1)
        watch = self.watch("--free", "1024T", "--rule", "processes > 99%", node.pid)
        watch.wait_for("watching")
        watch.process.send_signal(signal.SIGUSR1)
        self.assertIn("1.0 PiB stay free", watch.wait_for("refused")[0]["why"])
        self.assertEqual(watch.dumps(), [])
        self.assertEqual(node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main(verbosity=2)
