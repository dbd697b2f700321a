"""The standard node: the dump agrees with the node, and queries read only what they need. It has its
full size on one release; there is less of everything on the others, which takes less time."""

import pathlib
import re
import tempfile
import unittest

import jsonschema

from support import comparison, schemas, tools
from support.captured import details, listed
from support.node import start_workload
from support.release import OWN, RELEASE
from support.texts import Texts

SCALE = 1 if RELEASE == OWN else 0.3
WORKERS, USERS, CALLS, MESSAGES = (round(count * SCALE)
                                   for count in (20_000, 1_000_000, 200_000, 200_000))
MOST_BACKTRACE_KIB = 100 * 1024
MOST_SUMMARY_BYTES = 1_000_000
MOST_MESSAGES_KIB = 64 * 1024
DETAILED = 400  # of the workers
FROM = MESSAGES * 3 // 4
# Their terms are too large to be copied by process_info.
LARGE_TERMS = ("standard_queue",)


class StandardNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", SCALE)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.dump = cls.scratch / "standard.beamdump"
        cls.before = cls.node.ask("processes").split()
        cls.capture = tools.capture(cls.node, cls.dump, "--threads", "2", "--binary-bytes", "all")
        cls.listed = listed(cls.dump, *comparison.COLUMNS)
        cls.chosen = [pid for number, pid in enumerate(cls.before)
                      if pid in cls.listed and (cls.listed[pid].get("registered_name")
                                                or number % (WORKERS // DETAILED) == 0)]
        cls.told = comparison.ask_oracle(
            cls.node, backtraces=cls.chosen,
            terms=[pid for pid in cls.chosen
                   if cls.listed[pid].get("registered_name") not in LARGE_TERMS])

    def test_every_process_is_listed_as_the_node_says(self):
        result = comparison.compare(self.listed, self.before, self.told,
                                    comparison.LISTED_WITH_COLUMNS)
        result.print("standard node, list")
        result.verify(self)
        self.assertGreater(result.compared, WORKERS)

    def test_details_are_as_the_node_says(self):
        told = {pid: self.told[pid] for pid in self.chosen if pid in self.told}
        texts = Texts(self.dump)
        result = comparison.compare(details(self.dump, told), self.before, told, also=texts)
        result.print("standard node, details")
        texts.print("standard node")
        result.verify(self)
        self.assertGreater(texts.backtraces, DETAILED)

    def test_the_node_runs_on(self):
        self.assertEqual(self.node.ask("ping"), "pong")
        self.assertEqual(self.node.stopped_threads(), [])

    def test_state_of_many_users_reads_as_terms(self):
        ended = tools.expect(tools.analyze("backtrace", self.dump, "standard_state"), 0, 3)
        self.assertIn(f"{{state,{USERS},"
                      '[{user,1,<<"user-1">>,{address,<<"Lund">>,10001,{1,1}}',
                      ended.output)
        self.assertIn('standard:hold/1', ended.output)
        self.assertLess(ended.peak_kib, MOST_BACKTRACE_KIB)
        print(f"backtrace of the state: {len(ended.output)} characters, {ended.peak_kib} KiB")

    def test_all_of_a_deep_stack_is_there(self):
        ended = tools.expect(tools.analyze("backtrace", self.dump, "standard_deep"), 0, 3)
        self.assertEqual(len(re.findall(r"standard:descend/3 ", ended.output)), CALLS + 1)
        self.assertIn(f"{{{CALLS - 1},1}}", ended.output)
        self.assertLess(ended.peak_kib, MOST_BACKTRACE_KIB)
        print(f"backtrace of the deep stack: {len(ended.output)} characters, {ended.peak_kib} KiB")

    def test_answers_fit_their_schemas(self):
        for arguments in (["summary", self.dump], ["processes", self.dump, "--limit", "0"],
                          ["process", self.dump, "standard_queue"],
                          ["messages", self.dump, "standard_queue"],
                          ["dictionary", self.dump, "code_server"],
                          ["backtrace", self.dump, "code_server"],
                          ["diff", self.dump, self.dump]):
            with self.subTest(command=arguments[0]):
                answer = tools.analyze_json(*arguments)
                schemas.validate(answer, arguments[0])
                del answer["schema"]
                with self.assertRaises(jsonschema.ValidationError):
                    schemas.validate(answer, arguments[0])

    def test_a_page_of_a_long_queue_reads_little_of_it(self):
        ended = tools.expect(tools.analyze("messages", self.dump, "standard_queue", "--json",
                                           "--from", str(FROM), "--limit", "10", "--no-histogram"),
                             0, 3)
        page = tools.parse(ended)
        self.assertEqual([message["index"] for message in page["messages"]],
                         list(range(FROM, FROM + 10)))
        self.assertLessEqual(page["records"]["read_for_page"], 2)
        self.assertGreater(page["records"]["total"], 100 * SCALE)
        self.assertLess(ended.peak_kib, MOST_MESSAGES_KIB)

    def test_shapes_of_a_long_queue_are_counted_in_little_memory(self):
        ended = tools.expect(tools.analyze("messages", self.dump, "standard_queue", "--json"),
                             0, 3)
        histogram = tools.parse(ended)["histogram"]
        self.assertEqual(histogram["shapes"], [{"shape": "{order,_,_}", "count": MESSAGES}])
        self.assertEqual(histogram["other"], 0)
        self.assertLess(ended.peak_kib, MOST_MESSAGES_KIB)
        print(f"shapes of {MESSAGES} messages: {ended.peak_kib} KiB")

    def test_summary_reads_little_of_the_file(self):
        ended = tools.expect(tools.analyze("summary", self.dump, "--stats"), 0, 3)
        read = tools.bytes_read(ended)
        print(f"summary read {read} of {tools.file_bytes(self.dump)} bytes in {ended.seconds} s")
        self.assertLess(read, MOST_SUMMARY_BYTES)

    def test_only_what_the_node_was_given_to_hold_is_found(self):
        for depth in ("quick", "full"):
            answer = tools.analyze_json("summary", self.dump, "--findings", depth)
            self.assertEqual([(finding["id"], finding["figures"].get("messages"),
                               finding["figures"].get("initial_call"))
                              for finding in answer["findings"]],
                             [("mailbox", MESSAGES, None),
                              ("process_kind", None, "standard:worker/2")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
