"""The man pages and the completions for bash, zsh and fish, which the programs print of themselves
(--generate). mandoc must have no objection to the pages; each shell completes command lines with
them. The folder is BEAMDUMP_DOCUMENTS."""

import os
import pathlib
import pty
import re
import select
import subprocess
import time
import unittest

DOCUMENTS = pathlib.Path(os.environ["BEAMDUMP_DOCUMENTS"])
PROGRAMS = pathlib.Path(os.environ["BEAMDUMP_PROGRAMS"])
NAMES = ("beamdump-analyze", "beamdump-capture", "beamdump-layout", "beamdump-sample")
ZSH_SECONDS = 30
# A command line, and completions of its last word that must be among the offers.
LINES = [
    ("beamdump-analyze pers", {"persistent-terms"}),
    ("beamdump-analyze proc", {"process", "processes"}),
    ("beamdump-analyze processes --group", {"--group-by"}),
    ("beamdump-analyze summary --max-t", {"--max-temporary"}),
    ("beamdump-capture --bin", {"--binary-bytes"}),
    ("beamdump-capture --ets s", {"sample"}),
    ("beamdump-layout ext", {"extract"}),
    ("beamdump-sample st", {"stacks"}),
]


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          **options)


def help_of(*command):
    return run(PROGRAMS / command[0], *command[1:], "--help", check=True).stdout


def commands_of(help_text):
    return re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", help_text)


def options_of(help_text):
    return set(re.findall(r"(?<=[ ,])--[a-z-]+", "\n".join(
        line[:28] for line in help_text.splitlines() if line.startswith("  -"))))


class Manual(unittest.TestCase):
    def test_mandoc_has_no_objection(self):
        for name in NAMES:
            page = DOCUMENTS / f"{name}.1"
            told = run("mandoc", "-T", "lint", "-W", "warning", page).stdout.splitlines()
            # A date would make each build's page different.
            self.assertEqual([line for line in told if "missing date" not in line], [])

    def test_pages_have_each_command_and_option(self):
        for name in NAMES:
            text = run("mandoc", "-T", "ascii", DOCUMENTS / f"{name}.1", check=True).stdout
            text = re.sub(".\x08", "", text)  # bold and underlined
            top = help_of(name)
            helps = [top] + [help_of(name, command) for command in commands_of(top)]
            options = set().union(*map(options_of, helps))
            self.assertGreater(len(options), 4)
            words = options | set(commands_of(top))
            self.assertEqual({word for word in words if word not in text}, set(), name)

    def test_bash(self):
        script = """
            compopt() { :; }
            source "$1"
            read -ra COMP_WORDS <<<"$2"
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            "_${COMP_WORDS[0]//-/_}"
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        for line, wanted in LINES:
            with self.subTest(line):
                file = DOCUMENTS / f"{line.split()[0]}.bash"
                ended = run("bash", "-euc", script, "bash", file, line, check=True)
                self.assertEqual(ended.stderr, "")
                self.assertEqual(set(ended.stdout.split()), wanted)

    def test_fish(self):
        for line, wanted in LINES:
            with self.subTest(line):
                file = DOCUMENTS / f"{line.split()[0]}.fish"
                ended = run("fish", "--no-config", "-c", f"source {file}; complete -C '{line}'", check=True)
                self.assertEqual(ended.stderr, "")
                offers = {offer.split("\t")[0] for offer in ended.stdout.splitlines()}
                self.assertEqual({offer for offer in offers if not offer.startswith(".")}, wanted)

    def test_zsh(self):
        for line, wanted in LINES:
            with self.subTest(line):
                offers = zsh_offers(line)
                # The only one is completed in its place: the terminal gets the rest of it.
                offers |= {line.split()[-1] + offer for offer in offers}
                self.assertEqual(wanted - offers, set(), offers)


def zsh_offers(line):
    """The words that an interactive zsh shows for the line and two tabs."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb", HOME="/nonexistent", LC_ALL="C", ZDOTDIR="/nonexistent")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        settings = (f"fpath=({DOCUMENTS} $fpath); autoload -Uz compinit; compinit -D -u; setopt noalwayslastprompt; "
                    "LISTMAX=1000; COLUMNS=1000; PS1=; print rea''dy\n")
        os.write(terminal, settings.encode())
        told = read_until(terminal, b"ready")
        if b"ready" not in told:
            raise AssertionError(f"zsh is not ready: {told}")
        os.write(terminal, line.encode() + b"\t\t")
        told = read_until(terminal, None)
        return set(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\x07\x08]", " ", told.decode(errors="replace")).split())
    finally:
        os.close(terminal)
        os.kill(child, 9)
        os.waitpid(child, 0)


def read_until(terminal, mark):
    """What is written until the mark, or without one until nothing comes for a second."""
    told = b""
    deadline = time.monotonic() + ZSH_SECONDS
    while time.monotonic() < deadline and (mark is None or mark not in told):
        ready, _, _ = select.select([terminal], [], [], ZSH_SECONDS if mark else 1)
        if not ready:
            break
        told += os.read(terminal, 65536)
    return told


if __name__ == "__main__":
    unittest.main(verbosity=2)
