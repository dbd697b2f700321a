"""The static programs for aarch64, run beside a node in an emulated machine: of each process of the zoo, the dumps that
modes live, freeze and snapshot make have what the node itself says: facts, backtraces, terms and sizes; tables, rows, persistent
terms and memory are the node's too. BEAMDUMP_OTP: the node's release."""

import shutil
import unittest

import machine
import zoo_there
from support import schemas, tools, whole_node
from support.captured import details, listed
from support.invariant import INVARIANT, contradiction
from support.release import RELEASE

CAPTURE_SECONDS = 600
TABLES_SCALE = 0.02
WORKERS_SCALE = 0.05
WORKERS = 20
STOP_MS = 5000
ENDLESS = "zoo_dag"  # its terms have no end when they are printed
PROCESSES = 240
# Of processes that run, in so many stops at most.
RUNNING_STACKS, MOST_STOPS = 3, 40
# Debian sid's C library has its arenas in huge pages there, of which 10 MiB have no known holder.
MOST_UNEXPLAINED = 0.05 if RELEASE == "29" else whole_node.MOST_UNEXPLAINED
ALL = ("--limit", "0", "--term-bytes", "0", "--syntax", "erlang")


class Live(zoo_there.ZooThere):
    @classmethod
    def copy_node(cls):
        share = cls.machine.share
        for program in machine.STATIC_NAMES:
            shutil.copy(machine.STATIC / program, share)
        cls.node.ask(f"start tables {TABLES_SCALE}")
        cls.ask_the_whole_node()  # the first questions load code that stays
        machine.await_rest(cls.machine, cls.node.pid)
        whole_before = cls.ask_the_whole_node()
        ended = cls.capture("live", cls.dump, "--binary-bytes all")
        cls.frozen = share / "frozen.beamdump"
        tools.expect(cls.capture("freeze", cls.frozen, "--binary-bytes all"), 0, 3)
        cls.of_twin = share / "twin.beamdump"
        tools.expect(cls.capture("snapshot", cls.of_twin, "--binary-bytes all"), 0, 3)
        cls.whole = whole_before, cls.ask_the_whole_node()
        return ended

    @classmethod
    def capture(cls, mode, dump, options=""):
        return machine.capture(cls.machine, cls.node.pid, mode, dump, options, CAPTURE_SECONDS)

    @classmethod
    def ask_the_whole_node(cls):
        scratch = cls.machine.share
        return (whole_node.ask_tables(cls.node, scratch), whole_node.ask_rows(cls.node, scratch),
                whole_node.ask_persistent_terms(cls.node, scratch), whole_node.ask_numbers(cls.node))

    def test_all_that_the_node_says_is_in_the_dump(self):
        self.compare_with_the_node("live on aarch64")

    def test_what_is_in_a_freeze_is_what_the_node_says(self):
        """An emulated machine may write too slowly: a stop ends when its output is blocked for 50 ms, and the processes
        that were not read by then are void."""
        result = self.compared("freeze on aarch64", self.frozen, details(self.frozen, self.before))
        self.assertEqual(result.differences[:20], [])
        self.assertGreater(result.compared, 20)

    def test_what_is_in_a_snapshot_is_what_the_node_says(self):
        result = self.compared("snapshot on aarch64", self.of_twin, details(self.of_twin, self.before))
        result.verify(self)
        summary = tools.analyze_json("summary", self.of_twin)["capture"]
        self.assertEqual(summary["mode"], "snapshot")

    def test_the_whole_node_is_in_the_dumps(self):
        (tables, rows, _, numbers), (tables_after, rows_after, persistent, told) = self.whole
        self.assertNotIn("the node's memory", self.said.diagnostics)
        for dump in self.dump, self.frozen, self.of_twin:
            with self.subTest(dump.name):
                whole_node.compare_tables(self, dump, tables, tables_after)
                whole_node.compare_rows(self, dump, *(
                    {identity: texts for identity, texts in all_rows.items() if not tables[identity]["compressed"]}
                    for all_rows in (rows, rows_after)))
                whole_node.compare_persistent_terms(self, dump, persistent)
                whole_node.compare_counts(self, dump, told)
                answer = whole_node.check_resident(self, dump, MOST_UNEXPLAINED)
                whole_node.compare_categories(self, answer["categories"], told, numbers)
                whole_node.compare_allocators(self, tools.analyze_json("allocators", dump), told, numbers)

    def test_what_is_not_there_refuses(self):
        refused = self.machine.run(f"exec {self.machine.share}/beamdump-sample alloc --duration 1s {self.node.pid}")
        self.assertEqual((refused.status, refused.diagnostics),
                         (1, "beamdump-sample: this program cannot sample threads on aarch64 yet\n"))

    def stacks_in_a_stop(self):
        ended = self.machine.run(f"exec {self.machine.share}/beamdump-sample stacks --json --all --stop "
                                 f"--max-pause {STOP_MS} {self.node.pid}")
        answer = tools.parse(tools.expect(ended, 0, 3))
        schemas.validate(answer, "stacks")
        return answer

    def test_stacks_in_a_stop(self):
        """They are those of the dump, which the node's own were compared with."""
        differences, compared = [], 0
        for process in self.stacks_in_a_stop()["processes"]:
            self.assertEqual(process["proof"], "stopped")
            if process.get("registered_name") == ENDLESS:
                continue
            frames = tools.analyze_json("backtrace", self.dump, process["pid"]).get("frames", [])
            functions = [frame["function"] for frame in frames if "/" in frame.get("function", "")]
            if functions:
                compared += 1
                # A trap's function may be on top; one that hibernates has no other.
                if functions not in (process["frames"], process["frames"][1:]) and \
                        process["frames"] != ["erlang:hibernate/3"]:
                    differences.append((process["pid"], functions, process["frames"]))
        print(f"OTP {RELEASE}: {compared} stacks in a stop, {len(differences)} differ from those of the dump before",
              flush=True)
        self.assertGreater(compared, PROCESSES / 2)
        # They ran in between.
        self.assertLessEqual(len(differences), compared * 0.05, differences[:5])

    def test_a_watcher_takes_a_dump_by_a_rule(self):
        share = self.machine.share
        self.machine.expect(f"""mkdir /tmp/watched
{share}/beamdump-watch --json --free 1M --rule 'mailboxes > 100' -o /tmp/watched {self.node.pid} \\
  >{share}/watch.events 2>{share}/watch.errors &
watcher=$!
until grep -qE '"event":"(captured|failed)"' {share}/watch.events; do
  kill -0 $watcher || break
  sleep 0.2
done
kill $watcher
wait $watcher
cat {share}/watch.errors >&2
mv /tmp/watched/*.beamdump {share}/watched.beamdump""", seconds=CAPTURE_SECONDS)
        summary = tools.analyze_json("summary", share / "watched.beamdump")
        self.assertRegex(summary["capture"]["reason"], r"^mailboxes: the number of messages in all mailboxes was \d+$")

    def test_under_load(self):
        """The last one that asks the zoo: the load stays. Running processes are void, none is torn."""
        self.node.ask(f"start busy {WORKERS_SCALE}")
        for mode in "live", "auto", "snapshot":
            with self.subTest(mode):
                dump = self.machine.share / f"busy-{mode}.beamdump"
                tools.expect(self.capture(mode, dump, "--binary-bytes all"), 0, 3)
                terms, void = self.check_workers(dump)
                print(f"OTP {RELEASE}, {mode} under load: {terms} terms of {WORKERS - void} workers, {void} void",
                      flush=True)
                self.assertLess(void, WORKERS / 2)
                self.assertGreater(terms, 0)
                self.assertEqual(self.node.ask("ping"), "pong")
        self.check_running()

    def check_running(self):
        """What runs in a stop has the functions of the load on its stack."""
        shown = 0
        for tries in range(MOST_STOPS):
            for scheduler in self.stacks_in_a_stop()["schedulers"]:
                process = scheduler.get("process", {})
                if process.get("registered_name", "").startswith("busy_") and "frames" in process:
                    self.assertEqual((process["proof"], process["frames"][-1]), ("stopped", "busy:serve/3"))
                    shown += 1
            if shown >= RUNNING_STACKS:
                break
        print(f"OTP {RELEASE}: {shown} stacks of running processes in {tries + 1} stops", flush=True)
        self.assertGreaterEqual(shown, RUNNING_STACKS)

    def check_workers(self, dump):
        """How many terms with checksums the load's processes have, none of them torn; how many processes are void."""
        workers = {pid: process for pid, process in listed(dump).items()
                   if process.get("registered_name", "").startswith("busy_")}
        self.assertEqual(len(workers), WORKERS)
        whole = [pid for pid, process in workers.items() if "void_reason" not in process]
        terms = 0
        for pid in whole:
            for question in ("backtrace", "--syntax", "erlang"), ("dictionary", *ALL), ("messages", *ALL):
                text = tools.expect(tools.ask(question[0], dump, pid, *question[1:]), 0, 3).output
                found = [term.groups() for term in INVARIANT.finditer(text)]
                self.assertEqual(len(found), text.count("{invariant,"), text[:300])
                for counter, total, items, octets in found:
                    wrong = contradiction(int(counter), int(total), *(
                        list(map(int, numbers.split(","))) if numbers else [] for numbers in (items, octets)))
                    self.assertIsNone(wrong, pid)
                terms += len(found)
        return terms, len(workers) - len(whole)

    def kill_a_writer(self, mode, question):
        """Once `question`, a command of the shell that asks for $node, holds; until it does not hold any more."""
        self.machine.expect(f"""node={self.node.pid}
{self.machine.share}/beamdump-capture --quiet --force --mode {mode} -o {self.machine.share}/killed.beamdump $node &
writer=$!
held=
for look in $(seq 600); do
  {question} && held=yes && break
  kill -0 $writer || break
  sleep 0.05
done
kill -KILL $writer
[ "$held" ] || {{ echo "it was not seen at work" >&2; exit 1; }}
for look in $(seq 200); do
  {question} || exit 0
  sleep 0.05
done
echo "it has left something behind" >&2
exit 1""")
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_under_load_a_killed_writer_leaves_the_node_running(self):
        self.kill_a_writer("freeze", "grep -q '^State:.t' /proc/$node/task/*/status")

    def test_under_load_a_killed_writer_leaves_no_twin(self):
        # Helpers of the node are children of its first thread, before and after.
        children = "cat /proc/$node/task/*/children | wc -w"
        before = int(self.machine.expect(f"node={self.node.pid}; {children}").output)
        self.kill_a_writer("snapshot", f"[ $({children}) -gt {before} ]")

    def test_with_all_done_a_signal_still_ends_the_node(self):
        """The thread that dispatches signals is the one of which twins are made. The last one: the node is gone."""
        self.machine.expect(f"""kill -TERM {self.node.pid}
for look in $(seq 1200); do
  [ -d /proc/{self.node.pid} ] || exit 0
  grep -q '^State:.Z' /proc/{self.node.pid}/status && exit 0
  sleep 0.05
done
exit 1""")


if __name__ == "__main__":
    unittest.main(verbosity=2)
