"""Each question of docs/sql.md has the node's own answer. The dump is made first, then the node is asked; what ran in between
is not compared, and how much that was is printed. What the node cannot tell is compared with the answer of another command."""

import collections
import pathlib
import re
import tempfile
import unittest

from support import comparison, tools
from support.node import start_workload
from support.paths import ANALYZE, ROOT

# What stands in docs/sql.md, and what is asked instead, of the node `asked`.
NAMES = {"my_server": "asked_mailbox", "'sessions'": "'asked_rows'", "session:init": "asked:init",
         "$ancestors": "$initial_call", "before.beamdump": "asked.beamdump", "after.beamdump": "later.beamdump",
         "message_queue_len > 1000": "message_queue_len > 100"}
OF_ONE_QUESTION = {
    "What is a large state": ("'asked_mailbox'", "'{server}'"),
    "Which users have": ("'asked_rows'", "'asked_users'"),
    "What of one process refers": ("'asked_mailbox'", "'asked_terms'"),
    "Which processes refer to one": ("'asked_mailbox'", "'asked_stuck'")}
WORD_BYTES = 8


def questions():
    """The questions of the document with their statements."""
    text = (ROOT / "docs" / "sql.md").read_text()
    return re.findall(r"^([A-Z][^\n]*(?:\?|\)\??:?|:))\n\n```sql\n(.*?)```", text[text.index("## Questions"):], re.M | re.S)


class SqlQuestions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = start_workload("asked")
        cls.addClassCleanup(cls.node.stop)
        cls.dump = scratch / "asked.beamdump"
        tools.capture(cls.node, cls.dump, "--ets", "full")
        cls.oracle = comparison.ask_oracle(cls.node)
        told = scratch / "told"
        assert cls.node.ask(f"asked {told}") == "written"
        cls.told = collections.defaultdict(list)
        for line in told.read_text().splitlines():
            what, *words = line.split(" ")
            cls.told[what].append(words)
        cls.later = scratch / "later.beamdump"
        tools.capture(cls.node, cls.later)
        cls.captured = {row["pid"]: row for row in cls.command("processes", "--limit", "0")["processes"]}
        # As comparison.compare() has it: these did not run between the dump and the question.
        cls.still = {pid for pid, asked in cls.oracle.items() if pid in cls.captured and 0 <=
                     asked["reductions"] - cls.captured[pid].get("reductions", 0) <= comparison.ASKING_COSTS_REDUCTIONS}
        cls.statements = dict(questions())

    @classmethod
    def command(cls, name, *arguments):
        """The answer of another command."""
        return tools.parse(tools.expect(tools.analyze(name, cls.dump, *arguments, "--json"), 0, 3))

    def answer(self, begins):
        """The rows of the question that begins so, as tuples; what it took is printed."""
        (question,) = (one for one in self.statements if one.startswith(begins))
        statement = self.statements[question]
        for name, there in NAMES.items():
            statement = statement.replace(name, there)
        for name, there in OF_ONE_QUESTION.items():
            if begins.startswith(name):
                statement = statement.replace(there[0], there[1].format(server=self.told["state"][0][0]))
        dumps = [self.dump, self.later] if "two dumps" in question else [self.dump]
        ended = tools.expect(tools.run_measured([ANALYZE, "sql", *dumps, statement, "--json", "--stats"]), 0, 3)
        answer = tools.parse(ended)
        print(f"{ended.seconds:.2f} s, {tools.bytes_read(ended):,} bytes read, {len(answer['rows'])} rows: {question}",
              flush=True)
        return [tuple(row.get(column) for column in answer["columns"]) for row in answer["rows"]]

    def rows(self, statement):
        answer = self.command("sql", statement)
        return [tuple(row.get(column) for column in answer["columns"]) for row in answer["rows"]]

    def compared(self, what, compared, left_out):
        print(f"{what}: {compared} compared, {left_out} left out: they ran, began or ended in between", flush=True)
        self.assertGreater(compared, 0, what)

    def test_each_has_a_test(self):
        self.assertGreaterEqual(len(self.statements), 20)
        source = pathlib.Path(__file__).read_text()
        begins = re.findall(r'self\.answer\("([^"]+)"', source)
        self.assertEqual([question for question in self.statements if not question.startswith(tuple(begins))], [])
        self.assertGreater(len(self.still), len(self.oracle) / 2)
        self.compared("processes", len(self.still), len(self.oracle) - len(self.still))

    def test_memory_by_initial_call(self):
        groups = collections.defaultdict(list)
        for pid in self.oracle.keys() | self.captured.keys():
            groups[(self.oracle.get(pid) or self.captured[pid])["initial_call"]].append(pid)
        rows = self.answer("Which processes of one kind")
        self.assertEqual(len(rows), min(len(groups), 10))
        left_out = 0
        for call, count, memory, longest in rows:
            # A supervisor may have run, the others of its kind did not.
            ran = [pid for pid in groups[call] if pid not in self.still]
            left_out += len(ran)
            still = [self.oracle[pid] for pid in groups[call] if pid in self.still]
            self.assertEqual(count, len([pid for pid in groups[call] if pid in self.captured]))
            self.assertEqual(memory, sum(one["memory"] for one in still) +
                             sum(self.captured[pid]["memory"] for pid in ran if pid in self.captured), call)
            self.assertGreaterEqual(longest, max((one["message_queue_len"] for one in still), default=0))
        self.compared("groups", len(rows), left_out)

    def test_long_mailboxes(self):
        rows = self.answer("Which mailboxes have more")
        expected = [(pid, one["registered_name"], one["message_queue_len"], one["current_function"])
                    for pid, one in self.oracle.items() if one["message_queue_len"] > 100]
        self.assertEqual(rows, expected)
        self.assertEqual([name for _, name, *_ in rows], ["asked_mailbox"])

    def test_messages_by_their_beginning(self):
        told = collections.Counter(text[:40] for text, in self.told["message"])
        self.assertEqual(dict(self.answer("What are the messages of one process")), dict(told))
        self.assertEqual(len(told), 300)

    def test_messages_by_sender_and_tag(self):
        senders = dict(self.told["sender"])
        told = collections.defaultdict(list)
        for number, (text,) in enumerate(self.told["message"]):
            tag, sent = text[1:-1].split(",")
            told[senders[str(int(sent) % 2)], tag].append(number)
        self.assertEqual(sorted(self.answer("Which messages wait, by sender and tag")),
                         sorted((*of, len(numbers), numbers[0]) for of, numbers in told.items()))
        self.assertEqual(len(told), 6)
        self.assertEqual(self.rows("SELECT DISTINCT sender_source FROM messages('asked_mailbox')"), [("vm",)])

    def test_what_waits_for_what(self):
        rows = self.answer("What do most waiting processes wait for")
        stuck = next(pid for pid, one in self.oracle.items() if one["registered_name"] == "asked_stuck")
        # Four wait for one that waits for it. The node does not follow waits: so does the command.
        self.assertEqual(rows[0], (stuck, 5, 2))
        self.assertEqual({end: waiting for end, waiting, _ in rows},
                         {end["end"]["name"]: end["behind"] for end in self.command("hang")["ends"]
                          if end["end"]["kind"] == "process"})

    def test_entries_of_dictionaries(self):
        rows = self.answer("Which processes have a key in their dictionary")
        told = dict(self.told["initial_call"])
        common = {pid for pid, *_ in rows} & told.keys()
        self.assertEqual({pid: value for pid, _, value in rows if pid in common},
                         {pid: value for pid, value in told.items() if pid in common})
        # Only processes that began or ended in between are not in both.
        for pid in {pid for pid, *_ in rows} ^ told.keys():
            self.assertFalse(pid in self.captured and pid in self.oracle, pid)
        self.compared("entries", len(common), len(told.keys() - common))

    def test_functions_on_stacks(self):
        rows = dict(self.answer("Which functions are on most stacks"))
        told = collections.Counter()
        deepest = 7  # of a stack trace, whose length the node limits to 8
        of_kind = [pid for pid, one in self.captured.items() if one["initial_call"] == "proc_lib:init_p/5"]
        whole = [pid for pid in of_kind if pid in self.still and len(self.oracle[pid]["current_stacktrace"]) <= deepest]
        for pid in whole:
            told.update({function for function, _ in self.oracle[pid]["current_stacktrace"]})
        left_out = len(of_kind) - len(whole)
        for function, count in told.items():
            self.assertTrue(count <= rows.get(function, 0) <= count + left_out,
                            f"{function}: {rows.get(function)} in the dump, {count} and up to {left_out} more in the node")
        self.assertGreater(len(told), 2)
        self.compared("stacks", len(whole), left_out)

    def tables_of_still(self):
        """The node's tables, and the owners that did not run."""
        tables = [(name, owner, int(size), int(words) * WORD_BYTES, fixed != "false")
                  for _, name, owner, size, words, fixed in self.told["table"]]
        # Each process is asked several times before; to do something takes more.
        all_questions = 12 * comparison.ASKING_COSTS_REDUCTIONS
        return tables, {owner for owner, reductions in self.told["owner"] if owner in self.captured and
                        int(reductions) - self.captured[owner].get("reductions", 0) <= all_questions}

    def test_tables_by_owner(self):
        rows = self.answer("Which owners have most in tables")
        tables, still = self.tables_of_still()
        told = collections.defaultdict(list)
        for _, owner, _, size, _ in tables:
            told[owner].append(size)
        compared = [row for row in rows if row[0] in still]
        self.assertEqual([(owner, count, size) for owner, _, count, size in compared],
                         [(owner, len(told[owner]), sum(told[owner])) for owner, *_ in compared])
        for owner, name, *_ in compared:
            self.assertEqual(name, self.oracle[owner]["registered_name"] or "")
        self.compared("owners", len(compared), len(rows) - len(compared))

    def test_fixed_and_large_tables(self):
        rows = self.answer("Which tables are fixed")
        tables, still = self.tables_of_still()
        told = [(name, size, memory, memory // max(size, 1)) for name, owner, size, memory, fixed in tables
                if owner in still and (fixed or memory > 1_000_000)]
        self.assertLessEqual(set(told), set(rows))
        self.assertEqual({name for name, *_ in rows}, {"asked_rows", "asked_users"})

    def test_largest_rows(self):
        rows = self.answer("Which rows of a table are the largest")
        self.assertEqual([words for words, _ in rows], [int(words) for words, _ in self.told["largest"]])
        largest = {f'{{<<"{key}">>' for _, key in self.told["largest"]}
        # Rows of equal size stand in any order, and the last of them may be another one.
        last = rows[-1][0]
        for words, term in rows:
            self.assertTrue(words == last or term[:term.index(">>") + 2] in largest, term[:40])

    def test_states_of_one_module(self):
        rows = self.answer("Which states of one module")
        told = sorted((pid, number, int(words)) for pid, number, _, words, _ in self.told["state"])
        self.assertEqual(sorted(rows), told)
        self.assertEqual([words for *_, words in rows], sorted((words for *_, words in rows), reverse=True))

    def test_parts_of_a_state(self):
        pid = self.told["state"][0][0]
        told = {f"element {number}": int(words) for of, number, words, _ in self.told["part"] if of == pid}
        rows = self.answer("What is a large state made of")
        self.assertEqual({step: words for step, _, _, words, _ in rows}, told)
        self.assertEqual({step: kind for step, kind, *_ in rows},
                         {"element 1": "atom", "element 2": "integer", "element 3": "map"})
        self.assertEqual([count for step, _, count, *_ in rows if step == "element 3"], [2])

    def test_rows_by_prefix(self):
        self.assertEqual(sorted(self.answer("Which rows of a table have keys")),
                         sorted((f'<<"{prefix}', int(count), int(words) * WORD_BYTES)
                                for prefix, count, words in self.told["rows"]))

    def test_rows_by_user(self):
        self.assertEqual(sorted(self.answer("Which users have most rows")),
                         sorted((user, int(count), int(words) * WORD_BYTES) for user, count, words in self.told["user"]))

    def test_roots_of_a_process(self):
        rows = self.answer("What of one process refers to most memory")
        self.assertEqual(rows[0][:3], ("dictionary asked_terms", "map", int(self.told["terms"][0][0])))
        # The node tells the size of that alone; of the others the command `term` does.
        roots = {(part["part"], part["kind"], part["shared_words"], part["binary_bytes"])
                 for part in self.command("term", "asked_terms", "--limit", "0")["parts"]}
        self.assertEqual(len(rows), min(10, len(roots)))
        self.assertLessEqual(set(rows), roots)

    def test_holders_of_binaries(self):
        rows = self.answer("Who holds the largest binaries")
        told = {(pid, size) for pid, one in self.oracle.items() for _, size in one["binary"]}
        of_processes = [(pid, size) for size, pid, _, root, _ in rows
                        if pid in self.still and not root.startswith("row ")]
        self.assertLessEqual(set(of_processes), told)
        (holder,) = self.told["holder"]
        self.assertIn((holder[0], int(holder[1])), of_processes)
        # The node also tells binaries that garbage alone refers to, as the column holding_processes does.
        kept = self.rows("SELECT address, holding_processes FROM binaries ORDER BY size_bytes DESC LIMIT 5")
        for address, holding in kept:
            holders = {pid for pid, one in self.oracle.items() if int(address, 16) in dict(one["binary"])}
            self.assertTrue(len(holders & self.still) <= holding <= len(holders & self.still) +
                            len(self.oracle) - len(self.still), f"{address}: {holding} in the dump, {holders} in the node")
        # process_info(Pid, binary) does not tell literals and rows.
        self.compared("holders", len(of_processes), len(rows) - len(of_processes))

    def test_binaries_by_application(self):
        rows = self.answer("Which applications' processes keep most in binaries")
        applications = {pid: name for pid, name in self.told["application"] if pid in self.captured}
        told = collections.defaultdict(list)
        for pid in self.captured:
            told[applications.get(pid)].append(pid)
        kept = dict(self.rows("SELECT pid, binary_bytes FROM processes"))
        asked = {pid: sum(dict(self.oracle[pid]["binary"]).values()) for pid in self.still}
        self.assertEqual({pid: kept[pid] for pid in asked}, asked)
        # Processes that ended in between are in no application of the node's answer.
        ended = len([pid for pid in self.captured if pid not in self.oracle])
        for application, count, size in rows:
            self.assertLessEqual(abs(count - len(told[application])), ended, application)
            if not ended:
                self.assertEqual(size, sum(kept[pid] for pid in told[application]), application)
        self.assertEqual({"kernel", None}, {application for application, *_ in rows})
        self.compared("processes", len(asked), len(kept) - len(asked))
        # The same of other lists: by a column of theirs.
        for command, owner, column in (("ets", "owner", "owner_application"), ("ports", "connected", "owner_application"),
                                       ("timers", "receiver", "receiver_application")):
            answer = self.command(command, "--limit", "0")
            listed = answer[{"ets": "tables"}.get(command, command)]
            self.assertTrue(listed, command)
            known = [one for one in listed if one.get(owner) in self.oracle]
            self.assertEqual([one.get(column) for one in known],
                             [applications.get(one[owner]) for one in known], command)

    def test_columns_on_request(self):
        """As the command has them with --columns."""
        listed = self.command("processes", "--columns", "binaries,ets,heap,old_heap,application", "--limit", "0")
        names = ("binary_references", "binary_bytes", "ets_tables", "ets_bytes", "heap_size", "old_heap_size", "label",
                 "application")
        self.assertEqual(sorted(self.rows(f"SELECT pid, {', '.join(names)} FROM processes")),
                         sorted((one["pid"], *map(one.get, names)) for one in listed["processes"]))
        # One that is alone in a statement, and one that it is only filtered by.
        heaps = self.rows("SELECT sum(heap_size) FROM processes")
        self.assertEqual(heaps, [(sum(one["heap_size"] for one in listed["processes"]),)])
        owners = self.rows("SELECT pid FROM processes WHERE ets_bytes > 1000000")
        self.assertEqual(sorted(owners), sorted((one["pid"],) for one in listed["processes"] if one["ets_bytes"] > 1000000))
        self.assertGreater(len(owners), 0)

    def test_what_refers_to_a_process(self):
        """The node cannot tell: as `refs` has it, and as the workload has made it."""
        rows = self.answer("Which processes refer to one process")
        holders = [(one["process"]["pid"], one["root"]) for one in self.command("refs", "asked_stuck")["holders"]]
        self.assertEqual(sorted((pid, root) for pid, _, root, _ in rows), sorted(holders))
        callers = {pid for pid, one in self.oracle.items() if one["initial_call"] == "asked:caller/2"}
        self.assertEqual((len(callers), len({pid for pid, *_ in rows} & callers)), (5, 1))

    def test_receivers_of_timers(self):
        """The node cannot tell: as `timers` has it, and as the workload has started them."""
        rows = self.answer("Whose timers are these")
        listed = collections.Counter(one.get("receiver") for one in self.command("timers", "--limit", "0")["timers"])
        self.assertEqual([count for *_, count in rows], sorted(listed.values(), reverse=True)[:10])
        for receiver, _, call, count in rows:
            self.assertEqual(count, listed[receiver])
            if receiver in self.oracle:
                self.assertEqual(call, self.oracle[receiver]["initial_call"])
        servers = {pid for pid, *_ in self.told["state"]}
        # Three each of five, and one of every second one, which wait with a time out, but for the one that
        # was given a table.
        self.assertEqual(sum(count for receiver, count in listed.items() if receiver in servers), 15 + 10 - 1)

    def test_timers_by_module(self):
        """As `timers` has them, and as the node tells what its processes began with."""
        rows = self.answer("Which modules' processes have most timers")
        calls = dict(self.told["initial_call"])
        told = collections.Counter()
        for timer in self.command("timers", "--limit", "0")["timers"]:
            receiver = timer.get("receiver")
            if receiver in calls:
                told[calls[receiver].strip("{}").split(",")[0]] += 1
            elif receiver in self.captured:
                told[self.oracle.get(receiver, self.captured[receiver])["initial_call"].split(":")[0]] += 1
        self.assertEqual(dict(rows), dict(told.most_common(10)))
        self.assertIn("asked", dict(rows))

    def test_applications(self):
        """Sizes of code are as `modules` has them: the node does not tell them."""
        rows = self.answer("Which applications have most code")
        modules = self.command("modules", "--limit", "0")["modules"]
        loaded = {module["name"] for module in modules}
        told = collections.Counter(application for module, application in self.told["module"] if module in loaded)
        compared = {application: count for application, count, _ in rows if told[application]}
        self.assertEqual(compared, {application: told[application] for application in compared})
        self.assertLessEqual({"kernel", "stdlib"}, compared.keys())
        sizes = collections.Counter()
        for module in modules:
            sizes[module.get("application")] += module["code_bytes"]
        self.assertEqual({application: size for application, _, size in rows}, dict(sizes))

    def test_unread_bytes(self):
        (pid, unread), = self.told["unread"]
        found = [(size, owner) for _, _, size, owner, _ in self.answer("Which sockets hold unread bytes")]
        self.assertIn((int(unread), pid), found)

    def test_free_memory_of_allocators(self):
        """It changes with each question to the node: as `allocators` has it."""
        listed = {one["name"]: one for one in self.command("allocators")["allocators"]}
        rows = self.answer("Which allocators have most that is free")
        self.assertEqual([free for _, _, free, _ in rows],
                         sorted((one["free_bytes"] for one in listed.values()), reverse=True)[:5])
        for name, carriers, free, percent in rows:
            self.assertEqual((carriers, free), (listed[name]["carrier_bytes"], listed[name]["free_bytes"]))
            self.assertEqual(percent, listed[name]["utilisation"] / 10)

    def test_what_grew(self):
        pid, before, after = self.told["grown"][0]
        rows = self.answer("Which processes grew between")
        self.assertEqual(rows[0], (pid, "asked_grower", int(after) - int(before)))


if __name__ == "__main__":
    unittest.main()
