"""A dump of a node that knows a thousand cookies contains none of them."""

import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile
import unittest

from support import tools
from support.node import ApplicationStart
from support.paths import CAPTURE
from support.release import RELEASE, erlang_directory

COOKIES = 1000
# Each cookie has a unique mark, and characters around it that make it hard to find.
MARK = "Zq[0-9a-f]{16}"
SHAPES = ("{}", "{}@host", "Super@{}", "it's{}", 'a"b{}', "a.b-{}+c", "{} blank", "ö{}€",
          "{}" + "long" * 20, "%s{}" % ("x" * 70), "~!#$%^&*(){}", "\\{}")
MODES = "live", "auto", "snapshot", "freeze"


def small(character):
    """A character of an Erlang string, as a word in memory."""
    return struct.pack("<Q", ord(character) << 4 | 0xF)


def of_any(characters):
    return b"(?:" + b"|".join(re.escape(small(character)) for character in characters) + b")"


AS_BYTES = re.compile(MARK.encode())
CELLS = [of_any("Z"), of_any("q"), *[of_any("0123456789abcdef")] * 16]
AS_LISTS = [re.compile(b"(?s:.{8})".join(cells)) for cells in (CELLS, CELLS[::-1])]


def found_in(content):
    """The marks in content: as bytes, and the number of list cells."""
    return set(AS_BYTES.findall(content)), sum(len(one.findall(content)) for one in AS_LISTS)


class Cookies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(20)
        cls.cookies = []
        while len(cls.cookies) < COOKIES:
            mark = "Zq" + "".join(chance.choices("0123456789abcdef", k=16))
            cls.cookies.append(SHAPES[len(cls.cookies) % len(SHAPES)].replace("{}", mark))
        cls.node = cls.start()
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        core = subprocess.run(["gcore", "-o", cls.scratch / "core", str(cls.node.pid)],
                              stdin=subprocess.DEVNULL, capture_output=True)
        cls.assertEqual(cls(), core.returncode, 0)
        cls.core = cls.scratch / f"core.{cls.node.pid}"

    @classmethod
    def start(cls):
        """Starts the node. The first cookies are in its arguments and environment, all others are set
        while it runs."""
        start = ApplicationStart()
        left = iter(enumerate(cls.cookies))
        known = 0

        def setcookies(count):
            arguments = []
            for number, cookie in (next(left) for _ in range(count)):
                arguments += ["-setcookie", f"given{number}@cookies", cookie]
            return arguments

        def quoted(arguments):
            """Arguments as erlexec reads them from its environment and from files."""
            return " ".join(re.sub(r"([^\w@.-])", r"\\\1", word) for word in arguments)

        _, plain = next(left)
        _, own = next(left)
        line = ["-setcookie", own, *setcookies(20)]
        (start.directory / "vm.args").write_text(quoted(setcookies(20)) + "\n")
        environment = {f"ERL_{which}FLAGS": quoted(setcookies(20))
                       for which in ("A", "", "Z")}
        environment |= {"RELEASE_COOKIE": plain, "RABBITMQ_ERLANG_COOKIE": next(left)[1]}
        known = next(left)[0]
        listed = start.directory / "cookies"
        listed.write_text("\n".join(cls.cookies))
        node = start.run(
            ["erl", "-noinput", "-sname", "cookies@localhost", "-pa", start.ebin,
             "-kernel", "inet_dist_use_interface", "{127,0,0,1}", *line,
             "-args_file", start.directory / "vm.args", "-run", "control", "start",
             start.directory / "control", "-run", "cookies", "start", listed, str(known)],
            "kernel", environment)
        node.wait_until_made(listed.with_suffix(".held"))
        return node

    def capture(self, name, *arguments):
        dump = self.scratch / f"{name}.beamdump"
        ended = tools.expect(tools.run_measured([CAPTURE, "--quiet", "-o", dump, *arguments]), 0, 3)
        self.assertNotIn("cookie", ended.diagnostics)
        return dump

    def verify(self, dump):
        content = tools.flat(dump)
        self.assertIn(b"code_server", content, "atoms are not where they were looked for")
        as_bytes, lists = found_in(content)
        print(f"{dump.stem}: {len(content)} bytes without compression, {len(as_bytes)} cookies, "
              f"{lists} lists", flush=True)
        self.assertEqual((as_bytes, lists), (set(), 0))
        self.assertGreater(content.count(b"<cookie>"), COOKIES * 0.9)

    def test_the_node_itself_is_full_of_them(self):
        """Without this, the other tests could not fail."""
        as_bytes, lists = found_in(self.core.read_bytes())
        print(f"core: {len(as_bytes)} cookies, {lists} lists", flush=True)
        self.assertGreaterEqual(len(as_bytes), COOKIES)
        self.assertGreater(lists, COOKIES * 10)

    def test_no_mode_writes_one(self):
        for mode in MODES:
            for binaries in "64", "all":
                with self.subTest(mode=mode, binaries=binaries):
                    self.verify(self.capture(f"{mode}-{binaries}", "--mode", mode,
                                             "--binary-bytes", binaries, self.node.pid))
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_no_core_gives_one_away(self):
        executable = []
        if os.environ.get("BEAMDUMP_OTP"):
            executable = ["--exe", *erlang_directory().glob("erts-*/bin/beam.smp")]
        self.verify(self.capture("core", "--core", self.core, "--binary-bytes", "all", *executable))

    def test_the_answers_do_not_show_one(self):
        dump = self.capture("shown", "--binary-bytes", "all", self.node.pid)
        for command in ("summary",), ("dictionary", "cookies_all"), ("backtrace", "cookies_all"):
            ended = tools.expect(tools.analyze(command[0], dump, *command[1:]), 0, 3)
            shown = [match.start() for match in re.finditer(MARK, ended.output)]
            self.assertEqual(len(shown), 0, [ended.output[max(0, at - 200):at + 60]
                                             for at in shown[:2]])
        self.assertIn("<cookie>", ended.output)
        # Not even in parts where the dump's frames end.
        large = tools.expect(tools.analyze("backtrace", dump, "cookies_large"), 0, 3).output
        self.assertGreater(len(large), 900000)
        self.assertEqual(re.findall(r"Zq|\b90,113\b", large), [])
        self.assertIn("************", ended.output)
        self.their_lengths_are_not_told(dump)
        arguments = tools.analyze_json("summary", dump)["node"]["arguments"]
        self.assertGreater(arguments.count("<cookie>"), 80)
        self.assertIn("given3@cookies", arguments)

    def their_lengths_are_not_told(self, dump):
        """Not by strings, and not by binaries on a heap."""
        entries = tools.analyze_json("dictionary", dump, "cookies_all", "--limit", "0", "--term-bytes", "0",
                                     "--syntax", "erlang")["dictionary"]
        self.assertEqual({entry["key"]["text"] for entry in entries},
                         {f'{{{number},"****"}}' for number in range(1, COOKIES + 1)})
        on_heap = 0
        for entry in entries:
            forms = entry["value"]["text"]
            self.assertTrue(forms.startswith('{"****","****",<<"***'), forms)
            self.assertIn('"--****--"', forms)
            on_heap += forms.startswith('{"****","****",<<"****">>,')
        # Two shapes of twelve have more than 64 bytes.
        self.assertEqual(on_heap, sum(len(cookie.encode()) <= 64 for cookie in self.cookies))
        sizes = {root["flat_words"] for root in tools.analyze_json(
            "heap", dump, "cookies_all", "--limit", "0", "--syntax", "erlang")["roots"]["dictionary"]["items"]
                 if root["key"]["text"].startswith("{")}
        print(f"flat sizes of what holds a cookie: {sorted(sizes)}", flush=True)

    def test_literals_can_be_left_out(self):
        """Also constants of modules; terms that refer to them are marked as missing from the dump."""
        text = b"a binary that was compiled in"
        self.assertIn(text, tools.flat(self.capture("with", self.node.pid)))
        dump = self.capture("without", "--no-literals", self.node.pid)
        self.assertNotIn(text, tools.flat(dump))
        ended = tools.expect(tools.analyze("backtrace", dump, "code_server"), 3)
        self.assertRegex(ended.diagnostics, r"\d+ places that the dump does not have")
        self.assertIn("code_server:loop/1", ended.output)


if __name__ == "__main__":
    print(f"OTP {RELEASE}", flush=True)
    unittest.main(verbosity=2)
