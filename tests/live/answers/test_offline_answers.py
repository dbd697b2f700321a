"""Queries over the whole node are answered as the node says: atoms, modules, groups, trees, holders of
binaries, pids and references, terms by a pattern. The dump is made first, then the node is asked."""

import collections
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from support import exported, report_page, schemas, tools
from support.node import start_workload

BYTES = 280000


class OfflineAnswers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = start_workload("planted")
        cls.addClassCleanup(cls.node.stop)
        cls.dump = scratch / "planted.beamdump"
        tools.capture(cls.node, cls.dump, "--binary-bytes", "all")
        told = scratch / "told"
        assert cls.node.ask(f"planted {told}") == "written"
        cls.told = collections.defaultdict(list)
        for line in told.read_text().splitlines():
            what, *words = line.split()
            cls.told[what].append(words)
        cls.pids = dict(cls.told["name"])

    def ask(self, command, *arguments):
        return tools.analyze_json(command, self.dump, *arguments)

    def holders(self, target):
        answer = self.ask("refs", target, "--limit", "0")
        places = collections.defaultdict(list)
        for holder in answer["holders"]:
            places[holder["process"]["pid"]].append(
                " -> ".join([holder["root"], *holder["path"]]))
        return places

    def test_atoms(self):
        count, limit = map(int, self.told["atoms"][0])
        answer = self.ask("atoms", "--filter", "planted_param_")
        # Questions create atoms, and atoms are never removed.
        self.assertLessEqual(answer["count"], count)
        self.assertGreater(answer["count"], count - 50)
        self.assertEqual(answer["limit"], limit)
        (group,) = [group for group in answer["groups"] if group["count"] > 1]
        self.assertEqual((group["atoms"], group["count"], group["newest"]),
                         ("planted_param_N", 500, "planted_param_500"))
        self.assertEqual(group["bytes"], sum(len(f"planted_param_{n}") for n in range(1, 501)))

    def export(self, form, *words, dump=None):
        file = self.dump.with_suffix(f".{form}")
        tools.expect(tools.analyze("export", form, dump or self.dump, "--force", "-o", file, *words),
                     0, 3)
        return file

    def test_exports_have_what_the_commands_say(self):
        text = self.dump.with_name("erl_crash.dump")
        tools.expect(tools.analyze("crash-dump", self.dump, "-o", text), 0, 3)
        types, kinds = {}, {}
        for dump in (self.dump, text):
            def ask(*words, may_fail=False, dump=dump):
                ended = tools.ask(words[0], dump, *words[1:], "--json")
                return None if may_fail and ended.status == 1 else tools.parse(ended)
            lines = [json.loads(line) for line in
                     self.export("ndjson", dump=dump).read_text().splitlines()]
            exported.compare(self, lines, ask)
            page = dump.with_suffix(".html")
            tools.expect(tools.analyze("report", dump, "-o", page), 0, 3)
            report_page.compare(self, report_page.Data(page.read_text()), lines, ask)
            kinds[dump] = {line["kind"] for line in lines}
            for line in lines:
                for field, value in line.items():
                    self.assertIs(types.setdefault(field, type(value)), type(value), line)
            with contextlib.closing(sqlite3.connect(self.export("sqlite", dump=dump))) as base:
                base.row_factory = sqlite3.Row
                (row,) = base.execute("SELECT max(id) AS id FROM dumps")
                exported.compare_sqlite(self, base, row["id"], lines)
            tree = {line["pid"]: line["parent"] for line in lines if line["kind"] == "parent"}
            for (child,) in self.told["child"]:
                self.assertIn(child, tree)
            schemas.validate(json.loads(self.export("json", dump=dump).read_text()), "export")
        self.assertLessEqual({"parent", "binary", "frame", "link", "monitor"}, kinds[self.dump])
        # The text that `crash-dump` writes has no sections of these.
        self.assertEqual(kinds[self.dump] - kinds[text],
                         {"allocator", "ets_table", "persistent_term", "port", "resident", "scheduler",
                          "socket", "timer"})
        self.assertLess(kinds[text], kinds[self.dump])
        folded = exported.folded(self.export("folded", "--weight", "memory").read_text())
        self.assertEqual(sum(folded.values()), self.ask("summary")["memory"]["processes"])
        drawn = subprocess.run(["dot", "-Tplain", self.export("dot")], capture_output=True)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, b""))

    def test_modules(self):
        answer = self.ask("modules", "--limit", "0", "--users")
        current = {module["name"]: module for module in answer["modules"]
                   if module["instance"] == "current"}
        md5 = dict(self.told["module"])
        self.assertEqual({name: current[name].get("md5") for name in md5}, md5)
        # Preloaded modules have no attributes.
        versions = {name: None if version == "undefined" else version
                    for name, version in self.told["vsn"]}
        self.assertEqual({name: current[name].get("vsn") for name in versions}, versions)
        told = {name: (application, version)
                for name, application, version in self.told["application"]}
        self.assertGreater(len(told), 50)
        self.assertEqual({name: (module["application"], module["application_vsn"])
                          for name, module in current.items() if "application" in module}, told)
        (old,) = [module for module in answer["modules"] if module["instance"] == "old"]
        self.assertEqual((old["name"], old["users"]),
                         ("planted_old", [self.pids["planted_old_user"]]))
        # The literal, and the source file's name as a list of characters.
        self.assertEqual(current["planted_old"]["literal_bytes"],
                         8 * int(self.told["literal"][0][0]) + 16 * len("planted_old.erl"))
        print(f"{len(md5)} modules are the node's, with {len(set(versions.values()))} versions")

    def test_groups_and_tree(self):
        children = {pid for (pid,) in self.told["child"]}
        groups = {group.get("name"): group for group in
                  self.ask("processes", "--group-by", "supervisor", "--limit", "0")["groups"]}
        self.assertEqual(groups["planted_sup"]["count"], len(children))
        groups = {group.get("name"): group for group in
                  self.ask("processes", "--group-by", "initial_call", "--limit", "0")["groups"]}
        self.assertEqual(groups["planted:child/2"]["count"], len(children))
        groups = {group.get("name"): group for group in
                  self.ask("processes", "--group-by", "application", "--limit", "0")["groups"]}
        self.assertIn("kernel", groups)
        lines = self.ask("tree", "planted_sup")["lines"]
        self.assertEqual(lines[0]["subtree_processes"], len(children) + 1)
        self.assertEqual({line["process"]["pid"] for line in lines[1:]}, children)
        self.assertEqual(lines[0]["subtree_memory"],
                         sum(line["process"]["memory"] for line in lines))

    def test_binaries(self):
        told = collections.defaultdict(set)
        facts = {}
        for pid, address, size, references in self.told["binary"]:
            told[f"{int(address):#x}"].add(pid)
            facts[f"{int(address):#x}"] = (int(size), int(references))
        ours = {binary["address"]: binary
                for binary in self.ask("binaries", "--limit", "0")["binaries"]}
        planted = {self.pids[name] for name in
                   ("planted_whole", "planted_part", "planted_garbage", "planted_holder")}
        compared = 0
        for address, pids in told.items():
            if pids & planted and address in ours:
                compared += 1
                self.assertEqual(ours[address]["size_bytes"], facts[address][0])
                self.assertEqual(ours[address]["references"], facts[address][1])
                self.assertEqual(ours[address]["holding_processes"], len(pids))
        self.assertGreaterEqual(compared, 2)
        (big,) = [address for address, pids in told.items()
                  if {self.pids["planted_whole"], self.pids["planted_part"]} <= pids]
        places = {(holder["process"]["pid"], holder["first_byte"], holder["bytes"])
                  for holder in self.ask("binaries", big, "--limit", "0")["holders"]}
        self.assertIn((self.pids["planted_whole"], 0, BYTES), places)
        self.assertIn((self.pids["planted_part"], 1000, 100), places)
        self.assertIn((self.pids["planted_keeper"], 0, BYTES), places)

    def test_leaks(self):
        leaks = {leak["process"]["pid"]: leak
                 for leak in self.ask("binaries", "--leaks", "--limit", "0")["leaks"]
                 if "process" in leak and "table" not in leak}
        part = leaks[self.pids["planted_part"]]
        self.assertEqual((part["pinned_bytes"], part["shown_bytes"]), (BYTES - 100, 100))
        garbage = leaks[self.pids["planted_garbage"]]
        self.assertEqual(garbage["releasable_bytes"], BYTES)
        self.assertNotIn(self.pids["planted_whole"], leaks)

    def test_leaks_that_no_process_holds(self):
        answer = self.ask("binaries", "--leaks", "--limit", "0")
        half = BYTES // 2
        (table,) = [leak for leak in answer["leaks"] if leak.get("table") == "planted_parts"]
        self.assertEqual(
            [table[name] for name in ("binaries", "kept_bytes", "shown_bytes", "pinned_bytes")],
            [3, 3 * half, 300, 3 * (half - 100)])
        self.assertEqual(table["process"]["pid"], self.pids["planted_keeper"])
        (terms,) = [leak for leak in answer["leaks"] if leak.get("persistent_terms")]
        self.assertEqual((terms["kept_bytes"] - terms["shown_bytes"], terms["worst"]["shown_bytes"]),
                         (terms["pinned_bytes"], 100))
        self.assertGreaterEqual(terms["pinned_bytes"], half - 100)
        places = self.ask("refs", terms["worst"]["address"], "--limit", "0")
        self.assertEqual([(holder["root"], holder.get("persistent_terms"))
                          for holder in places["holders"]],
                         [("persistent term planted_part", True)])
        self.assertTrue(places["holding_persistent_terms"])
        self.assertEqual(places["persistent_terms_without"], 0)

    def test_refs(self):
        target = self.pids["planted_target"]
        places = self.holders("planted_target")
        holder = places[self.pids["planted_holder"]]
        self.assertIn("link", holder)
        self.assertIn("monitor", holder)
        self.assertIn("dictionary planted_list -> item 2", holder)
        self.assertTrue(any(place.startswith("y(") and "element 3" in place for place in holder),
                        holder)
        self.assertEqual(places[self.pids["planted_mailbox"]],
                         ["message 0 -> element 2 -> item 1 -> element 2"])
        self.assertEqual(places[self.pids["planted_keeper"]],
                         ["row key_one of ETS table planted_table -> element 2 -> element 2 -> "
                          "item 1"])
        self.assertIn("monitored_by", self.holders("planted_holder")[target])
        (reference,) = self.told["reference"][0]
        holders = self.holders(reference)
        self.assertIn("dictionary planted_reference -> element 2",
                      holders[self.pids["planted_holder"]])
        self.assertEqual(holders[self.pids["planted_keeper"]],
                         ["row key_one of ETS table planted_table -> element 2 -> element 2 -> "
                          "item 2"])

    def test_waits(self):
        answer = self.ask("waits", "--limit", "0")
        found = {line["name"]: line for line in answer["waited_for"]}
        server = found[self.pids["planted_server"]]
        self.assertEqual((server["direct"], server["behind"]), (2, 2))
        self.assertNotIn("waits_for", server)
        cycles = [{process["registered_name"] for process in cycle["processes"]}
                  for cycle in answer["cycles"]]
        self.assertEqual(cycles, [{"planted_left", "planted_right"}])

    def test_search(self):
        holder = self.pids["planted_holder"]
        for pattern in ("{planted_state, _, #{id := 7}, _}",
                        "{:planted_state, 7, %{name: \"planted name\"}, %{50 => 2500}}"):
            answer = self.ask("search", pattern)
            self.assertEqual([term["process"]["pid"] for term in answer["terms"]], [holder])
        self.assertEqual(self.ask("search", "{planted_state, 8, _, _}")["found"], 0)
        self.assertEqual(self.ask("search", "#{50 := 2500, 51 := 2500}")["found"], 0)
        texts = {term["term"] for term in self.ask("search", "--text", "planted text")["terms"]
                 if term.get("process", {}).get("pid") == holder}
        self.assertEqual(texts, {'"planted text"'})

    def test_search_of_tables_and_literals(self):
        answer = self.ask("search", "{planted_row, _}")
        self.assertEqual({(term["root"], *term["path"]) for term in answer["terms"]},
                         {("row key_one of ETS table planted_table", "element 2"),
                          ("literal of module planted", "item 2")})
        found = {term.get("table", term.get("module")): term for term in answer["terms"]}
        self.assertEqual(found["planted_table"]["process"]["pid"], self.pids["planted_keeper"])
        self.assertNotIn("process", found["planted"])
        self.assertEqual((answer["holding_processes"], answer["holding_tables"],
                          answer["holding_modules"]), (0, 1, 1))
        # The third one is in a compressed table, which the answer says.
        ended = tools.expect(tools.ask("search", self.dump, "{planted_row, _}"), 3)
        self.assertIn("not searched: 1 row of compressed ETS tables", ended.diagnostics)


if __name__ == "__main__":
    unittest.main(verbosity=2)
