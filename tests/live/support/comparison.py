"""A dump against what the node said of itself afterwards.

The dump is taken first and the node asked then, for asking makes a process run. A process that ran
between the two is left out: its reductions differ by more than the asking costs, or it was born or
ended meanwhile. How many were left out is printed, and bounded.
"""

import json
import pathlib

ASKING_COSTS_REDUCTIONS = 1
MOST_LEFT_OUT = 0.05

# Facts that a list of processes shows, and all that are compared.
LISTED = ("registered_name", "current_function", "initial_call", "message_queue_len",
          "total_heap_size", "stack_size")
COMPARED = LISTED + ("heap_size", "links", "monitors", "monitored_by", "priority", "trap_exit",
                     "group_leader")
UNORDERED = ("links", "monitors", "monitored_by")


class Comparison:
    def __init__(self):
        self.compared = 0
        self.left_out = []
        self.differences = []

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


def ask_oracle(node):
    """What the node says, by pid."""
    answers = pathlib.Path(node.directory) / "oracle.jsonl"
    node.ask(f"oracle {answers}")
    told = {}
    for line in answers.read_text().splitlines():
        process = json.loads(line)
        told[process["pid"]] = process
    return told


def compare(captured, before, told, facts=COMPARED):
    """captured, told: facts by pid. before: the pids that there were before the capture."""
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
        if process.get("void_reason") or not 0 <= ran <= ASKING_COSTS_REDUCTIONS:
            result.left_out.append(
                f"{pid} {asked['registered_name']} ran {ran} reductions, "
                f"{process.get('void_reason') or 'copied'}")
            continue
        result.compared += 1
        for fact in facts:
            ours, theirs = _comparable(fact, process.get(fact)), _comparable(fact, asked[fact])
            if ours != theirs:
                result.differences.append(f"{pid} {asked['registered_name']}: {fact} is {ours} in "
                                          f"the dump, {theirs} in the node")
    result.left_out += [f"{pid} ended" for pid in captured.keys() - told.keys()]
    return result


def _comparable(fact, value):
    return sorted(value) if fact in UNORDERED else value
