"""Third-party applications: every process of RabbitMQ, ejabberd and an application in Elixir is in the
dump with the facts of process_info, and its backtrace and terms as the VM prints them; the node's
memory, allocators, tables, rows, persistent terms, atoms and modules are as the node says; the
summary has no findings."""

import pathlib
import re
import struct
import tempfile
import unittest

from support import applications, comparison, tools, whole_node
from support.captured import details, listed
from support.texts import Texts


# Their own timers make many of their processes run at times.
ATTEMPTS = 6
# Options by which a list has all of its rows.
ALL = {command: ("--limit", "0") for command in ("modules", "ets", "processes", "timers", "waits")}


class Applications(unittest.TestCase):
    def check(self, name, start):
        node, cookie = start()
        self.addCleanup(node.stop)
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                node.wait_until_quiet()
            dump = scratch / f"{name}-{attempt}.beamdump"
            before = node.ask("processes").split()
            tools.capture(node, dump, "--binary-bytes", "all")
            told = comparison.ask_oracle(node, backtraces=before, terms=before)
            result = comparison.compare(listed(dump, *comparison.COLUMNS), before, told,
                                        comparison.LISTED_WITH_COLUMNS)
            result.print(f"{name}, list")
            if result.share_left_out <= comparison.MOST_LEFT_OUT or result.differences:
                break
        result.verify(self)
        self.assertGreater(result.compared, 150)
        texts = Texts(dump, cookie)
        result = comparison.compare(details(dump, told), before, told, also=texts)
        result.print(f"{name}, details")
        texts.print(name)
        result.verify(self)
        self.assertGreater(texts.backtraces, 150)
        self.assertGreater(texts.sizes, 200)
        self.assertEqual(node.ask("ping"), "pong")
        self.assertEqual(node.ask(f"running {name}"), "true")
        self.cookie_is_not_in(dump, cookie)
        self.has_no_findings(dump)
        self.names_are_of_its_language(dump, elixir=name == "shop")
        self.blocks_add_up(name, node, scratch / "blocks.beamdump")
        self.whole_node(node, scratch)

    def blocks_add_up(self, name, node, dump):
        """Of one moment, all blocks of binary_alloc are what the allocator counts, and what no term refers
        to is held by drivers and the VM."""
        tools.capture(node, dump, "--mode", "snapshot", "--blocks", "binary", "--ets", "full")
        answer = tools.expect(tools.analyze("memory", dump, "--blocks", "--limit", "0", "--json"), 0, 3)
        binaries, = tools.parse(answer)["blocks"]
        print(f"{name}, binary_alloc: {binaries['blocks']} blocks of {binaries['bytes']} bytes, referred to "
              f"{binaries['referred_to_blocks']} of {binaries['referred_to_bytes']}")
        for group in binaries["groups"]:
            print(f"{name}, group: {group}")
        self.assertTrue(binaries["of_one_moment"])
        self.assertEqual((binaries["read_carriers"], binaries["blocks"], binaries["bytes"]),
                         (binaries["carriers"], binaries["counted_blocks"], binaries["counted_bytes"]))
        self.assertGreater(binaries["referred_to_blocks"], 0)
        types = tools.analyze_json("resources", dump, "--limit", "0")["resources"]
        print(f"{name}, resources: {sorted((kind['living'], kind['module'], kind['name']) for kind in types)}")

    def has_no_findings(self, dump):
        """The node rests and is healthy."""
        answer = tools.analyze_json("summary", dump, "--findings", "full")
        self.assertEqual(answer["findings"], [])
        self.assertEqual(answer["findings_left_out"], [])

    def names_are_of_its_language(self, dump, elixir):
        """Of modules, functions, tables and processes, in texts. RabbitMQ has modules of Elixir, and does not
        run it."""
        for command in (["modules"], ["ets"], ["processes"], ["processes", "--group-by", "current_function"],
                        ["processes", "--group-by", "initial_call"], ["tree"], ["memory"], ["timers"], ["waits"]):
            text = tools.expect(tools.analyze(command[0], dump, *command[1:], *ALL.get(command[0], ())), 0, 3).output
            names = re.findall(r"'Elixir\.[^']*'", text)
            if elixir:
                self.assertEqual(names, [], command)
        modules = tools.expect(tools.analyze("modules", dump, "--filter", "name~Elixir", "--limit", "0"), 0).output
        if elixir:
            self.assertRegex(modules, r"(?m)^GenServer ")

    def whole_node(self, node, scratch):
        whole_node.ask_tables(node, scratch)  # the first questions load code that stays
        whole_node.ask_numbers(node)
        whole_node.ask_rows(node, scratch)
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                node.wait_until_quiet()
            rows = whole_node.ask_rows(node, scratch)
            tables = whole_node.ask_tables(node, scratch)
            before = whole_node.ask_numbers(node)
            dump = scratch / f"node-{attempt}.beamdump"
            tools.capture(node, dump, "--binary-bytes", "all")
            told = whole_node.ask_numbers(node)
            if not whole_node.worked_meanwhile(dump, before, told):
                break
        answer = whole_node.check_resident(self, dump)
        whole_node.compare_categories(self, answer["categories"], told, before)
        whole_node.compare_allocators(self, tools.analyze_json("allocators", dump), told,
                                      before)
        whole_node.compare_counts(self, dump, told)
        whole_node.compare_tables(self, dump, tables, whole_node.ask_tables(node, scratch))
        whole_node.compare_persistent_terms(
            self, dump, whole_node.ask_persistent_terms(node, scratch))
        whole_node.compare_rows(self, dump, rows, whole_node.ask_rows(node, scratch))

    def cookie_is_not_in(self, dump, cookie):
        """Checks for text and for an Erlang string (a list cell of two words for each character)."""
        content = tools.flat(dump)
        self.assertTrue(b"code_server" in content, "atoms are not where they were looked for")
        self.assertFalse(cookie.encode() in content, "the cookie is in the dump")
        characters = [struct.pack("<Q", ord(character) << 4 | 0xF) for character in cookie]
        cells = b".{8}".join(map(re.escape, characters))
        self.assertIsNone(re.search(cells, content, re.S))
        cells = b".{8}".join(map(re.escape, reversed(characters)))
        self.assertIsNone(re.search(cells, content, re.S))
        self.assertEqual(tools.analyze_json("atoms", dump)["text_bytes"],
                         tools.analyze_json("summary", dump)["memory"]["atoms"],
                         "the difference tells the cookie's length")

    def test_rabbitmq(self):
        self.check("rabbit", applications.start_rabbitmq)

    def test_ejabberd(self):
        self.check("ejabberd", applications.start_ejabberd)

    def test_elixir(self):
        self.check("shop", applications.start_elixir)


if __name__ == "__main__":
    unittest.main(verbosity=2)
