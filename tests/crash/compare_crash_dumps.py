#!/usr/bin/env python3
"""Holds the analyzer's answers about crash dumps against a small reader of their text that shares
nothing with it, and the answers about each against those about its conversion.

    compare_crash_dumps.py [--table] [--pids N] DIRECTORY-OR-FILE...

Every file below the directories that is named *.dump is asked about. BEAMDUMP_PROGRAMS: where the
programs are. Prints what differs and a table by release; ends with status 1 where anything did."""

import argparse
import collections
import json
import pathlib
import re
import sys
import tempfile
import threading

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "live")]

from support import tools  # noqa: E402
from support.canonical import Unreadable, canonical  # noqa: E402

import plain_reader  # noqa: E402
from plain_reader import ABSENT  # noqa: E402

WHOLE = ("--limit", "0", "--term-bytes", "0", "--sensitive")
STATES = {"Waiting": "waiting", "Running": "running", "Scheduled": "runnable",
          "Suspended": "suspended", "Exiting": "exiting", "Garbing": "garbage_collecting",
          "Non Existing": "free"}
# What stands for a node in the text is not known where a term is in external format.
PIDS = re.compile(r"(?<![\w.])<[1-9]\d*\.(\d+(?:\.\d+)?)>")
PORTS = re.compile(r"#Port<[1-9]\d*\.(\d+)>")
# What each says of its own file.
OF_THE_FILE = re.compile(r'"(?:file|file_bytes|stream_bytes)": [^\n]*\n|^dump  [^\n]*', re.MULTILINE)


def normal(text):
    """A term's canonical text, numbers of other nodes left out."""
    text = canonical(text)
    return PORTS.sub(r"#Port<*.\1>", PIDS.sub(r"<*.\1>", text))


def unquoted(name):
    return name.replace("'", "")


class Comparison:
    def __init__(self, path):
        self.path = path
        self.counts = collections.Counter()
        self.differences = []
        self.refused = ""

    def differ(self, pid, what, ours, theirs):
        self.counts["differing"] += 1
        self.differences.append(f"{self.path.name} {pid}: {what} is {str(ours)[:200]!r}, the text "
                                f"says {str(theirs)[:200]!r}")

    def ask(self, *arguments):
        ended = tools.ask(*arguments, "--json")
        if ended.status not in (0, 3):
            raise AssertionError(f"{arguments}: exit status {ended.status}: {ended.diagnostics}")
        return json.loads(ended.output)

    def run(self, directory, most):
        try:
            self.text = plain_reader.CrashText(self.path.read_bytes())
        except plain_reader.Malformed as problem:
            ended = tools.ask("summary", self.path)
            self.refused = ended.diagnostics.strip()
            if ended.status != 1:
                self.differ("", "exit status", ended.status, f"refused: {problem}")
            return
        converted = pathlib.Path(directory) / "converted.beamdump"
        ended = tools.ask("convert", self.path, "-o", converted, "--force")
        if ended.status not in (0, 3):
            self.differ("", "conversion", ended.diagnostics, "a dump")
            return
        for name in ("summary", "processes"):
            self.same(converted, name, *(("--limit", "0") if name == "processes" else ()))
        # Whole texts are asked about in the conversion, which is the faster; both are compared.
        listed = {row["pid"]: row for row in
                  self.ask("processes", self.path, "--limit", "0")["processes"]}
        if listed.keys() != self.text.processes.keys():
            self.differ("", "list of processes", sorted(listed), sorted(self.text.processes))
        for number, (pid, process) in enumerate(self.text.processes.items()):
            if pid not in listed or (most and number >= most):
                continue
            self.counts["processes"] += 1
            self.process(pid, process, converted)

    def same(self, converted, command, *arguments):
        """The same status, output and diagnostics of both."""
        for form in ((), ("--json",)):
            answers = []
            for dump in (self.path, converted):
                ended = tools.ask(command, dump, *arguments, *form)
                said = ended.diagnostics.replace(str(dump), "DUMP").replace(dump.name, "DUMP")
                output = ended.output
                output = OF_THE_FILE.sub("", output.replace(dump.name, "DUMP"))
                answers.append((ended.status, output, said))
            self.counts["answers"] += 1
            for what, one, other in zip(("status", "output", "diagnostics"), *answers):
                if one != other:
                    self.counts["differing answers"] += 1
                    at = 0
                    if isinstance(one, str):
                        at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b),
                                  min(len(one), len(other)))
                        one, other = (text[max(0, at - 60):at + 100] for text in (one, other))
                    self.differences.append(
                        f"{self.path.name} {command} {' '.join(arguments + form)}: {what} is "
                        f"{one!r}, of the conversion {other!r}")
                    break

    def process(self, pid, process, converted):
        for command, *rest in (("process", "--limit", "0"), ("backtrace",), ("messages", *WHOLE),
                               ("dictionary", *WHOLE), ("heap",)):
            self.same(converted, command, pid, *rest)
        self.facts(pid, process, self.ask("process", self.path, pid, "--limit", "0",
                                          "--sensitive"))
        if "proc_stack" not in process.sections:
            self.counts["processes without terms"] += 1
            return
        self.stack(pid, process)
        answer = self.ask("messages", self.path, pid, "--no-histogram", *WHOLE)
        self.terms(pid, "messages", process,
                   [entry["term"]["text"] if "term" in entry else "" for entry in
                    answer.get("messages", ())], "proc_messages")
        answer = self.ask("dictionary", self.path, pid, *WHOLE)
        ours = ["{" + entry["key"]["text"] + "," + entry["value"]["text"] + "}"
                for entry in answer.get("dictionary", ()) if "key" in entry]
        self.terms(pid, "dictionary", process, ours, "proc_dictionary")

    def facts(self, pid, process, answer):
        told = process.facts
        state, memory, identity = answer["state"], answer["memory"], answer["identity"]
        old, used = told.get("OldHeap"), told.get("Heap unused")
        pairs = {
            "status": (state.get("status"), STATES.get(told.get("State"))),
            "name": (unquoted(identity.get("registered_name", "")),
                     unquoted(told.get("Name", "")) if "Name" in told else ""),
            "initial call": (identity.get("initial_call"), told.get("Spawned as")),
            "parent": (identity.get("parent"), None if told.get("Spawned by", "[]") == "[]" else
                       told["Spawned by"]),
            "reductions": (state.get("reductions"), told.get("Reductions")),
            "messages": (answer["message_queue"].get("message_queue_len"),
                         told.get("Message queue length")),
            "heap size": (memory.get("heap_size"), told.get("Stack+heap")),
            "old heap": (memory.get("old_heap_size"), old),
            "fragments": (memory.get("fragments"), told.get("Heap fragment data")),
            "number of fragments": (memory.get("fragment_count"),
                                    told.get("Number of heap fragments")),
            "program counter": (int(state["instruction_address"], 16)
                                if "instruction_address" in state else None,
                                told.get("Program counter")),
            "links and monitors": (sum(answer[name]["total"] for name in
                                       ("links", "monitors", "monitored_by")),
                                   told.get("links", 0))}
        if "Memory" in told:
            pairs["memory"] = (memory.get("memory"), told["Memory"])
        if "Stack+heap" in told and used is not None and used <= told["Stack+heap"]:
            pairs["heap used"] = (memory.get("heap_used"), told["Stack+heap"] - used)
        for name, (ours, theirs) in pairs.items():
            self.counts["facts"] += 1
            if isinstance(ours, str) and isinstance(theirs, str):
                ours, theirs = unquoted(ours), unquoted(theirs)
            if ours != theirs:
                self.differ(pid, name, ours, theirs)

    def stack(self, pid, process):
        answer = self.ask("backtrace", self.path, pid, "--sensitive")
        ours, theirs = [], []
        for line in answer["frames"]:
            # The program counter's has no place on the stack.
            if not line["continued"] and "stack_address" in line:
                ours.append(("return", line["code_address"]))
            for register in line["registers"]:
                ours.append(("catch", register["catch"]) if "catch" in register else
                            (f"y{register['index']}", register["term"]))
        theirs = plain_reader.roots(process, process.heap, "proc_stack")
        if len(ours) != len(theirs):
            self.differ(pid, "number of stack words", len(ours), len(theirs))
            return
        for (name, one), (place, other) in zip(ours, theirs):
            self.counts["stack words"] += 1
            if isinstance(other, tuple):
                if name != other[0]:
                    self.differ(pid, f"stack word {place}", (name, one), other)
                elif name == "return":
                    printed = re.search(r"addr (?:0x)?([0-9A-Fa-f]+)", other[1])
                    if int(one, 16) & 0xFFFFFFFF != int(printed[1], 16) & 0xFFFFFFFF:
                        self.differ(pid, f"return address {place}", one, other[1])
            else:
                self.term(pid, f"stack word {place}", one, other)

    def terms(self, pid, what, process, ours, section):
        theirs = [value for _, value in
                  plain_reader.roots(process, process.heap, section)]
        if len(ours) != len(theirs):
            self.differ(pid, f"number of {what}", len(ours), len(theirs))
            return
        for number, (one, other) in enumerate(zip(ours, theirs)):
            if other == "%external":
                self.counts["external messages"] += 1
                continue
            self.term(pid, f"{what} {number}", one, other)

    def term(self, pid, what, text, theirs):
        self.counts["terms"] += 1
        try:
            ours = normal(text)
        except (Unreadable, ValueError, IndexError) as problem:
            self.differ(pid, what, f"unreadable: {problem}: {text}", theirs)
            return
        if ours != theirs:
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs or "")) if a != b), 0)
            self.differ(pid, f"{what} at {at}", ours[max(0, at - 80):at + 100],
                        str(theirs)[max(0, at - 80):at + 100])
        elif theirs is not None and ABSENT in theirs:
            self.counts["absent in part"] += 1
        else:
            self.counts["equal"] += 1


COLUMNS = ("dumps", "32-bit", "Windows", "cut off", "processes", "processes without terms", "facts",
           "terms", "equal", "absent in part", "differing", "answers", "differing answers")


def release_order(release):
    number = re.search(r"\d+", release)
    return (int(number[0]) if number else -1, release)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--show", type=int, default=20, help="how many differences of each dump")
    options.add_argument("--pids", type=int, default=0, help="only so many processes of each dump")
    options.add_argument("where", nargs="+", type=pathlib.Path)
    chosen = options.parse_args()
    paths = [path for where in chosen.where for path in
             (sorted(where.rglob("*.dump")) if where.is_dir() else [where])]
    table = collections.defaultdict(collections.Counter)
    refused = []
    with tempfile.TemporaryDirectory() as directory:
        for path in paths:
            comparison = Comparison(path)
            try:
                comparison.run(directory, chosen.pids)
            except AssertionError as problem:
                comparison.differ("", "answer", problem, "one")
            for difference in comparison.differences[:chosen.show]:
                print(difference, flush=True)
            if comparison.refused:
                refused.append(f"{path.name}: {comparison.refused}")
                table["refused"]["dumps"] += 1
                continue
            text = comparison.text
            row = table[text.release]
            row.update(comparison.counts)
            row["dumps"] += 1
            row["32-bit"] += text.word_bytes == 4
            row["Windows"] += text.windows or (
                bool(text.system_version) and "source" not in text.system_version and
                "hipe" not in text.system_version)
            row["cut off"] += text.cut
    print("| release | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    total = collections.Counter()
    for release in sorted(table, key=release_order):
        print(f"| {release} | " + " | ".join(str(table[release][name]) for name in COLUMNS) + " |")
        total.update(table[release])
    print("| all | " + " | ".join(str(total[name]) for name in COLUMNS) + " |")
    print("\n".join(refused))
    return 1 if total["differing"] + total["differing answers"] else 0


if __name__ == "__main__":
    sys.setrecursionlimit(1000000)
    threading.stack_size(512 << 20)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(main()))
    thread.start()
    thread.join()
    sys.exit(ended[0] if ended else 2)
