"""beamdump-sample top: counts are the node's own, what grows or burns is first in its order; on a
terminal it sorts, filters, pauses, shows a stack, and leaves the terminal as it was at any end."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import schemas
from support.node import start_workload
from support.paths import SAMPLE

SECONDS = 60
DONE, FAILED, USAGE = 0, 1, 2
ROWS, COLUMNS = 30, 120


class Lines:
    """The refreshes of a running `top --json`."""

    def __init__(self, node, *options):
        self.process = subprocess.Popen(
            [SAMPLE, "top", "--json", "--interval", "300ms", *options, str(node.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def next(self):
        answer = json.loads(self.process.stdout.readline())
        schemas.validate(answer, "top")
        return answer

    def until(self, condition):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            answer = self.next()
            if condition(answer):
                return answer
        raise AssertionError(f"not within {SECONDS} s; the last was {answer}")

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors

    def __del__(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def first(answer):
    return answer["rows"][0].get("registered_name") if answer["rows"] else None


class Screen:
    """`top` on a pseudo terminal, and what that shows: as much of xterm as ncurses uses of it."""

    def __init__(self, node, *options):
        self.ours, self.theirs = pty.openpty()
        self.resize(ROWS, COLUMNS)
        self.before = termios.tcgetattr(self.theirs)
        self.told = ""
        self.cells, self.row, self.column = {}, 0, 0
        self.last = " "
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [SAMPLE, "top", "--interval", "300ms", *options, str(node.pid)], env=environment,
            stdin=self.theirs, stdout=self.theirs, stderr=subprocess.PIPE, text=True)

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.ours)
        os.close(self.theirs)

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def read(self):
        """What came within a moment."""
        if not select.select([self.ours], [], [], 0.1)[0]:
            return
        text = os.read(self.ours, 1 << 16).decode(errors="replace")
        self.told += text
        for match in re.finditer(r"\x1b\[([?>]?)([0-9;]*)([@-~])|\x1b[()].|\x1b.|[^\x1b]", text):
            self.apply(match)

    def apply(self, match):
        private, numbers, command = match.groups()
        one = match.group()
        if command is None:
            if one == "\r":
                self.column = 0
            elif one == "\n":
                self.row += 1
            elif one == "\b":
                self.column -= 1
            elif one >= " ":
                self.put(one)
            return
        if private:
            return
        values = [int(number) for number in numbers.split(";") if number] or [0]
        count = max(values[0], 1)
        if command == "H":
            self.row, self.column = count - 1, (values[1] if len(values) > 1 else 1) - 1
        elif command == "d":
            self.row = count - 1
        elif command == "G":
            self.column = count - 1
        elif command in "ABCD":
            self.row += {"A": -count, "B": count}.get(command, 0)
            self.column += {"C": count, "D": -count}.get(command, 0)
        elif command == "b":
            for _ in range(count):
                self.put(self.last)
        elif command == "X":
            for at in range(count):
                self.cells.pop((self.row, self.column + at), None)
        elif command == "K":
            before = values[0] == 1
            for place in list(self.cells):
                if place[0] == self.row and (place[1] <= self.column if before
                                             else place[1] >= self.column):
                    del self.cells[place]
        elif command == "J":
            self.cells = {place: cell for place, cell in self.cells.items()
                          if values[0] == 0 and place < (self.row, self.column)}

    def put(self, character):
        self.cells[(self.row, self.column)] = self.last = character
        self.column += 1

    def lines(self):
        shown = [""] * (max((row for row, _ in self.cells), default=0) + 1)
        for (row, column), cell in sorted(self.cells.items()):
            shown[row] = shown[row].ljust(column) + cell
        return shown

    def until(self, condition):
        """Waits until the screen is as wanted; returns its lines."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            self.read()
            lines = self.lines()
            if condition(lines):
                return lines
        raise AssertionError("not within {} s:\n{}".format(SECONDS, "\n".join(lines)))

    def ended(self):
        """The exit status and standard error, once it has ended."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        errors = self.process.stderr.read()
        for _ in range(3):
            self.read()
        return self.process.wait(timeout=1), errors


def first_row(lines):
    """The row below the titles."""
    titles = [at for at, line in enumerate(lines) if line.startswith("PID ")]
    return lines[titles[0] + 1] if titles and len(lines) > titles[0] + 1 else ""


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("topped", 1)
        cls.addClassCleanup(cls.node.stop)

    def info(self, name):
        return tuple(map(int, self.node.ask(f"topped info {name}").split()))

    def test_counts_are_the_nodes(self):
        lines = Lines(self.node, "--filter", "topped_still", "--sort", "memory")
        answer = lines.until(lambda found: found["rows"])
        self.assertEqual(lines.end()[0], DONE)
        row, = answer["rows"]
        reductions, heap, length = self.info("topped_still")
        self.assertEqual(row["pid"], self.node.ask("topped pid topped_still"))
        self.assertEqual(row["heap_bytes"], heap)
        self.assertEqual(row["message_queue_len"], length)
        # Answering the question has used some.
        self.assertLessEqual(row["reductions"], reductions)
        self.assertGreater(row["reductions"], reductions - 1000)
        self.assertEqual((row["reductions_per_second"], row["heap_bytes_per_second"],
                          row["messages_per_second"]), (0, 0, 0))
        self.assertEqual((row["initial_call"], row["status"]), ("topped:still/0", "waiting"))
        self.assertEqual(row["current_function"], "topped:still/0")
        self.assertGreaterEqual(answer["processes"], 40)

    def test_what_grows_is_first(self):
        burning = Lines(self.node)
        answer = burning.until(lambda found: first(found) == "topped_burner")
        self.assertGreater(answer["rows"][0]["reductions_per_second"], 10_000)
        self.assertGreater(sum(one["ran_permille"] for one in answer["schedulers"]), 0)
        self.assertTrue(answer["run_queues"])
        # The node's own pages, so within a factor.
        resident = self.node.status_field("VmRSS") * 1024
        self.assertAlmostEqual(answer["resident_bytes"] / resident, 1, delta=0.5)
        # A runtime whose sum of loaded code has no name does not tell the total.
        self.assertIn("processes", answer["memory"])
        if "total" in answer["memory"]:
            self.assertAlmostEqual(answer["memory"]["total"] / int(self.node.ask("memory")), 1,
                                   delta=0.3)
        self.assertEqual(burning.end()[0], DONE)

        growing = Lines(self.node, "--sort", "growth")
        growing.next()
        self.node.ask("topped heap 500000")
        growing.until(lambda found: first(found) == "topped_grower" and
                      found["rows"][0]["heap_bytes_per_second"] > 0)
        growing.end()
        filling = Lines(self.node, "--sort", "queue-growth")
        filling.next()
        self.node.ask("topped mailbox 5000")
        filling.until(lambda found: first(found) == "topped_full" and
                      found["rows"][0]["messages_per_second"] > 0)
        filling.end()
        for sort, name in (("memory", "topped_grower"), ("queue", "topped_full")):
            lines = Lines(self.node, "--sort", sort)
            row = lines.until(lambda found, name=name: first(found) == name)["rows"][0]
            lines.end()
            if sort == "queue":
                self.assertEqual(row["message_queue_len"], self.info(name)[2])
                self.assertGreaterEqual(row["message_queue_len"], 5000)
            else:
                self.assertGreaterEqual(row["heap_bytes"], 500000 * 16)

    def test_text_and_refusals(self):
        def run(*options):
            return subprocess.run([SAMPLE, "top", *options, str(self.node.pid)], text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
        ended = run("--count", "2", "--interval", "100ms", "--limit", "1000")
        self.assertEqual((ended.returncode, ended.stderr), (DONE, ""))
        self.assertEqual(ended.stdout.count("PID "), 2)
        # The name that controls terminals is escaped.
        self.assertIn(r"\u202E", ended.stdout)
        self.assertNotRegex(ended.stdout, "[\x1b\u202e]")
        ended = run("--once", "--sort", "age")
        self.assertEqual(ended.returncode, USAGE)
        self.assertRegex(ended.stderr, r"\A[^\n]*queue-growth\n\Z")

    def test_screen(self):
        screen = Screen(self.node)
        self.addCleanup(screen.close)
        screen.until(lambda lines: "topped_burner" in first_row(lines))
        self.node.ask("topped heap 500000")
        screen.press("m")
        screen.until(lambda lines: "topped_grower" in first_row(lines) and
                     "sorted by memory" in "".join(lines))
        self.node.ask("topped mailbox 5000")
        screen.press("u")
        screen.until(lambda lines: "topped_full" in first_row(lines))
        screen.press("/topped_still\r")
        screen.until(lambda lines: "topped_still" in first_row(lines) and
                     not any("topped_full" in line for line in lines))
        screen.press("\r")
        screen.until(lambda lines: lines[0].startswith("Stack of <0.") and
                     "topped:still/0" in "".join(lines))
        screen.press("q")
        screen.until(lambda lines: "topped_still" in first_row(lines))
        screen.press("p")
        paused = screen.until(lambda lines: any("PAUSED" in line for line in lines))
        for _ in range(10):  # more than an interval
            screen.read()
            time.sleep(0.1)
        self.assertEqual(screen.lines()[:5], paused[:5])
        screen.resize(15, 100)
        os.kill(screen.process.pid, signal.SIGWINCH)
        screen.until(lambda lines: "PAUSED" in lines[14:15].__str__() and
                     not any(line.strip() for line in lines[15:]))
        screen.press("p")
        screen.until(lambda lines: not any("PAUSED" in line for line in lines))
        screen.press("q")
        self.ends(screen, DONE, r"\A\Z")

    def ends(self, screen, status, errors):
        found = screen.ended()
        self.assertEqual(found[0], status, found[1])
        self.assertRegex(found[1], errors)
        self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
        # The other screen is left, the cursor is back.
        self.assertGreater(screen.told.rfind("\x1b[?1049l"), screen.told.rfind("\x1b[?1049h"))
        self.assertGreater(screen.told.rfind("\x1b[?25h"), screen.told.rfind("\x1b[?25l"))

    def test_screen_ended(self):
        for how in (signal.SIGINT, signal.SIGTERM, "\x03"):
            screen = Screen(self.node)
            screen.until(first_row)
            if isinstance(how, str):
                screen.press(how)
            else:
                screen.process.send_signal(how)
            self.ends(screen, DONE, r"\A\Z")
            screen.close()


class Dies(unittest.TestCase):
    def test_node_dies(self):
        node = start_workload("topped", 1)
        self.addCleanup(node.stop)
        screen, lines = Screen(node), Lines(node)
        self.addCleanup(screen.close)
        screen.until(first_row)
        lines.next()
        os.kill(node.pid, signal.SIGKILL)
        Top.ends(self, screen, FAILED, r"\Abeamdump-sample: [^\n]*(exited|died|ended|gone)[^\n]*\n\Z")
        _, errors = lines.process.communicate(timeout=SECONDS)
        self.assertEqual(lines.process.returncode, FAILED)
        self.assertRegex(errors, r"\Abeamdump-sample: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
