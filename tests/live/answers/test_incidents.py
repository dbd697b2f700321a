"""Incidents of customers' nodes in a small form: the first finding of the summary names the culprit of
each, and a node at rest has none before and after."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import tools
from support.node import start_workload

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
    "stuck_server": ("waiting_callers", "incident_stuck"),
    "stuck_process": ("waiting_callers", "incident_plain"),
    "chain": ("waiting_callers", "incident_last"),
    "file_server": ("waiting_callers", "file_server_2"),
    "busy_port": ("busy_port", "15 processes"),
    "close_wait": ("sockets", "120 sockets are in CLOSE_WAIT: the other side has closed them, and "
                   "the node has not, 120 of them of incident"),
    "not_accepted": ("sockets", "120 connections wait to be accepted"),
    "timers_of_nobody": ("orphaned_timers", "incident_gone"),
    "timers_of_one": ("orphaned_timers", "for one receiver, incident_timers"),
    "restart_loop": ("restart_loop", "incident_supervisor"),
    "persistent_terms": ("persistent_terms", "Persistent terms are replaced or erased often"),
    "binaries": ("binary_memory", "of which incident_binaries"),
    "old_code": ("old_code", "planted_old"),
    # Last: atoms remain.
    "atoms": ("atom_table", "incident_param_N"),
}
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
        for incident, (rule, says) in INCIDENTS.items():
            with self.subTest(incident):
                culprit = node.ask(f"incident {incident}")
                found = self.findings(node, dump)
                self.assertEqual(node.ask("incident end"), "ended")
                print(f"{incident}: {[finding['sentence'] for finding in found]}", flush=True)
                self.assertTrue(found, "no finding")
                self.assertEqual(found[0]["id"], rule)
                self.assertIn(says, found[0]["sentence"])
                if incident == "restart_loop":
                    self.is_not_told_of_a_redacted_dump(dump, scratch / "redacted.beamdump")
                if culprit != "-":
                    self.assertIn(culprit, found[0]["sentence"])

    def is_not_told_of_a_redacted_dump(self, dump, redacted):
        """Redaction hides when the restarts were."""
        tools.expect(tools.analyze("redact", dump, "-o", redacted), 0)
        answer = tools.analyze_json("summary", redacted)
        self.assertNotIn("restart_loop", {finding["id"] for finding in answer["findings"]})
        self.assertIn("restart_loop", {rule["id"] for rule in answer["findings_left_out"]})

    def findings(self, node, dump):
        tools.capture(node, dump, "--force")
        answer = tools.analyze_json("summary", dump)
        return [finding for finding in answer["findings"] if finding["id"] not in LEFT_BEHIND]


if __name__ == "__main__":
    unittest.main()
