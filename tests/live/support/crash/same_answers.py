"""Compares the analyzer's answers about a live dump of a node with those about its crash dump."""

import collections

from support import tools
from support.canonical import TOKENS

WHOLE = ("--limit", "0", "--term-bytes", "0", "--sensitive")
SHOWN = 80

# In "process", not compared: where the dump has which words, which is its own affair; excerpts of
# what is compared whole in answers of their own.
OF_THE_DUMP = ("row.links", "row.monitors", "row.monitored_by", "process.regions", "process.memory.captured", "process.dictionary",
               "process.messages", "process.placeholders",
               # By the translated initial call, which a text does not tell of a list.
               "process.links.items.display_name", "process.monitors.items.display_name",
               "process.monitored_by.items.display_name")
# Not in the text of a crash dump.
NOT_IN_TEXT = {
    "row.label", "row.process_name", "row.stack_size", "row.total_heap_size",
    "row.translated_initial_call",
    "process.memory.total_heap_size",
    "frames.file", "frames.line", "frames.function",
    "process.current_stacktrace.items.file", "process.current_stacktrace.items.line",
    "process.garbage_collection.fullsweep_after", "process.garbage_collection.max_heap_size",
    "process.garbage_collection.max_heap_size_error_logger",
    "process.garbage_collection.max_heap_size_include_shared_binaries",
    "process.garbage_collection.max_heap_size_kill",
    "process.garbage_collection.min_bin_vheap_size", "process.garbage_collection.min_heap_size",
    "process.garbage_collection.minor_gcs",
    "process.garbage_collection_info.bin_old_vheap_block_size",
    "process.garbage_collection_info.mbuf_size", "process.garbage_collection_info.recent_size",
    "process.identity.error_handler", "process.identity.group_leader", "process.identity.parent",
    "process.identity.struct_address", "process.identity.unique",
    "process.message_queue.message_queue_data", "process.message_queue.outer",
    "process.state.catchlevel", "process.state.current_location", "process.state.flags",
    "process.state.hibernated", "process.state.sensitive", "process.state.sequential_trace_token",
    "process.state.flag_names", "process.state.signal_queue_flag_names",
    "process.state.suspend_count", "process.state.trace_flags",
    "process.state.trace_flag_names",
    "process.state.trap_exit", "process.suspending", "process.binary", "process.arguments",
    "process.system_tasks", "process.signals", "row.flags"}
# Under another name in a dump, or missing there.
NOT_IN_DUMP = {"process.memory.fragment_count"}
UNTOLD_MONITORS = ("alias", "suspend", "nodes")
OF_RESOURCE = "resource"
# The VM counts signals that were not received yet when it looks for messages to print.
UNRECEIVED = ("zoo_marked", "zoo_suspended_far")
# The text has whole bytes of bit strings, from the byte in which they begin.
OF_BITS = "_bits"
MATCH_CONTEXT = "#MatchState"
REDACTED = ('<<"***', "'<cookie>'")


# One in this many processes is queried in the text itself, the others in its conversion, which takes
# less time.
FROM_TEXT = 4


class SameAnswers:
    def __init__(self, live, crash, converted):
        self._live = live
        self._crashes = crash, converted
        self._name = ""
        self.counts = collections.Counter()
        self.known = collections.Counter()  # differences, by their reason
        self.only_live = collections.Counter()
        self.only_crash = collections.Counter()
        self.differences = []

    def compare_process(self, pid, *rows):
        from_text = self.counts["processes"] % FROM_TEXT == 0
        self._dumps = self._live, self._crashes[0 if from_text else 1]
        self.counts["processes"] += 1
        self._name = rows[0].get("registered_name", "")
        self._pid = pid
        self._compare("row", *rows)
        details = self._ask("process", pid, "--limit", "0")
        for answer in details:
            for side in ("monitors", "monitored_by"):
                self._leave_out_monitors(answer[side])
        self._compare("process", *details)
        self._compare_lists("messages", *self._listed("messages", pid, "--no-histogram"))
        self._compare_lists("dictionary", *self._listed("dictionary", pid))
        answers = self._ask("backtrace", pid, "--sensitive")
        self._compare_lists("frames", *(answer["frames"] for answer in answers))

    def print(self, what):
        print(f"{what}: compared {dict(self.counts)}; known differences {dict(self.known)}; told of "
              f"the live dump only {sum(self.only_live.values())} facts of {len(self.only_live)} "
              f"kinds, of the crash dump only {dict(self.only_crash)}", flush=True)

    def _ask(self, command, pid, *options):
        answers = [tools.analyze_json(command, dump, pid, *options) for dump in self._dumps]
        for answer in answers:
            del answer["dump"]
        return answers

    def _listed(self, command, pid, *options):
        return [answer.get(command, []) for answer in self._ask(command, pid, *options, *WHOLE)]

    def _leave_out_monitors(self, monitors):
        untold = [item for item in monitors["items"] if item["kind"] in UNTOLD_MONITORS]
        self.known["monitors that the text leaves out"] += len(untold)
        monitors["total"] -= len(untold)
        monitors["items"] = sorted(
            ({"kind": OF_RESOURCE} if item["kind"] == OF_RESOURCE else item
             for item in monitors["items"] if item not in untold),
            key=lambda item: (item.get("other", ""), item.get("reference", "")))

    def _compare(self, where, live, crash):
        if where in OF_THE_DUMP:
            return
        if isinstance(live, dict) and isinstance(crash, dict):
            self._compare_objects(where, live, crash)
        elif isinstance(live, list) and isinstance(crash, list):
            if where.endswith("links.items"):
                live, crash = (sorted(items, key=lambda item: item["other"])
                               for items in (live, crash))
            self._compare_lists(where, live, crash)
        else:
            self.counts["facts"] += 1
            if live != crash and isinstance(live, str) and isinstance(crash, str):
                self._compare_texts(where, live, crash)
            elif live != crash and where.endswith(".memory") and self._name in UNRECEIVED:
                self.known["memory of signals that were not received"] += 1
            elif live != crash:
                self._differ(where, live, crash)

    def _compare_objects(self, where, live, crash):
        for key in sorted(live.keys() | crash.keys()):
            path = f"{where}.{key}"
            if key in live and key in crash:
                self._compare(path, live[key], crash[key])
            elif key in live:
                self.only_live[path] += 1
            else:
                self.only_crash[path] += 1

    def _compare_lists(self, where, live, crash):
        if len(live) != len(crash):
            self._differ(where, f"{len(live)} items", f"{len(crash)} items")
            return
        for one, other in zip(live, crash):
            self._compare(where, one, other)

    def _compare_texts(self, where, live, crash):
        ours, theirs = (list(tokens(text)) for text in (live, crash))
        if len(ours) != len(theirs):
            self._differ(where, live[:SHOWN], crash[:SHOWN])
            return
        for one, other in zip(ours, theirs):
            if one != other:
                self._compare_tokens(where, one, other)

    def _compare_tokens(self, where, live, crash):
        whole = octets(crash)
        ends_with_bits = ":" in live
        if live.startswith(REDACTED):
            self.known["the cookie, which a capture redacts"] += 1
        elif live == MATCH_CONTEXT and crash.startswith("#Absent<"):
            self.known["match contexts of OTP 25"] += 1
        elif octets(live) is not None and crash == f"#Bin<{octets(live)} bytes>":
            self.known["binaries that only sub binaries refer to"] += 1
        elif ((ends_with_bits or self._name.endswith(OF_BITS)) and whole is not None and
              octets(live) == whole):
            self.known["bit strings, whose bytes begin elsewhere or that end with some bits"] += 1
        else:
            self._differ(where, live[:SHOWN], crash[:SHOWN])

    def _differ(self, where, live, crash):
        self.differences.append(
            f"{self._pid} {self._name}: {where} is {live!r} live, {crash!r} in the crash dump")


def tokens(text):
    at = 0
    while at < len(text):
        token = TOKENS.match(text, at)
        if not token:
            yield text[at:]
            return
        yield token[0]
        at = token.end()


def octets(token):
    """The whole bytes of a binary's text; None if it is not a binary."""
    found = TOKENS.fullmatch(token)
    if not found or found.lastgroup not in ("octets", "numbers"):
        return None
    if found.lastgroup == "octets":
        return len(found["in_octets"].replace('\\"', '"'))
    numbers = [number for number in found["in_numbers"].split(",") if number]
    return len(numbers) - (1 if found["bits"] else 0)
