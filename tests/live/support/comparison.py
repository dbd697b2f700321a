"""Compares a dump with what the node says about itself afterwards.

The dump is made first, then the node is asked once, since a question makes processes run. A process
that ran in between is not compared: its reductions differ by more than the question costs, or it
started or exited. The number of these is printed and limited.
"""

import json
import pathlib

ASKING_COSTS_REDUCTIONS = 1
HIBERNATED = "erlang:hibernate/3"
MOST_LEFT_OUT = 0.05

# Facts in a list of processes, and all compared facts.
# Names in process_info's garbage_collection_info: some mean something else than the same names in
# process_info itself.
COLLECTION_NAMES = {
    "heap_block": "heap_block_size", "heap_used": "heap_size", "recent": "recent_size",
    "stack_used": "stack_size", "old_heap_size": "old_heap_block_size",
    "old_heap_used": "old_heap_size", "fragments": "mbuf_size",
    "binary_virtual_heap_used": "bin_vheap_size", "binary_virtual_heap": "bin_vheap_block_size",
    "old_binary_virtual_heap_used": "bin_old_vheap_size",
    "old_binary_virtual_heap": "bin_old_vheap_block_size"}
COLLECTED = tuple(COLLECTION_NAMES)
LISTED = ("registered_name", "current_function", "initial_call", "translated_initial_call",
          "message_queue_len", "total_heap_size", "stack_size", "status", "memory")
# ... and those shown on request.
COLUMNS = ("--columns", "binaries,stack,heap,old_heap")
LISTED_WITH_COLUMNS = LISTED + ("binary_references", "binary_bytes", "heap_size", "old_heap_size")
COMPARED = LISTED + COLLECTED + (
    "heap_size", "links", "monitors", "monitored_by", "priority", "trap_exit", "group_leader",
    "current_location", "parent", "message_queue_data", "minor_gcs", "fullsweep_after",
    "min_heap_size", "min_bin_vheap_size", "max_heap_size", "current_stacktrace", "suspending",
    "catchlevel", "sequential_trace_token", "binary", "label")
UNORDERED = ("links", "monitors", "monitored_by", "suspending", "binary")
# The oracle gives the first two for processes whose terms were asked for, the last one from OTP 25 on.
NOT_ALWAYS_ASKED = ("translated_initial_call", "label", "parent")


class Comparison:
    def __init__(self):
        self.pids = []  # that were compared
        self.left_out = []
        self.differences = []

    @property
    def compared(self):
        return len(self.pids)

    @property
    def share_left_out(self):
        return len(self.left_out) / max(1, self.compared + len(self.left_out))

    def print(self, what):
        print(f"{what}: {self.compared} processes compared, {len(self.left_out)} left out "
              f"({100 * self.share_left_out:.1f}%): they ran, began or ended in between",
              flush=True)
        for reason in self.left_out[:20]:
            print(f"  left out: {reason}")

    def verify(self, test):
        test.assertGreater(self.compared, 0)
        shown = "\n".join(self.differences[:20])
        test.assertEqual(len(self.differences), 0, f"facts differ:\n{shown}")
        test.assertLessEqual(self.share_left_out, MOST_LEFT_OUT)


def ask_oracle(node, backtraces=(), terms=()):
    """The node's answers by pid: facts, and "backtrace" and "terms" of texts.erl for the given
    pids."""
    directory = pathlib.Path(node.directory)
    answers = directory / "oracle.jsonl"
    for name, pids in ("backtraces", backtraces), ("terms", terms):
        (directory / f"{name}.pids").write_text("\n".join(pids))
    node.ask(f"oracle {answers} {directory}")
    told = {}
    for line in answers.read_text().splitlines():
        process = json.loads(line)
        collection = process.pop("garbage_collection_info")
        process |= process.pop("garbage_collection")
        process |= {ours: collection[theirs] for ours, theirs in COLLECTION_NAMES.items()}
        process["binary_references"] = len(process["binary"])
        process["binary_bytes"] = sum(dict(process["binary"]).values())
        told[process["pid"]] = process
    for pid, texts in _texts(directory / "backtraces"):
        told[pid]["backtrace"] = texts[0]
    for pid, texts in _texts(directory / "terms"):
        entries = int(texts[0])
        messages = (len(texts) - 1 - 3 * entries) // 2
        terms, sizes = 1 + 2 * entries, len(texts) - entries - messages
        told[pid]["terms"] = {"dictionary": texts[1:terms], "messages": texts[terms:sizes]}
        told[pid]["flat_words"] = {
            "dictionary": [int(words) for words in texts[sizes:sizes + entries]],
            "message": [int(words) for words in texts[sizes + entries:]]}
    return told


def _texts(path):
    with path.open("rb") as answers:
        while line := answers.readline():
            pid, count = line.decode().split()
            yield pid, [answers.read(int(answers.readline())) for _ in range(int(count))]


def compare(captured, before, told, facts=COMPARED, also=lambda pid, asked: ()):
    """captured, told: facts by pid. before: the pids before the capture. also: gives differences of a
    process besides facts."""
    result = Comparison()
    for pid, asked in told.items():
        process = captured.get(pid)
        if process is None and pid not in before:
            result.left_out.append(f"{pid} {asked['registered_name']} is younger than the dump")
            continue
        if process is None:
            result.differences.append(f"{pid} {asked['registered_name']}: not in the dump")
            continue
        ran = asked["reductions"] - (process.get("reductions", 0))
        # Hibernation costs no reductions: on OTP 29, the VM's own processes hibernate after a minute.
        went_to_sleep = (asked["current_function"] == HIBERNATED and
                         process.get("current_function") != HIBERNATED)
        # Reductions are counted when it stops.
        woke_up = (process.get("status") == "waiting" and asked["status"] in ("running", "runnable"))
        if (process.get("void_reason") or went_to_sleep or woke_up or
                not 0 <= ran <= ASKING_COSTS_REDUCTIONS):
            result.left_out.append(
                f"{pid} {asked['registered_name']} ran {ran} reductions, "
                f"{process.get('void_reason') or 'copied'}")
            continue
        result.pids.append(pid)
        for fact in facts:
            if fact == "fragments" and process.get("message_queue_len"):
                continue  # The question for its messages made the process copy them into its heap.
            if fact in NOT_ALWAYS_ASKED and fact not in asked:
                continue
            ours, theirs = _comparable(fact, process.get(fact)), _comparable(fact, asked[fact])
            if ours != theirs:
                result.differences.append(f"{pid} {asked['registered_name']}: {fact} is {ours} in "
                                          f"the dump, {theirs} in the node")
        result.differences += [f"{pid} {asked['registered_name']}: {what}"
                               for what in also(pid, asked)]
    result.left_out += [f"{pid} ended" for pid in captured.keys() - told.keys()]
    return result


def _comparable(fact, value):
    return sorted(value) if fact in UNORDERED else value
