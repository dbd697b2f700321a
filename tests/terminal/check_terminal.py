"""What beamdump-analyze shows on a terminal, here a pseudo terminal: colours, lines cut to its width, a
pager as git's, progress. And what of it must not be in files and pipes."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
import unittest

PROGRAMS = pathlib.Path(os.environ["BEAMDUMP_PROGRAMS"])
ANALYZE = PROGRAMS / "beamdump-analyze"
FORMATS = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "formats"
SAMPLE = FORMATS / "1.0-sample.beamdump"
LARGER = FORMATS / "1.0-conversion.beamdump"
SECONDS = 60
BOLD = "\x1b[1m"
SGR = re.compile(r"\x1b\[[0-9;]*m")
CLEARED_LINE = "\r\x1b[K"


def environment(**variables):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", **variables}


def piped(*arguments, **variables):
    return subprocess.run([ANALYZE, *arguments], env=environment(**variables), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS)


class Shown:
    """What a command shows on a terminal of that size, and its exit status. `errors`: a file for standard
    error in place of the terminal."""

    def __init__(self, *arguments, columns=100, rows=200, errors=None, **variables):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        process = subprocess.Popen([ANALYZE, *arguments], env=environment(**variables), stdin=theirs,
                                   stdout=theirs, stderr=errors or theirs, start_new_session=True)
        os.close(theirs)
        told = b""
        deadline = time.monotonic() + SECONDS
        try:
            while time.monotonic() < deadline:
                if not select.select([ours], [], [], 1)[0]:
                    continue
                piece = os.read(ours, 65536)
                told += piece
                if not piece:
                    break
        except OSError:  # EIO: all have closed the terminal
            pass
        finally:
            os.close(ours)
            process.kill() if time.monotonic() >= deadline else None
            self.status = process.wait()
        # What a progress line showed is gone once it is cleared.
        self.raw = told.decode().replace("\r\n", "\n")
        self.text = self.raw.split(CLEARED_LINE)[-1]
        self.lines = self.text.splitlines()


LOCAL_MODES = 3  # in what tcgetattr() gives


class Prompt:
    """A command that is talked to on a terminal."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, 160, 0, 0))

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([ANALYZE, *arguments], env=environment(), stdin=theirs, stdout=theirs,
                                        stderr=theirs, start_new_session=True, preexec_fn=take_terminal)
        os.close(theirs)
        self.told = ""

    def until(self, text, seconds=SECONDS):
        """What it shows up to `text`."""
        deadline = time.monotonic() + seconds
        while text not in self.told:
            if not select.select([self.ours], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} in {self.told!r}")
            try:
                piece = os.read(self.ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                raise AssertionError(f"ended without {text!r}: {self.told!r}")
            self.told += piece.decode().replace("\r\n", "\n")
        shown, _, self.told = self.told.partition(text)
        return shown

    def enter(self, text):
        """Once it reads a line: what is typed before may be lost."""
        deadline = time.monotonic() + SECONDS
        while termios.tcgetattr(self.ours)[LOCAL_MODES] & termios.ICANON and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(self.ours, text.encode())

    def interrupt(self, text):
        """Until it shows `text`: an interrupt before a line is read, or a statement answered, cancels nothing."""
        for _ in range(SECONDS):
            os.write(self.ours, b"\x03")
            with contextlib.suppress(AssertionError):
                self.until(text, 1)
                return
        raise AssertionError(f"no {text!r} after interrupts")

    def leave(self):
        """Its status: an end of input before a line is read may be lost, too."""
        for _ in range(SECONDS):
            self.enter("\x04")
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(1)
        raise AssertionError("the end of input does not end it")

    def end(self):
        os.close(self.ours)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class SqlPrompt(unittest.TestCase):
    def prompt(self, *arguments):
        prompt = Prompt("sql", *arguments)
        self.addCleanup(prompt.end)
        prompt.until("sql> ")
        return prompt

    def test_statements_are_answered_and_errors_end_nothing(self):
        prompt = self.prompt(SAMPLE)
        prompt.enter("SELECT count(*) AS n\nFROM processes;\n")
        prompt.until("...> ")
        counted = piped("sql", SAMPLE, "SELECT count(*) AS n FROM processes").stdout
        self.assertIn(counted, prompt.until("sql> "))
        prompt.enter("SELECT absent FROM processes;\n")
        self.assertIn("no such column: absent", prompt.until("sql> "))
        prompt.enter(".tables\n")
        self.assertIn("ets_tables", prompt.until("sql> "))
        prompt.enter(".nothing\n")
        self.assertIn("there is no .nothing", prompt.until("sql> "))
        prompt.enter(".quit\n")
        self.assertEqual(prompt.process.wait(SECONDS), 0)

    def test_tab_completes_tables_and_columns(self):
        prompt = self.prompt(SAMPLE)
        prompt.enter("SELECT pid FROM processe\t ORDER BY registered_n\t DESC LIMIT 1;\n")
        expected = piped("sql", SAMPLE, "SELECT pid FROM processes ORDER BY registered_name DESC LIMIT 1").stdout
        self.assertIn(expected, prompt.until("sql> "))
        prompt.enter("SELECT name FROM proces\t\t\x03")
        listed = prompt.until("^C")
        self.assertRegex(listed, r"\nprocess .*  processes  ")
        prompt.until("sql> ")

    def test_an_interrupt_cancels_a_line_and_a_statement(self):
        prompt = self.prompt(SAMPLE)
        prompt.enter("SELECT 1,\n")
        prompt.until("...> ")
        prompt.enter("2")
        prompt.interrupt("sql> ")
        prompt.enter("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;\n")
        prompt.until(";\n")
        prompt.interrupt("stop")
        prompt.until("sql> ")
        prompt.enter("SELECT 40 + 2 AS n;\n")
        prompt.until("42")
        prompt.until("sql> ")
        self.assertEqual(prompt.leave(), 0)

    def test_it_needs_a_terminal(self):
        refused = piped("sql", SAMPLE, "--prompt")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("the prompt needs a terminal", refused.stderr)
        self.assertIn("name a dump and a statement", piped("sql", SAMPLE).stderr)


class Colors(unittest.TestCase):
    def test_titles_are_bold_on_a_terminal_only(self):
        plain = piped("summary", LARGER)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertNotIn("\x1b", plain.stdout)
        shown = Shown("summary", LARGER, "--no-pager", "--wide")
        self.assertIn(f"{BOLD}Largest processes", shown.text)
        self.assertRegex(shown.text, re.escape(BOLD) + r" +PID +NAME")
        self.assertEqual(SGR.sub("", shown.text), plain.stdout)

    def test_the_environment_and_the_option_decide(self):
        for colored, options, variables in [
                (True, [], {}), (True, [], {"NO_COLOR": ""}), (False, [], {"NO_COLOR": "1"}),
                (False, [], {"TERM": "dumb"}), (False, ["--color", "never"], {}),
                (True, ["--color=always"], {"NO_COLOR": "1"}), (True, ["--color", "auto"], {})]:
            with self.subTest(options=options, variables=variables):
                # Before and after the command.
                for arguments in ([*options, "processes", SAMPLE], ["processes", SAMPLE, *options]):
                    shown = Shown(*arguments, "--no-pager", **variables)
                    self.assertEqual(shown.status, 0, shown.text)
                    self.assertEqual(BOLD in shown.text, colored, shown.text)

    def test_always_is_also_for_pipes(self):
        colored = piped("processes", SAMPLE, "--color", "always")
        self.assertIn(BOLD, colored.stdout)
        self.assertEqual(SGR.sub("", colored.stdout), piped("processes", SAMPLE).stdout)

    def test_a_wrong_choice_is_refused(self):
        self.assertEqual(piped("--color", "sometimes", "processes", SAMPLE).returncode, 2)


class Width(unittest.TestCase):
    def test_no_line_is_wider_than_the_terminal(self):
        widest = max(map(len, piped("processes", LARGER, "--limit", "0").stdout.splitlines()))
        for command in ("processes", "ports", "modules", "atoms", "ets", "memory"):
            for columns in (40, 60):
                shown = Shown(command, LARGER, "--no-pager", "--color", "never", columns=columns)
                self.assertEqual(shown.status, 0, shown.text)
                with self.subTest(command=command, columns=columns):
                    # Titles, findings and remarks are sentences, which are not cut.
                    rows = [line for line in shown.lines if "  " in line.strip()]
                    self.assertEqual([row for row in rows if len(row) > columns], [])
        wide = Shown("processes", LARGER, "--limit", "0", "--wide", "--no-pager", "--color", "never", columns=40)
        self.assertEqual(max(map(len, wide.lines)), widest)
        self.assertGreater(widest, 60)


class Pager(unittest.TestCase):
    MARKING = "sed s/^/paged:/"

    def assert_paged(self, paged, *arguments, **variables):
        shown = Shown("processes", SAMPLE, *arguments, **variables)
        self.assertEqual(shown.status, 0, shown.text)
        self.assertGreater(len(shown.lines), 2)
        self.assertEqual({line.startswith("paged:") for line in shown.lines}, {paged}, shown.text)

    def test_which_pager(self):
        self.assert_paged(True, BEAMDUMP_PAGER=self.MARKING, PAGER="cat")
        self.assert_paged(True, PAGER=self.MARKING)
        self.assert_paged(False, BEAMDUMP_PAGER="", PAGER=self.MARKING)
        self.assert_paged(False, BEAMDUMP_PAGER="cat", PAGER=self.MARKING)
        self.assert_paged(False, "--no-pager", PAGER=self.MARKING)

    def test_none_into_a_pipe_nor_for_help(self):
        self.assertNotIn("paged:", piped("processes", SAMPLE, BEAMDUMP_PAGER=self.MARKING).stdout)
        self.assertNotIn("paged:", Shown("processes", "--help", BEAMDUMP_PAGER=self.MARKING).text)

    def test_less_gets_settings_unless_the_user_has_some(self):
        telling = 'cat >/dev/null; echo "$LESS"'
        self.assertEqual(Shown("processes", SAMPLE, PAGER=telling).text, "FRX\n")
        self.assertEqual(Shown("processes", SAMPLE, PAGER=telling, LESS="S").text, "S\n")

    def test_less_ends_by_itself_if_the_answer_fits(self):
        shown = Shown("processes", SAMPLE, rows=200)
        self.assertEqual(shown.status, 0)
        self.assertIn("PID", shown.raw)

    def test_without_less_there_is_no_pager(self):
        shown = Shown("processes", SAMPLE, PATH="/nonexistent")
        self.assertEqual(shown.status, 0)
        self.assertIn("PID", shown.text)

    def test_messages_go_to_the_pager_and_the_status_is_kept(self):
        with tempfile.NamedTemporaryFile(suffix=".beamdump") as cut:
            cut.write(LARGER.read_bytes()[:-64])
            cut.flush()
            expected = piped("processes", cut.name)
            self.assertEqual(expected.returncode, 3, expected.stderr)
            shown = Shown("processes", cut.name, PAGER=self.MARKING)
            self.assertEqual(shown.status, 3, shown.text)
            for sentence in expected.stderr.splitlines():
                self.assertIn(f"paged:{sentence}", shown.lines)
            with tempfile.TemporaryFile("w+") as errors:
                shown = Shown("processes", cut.name, PAGER=self.MARKING, errors=errors)
                self.assertEqual(shown.status, 3)
                errors.seek(0)
                self.assertEqual(errors.read(), expected.stderr)

    def test_an_error_without_an_answer_starts_no_pager(self):
        shown = Shown("processes", "/nonexistent.beamdump", PAGER=self.MARKING)
        self.assertEqual((shown.status, len(shown.lines)), (1, 1))
        self.assertTrue(shown.text.startswith("beamdump-analyze: cannot open"), shown.text)

    def test_a_pager_that_cannot_be_run_is_an_error(self):
        for command in ("no-such-pager", "/dev/null"):
            shown = Shown("processes", SAMPLE, PAGER=command)
            self.assertEqual(shown.status, 1, shown.text)
            self.assertIn(f'the pager "{command}" cannot be run', shown.text)

    def test_leaving_the_pager_early_is_no_error(self):
        shown = Shown("export", "ndjson", LARGER, PAGER="head -c 20 >/dev/null; echo left")
        self.assertEqual((shown.text, shown.status), ("left\n", 0))


class Progress(unittest.TestCase):
    def test_on_a_terminal_only(self):
        command = ["search", LARGER, "--text", "a", "--no-pager"]
        self.assertIn(CLEARED_LINE, Shown(*command).raw)
        with tempfile.TemporaryFile("w+") as errors:
            self.assertNotIn(CLEARED_LINE, Shown(*command, errors=errors).raw)
            errors.seek(0)
            self.assertNotIn(CLEARED_LINE, errors.read())
        self.assertNotIn("\x1b", piped(*command).stderr)


class Version(unittest.TestCase):
    def test_it_names_formats_and_releases(self):
        told = subprocess.run([PROGRAMS / "beamdump-capture", "--version"], capture_output=True, text=True,
                              timeout=SECONDS, check=True).stdout
        layouts = sorted(path.stem.removeprefix("otp-") for path in
                         (FORMATS.parents[1] / "schemas" / "layouts").glob("otp-??.json"))
        self.assertIn(f"Layouts: OTP {', '.join(layouts)},", told)
        format_h = (FORMATS.parents[1] / "libdump/format/format.h").read_text()
        major, minor = (re.search(rf"k{part}Version = (\d+);", format_h)[1] for part in ("Major", "Minor"))
        self.assertIn(f"Writes dumps of format {major}.{minor}.", told)
        told = piped("--version").stdout
        self.assertRegex(told, rf"\Abeamdump-analyze \d+\.\d+\.\d+\nReads dumps of format {major}, ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
