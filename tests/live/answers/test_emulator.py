"""The emulator's own state (emulator.erl): who holds its permissions and who waits for them, which
scheduler makes no thread progress, system tasks, fixed tables, resources, relations. The node's own
word is the oracle."""

import os
import pathlib
import re
import tempfile
import time
import unittest
from unittest import mock

from support import tools
from support.captured import listed
from support.nif import build_nif
from support.node import start_workload
from support.paths import SAMPLE
from support.release import RELEASE

RESOURCES = 100_000
MOST_TRIES = 20
ROWS, DELETED = 1_000, 300
HELD, HELD_BYTES = 500, 20_000
LEAKED, LEAKED_BYTES = int(os.environ.get("BEAMDUMP_LEAKED", HELD)), 20_000
MONITORS = 50_000
PORTS = 12
TRACED = 300
DELAYED, DELAYED_BYTES = 5_000, 1_000
KEPT, KEPT_BYTES = 200, 40_000
# What is known of permissions; the executable of 29 has no names of what it would be read by.
HAS_PERMISSIONS = int(RELEASE) < 29


def by_name(items, key="process"):
    return {item[key].get("registered_name"): item for item in items}


def unreferred(blocks):
    return blocks["bytes"] - blocks["referred_to_bytes"]


class Emulator(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        library = build_nif(self.scratch, "emulator")
        with mock.patch.dict(os.environ, BEAMDUMP_EMULATOR_NIF=str(library)):
            self.node = start_workload("emulator", 0.1)
        self.addCleanup(self.node.stop)
        self.dump = self.scratch / "emulator.beamdump"

    def report(self, *options):
        tools.capture(self.node, self.dump, "--force", *options)
        return tools.analyze_json("emulator", self.dump, "--limit", "0")

    def held(self):
        """A scheduler is held until the test ends."""
        file = self.scratch / "release"
        self.addCleanup(file.touch)
        self.assertEqual(self.node.ask(f"emulator hold {file}"), "ok")

    def check_held(self, report, since):
        holding = [line for line in report["thread_progress"]
                   if line.get("process", {}).get("registered_name") == "held"]
        self.assertEqual(len(holding), 1, report["thread_progress"])
        # On 29 the current round is known only by a scheduler that has led one.
        round_known = HAS_PERMISSIONS or holding[0]["state"] != "unknown"
        if round_known:
            self.assertTrue(holding[0]["state"] == "behind" or holding[0]["leader"], holding)
        self.assertEqual(holding[0]["process"]["current_function"], "emulator:hold/2")
        if since and round_known:
            self.assertGreater(holding[0]["held_up_for_us"], 0)
            self.assertEqual([line for line in report["thread_progress"]
                              if "held_up_for_us" in line], holding)
        tasks = by_name(report["system_tasks"])["held"]["tasks"]
        checks = [task for task in tasks if task["kind"] == "check_process_code"]
        self.assertEqual([(task["module"], task["display_name"]) for task in checks],
                         [("emulator", "code_checker"), ("emulator", "waiting_checker")])
        suspended = by_name(report["suspended"])
        for name in ("first_put", "second_put", "third_put", "emulator_first", "emulator_second"):
            self.assertIn(name, suspended)
        if HAS_PERMISSIONS:
            self.check_permissions(report, suspended)
        else:
            self.assertEqual(report["permissions"], [])
            self.assertRegex(" ".join(report["untold"]), "permission to update persistent terms")

    def check_hang(self, since):
        """Chains of all that wait end at the process in the native call."""
        # On 29 the current round is known only by a scheduler that has led one.
        progress = tools.analyze_json("emulator", self.dump)["thread_progress"]
        known = HAS_PERMISSIONS or any(line["state"] == "behind" or line["leader"]
                                       for line in progress)
        for name in ("second_put", "emulator_second", "first_put"):
            asked = self.hang(name)
            kinds = [wait["waits"][0]["kind"] for wait in asked["chain"] if wait["waits"]]
            self.assertIn("thread_progress", kinds, name)
            if HAS_PERMISSIONS and name != "first_put":
                self.assertEqual(kinds[:2], ["permission", "holder"], name)
            if known:
                self.assertEqual(self.end_of(asked), "held", asked)
                self.assertEqual(kinds[-2:], ["held_up_by", "runs"], name)
        for name, certain in (("waiting_checker", True), ("code_checker", False)):
            asked = self.hang(name)
            wait = asked["chain"][0]["waits"][0]
            self.assertEqual((wait["kind"], wait["certain"], wait["task"], self.end_of(asked)),
                             ("system_task", certain, "check_process_code of emulator", "held"))
        if known:
            first = tools.analyze_json("hang", self.dump)["ends"][0]
            self.assertEqual(self.end_of(first), "held")
            # Three puts, two loads, two checks.
            self.assertGreaterEqual(first["behind"], 7)
        self.check_rows()
        if known and since:
            found = self.findings()
            self.assertRegex(found["emulator_waits"], "held .* in emulator:hold/2")
            self.assertRegex(found["emulator_waits"], "A purge of emulator does not go on")

    def check_rows(self):
        """The rows of sql lead to the ends of the chains, in as many steps."""
        ended = tools.expect(tools.analyze("sql", self.dump, "SELECT * FROM hang WHERE followed", "--json"), 0, 3)
        rows = {row["place"]: row for row in tools.parse(ended)["rows"]}
        for name in ("second_put", "emulator_second", "first_put", "waiting_checker"):
            chain = self.hang(name)["chain"]
            places = [wait["process"]["pid"] if "process" in wait else wait["name"] for wait in chain]
            row = rows[places[0]]
            self.assertEqual((row["waits_for"], row["ends_at"], row["steps"]),
                             (places[1], places[-1], len(places) - 1), chain)
            self.assertEqual(row["wait"], chain[0]["waits"][0]["kind"])

    def hang(self, process):
        ended = tools.expect(tools.analyze("hang", self.dump, process, "--json"), 0, 3)
        return tools.parse(ended)["asked"]

    def end_of(self, end):
        return end["chain"][-1]["process"].get("registered_name")

    def findings(self):
        """The sentences of each rule."""
        ended = tools.expect(tools.analyze("summary", self.dump, "--json"), 0, 3)
        sentences = {}
        for finding in tools.parse(ended)["findings"]:
            sentences[finding["id"]] = sentences.get(finding["id"], "") + finding["sentence"] + "\n"
        return sentences

    def check_permissions(self, report, suspended):
        permissions = {line["name"]: line for line in report["permissions"]}
        terms = permissions["persistent_term_update"]
        self.assertEqual(terms["holder"]["registered_name"], "first_put")
        self.assertEqual([process["registered_name"] for process in terms["waiting"]],
                         ["second_put", "third_put"])
        self.assertIn("waits for the permission persistent_term_update",
                      suspended["second_put"]["reasons"])
        code = permissions["code_write" if int(RELEASE) < 26 else "code_staging"]
        self.assertTrue(code["held"])
        self.assertEqual([process["registered_name"] for process in code["waiting"]],
                         ["emulator_second"])
        if int(RELEASE) < 26:
            self.assertNotIn("holder", code)
            self.assertEqual([process["registered_name"] for process in code["may_hold"]],
                             ["emulator_first"])
        else:
            self.assertEqual(code["holder"]["registered_name"], "emulator_first")

    def test_a_held_scheduler_live(self):
        self.held()
        self.check_held(self.report("--mode", "live"), True)
        self.check_hang(True)

    def test_a_held_scheduler_in_a_stop(self):
        self.held()
        for mode in ("freeze", "snapshot"):
            with self.subTest(mode):
                self.check_held(self.report("--mode", mode), None)
                self.check_hang(False)

    def test_nothing_is_held_in_a_node_at_rest(self):
        report = self.report()
        self.assertEqual([line for line in report["permissions"] if line["held"]], [])
        self.assertEqual([line for line in report["thread_progress"]
                          if line.get("held_up_for_us", 0) > 10_000_000], [])
        self.assertEqual(report["processes_with_system_tasks"], len(report["system_tasks"]))

    def test_who_suspends(self):
        self.assertEqual(self.node.ask("emulator suspend"), "ok")
        suspended = by_name(self.report()["suspended"])
        self.assertRegex(suspended["sleeper"]["reasons"][0], r"^suspended by <.*> suspender$")
        state = tools.analyze_json("processes", self.dump, "--filter", "state~SUSPENDED")
        self.assertEqual([process["registered_name"] for process in state["processes"]],
                         ["sleeper"])
        asked = self.hang("sleeper")
        self.assertEqual((asked["chain"][0]["waits"][0]["kind"], self.end_of(asked)),
                         ("suspended_by", "suspender"))
        self.assertRegex(self.findings()["suspended_process"], "100 messages .* sleeper .* is suspended by suspender")

    def test_who_traces(self):
        """By tracer, from OTP 27 on by session; a session that traces nothing where their list is known."""
        self.assertEqual(self.node.ask(f"emulator trace {TRACED}"), str(TRACED + 1))
        sessions = int(RELEASE) >= 27
        expected = {("planted_session" if sessions else None, "planted_tracer"): (TRACED, "send | call"),
                    ("legacy" if sessions else None, "other_tracer"): (1, "receive")}
        if RELEASE == "27":
            expected["idle_session", "planted_tracer"] = (0, "")
        for mode in ("live", "freeze", "snapshot"):
            with self.subTest(mode):
                report = self.report("--mode", mode)
                self.assertEqual((report["traced_processes"], report["traced_unread"]), (TRACED + 1, 0))
                self.assertEqual({(trace.get("session"), trace["tracer"]["registered_name"]):
                                  (trace["processes"], trace["flags"]) for trace in report["traces"]},
                                 expected)
        state = tools.analyze_json("process", self.dump, "traced_by_other")["state"]
        self.assertEqual(state["trace_flag_names"], "receive")

    def test_which_functions_are_traced(self):
        """By the node's own word for each function of each module; afterwards none."""
        told = self.node.ask("emulator trace_calls")
        expected = {(f"{module}:{function}/{arity}", None if int(RELEASE) < 27 else session,
                     frozenset(flags.split(",")))
                    for module, function, arity, session, flags in re.findall(
                        r"\{(\w+),(\w+),(\d+),(\w+),\[([\w,]+)\]\}", told)}
        functions = {function for function, _, _ in expected}
        self.assertGreater(len(functions), 20)
        self.assertEqual(told.count("{"), len(expected))
        for mode in ("live", "freeze", "snapshot"):
            with self.subTest(mode):
                report = self.report("--mode", mode)
                self.assertEqual(report["traced_functions"], len(functions))
                self.assertEqual({(trace["function"], trace.get("session"),
                                   frozenset(trace["flags"].split(" | ")))
                                  for trace in report["function_traces"]}, expected)
        self.assertRegex(tools.analyze("emulator", self.dump).output,
                         r"\(\d+\)\n.*\n(.*\n)*  emulator:start/1 .*local \| call_count")
        self.assertEqual(self.node.ask("emulator trace_no_calls"), "ok")
        # Breakpoints go with thread progress.
        for _ in range(20):
            report = self.report("--mode", "live")
            if report["traced_functions"] == 0:
                break
        self.assertEqual((report["traced_functions"], report["function_traces"]), (0, []))

    def test_who_has_a_global_lock(self):
        self.assertEqual(self.node.ask("emulator lock"), "ok")
        self.report()
        asked = self.hang("lock_waiter")
        self.assertEqual([step["name"] for step in asked["chain"]][1], "global lock emulator_lock")
        self.assertEqual(self.end_of(asked), "lock_holder")

    def test_a_busy_port_is_an_end(self):
        port = self.node.ask("emulator busy_port")
        self.report()
        names = ["port_sender", "second_sender", "third_sender"]
        for name in names:
            asked = self.hang(name)
            self.assertEqual([wait["kind"] for wait in asked["chain"][0]["waits"]], ["busy_port"])
            self.assertEqual(asked["end"]["name"], port)
        listed_port, = tools.analyze_json("ports", self.dump, "--filter", f"port={port}")["ports"]
        pids = {process.get("registered_name"): pid for pid, process in listed(self.dump).items()}
        self.assertEqual((listed_port["busy"], listed_port["suspended"], listed_port["suspended_processes"]),
                         (True, len(names), " ".join(pids[name] for name in names)))
        others = tools.analyze_json("ports", self.dump, "--filter", f"port!={port}")["ports"]
        self.assertEqual({other["suspended"] for other in others}, {0})
        self.check_queue(port)

    def check_queue(self, port):
        """What its queue keeps: nothing is sent any more, as all senders are suspended."""
        tools.capture(self.node, self.dump, "--force", "--mode", "freeze", "--blocks", "binary")
        told = int(self.node.ask(f"emulator queue_size {port}"))
        ports = tools.analyze_json("ports", self.dump, "--limit", "0")["ports"]
        queue, = [one for one in ports if one["port"] == port]
        self.assertEqual(queue["queue"], told)
        self.assertGreater(queue["queued_binaries"], 0)
        self.assertGreaterEqual(queue["queued_binary_bytes"], told)
        self.assertEqual({one["queued_binaries"] for one in ports if one["queue"] == 0}, {0})
        blocks, = tools.analyze_json("memory", self.dump, "--blocks")["blocks"]
        all_binaries = sum(one["queued_binaries"] for one in ports)
        self.assertEqual(blocks["in_port_queues_blocks"], all_binaries)
        self.assertGreaterEqual(blocks["in_port_queues_bytes"], sum(one["queued_binary_bytes"] for one in ports))
        self.assertEqual(sum(group["blocks"] for group in blocks["groups"] if group.get("in_port_queue")), all_binaries)

    def test_a_list_without_end(self):
        """A process whose list of off-heap objects is a circle has ended: its scheduler is lost."""
        # Of a Binary (erl_binary.h): its flags are before its reference count, from 27 on another word too.
        pid = self.node.ask(f"emulator circle {8 if int(RELEASE) < 27 else 16}")
        for _ in range(MOST_TRIES):
            report = self.report()
            lost = [line for line in report["thread_progress"] if "off_heap_circle" in line]
            if lost and "circle_put" in by_name(report["suspended"]):
                break
            time.sleep(0.5)
        self.assertEqual([(line["frees"], line["off_heap_circle"]) for line in lost], [(pid, 1)])
        self.assertNotIn(pid, listed(self.dump))
        self.assertRegex(self.findings()["emulator_waits"], f"is lost: it frees {pid}, ")
        # The executable of 29 does not tell which value of thread progress is the present one.
        if HAS_PERMISSIONS or lost[0]["state"] != "unknown":
            end = self.hang("circle_put")["end"]
            self.assertEqual((end["name"], end["kind"]), (pid, "endless"))
        text = tools.expect(tools.analyze("emulator", self.dump), 0, 3).output
        self.assertRegex(text, f"frees {pid}, which has ended")
        self.assertRegex(text, f"off-heap objects of {pid} leads back into itself at 0x[0-9a-f]+, over 1 member")
        schedulers = tools.analyze_json("schedulers", self.dump)["schedulers"]
        self.assertEqual([one["state"] for one in schedulers if one.get("frees") == pid], ["running"])
        ended = tools.expect(tools.run_measured([SAMPLE, "threads", "--json", "--duration", "300ms", self.node.pid]), 0, 3)
        self.assertEqual([(one["frees"], one["off_heap_circle"]) for one in tools.parse(ended)["threads"]
                          if "off_heap_circle" in one], [(pid, 1)])

    def test_blocks_that_another_thread_gave_back(self):
        file = self.scratch / "release"
        self.addCleanup(file.touch)
        held = int(self.node.ask(f"emulator delayed {file} {DELAYED}"))
        for mode in ("live", "freeze"):
            tools.capture(self.node, self.dump, "--force", "--mode", mode)
            instances = tools.analyze_json("allocators", self.dump, "--instances", "--limit", "0")["allocators"]
            delayed = {one["instance"]: one for one in instances if one["name"] == "binary_alloc"}
            # Others may be there too.
            self.assertTrue(DELAYED <= delayed[held]["delayed_blocks"] < 1.1 * DELAYED, delayed[held])
            self.assertGreater(delayed[held]["delayed_bytes"], DELAYED * DELAYED_BYTES)
            self.assertLess(delayed[held]["delayed_bytes"], 1.1 * DELAYED * DELAYED_BYTES)
            self.assertGreaterEqual(delayed[held]["blocks"], delayed[held]["delayed_blocks"])
        # Those of all instances together.
        whole, = [one for one in tools.analyze_json("allocators", self.dump)["allocators"] if one["name"] == "binary_alloc"]
        self.assertEqual(whole["delayed_blocks"], sum(one.get("delayed_blocks", 0) for one in delayed.values()))

    def test_ports_without_owner(self):
        owner, *ports = self.node.ask(f"emulator orphaned_ports {PORTS}").split()
        for mode in ("freeze", "snapshot", "live"):
            with self.subTest(mode):
                tools.capture(self.node, self.dump, "--force", "--mode", mode)
                all_ports = tools.analyze_json("ports", self.dump, "--limit", "0")["ports"]
                orphaned = {port["port"] for port in all_ports if port.get("orphaned")}
                if mode == "live":
                    # It cannot tell: the process may not have been there yet.
                    self.assertEqual(orphaned, set())
                    continue
                self.assertEqual(orphaned, set(ports))
                self.assertEqual({port["connected"] for port in all_ports
                                  if port["port"] in orphaned}, {owner})
                self.assertEqual([port for port in all_ports if "orphaned" not in port], [])
                self.assertRegex(self.findings()["orphaned_ports"],
                                 f"{PORTS} ports are of a process that does not exist")
        # The node's own word: the ports live, and their owner does not.
        self.assertEqual(self.node.ask(f"emulator living_ports {owner}"), str(PORTS))

    def test_many_monitors_of_one_process(self):
        self.assertEqual(self.node.ask(f"emulator monitors {MONITORS}"), "ok")
        self.report()
        found = self.findings()["many_relations"]
        self.assertRegex(found, "monitoring .* has 50,0.. monitors")
        self.assertRegex(found, "monitored .* is monitored 50,0.. times")

    def test_who_fixed_a_table(self):
        self.assertEqual(self.node.ask("emulator fix"), "ok")
        tools.capture(self.node, self.dump)
        table, = [table for table in tools.analyze_json("ets", self.dump, "--limit", "0")["tables"]
                  if table["name"] == "emulator_fixed"]
        told = self.node.ask("emulator fixed")
        (mega, seconds, micro), pids = (
            [int(number) for number in re.match(r"\{\{(\d+),(\d+),(\d+)\}", told).groups()],
            re.findall(r"<[\d.]+>", told))
        self.assertEqual(table["fixers"], 2)
        self.assertEqual(sorted(table["fixed_by"].split()), sorted(pids))
        self.assertEqual(table["fixed_since_us"], (mega * 1_000_000 + seconds) * 1_000_000 + micro)
        # Rows are inserted, some are deleted: these are kept as long as the table is fixed.
        self.assertEqual(self.node.ask(f"emulator delete_fixed {ROWS} {DELETED}"), str(ROWS - DELETED))
        for mode in ("live", "freeze"):
            tools.capture(self.node, self.dump, "--force", "--mode", mode)
            rows = tools.analyze_json("ets", self.dump, "emulator_fixed")
            self.assertEqual((rows["counted"], rows["captured"], rows["deleted"]),
                             (ROWS - DELETED, ROWS - DELETED, DELETED))

    def test_resources_by_type(self):
        self.assertEqual(self.node.ask(f"emulator resources {RESOURCES}"), "ok")
        tools.capture(self.node, self.dump)
        types = {(line["module"], line["name"]): line for line in
                 tools.analyze_json("resources", self.dump, "--limit", "0")["resources"]}
        self.assertEqual(types["emulator", "planted"]["living"], RESOURCES)
        self.assertEqual(types["emulator", "unused"]["living"], 0)
        self.assertTrue(types["emulator", "planted"]["loaded"])
        # Its library has symbols; those of the emulator have none of static functions.
        self.assertRegex(types["emulator", "planted"]["destructor"],
                         r"^planted_destructor \(emulator.*\.so\+0x[0-9a-f]+\)$")
        self.assertEqual(types["emulator", "unused"]["destructor"], "none")
        self.assertRegex(types["prim_file", "efile"]["destructor"], r"^beam\.smp\+0x[0-9a-f]+$")
        # All are referred to by one process.
        planted = tools.analyze_json("binaries", self.dump, "--filter", "resource=emulator:planted",
                                     "--limit", "1")
        self.assertEqual(planted["matching"], RESOURCES)
        self.assertEqual(planted["binaries"][0]["holding_processes"], 1)
        self.check_holders(planted["binaries"][0]["address"])
        self.assertRegex(self.findings()["many_resources"],
                         "100,000 NIF resources of the type emulator:planted live")

    def check_holders(self, address):
        """The process that holds all of them, and its term that refers to one."""
        held = tools.analyze_json("resources", self.dump, "emulator:planted")
        self.assertEqual((held["living"], held["referred_to"], held["total"]),
                         (RESOURCES, RESOURCES, 2))
        first, second = held["holders"]
        self.assertEqual((first["name"], first["references"], first["resources"]),
                         ("resource_holder", RESOURCES, RESOURCES))
        self.assertEqual((second["held_in"], second["references"], second["resources"]),
                         ("ETS table emulator_resource", 2, 1))
        # By the address of the magic binary, and by one in the resource, as C has it.
        data = f"{int(address, 16) + 64:#x}"
        for asked in (address, data):
            refs = tools.analyze_json("refs", self.dump, asked)
            self.assertEqual((refs["target"]["text"], refs["target"]["resource"],
                              refs["target"].get("inside", address)),
                             (address, "emulator:planted", asked))
            place, = [place for place in refs["holders"]
                      if place["process"].get("registered_name") == "resource_holder"
                      and "table" not in place]
            self.assertRegex(" ".join([place["root"], *place["path"]]), "y.* item [0-9]+")

        # Its type stands beside the reference in texts for people, not in the VM's own.
        for command in (("heap", "resource_holder"), ("term", "resource_holder"),
                        ("backtrace", "resource_holder", "--lines")):
            text = tools.ask(command[0], self.dump, *command[1:])
            self.assertRegex(text.output, r"#Ref<[0-9.]+> \(emulator:planted\)", command)
        for command in (("backtrace", "resource_holder"), ("heap", "resource_holder", "--json")):
            text = tools.ask(command[0], self.dump, *command[1:])
            self.assertRegex(text.output, "#Ref<[0-9.]+>", command)
            self.assertNotIn("(emulator:planted)", text.output)

    def blocks(self, *options):
        """What is told of binary_alloc, and its groups' blocks by kind, who asked for them, and what
        they begin with."""
        tools.capture(self.node, self.dump, "--force", "--blocks", "binary,nif", *options)
        ended = tools.analyze("memory", self.dump, "--blocks", "--limit", "0", "--json")
        answer = tools.parse(tools.expect(ended, 0, 3))
        binaries, = [one for one in answer["blocks"] if one["allocator"] == "binary_alloc"]
        begin = {}
        for group in binaries["groups"]:
            key = (group["kind"], group.get("asked_by"), group.get("first_bytes", "")[:4])
            begin[key] = begin.get(key, 0) + group.get("begin_so", 0)
        return binaries, begin

    def all_blocks(self, *options):
        """The same, of all carriers: one that changes while it is read is left out."""
        for _ in range(MOST_TRIES):
            told = self.blocks(*options)
            # Where a process cannot be captured, its references are not known.
            if told[0]["read_carriers"] == told[0]["carriers"] and (
                    not told[0]["of_one_moment"] or "differing_blocks" in told[0]):
                return told
        return told

    def test_binaries_that_no_term_refers_to(self):
        self.assertEqual(self.node.ask(f"emulator binaries {HELD} {HELD_BYTES}"), "ok")
        before = {mode: self.all_blocks("--mode", mode)[0] for mode in ("freeze", "snapshot", "live")}
        self.assertEqual(self.node.ask(f"emulator leak {LEAKED} {LEAKED_BYTES}"), "ok")
        for mode, first in before.items():
            with self.subTest(mode):
                binaries, begin = self.all_blocks("--mode", mode)
                self.assertEqual(binaries["of_one_moment"], mode != "live")
                if mode != "live":
                    # All that there is, as the allocator counts it.
                    for told in (first, binaries):
                        self.assertEqual((told["blocks"], told["bytes"], told["read_carriers"]),
                                         (told["counted_blocks"], told["counted_bytes"],
                                          told["carriers"]))
                grown = unreferred(binaries) - unreferred(first)
                planted = LEAKED * LEAKED_BYTES
                self.assertLess(abs(grown - planted), planted / 100, f"{grown} of {planted}")
                self.assertEqual(begin["driver_binary", "emulator", "LLLL"], LEAKED)
                self.assertGreaterEqual(binaries["referred_to_bytes"], HELD * HELD_BYTES)
                # Those that a process holds have as many references as it has.
                self.assertEqual([key for key in begin if key[2] == "RRRR"], [])
                leaked = [group for group in binaries["groups"] if group.get("asked_by") == "emulator"
                          and group["kind"] == "driver_binary"]
                self.assertEqual({(group["least_references"], group["most_references"],
                                   group.get("most_found")) for group in leaked},
                                 {(1, 1, None if mode == "live" else 0)})
                self.assertEqual("differing_blocks" in binaries, mode != "live")

    def test_held_and_lost_binaries(self):
        """Native code has the addresses of some, nobody those of others; terms refer to the rest."""
        for asked in (f"binaries {HELD} {HELD_BYTES}", f"keep {KEPT} {KEPT_BYTES}",
                      f"leak {HELD} {LEAKED_BYTES}"):
            self.assertEqual(self.node.ask(f"emulator {asked}"), "ok")
        binaries, begin = self.blocks("--mode", "snapshot", "--search-pointers")
        self.assertGreater(binaries["searched_bytes"], KEPT * KEPT_BYTES + 2 * HELD * HELD_BYTES)
        self.assertEqual((begin["driver_binary", "emulator", "KKKK"],
                          begin["driver_binary", "emulator", "LLLL"]), (KEPT, HELD))
        lost = {group["first_bytes"][:4]: group["lost_blocks"] for group in binaries["groups"]
                if group.get("asked_by") == "emulator" and group["kind"] == "driver_binary"}
        self.assertEqual(lost["KKKK"], 0)
        # Some addresses are left over, on stacks and elsewhere.
        self.assertLessEqual(lost["LLLL"], HELD)
        self.assertGreater(lost["LLLL"], HELD * 9 / 10)
        self.assertGreaterEqual(binaries["lost_blocks"], lost["LLLL"])
        refused = tools.run_measured([tools.CAPTURE, "--mode", "live", "--blocks", "binary", "--search-pointers",
                                      "-o", self.scratch / "refused", self.node.pid])
        self.assertRegex(tools.expect(refused, 2).diagnostics, "it needs --blocks, and --mode snapshot or a core")

    def test_relations_are_counted_as_the_node_does(self):
        self.assertEqual(self.node.ask("emulator relations"), "ok")
        tools.capture(self.node, self.dump)
        counted = {pid: tuple(process.get(column) for column in ("links", "monitors", "monitored_by"))
                   for pid, process in listed(self.dump).items() if "void_reason" not in process}
        told = {found[0]: tuple(int(number) for number in found[1:]) for found in re.findall(
            r"\{(<[\d.]+>),(\d+),(\d+),(\d+)\}", self.node.ask("emulator related"))}
        both = counted.keys() & told.keys()
        self.assertGreater(len(both), 60)
        # The one that answers has a monitor or a link more, for its connection.
        differences = {pid: (counted[pid], told[pid]) for pid in both if counted[pid] != told[pid]}
        self.assertLessEqual(len(differences), 2, differences)
        first = tools.analyze_json("processes", self.dump, "--sort", "monitored_by",
                                   "--filter", "links>=40")["processes"][0]
        self.assertEqual((first["registered_name"], first["links"], first["monitored_by"]),
                         ("hub", 40, max(by for _, _, by in told.values())))
        flagged = tools.analyze_json("processes", self.dump, "--filter", "flags~TRAP_EXIT",
                                     "--limit", "0")
        self.assertIn("watcher", [process.get("registered_name")
                                  for process in flagged["processes"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
