"""Compares the analyzer's answers about a crash dump with those of OTP's crashdump_viewer."""

import collections
import re

from support import tools
from support.canonical import ABSENT, Unreadable, canonical

WORD_BYTES = 8
SHOWN_AROUND = 80
NOTHING = "<<>>"
# Names in the VM's text.
STATUSES = {"Waiting": "waiting", "Running": "running", "Scheduled": "runnable",
            "Suspended": "suspended", "Exiting": "exiting", "Garbing\n(limited info)":
            "garbage_collecting", "Non Existing": "free"}
WHOLE = ("--limit", "0", "--term-bytes", "0", "--sensitive")
CODE = re.compile(r"0x(?P<address>[0-9a-fA-F]+) \((?P<function>.*?)(?: \+ (?P<offset>\d+))?\)",
                  re.DOTALL)
# A monitor by a native function's resource: the analyzer shows the resource's reference,
# crashdump_viewer its module and type.
OF_RESOURCE = "a resource"
RESOURCE = re.compile(r"\{(prim_file,efile|\w+,resource)\} \(#Ref<")
OTHER_NODES = re.compile(r"<[1-9]\d*(\.\d+(?:\.\d+)?>)")

# For this many processes the text itself is queried as well as its conversion.
FROM_TEXT = 10


class CrashComparison:
    def __init__(self, dump, viewed, facts_left_out=(), among_links=lambda other: True,
                 converted=None):
        """facts_left_out: not compared. among_links: which links are. converted: the dump that
        `convert` made of the text; but for some, processes are looked up there, which takes less
        time."""
        self._dump = dump
        self._converted = converted
        self._viewed = viewed
        self._left_out = facts_left_out
        self._among_links = among_links
        self.counts = collections.Counter()
        self.facts = collections.Counter()  # number of comparisons of each fact of the details
        self.not_told = collections.Counter()  # by the analyzer, and by crashdump_viewer
        self.differences = []

    def compare(self):
        listed = {process["pid"]: process
                  for process in tools.analyze_json("processes", self._dump, "--limit",
                                                    "0")["processes"]}
        missing = self._viewed.table.keys() ^ listed.keys()
        self.differences += [f"{pid}: only one of both lists it" for pid in sorted(missing)]
        for pid, row in self._viewed.table.items():
            if pid in listed:
                self._compare_row(pid, row, listed[pid])
        for number, (pid, details) in enumerate(self._viewed.details.items()):
            if self._converted is not None and number == FROM_TEXT:
                self._dump = self._converted
            if pid in listed:
                self._compare_process(pid, details)

    def print(self, what):
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        print(f"{what}: compared {counts}; {sum(self.facts.values())} facts of details; of "
              f"{len(self._viewed.table)} processes crashdump_viewer could not read "
              f"{len(self._viewed.failed)} and was not asked about "
              f"{len(self._viewed.left_out)}", flush=True)
        for fact, count in sorted(self.not_told.items()):
            print(f"  told by one only: {fact}, {count} times")

    def _differ(self, pid, what, ours, theirs):
        name = self._viewed.table[pid]["name"]
        self.differences.append(f"{pid} {name}: {what} is {ours}, crashdump_viewer says {theirs}")

    def _compare_row(self, pid, row, ours):
        self.counts["rows"] += 1
        self._compare_facts(pid, "row", {
            "status": (ours.get("status"), STATUSES.get(row["state"])),
            "reductions": (ours.get("reductions"), row["reds"]),
            "memory": (ours.get("memory"), row["memory"]),
            "message_queue_len": (ours.get("message_queue_len"), row["msg_q_len"]),
            "initial_call": (ours.get("initial_call"), row["init_func"]),
            "name": (ours.get("registered_name", ours.get("initial_call")), row["name"])})

    def _compare_facts(self, pid, where, pairs):
        for fact, (ours, theirs) in pairs.items():
            if fact in self._left_out:
                continue
            if ours is None or theirs is None:
                if ours is not theirs:
                    self.not_told[f"{where}.{fact} by "
                                  f"{'crashdump_viewer' if ours is None else 'the analyzer'}"] += 1
                continue
            self.facts[fact] += 1
            if ours != theirs:
                self._differ(pid, fact, ours, theirs)

    def _compare_process(self, pid, details):
        self.counts["processes"] += 1
        self._compare_details(pid, details)
        self._compare_stack(pid, details)
        self._compare_messages(pid, details)
        self._compare_dictionary(pid, details)

    # ---- details

    def _compare_details(self, pid, theirs):
        ours = tools.analyze_json("process", self._dump, pid, "--limit", "0", "--sensitive")
        state, identity, memory = ours["state"], ours["identity"], ours["memory"]
        collected = ours["garbage_collection_info"]
        address, function = _program_counter(theirs["prog_count"])
        if theirs["current_func"]:
            # The function that a running process was scheduled in for, or that a waiting one will call.
            function = theirs["current_func"]["function"]
        self._compare_facts(pid, "details", {
            "status": (state.get("status"), STATUSES.get(theirs["state"])),
            "reductions": (state.get("reductions"), theirs["reds"]),
            "initial_call": (identity.get("initial_call"), theirs["init_func"]),
            "name": (identity.get("registered_name", identity.get("initial_call")),
                     theirs["name"]),
            "parent": (identity.get("parent"), _known(theirs["parent"])),
            "instruction_address": (_number(state.get("instruction_address")), address),
            "current_function": (state.get("current_function"), function),
            "message_queue_len": (ours["message_queue"].get("message_queue_len"),
                                  theirs["msg_q_len"]),
            "memory": (memory.get("memory"), theirs["memory"]),
            "heap_size": (memory.get("heap_size"), _words(theirs["stack_heap"])),
            # The stack is counted as unused.
            "heap_unused": (_rest(memory, "heap_size", "heap_used"), _words(theirs["heap_unused"])),
            "old_heap_size": (memory.get("old_heap_size"), _words(theirs["old_heap"])),
            "old_heap_unused": (_rest(memory, "old_heap_size", "old_heap_used"),
                                _words(theirs["old_heap_unused"])),
            "fragment_count": (memory.get("fragment_count"), _number(theirs["num_heap_frag"])),
            "fragments": (memory.get("fragments"), _number(theirs["heap_frag_data"])),
            "bin_vheap_size": (collected.get("bin_vheap_size"), _words(theirs["bin_vheap"])),
            "bin_vheap_unused": (_rest(collected, "bin_vheap_block_size", "bin_vheap_size"),
                                 _words(theirs["bin_vheap_unused"])),
            "bin_old_vheap_size": (collected.get("bin_old_vheap_size"),
                                   _words(theirs["old_bin_vheap"])),
            "bin_old_vheap_unused": (
                _rest(collected, "bin_old_vheap_block_size", "bin_old_vheap_size"),
                _words(theirs["old_bin_vheap_unused"])),
            "links": (self._links(link["other"] for link in ours["links"]["items"]),
                      self._links(link["other"] for link in theirs["links"] or ())),
            "monitors": (_monitors(ours["monitors"]), _shown_monitors(theirs["monitors"])),
            "monitored_by": (_monitors(ours["monitored_by"]), _shown_monitors(theirs["mon_by"]))})

    def _links(self, others):
        return sorted(other for other in others if self._among_links(other))

    # ---- stack

    def _compare_stack(self, pid, details):
        theirs = _frames(details["stack"])
        answer = tools.analyze_json("backtrace", self._dump, pid, "--sensitive")
        ours = _our_frames(answer["frames"])
        if len(ours) != len(theirs):
            self._differ(pid, "number of frames", len(ours), len(theirs))
            return
        for number, (one, other) in enumerate(zip(ours, theirs)):
            self.counts["frames"] += 1
            if number != 0 and one["place"] != other["place"]:
                self._differ(pid, f"frame {number}", one["place"], other["place"])
            if len(one["registers"]) != len(other["registers"]):
                self._differ(pid, f"frame {number}'s number of registers",
                             len(one["registers"]), len(other["registers"]))
            for mine, its in zip(one["registers"], other["registers"]):
                self.counts["registers"] += 1
                self._compare_register(pid, f"frame {number} {mine['name']}", mine, its)

    def _compare_register(self, pid, where, ours, theirs):
        if ours["name"] != theirs["name"]:
            self._differ(pid, f"{where}'s name", ours["name"], theirs["name"])
        elif "catch" in ours or "catch" in theirs:
            self.counts["catches"] += 1
            if ours.get("catch") != theirs.get("catch"):
                self._differ(pid, where, ours.get("catch"), theirs.get("catch"))
        else:
            self._compare_term(pid, where, ours["term"], theirs["term"])

    # ---- messages and dictionary

    def _compare_messages(self, pid, details):
        answer = tools.analyze_json("messages", self._dump, pid, "--no-histogram", *WHOLE)
        ours = [message["term"]["text"] for message in answer.get("messages", ())]
        theirs = [message["term"] for message in details["messages"]]
        if len(ours) != len(theirs):
            self._differ(pid, "number of messages", len(ours), len(theirs))
        for number, (one, other) in enumerate(zip(ours, theirs)):
            self.counts["messages"] += 1
            self._compare_term(pid, f"message {number}", one, other)

    def _compare_dictionary(self, pid, details):
        answer = tools.analyze_json("dictionary", self._dump, pid, *WHOLE)
        ours = [entry[part]["text"] for entry in answer.get("dictionary", ())
                for part in ("key", "value")]
        theirs = [entry[part] for entry in details["dictionary"] if "key" in entry
                  for part in ("key", "value")]
        if len(ours) != len(theirs):
            self._differ(pid, "number of keys and values", len(ours), len(theirs))
        for number, (one, other) in enumerate(zip(ours, theirs)):
            self.counts["keys and values"] += 1
            self._compare_term(pid, f"dictionary's text {number}", one, other)

    def _compare_term(self, pid, where, text, theirs):
        try:
            ours = canonical(text)
        except Unreadable as problem:
            self._differ(pid, where, f"unreadable: {problem}", theirs[:SHOWN_AROUND])
            return
        self.counts["bytes of terms"] += len(theirs)
        if "<*." in theirs:
            # In identifiers in external format: the node's number for the other node.
            ours, theirs = (OTHER_NODES.sub(r"<*\1", text) for text in (ours, theirs))
        if ours != theirs and NOTHING in ours and _without_empty(ours) == _without_empty(theirs):
            # An empty part of a binary that the dump lacks: crashdump_viewer reports the binary as missing.
            self.counts["terms with an empty part of an absent binary"] += 1
            return
        if ours != theirs:
            at = next((i for i, (one, other) in enumerate(zip(ours, theirs)) if one != other),
                      min(len(ours), len(theirs)))
            shown = slice(max(0, at - SHOWN_AROUND), at + SHOWN_AROUND)
            self._differ(pid, f"{where}, at {at} of {len(theirs)}", repr(ours[shown]),
                         repr(theirs[shown]))


def _without_empty(text):
    return text.replace(NOTHING, ABSENT)


def _monitors(monitors):
    """For each its target and the numbers of its reference."""
    return sorted((monitor["other"], _numbers(monitor.get("reference", "")))
                  if not monitor["other"].startswith("#Ref<") else
                  (OF_RESOURCE, _numbers(monitor["other"])) for monitor in monitors["items"])


def _shown_monitors(monitors):
    shown = (monitor["shown"].removesuffix(" node monitor") for monitor in monitors or ())
    return sorted((OF_RESOURCE if RESOURCE.match(text) else text.split(" (#Ref<")[0],
                   _numbers(text) if " (#Ref<" in text else "") for text in shown)


def _numbers(reference):
    """The last three numbers; the node's and, in some, a process's number precede them."""
    found = re.search(r"#Ref<[\d.]*?(\d+\.\d+\.\d+)>", reference)
    return found[1] if found else ""


def _known(text):
    return None if text == "unknown" else text


def _number(text):
    return None if text in (None, "unknown") else int(text, 0)


def _words(size):
    """crashdump_viewer has bytes; what it has not is -1 or nothing. The VM writes what is below 0 as
    an unsigned word."""
    if size is None or size < 0:
        return None
    words = size // WORD_BYTES
    return words - 2 ** 64 if words >= 2 ** 63 else words


def _rest(sizes, whole, *parts):
    if any(sizes.get(name) is None for name in (whole, *parts)):
        return None
    return sizes[whole] - sum(sizes[part] for part in parts)


def _program_counter(text):
    """0x00007f20b18a5bcc (module:function/1 + 108)"""
    code = CODE.fullmatch(text) if text else None
    if not code:
        return None, None
    return int(code["address"], 16), code["function"] if code["offset"] else None


def _frames(lines):
    """crashdump_viewer's stack, cut where a return address stands; before the first are registers of
    the current function."""
    frames = [{"registers": []}]
    for line in lines:
        if "address" in line:
            place = CODE.fullmatch(line["told"].removeprefix("Return addr "))
            # The VM writes only the lower 32 bits of a return address.
            frames.append({"registers": [],
                           "place": (int(line["address"], 16),
                                     int(place["address"], 16) & 0xFFFFFFFF,
                                     place["function"], place["offset"])})
        elif "told" in line:
            frames[-1]["registers"].append(
                {"name": line["register"], "catch": _place(line["told"])})
        else:
            frames[-1]["registers"].append({"name": line["register"], "term": line["term"]})
    return frames


def _place(text):
    """The text in brackets in "Catch 0x54673882 (module:function/1 + 170)"."""
    return text.split(" (", 1)[1].removesuffix(")")


def _our_frames(lines):
    frames = []
    for line in lines:
        if not line["continued"]:
            frames.append({"registers": [], "place": (
                _number(line.get("stack_address")), int(line["code_address"], 16) & 0xFFFFFFFF,
                line.get("function"), str(line["offset"]) if "offset" in line else None)})
        frames[-1]["registers"] += [
            {"name": f"y{register['index']}"} |
            ({"catch": register["catch"]} if "catch" in register else
             {"term": register["term"]}) for register in line["registers"]]
    return frames or [{"registers": []}]
