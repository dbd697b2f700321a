#!/usr/bin/env python3
"""Compares the analyzer's answers about crash dumps with those of a small independent reader of
their text, and the answers about each with those about its conversion.

compare_crash_dumps.py [--pids N] [--workers N] DIRECTORY-OR-FILE...

Every file below the directories that is named *.dump is asked about. BEAMDUMP_PROGRAMS: where the
programs are. Prints what differs and a table by release; ends with status 1 where anything did."""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
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

# Terms that are compared with the reader's are asked for in its syntax; the rest is in the node's.
SYNTAX = ("--syntax", "erlang")
WHOLE = ("--limit", "0", "--term-bytes", "0", "--sensitive", *SYNTAX)
STATES = {"Waiting": "waiting", "Running": "running", "Scheduled": "runnable",
          "Suspended": "suspended", "Exiting": "exiting", "Garbing": "garbage_collecting",
          "Non Existing": "free"}
# What stands for a node in the text is not known where a term is in external format.
PIDS = re.compile(r"(?<![\w.])<[1-9]\d*\.(\d+(?:\.\d+)?)>")
PORTS = re.compile(r"#Port<[1-9]\d*\.(\d+)>")
# A backslash, as a character that no dump has, and the end of a string.
END_OF_STRING = '\ue000"'
# The VM escapes control characters in a string, and no backslash: "\\n" may be either.
ESCAPED = {"92,110": "10", "92,114": "13", "92,116": "9"}
EITHER = re.compile(r"(?<=[\[,])(?:" + "|".join(ESCAPED) + r")(?=[,\]])")
# What each says of its own file.
OF_THE_FILE = re.compile(r'"(?:file|file_bytes|stream_bytes)": [^\n]*\n|^dump  [^\n]*', re.MULTILINE)


def normal(text):
    """A term's canonical text, numbers of other nodes left out."""
    text = canonical(text)
    return PORTS.sub(r"#Port<*.\1>", PIDS.sub(r"<*.\1>", text))


def readings(text):
    """The texts that it can be the VM's of: that escapes no backslash in a string, so a quote behind
    one may be the string's or its end."""
    yield text
    if '\\"' in text:
        yield text.replace('\\"', END_OF_STRING)


def same_printed(ours, theirs):
    """Whether the VM prints both the same, as strings."""
    one, other = (EITHER.sub(lambda found: ESCAPED[found[0]], text) for text in (ours, theirs))
    return one == other


def as_term(text, theirs):
    """The reading that equals theirs, or the first that is a term."""
    found, problem = None, None
    for reading in readings(text):
        try:
            ours = normal(reading)
        except (Unreadable, ValueError, IndexError) as caught:
            problem = problem or caught
            continue
        if reading is not text:
            ours = ours.replace(str(ord(END_OF_STRING[0])), str(ord("\\")))
        if ours == theirs or (theirs is not None and "\\" in text and same_printed(ours, theirs)):
            return theirs
        found = found or ours
    if found is None:
        raise Unreadable(str(problem))
    return found


def without(words, left_out):
    """The words that are not to be left out, and how many are."""
    kept = [(name, word) for name, word in words
            if not (word is None or isinstance(word, str)) or not left_out(word)]
    return kept, len(words) - len(kept)


def unquoted(name):
    return name.replace("'", "")


class Comparison:
    def __init__(self, path):
        self.path = path
        self.text = None
        self.release = ""
        self.counts = collections.Counter()
        self.differences = []
        self.refused = ""

    def differ(self, pid, what, ours, theirs):
        self.counts["differing"] += 1
        self.differences.append(f"{self.path.name} {pid}: {what} is {str(ours)[:200]!r}, the text "
                                f"says {str(theirs)[:200]!r}")

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
        self.same(converted, "summary")
        answer = self.same(converted, "sections")
        for kind in answer["tags"]:
            self.same(converted, "sections", kind["tag"], "--limit", "0")
        listed = {row["pid"] for row in
                  self.same(converted, "processes", "--limit", "0")["processes"]}
        if listed != self.text.processes.keys():
            self.differ("", "list of processes", sorted(listed), sorted(self.text.processes))
        for number, (pid, process) in enumerate(self.text.processes.items()):
            if pid not in listed or (most and number >= most):
                continue
            self.counts["processes"] += 1
            self.process(pid, process, converted)

    def same(self, converted, command, *arguments):
        """The same status, output and diagnostics of both; gives the crash dump's, from JSON."""
        for form in ((), ("--json",)):
            answers = []
            for dump in (converted, self.path):
                ended = tools.ask(command, dump, *arguments, *form)
                said, output = (text.replace(str(dump), "DUMP").replace(dump.name, "DUMP")
                                for text in (ended.diagnostics, ended.output))
                output = OF_THE_FILE.sub("", output)
                answers.append((ended.status, output, said))
            self.counts["answers"] += 1
            for what, other, one in zip(("status", "output", "diagnostics"), *answers):
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
        if ended.status not in (0, 3):
            raise AssertionError(f"{command} {arguments}: exit status {ended.status}: "
                                 f"{ended.diagnostics}")
        return json.loads(ended.output)

    def process(self, pid, process, converted):
        self.facts(pid, process, self.same(converted, "process", pid, "--limit", "0",
                                           "--sensitive"))
        self.same(converted, "heap", pid, "--terms", "--sensitive", "--limit", "0")
        stack = self.same(converted, "backtrace", pid, "--sensitive", *SYNTAX)
        answer = self.same(converted, "messages", pid, *WHOLE)
        dictionary = self.same(converted, "dictionary", pid, *WHOLE)
        if "proc_stack" not in process.sections:
            self.counts["processes without terms"] += 1
            return
        self.stack(pid, process, stack)
        self.terms(pid, "messages", process,
                   [entry["term"]["text"] if "term" in entry else "" for entry in
                    answer.get("messages", ())], "proc_messages")
        ours = ["{" + entry["key"]["text"] + "," + entry["value"]["text"] + "}"
                for entry in dictionary.get("dictionary", ()) if "key" in entry]
        self.terms(pid, "dictionary", process, ours, "proc_dictionary",
                   dictionary.get("placeholders", 0))

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
        elif answer["dump"].get("process_memory") and "Stack+heap" in told and "OldHeap" in told:
            pairs["memory"] = (memory.get("memory"), (told["Stack+heap"] + told["OldHeap"]) *
                               self.text.word_bytes)
        else:
            pairs["memory"] = (memory.get("memory"), None)
        if "Stack+heap" in told and used is not None and used <= told["Stack+heap"]:
            pairs["heap used"] = (memory.get("heap_used"), told["Stack+heap"] - used)
        for name, (ours, theirs) in pairs.items():
            self.counts["facts"] += 1
            if isinstance(ours, str) and isinstance(theirs, str):
                ours, theirs = unquoted(ours), unquoted(theirs)
            if ours != theirs:
                self.differ(pid, name, ours, theirs)

    def stack(self, pid, process, answer):
        ours, theirs = [], []
        for line in answer["frames"]:
            # The program counter's has no place on the stack.
            if not line["continued"] and "stack_address" in line:
                ours.append(("return", line["code_address"]))
            for register in line["registers"]:
                ours.append(("catch", register["catch"]) if "catch" in register else
                            (f"y{register['index']}", register["term"]))
        theirs = plain_reader.roots(process, process.heap, "proc_stack")
        if any(value is None for _, value in theirs):
            # How many words a cut line had is not known: that it lacks some is said, and the others
            # are there.
            ours, lacking = without(ours, re.compile(r"#Absent<[^<>]*>").fullmatch)
            theirs, _ = without(theirs, lambda value: value in (None, ABSENT))
            self.counts["stacks with cut lines"] += 1
            if not lacking:
                self.differ(pid, "stack with cut lines", "whole", "cut")
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

    def terms(self, pid, what, process, ours, section, counted=0):
        """counted: how many entries the answer leaves out and says so, as they lead nowhere."""
        # A line that is none is counted by the analyzer, and no entry.
        theirs = [value for _, value in plain_reader.roots(process, process.heap, section)
                  if value is not None]
        there = [value for value in theirs if value != ABSENT]
        if 0 < len(theirs) - len(there) <= counted:
            theirs = there
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
            ours = as_term(text, theirs)
        except Unreadable as problem:
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


def compare(path, pids):
    """Of one dump; what it found without the dump's text. In a thread of its own, as terms are deep."""
    comparison = Comparison(path)

    def run():
        with tempfile.TemporaryDirectory() as directory:
            try:
                comparison.run(directory, pids)
            except Exception as problem:  # a thread's own ends unseen
                comparison.differ("", "answer", repr(problem), "one")

    sys.setrecursionlimit(1000000)
    sys.set_int_max_str_digits(0)
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    text = comparison.text
    if text is not None:
        comparison.counts.update({
            "dumps": 1, "32-bit": text.word_bytes == 4, "Windows": text.of_windows,
            "cut off": text.cut})
        comparison.release = text.release
        comparison.text = None
    return comparison


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--show", type=int, default=20, help="how many differences of each dump")
    options.add_argument("--pids", type=int, default=0,
                         help="only so many processes of each dump (0: all)")
    options.add_argument("--workers", type=int, default=1, help="how many dumps at a time")
    options.add_argument("where", nargs="+", type=pathlib.Path)
    chosen = options.parse_args()
    paths = [path for where in chosen.where for path in
             (sorted(where.rglob("*.dump")) if where.is_dir() else [where])]
    table = collections.defaultdict(collections.Counter)
    refused = []
    # The largest first: none of them is left for the end, when other workers are idle.
    paths.sort(key=lambda path: path.stat().st_size, reverse=True)
    with concurrent.futures.ProcessPoolExecutor(
            chosen.workers, multiprocessing.get_context("fork")) as pool:
        ended = [pool.submit(compare, path, chosen.pids) for path in paths]
        for one in concurrent.futures.as_completed(ended):
            comparison = one.result()
            for difference in comparison.differences[:chosen.show]:
                print(difference, flush=True)
            if comparison.refused:
                refused.append(f"{comparison.path.name}: {comparison.refused}")
                table["refused"]["dumps"] += 1
            else:
                table[comparison.release].update(comparison.counts)
    print("| release | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    total = collections.Counter()
    for release in sorted(table, key=release_order):
        print(f"| {release} | " + " | ".join(str(table[release][name]) for name in COLUMNS) + " |")
        total.update(table[release])
    print("| all | " + " | ".join(str(total[name]) for name in COLUMNS) + " |")
    print("\n".join(sorted(refused)))
    return 1 if total["differing"] + total["differing answers"] else 0


if __name__ == "__main__":
    sys.exit(main())
