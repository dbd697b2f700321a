"""Ports, schedulers, timers and persistent terms in a dump are as the node says."""

import os
import pathlib
import re
import signal
import tempfile
import unittest

from support import schemas, tools, whole_node
from support.distribution import start_pair
from support.node import beam_pid, start_workload
from support.paths import CAPTURE

MODES = ("auto", "snapshot", "freeze")
PORTS = ("port", "name", "connected", "registered_name", "input", "output", "queue", "os_pid")
SOCKETS = ("fd", "local", "remote", "port", "connected")
# Ticks change these for a connection between nodes.
MOVING = ("input", "output", "queue")
CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "1"))
# One capture may meet all of them erased.
MOST_ROUNDS = CAPTURES + 9
MANY_BUSY = 1000
MOST_OF_A_RULE = 3
READY = ("runnable", "running", "garbage_collecting", "exiting")
PARTS = ("max", "high", "normal", "low", "ports")
COUNTS = ("input", "output", "queue", "os_pid", "left", "in", "out")
CHANGING_WORDS = 3 + 2 * 3
# Two processes have as many each.
MOST_CHANGING = 2 * 2000
# An idle scheduler does not look for timeouts, so that more time is left to its timers than there is.
LONGEST_IDLE_MS = 30_000
HANDSHAKE_PACKETS = 10
SENDERS = 20
LARGE = 200_000
QUEUE_LIMIT = 1 << 20  # +zdbbl, as it is by default


class Activity(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def capture(self, node, mode, *options):
        """Processes that run when the node is stopped may lack their terms."""
        dump = self.scratch / f"{mode}.beamdump"
        tools.expect(tools.run_measured([CAPTURE, "--quiet", "--force", "-o", dump, "--mode", mode,
                                         *options, node.pid]), 0, 3)
        return dump

    def facts(self, node, what, fields):
        """The node's facts, by the first field."""
        path = self.scratch / what
        node.ask(f"facts {path} {what}")
        found = {}
        for line in path.read_text().splitlines():
            row = dict(zip(fields, line.split("\t"), strict=True))
            found[row[fields[0]]] = {
                name: int(value) if name in COUNTS else value
                for name, value in row.items() if value != ""}
        return found

    def listed(self, dump, what, *arguments):
        answer = tools.analyze_json(what, dump, "--limit", "0", *arguments)
        schemas.validate(answer, what)
        return answer[what]


class PersistentTerms(Activity):
    def test_terms_are_as_the_node_says(self):
        node = start_workload("persistent", 1)
        self.addCleanup(node.stop)
        # Asked once before, since code that the answer loads may add terms.
        whole_node.ask_persistent_terms(node, self.scratch)
        for mode in ("live", "freeze"):
            with self.subTest(mode=mode):
                dump = self.capture(node, mode, "--binary-bytes", "all")
                total, said = whole_node.ask_persistent_terms(node, self.scratch)
                answer = tools.analyze_json("persistent-terms", dump, "--limit", "0",
                                            "--term-bytes", "0")
                schemas.validate(answer, "persistent-terms")
                self.assertEqual((answer["count"], answer["memory_bytes"]), total)
                self.assertEqual(len(answer["terms"]), total[0])
                listed = {term["key"]: term for term in answer["terms"]}
                self.assertEqual(listed.keys(), said.keys())
                for key, (value, words) in said.items():
                    self.assertEqual(listed[key]["words"], words, key)
                    self.assertEqual(listed[key]["left_out"], not value, key)
                    if value:
                        self.assertEqual(listed[key]["value"], value, key)
                print(f"{mode}: {len(said)} persistent terms the same, {total[1]:,} bytes", flush=True)
        shown = tools.expect(tools.analyze("persistent-terms", dump, "{persistent,large_list}"), 0)
        self.assertIn("19999,20000]", shown.output)
        (large,) = [term for term in listed.values() if term["left_out"]]
        self.assertEqual(large["key"], "{persistent,large}")
        self.assertEqual(answer["missing"]["left_out"], 1)
        node.ask("start persistent 0.0")
        self.none_is_torn(node)

    def none_is_torn(self, node):
        seen = missed = 0
        for captured in range(MOST_ROUNDS):
            if captured >= CAPTURES and seen > CAPTURES:
                break
            for mode in ("live", "snapshot", "freeze"):
                dump = self.scratch / f"{mode}.beamdump"
                tools.capture(node, dump, "--force", "--mode", mode)
                answer = tools.analyze_json("persistent-terms", dump, "--filter", "key~{changing",
                                            "--limit", "0", "--term-bytes", "0")
                for term in answer["terms"]:
                    numbers = sorted(set(re.findall(r"\d+", term["value"])))
                    self.assertEqual((len(numbers), term["value"].count(",")), (1, 300),
                                     f"{mode}: {numbers} {term['key']}")
                seen += len(answer["terms"])
                missed += sum(why for name, why in answer["missing"].items() if name != "left_out")
        self.assertGreater(seen, CAPTURES)
        print(f"{seen} terms that are replaced all the time, none torn; {missed} not proven", flush=True)


class Ports(Activity):
    def compare(self, node, mode):
        dump = self.capture(node, mode)
        said = self.facts(node, "ports", PORTS)
        listed = {port["port"]: port for port in self.listed(dump, "ports")}
        processes = {process["pid"]: process for process in
                     tools.analyze_json("processes", dump, "--limit", "0")["processes"]}
        # Each question uses a new connection.
        self.assertLessEqual(len(said.keys() ^ listed.keys()), 2)
        compared = 0
        for number in said.keys() & listed.keys():
            port = listed[number]
            owner = processes[port["connected"]]
            self.assertEqual(port.get("owner"), owner.get("registered_name"))
            self.assertEqual(port["owner_initial_call"],
                             owner.get("translated_initial_call", owner["initial_call"]))
            for field in PORTS:
                if not (port["distribution"] and field in MOVING):
                    self.assertEqual(port.get(field), said[number].get(field), f"{field} of {port}")
                    compared += 1
        print(f"{mode}: {len(listed)} ports, {compared} facts the same", flush=True)
        return listed

    def test_ports_and_programs(self):
        node = start_workload("activity", 1)
        self.addCleanup(node.stop)
        for mode in MODES:
            with self.subTest(mode=mode):
                listed = self.compare(node, mode)
                self.assertGreater(len(listed), 200)
                by_name = {port["registered_name"]: port for port in listed.values()
                           if "registered_name" in port}
                blocked = by_name["activity_blocked"]
                self.assertTrue(blocked["busy"])
                self.assertGreater(blocked["queue"], 500_000)
                self.assertEqual(blocked["driver"], "spawn")
                (cat,) = [port for port in listed.values() if port["name"] == "/bin/cat"]
                self.assertEqual((cat["input"], cat["output"]), (12, 12))
                self.assertEqual([port["port"] for port in listed.values() if port["busy"]],
                                 [blocked["port"]])
        text = tools.expect(tools.analyze("ports", self.scratch / "freeze.beamdump"), 0).output
        self.assertIn("activity_ports", text.splitlines()[1])

    def compare_sockets(self, node, dump):
        said = self.facts(node, "sockets", SOCKETS)
        listed = {str(socket["fd"]): socket for socket in self.listed(dump, "sockets")}
        self.assertEqual(said.keys() - listed.keys(), set())
        for number, socket in said.items():
            self.assertEqual({field: str(listed[number][field]) for field in SOCKETS
                              if field in listed[number]}, socket)
        # What the node does not name: the questions' connections, and none with a port.
        others = [listed[number] for number in listed.keys() - said.keys()]
        self.assertLessEqual(len([socket for socket in others if "port" in socket]), 2)
        print(f"{len(said)} sockets the same, {len(others)} others", flush=True)
        return list(listed.values())

    def test_sockets(self):
        node = start_workload("activity", 1)
        self.addCleanup(node.stop)
        for mode in MODES:
            with self.subTest(mode=mode):
                sockets = self.compare_sockets(node, self.capture(node, mode))
                self.assertGreater(len(sockets), 200)
                (unread,) = [socket for socket in sockets if socket.get("receive_queue", 0) > 0]
                self.assertEqual((unread["receive_queue"], unread["state"], unread["owner"]),
                                 (5000, "ESTABLISHED", "activity_ports"))
                (crowded,) = [socket for socket in sockets if socket.get("waiting", 0) > 0]
                self.assertEqual((crowded["waiting"], crowded["state"]), (1, "LISTEN"))
                self.assertEqual([socket["protocol"] for socket in sockets
                                  if socket.get("protocol", "").startswith("udp")], ["udp"])
                listening = [socket for socket in sockets if socket.get("state") == "LISTEN"
                             and "port" not in socket]
                self.assertEqual(len(listening), 1)  # module socket's
        redacted = self.capture(node, "auto", "--redact", "structure")
        texts = {socket[field] for socket in self.listed(redacted, "sockets")
                 for field in ("local", "remote") if field in socket}
        self.assertEqual({text.strip("x") for text in texts}, {""})

    def test_distribution(self):
        node = start_pair()[0]
        self.addCleanup(node.stop)
        listed = self.compare(node, "auto")
        self.assertGreater(len([port for port in listed.values() if port["distribution"]]), 0)


class Schedulers(Activity):
    """On a node with a known number of busy processes, each is running or in a run queue."""

    def rows(self, dump):
        by_kind = {}
        for row in self.listed(dump, "schedulers"):
            by_kind.setdefault(row["kind"], []).append(row)
        return by_kind

    def compare(self, node, mode):
        dump = self.capture(node, mode)
        said = {what: int(row["number"]) for what, row in
                self.facts(node, "schedulers", ("what", "number")).items()}
        found = self.rows(dump)
        normal, dirty_cpu = found["normal"], found["dirty_cpu"]
        self.assertEqual([row["scheduler"] for row in
                          sorted(normal + dirty_cpu + found["dirty_io"],
                                 key=lambda row: row["scheduler"])],
                         list(range(1, said["schedulers"] + said["dirty_cpu_schedulers"] +
                                    said["dirty_io_schedulers"] + 1)))
        for rows, number in ((normal, said["schedulers_online"]),
                             (dirty_cpu, said["dirty_cpu_schedulers_online"]),
                             (found["dirty_io"], said["dirty_io_schedulers"])):
            online = [row.get("online") for row in rows]
            # A scheduler that changes its process at each read has no facts in a live capture.
            self.assertEqual(online.count(None) if mode != "auto" else 0, 0)
            self.assertIn(number, range(online.count(True), len(rows) - online.count(False) + 1))
        for kind in ("dirty_cpu_queue", "dirty_io_queue"):
            self.assertEqual([row["queue"] for row in found[kind]], [said[kind]])
        running = [row for row in normal if row.get("state") == "running"]
        dirty = [row for row in dirty_cpu if row.get("state") == "running"]
        print(f"{mode}: {len(running)} running, queues "
              f"{[row.get('queue') for row in normal]}, the node says {said}", flush=True)
        return dump, found, running, dirty

    def test_busy_processes_run_or_wait(self):
        node = start_workload("run_queues", 1)
        self.addCleanup(node.stop)
        for mode in MODES:
            with self.subTest(mode=mode):
                dump, found, running, dirty = self.compare(node, mode)
                self.assertEqual(len(dirty), 1)
                self.assertEqual(found["dirty_cpu_queue"][0]["normal"], 3)
                for row in running + dirty:
                    self.assertRegex(row["process"], "^<0[.]")
                waiting = [row for row in found["normal"] if "queue" in row]
                for row in waiting:
                    self.assertEqual(row["queue"], sum(row[part] for part in PARTS))
                if mode != "auto":
                    # Each scheduler may have taken a process from its queue that does not run yet:
                    # of those that never wait, five more than schedulers, five are left.
                    schedulers = len(found["normal"])
                    self.assertEqual(len(waiting), schedulers)
                    self.assertGreaterEqual(len(running) + sum(row["queue"] for row in waiting), 5)
                    self.assertIn(self.ready_elsewhere(dump, found), range(schedulers + 1))
        node.ask(f"start run_queues {MANY_BUSY}.0")
        self.long_queues_are_findings(self.capture(node, "freeze"))

    def ready_elsewhere(self, dump, found):
        """Processes that are ready or run, by their status, less those of schedulers and queues."""
        return (sum(process["status"] in READY for process in self.listed(dump, "processes")) -
                sum(row.get("queue", 0) - row.get("ports", 0) + (row.get("state") == "running")
                    for rows in found.values() for row in rows))

    def long_queues_are_findings(self, dump):
        waiting = {row["scheduler"]: row for row in self.rows(dump)["normal"] if row["queue"] >= 200}
        self.assertGreater(sum(row["queue"] for row in waiting.values()), MANY_BUSY // 2)
        summary = tools.analyze_json("summary", dump)
        found = [finding for finding in summary["findings"] if finding["id"] == "run_queue"]
        self.assertEqual(len(found), min(len(waiting), MOST_OF_A_RULE))
        for finding in found:
            figures = finding["figures"]
            row = waiting[figures["scheduler"]]
            self.assertEqual((figures["waiting"], figures.get("process")),
                             (row["queue"], row.get("process")))
            print(finding["sentence"], flush=True)


class Timers(Activity):
    """Every message timer that a process has set and knows of, and how many wait in a receive."""

    def compare(self, node, mode):
        dump = self.capture(node, mode)
        said = self.facts(node, "timers", ("reference", "receiver", "left"))
        listed = self.listed(dump, "timers")
        messages = {timer["reference"]: timer for timer in listed if timer["kind"] == "message"}
        self.assertEqual(len(said), 280)
        self.assertEqual(said.keys() - messages.keys(), set())
        for reference, told in said.items():
            timer = messages[reference]
            self.assertEqual(timer["receiver"], told["receiver"])
            self.assertIn(timer["left_ms"] - told["left"], range(LONGEST_IDLE_MS), timer)
            self.assertEqual(timer["orphaned"], told["receiver"] == "timers_nobody")
            # Beyond the wheel are those of 48 days.
            self.assertEqual(timer["level"], "high" if told["left"] > 10**9 else "low")
        others = [timer for reference, timer in messages.items() if reference not in said]
        # Those of the node's own servers; none is cancelled, or of a process that has exited.
        self.assertLess(len(others), 6, others)
        self.assertEqual([timer for timer in others if timer["orphaned"] or timer["left_ms"] > 10**9],
                         [])
        waiting = [timer for timer in listed if timer["kind"] == "receive" and
                   timer["left_ms"] > 3_000_000]
        self.assertEqual(sorted(timer["level"] for timer in waiting), 5 * ["high"] + 20 * ["low"])
        print(f"{mode}: {len(said)} message timers the same, {len(others)} others, "
              f"{len(listed)} timers", flush=True)
        return messages.values()

    def test_timers_are_as_the_node_says(self):
        node = start_workload("timers", 1)
        self.addCleanup(node.stop)
        for mode in ("live", "freeze"):
            with self.subTest(mode=mode):
                words = {timer["message_words"] for timer in self.compare(node, mode)
                         if timer["level"] == "high" and timer["receiver"].startswith("<")}
                # {timeout, Reference, List}, in one fragment: a word more in OTP 25 to 29 for the
                # header of each, 3 for the reference, 2 for each of 1 to 100 elements.
                self.assertEqual(words, {4 + 3 + 2 * length for length in range(1, 101)})
        warnings = tools.analyze_json("summary", self.scratch / "freeze.beamdump")
        self.assertNotIn("timers", str(warnings.get("warnings", "")))
        node.ask("start timers 0.0")
        self.none_is_torn(node)

    def none_is_torn(self, node):
        """Each of the timers that are set and cancelled all the time is one that was set."""
        for mode in CAPTURES * ("live", "freeze"):
            listed = self.listed(self.capture(node, mode), "timers")
            changing = [timer for timer in listed
                        if timer.get("name", "").startswith("timers_changing_")]
            for timer in changing:
                self.assertEqual((timer["kind"], timer["message_words"], timer["orphaned"]),
                                 ("message", CHANGING_WORDS, False))
                self.assertEqual(timer["level"] == "high", timer["left_ms"] > 7_300_000)
            references = [timer["reference"] for timer in listed if "reference" in timer]
            # While the node runs, a timer may move to where it is met once more.
            twice = len(references) - len(set(references))
            self.assertLessEqual(twice, len(references) // 200 if mode == "live" else 0)
            self.assertGreater(len(changing), MOST_CHANGING // 4)
            self.assertLessEqual(len(changing), MOST_CHANGING * (2 if mode == "live" else 1))
            print(f"{mode}: {len(changing)} of at most {MOST_CHANGING} timers that are set and "
                  "cancelled all the time", flush=True)


class OtherNodes(Activity):
    def compare(self, node, mode):
        dump = self.capture(node, mode)
        said = self.facts(node, "nodes", ("node", "type", "controller", "in", "out"))
        listed = {other["node"]: other for other in self.listed(dump, "nodes")}
        self.assertEqual(listed.keys(), said.keys())
        for name, told in said.items():
            other = listed[name]
            self.assertEqual({field: other.get(field) for field in ("type", "controller")},
                             {field: told.get(field) for field in ("type", "controller")}, name)
            connected = told["type"] != "not_connected"
            self.assertEqual(other["state"], "connected" if connected else "idle")
            self.assertEqual({"in", "out", "creation", "connection_id"} <= other.keys(), connected)
            if connected:
                # The port also counts the packets of the handshake.
                for field in ("in", "out"):
                    self.assertIn(told[field] - other[field], range(HANDSHAKE_PACKETS), field)
        return dump, listed

    def test_hidden_and_unknown_nodes(self):
        node = start_pair("-hidden")[0]
        self.addCleanup(node.stop)
        node.ask("start far 0.0")
        listed = self.compare(node, "auto")[1]
        self.assertEqual({name: (other["type"], other["queue"], other["busy"], other["suspended"])
                          for name, other in listed.items()},
                         {"far@localhost": ("hidden", 0, False, 0),
                          "nonode@nohost": ("not_connected", 0, False, 0),
                          "elsewhere@localhost": ("not_connected", 0, False, 0)})

    def test_suspended_senders(self):
        node, messages, _ = start_pair()
        self.addCleanup(node.stop)
        os.kill(beam_pid(node.far.pid), signal.SIGSTOP)
        node.ask(f"start far {SENDERS:.1f}")
        node.wait_until_quiet()
        for mode in MODES:
            with self.subTest(mode=mode):
                dump, listed = self.compare(node, mode)
                suspended = self.facts(node, "suspended", ("pid",)).keys()
                far = listed["far@localhost"]
                # Servers of the node may send, too.
                self.assertGreaterEqual(len(suspended), SENDERS)
                self.assertEqual((far["busy"], far["suspended"]), (True, len(suspended)))
                self.assertEqual(set(far["processes"].split()), suspended)
                # The kernel may take more later; the senders wait until the port is not busy, too.
                self.assertIn(far["queue"], range(1, 2 * QUEUE_LIMIT + SENDERS * LARGE))
                self.assertGreater(far["in"], messages)
                (finding,) = [finding for finding in tools.analyze_json("summary", dump)["findings"]
                              if finding["id"] == "busy_connection"]
                self.assertEqual(finding["figures"], {
                    "node": "far@localhost", "suspended": len(suspended),
                    "queued_bytes": far["queue"]})
                print(f"{mode}: {finding['sentence']}", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
