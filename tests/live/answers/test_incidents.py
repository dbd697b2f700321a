"""Incidents of customers' nodes in a small form: the first finding of the summary names the culprit of
each, and a node at rest has none before and after."""

import os
import pathlib
import re
import tempfile
import time
import unittest
from unittest import mock

from support import tools
from support.node import start_workload
from support.paths import ROOT

ATOM_LIMIT = 40000

# Each incident: the finding that has to be the first one, and what its sentence says.
INCIDENTS = {
    "mailbox": ("mailbox", "incident_mailbox"),
    "selective_receive": ("mailbox", "incident_selective"),
    "processes_of_a_fun": ("process_kind", "incidents:parked/0"),
    "processes": ("process_kind", "incidents:parked/0"),
    "table": ("ets_table", "incident_table"),
    "fixed_table": ("ets_table", "incident_fixed, with 0 rows: it is fixed"),
    "dictionary": ("large_dictionary", "incident_dictionary"),
    "heap": ("process_memory", "incident_heap"),
    "deadlock": ("call_cycle", "incident_one"),
    "stuck_server": ("waiting_callers", "waiting in incidents:handle_cast/2 (incidents.erl, line"),
    "stuck_process": ("waiting_callers", "incident_plain"),
    "chain": ("waiting_callers", "incident_last"),
    "sleeping_server": ("waiting_callers", "waiting in incidents:retry/0, for incidents:handle_cast/2 "
                        "(incidents.erl, line"),
    "application_start": ("stuck_start", "The application incident_application has not started: "
                          "incidents:start/2, which"),
    "application_child": ("stuck_start", "The application incident_application has not started: "
                          "incidents:start/2, which"),
    "child_start": ("stuck_start", "has not finished the start of a child: it waits for incident_child"),
    "start_deadlock": ("call_cycle", "incident_deadlock"),
    "global_lock": ("global_lock", "30 processes wait for the global lock incident_lock of "
                    "incident_holder"),
    "mnesia_tables": ("mnesia_tables", "incident_loader"),
    "file_server": ("waiting_callers", "file_server_2"),
    "busy_port": ("busy_port", "15 processes"),
    "close_wait": ("sockets", "120 sockets are in CLOSE_WAIT: the other side has closed them, and "
                   "the node has not, 120 of them of incident"),
    "not_accepted": ("sockets", "120 connections wait to be accepted"),
    "timers_of_nobody": ("orphaned_timers", "incident_gone"),
    "timers_of_one": ("orphaned_timers", "for one receiver, incident_timers"),
    "restart_loop": ("restart_loop", "incident_supervisor"),
    "binaries": ("binary_memory", "of which incident_binaries"),
    "table_of_binaries": ("binary_memory", "rows of tables, messages that wait, ports or native code keep"),
    "old_code": ("old_code", "planted_old"),
    # Last: atoms remain, and on a busy machine what is left to the collector of literals.
    "atoms": ("atom_table", "incident_param_N"),
    "persistent_terms": ("persistent_terms", "Persistent terms are replaced or erased often"),
}
# What is said of what a crash dump's text never has.
LACKING = ("dump has no (sockets|blocks of allocators|sections of (schedulers|ETS tables|ports|timers|other nodes"
           "|state of the emulator|types of NIF resources))")
# A type of NIF resources that each node has, in place of the one of a user's library.
NODE_TYPE = "prim_file:efile"
# How often is asked again while the incident before is still there.
AGAIN = 40
# What earlier incidents leave behind: free memory of carriers.
LEFT_BEHIND = {"carriers", "lazy_free"}


class Incidents(unittest.TestCase):
    def test_the_first_finding_names_the_culprit(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump = scratch / "incident.beamdump"
        with mock.patch.dict(os.environ, ERL_FLAGS=f"+t {ATOM_LIMIT}"):
            node = start_workload("incidents")
        self.addCleanup(node.stop)
        self.assertEqual(self.findings(node, dump), [])
        before = None
        for incident, (rule, says) in INCIDENTS.items():
            with self.subTest(incident):
                culprit = node.ask(f"incident {incident}")
                found = self.findings_without(None if before == rule else before, node, dump)
                before = rule
                self.assertEqual(node.ask("incident end"), "ended")
                print(f"{incident}: {[finding['sentence'] for finding in found]}", flush=True)
                self.assertTrue(found, "no finding")
                self.assertEqual(found[0]["id"], rule)
                self.assertIn(says, found[0]["sentence"])
                if incident == "restart_loop":
                    self.is_not_told_of_a_redacted_dump(dump, scratch / "redacted.beamdump")
                if culprit != "-":
                    self.assertIn(culprit, found[0]["sentence"])

    def test_the_commands_of_by_symptom_work(self):
        """Each command of docs/symptoms.md, on a dump of a node that has what they name, and on its crash
        dump text."""
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump, text = scratch / "node.beamdump", scratch / "erl_crash.dump"
        node = start_workload("incidents")
        self.addCleanup(node.stop)
        node.ask("incident symptoms")
        tools.capture(node, dump, "--force", "--mode", "snapshot", "--blocks", "binary", "--search-pointers")
        tools.expect(tools.analyze("crash-dump", dump, "-o", text), 0, 3)
        files = {"D": dump, "D1": dump, "D2": dump, "yesterday.beamdump": dump, "erl_crash.dump": text}
        words = {"cart_nif:handle": NODE_TYPE}
        commands = {command for command in re.findall(r"`A ([^`]+)`", (ROOT / "docs/symptoms.md").read_text())
                    if set(command.split()) & files.keys() and "--key" not in command}
        self.assertGreater(len(commands), 25)
        for command in sorted(commands):
            for of in (files, {**files, "D": text}):
                with self.subTest(command, of=of["D"].name):
                    ran = tools.analyze(*(str(of.get(word, words.get(word, word))) for word in command.split()))
                    if of["D"] == text and ran.status == 1:
                        self.assertRegex(ran.diagnostics, LACKING)
                        continue
                    tools.expect(ran, 0, 3)
                    self.assertTrue(ran.output.strip(), "no answer")

    def is_not_told_of_a_redacted_dump(self, dump, redacted):
        """Redaction hides when the restarts were."""
        tools.expect(tools.analyze("redact", dump, "-o", redacted), 0)
        answer = tools.analyze_json("summary", redacted)
        self.assertNotIn("restart_loop", {finding["id"] for finding in answer["findings"]})
        self.assertIn("restart_loop", {rule["id"] for rule in answer["findings_left_out"]})

    def findings_without(self, before, node, dump):
        """Those of the node once that of the incident before is not the first: literals of persistent terms that
        were erased stay until each process was asked whether it has any."""
        for _ in range(AGAIN):
            found = self.findings(node, dump)
            if not found or found[0]["id"] != before:
                break
            time.sleep(0.5)
        return found

    def findings(self, node, dump):
        tools.capture(node, dump, "--force")
        answer = tools.analyze_json("summary", dump)
        return [finding for finding in answer["findings"] if finding["id"] not in LEFT_BEHIND]


if __name__ == "__main__":
    unittest.main()
