"""Reads the data of a report without a browser, and compares them with the commands' answers."""

import base64
import json
import re
import zlib


def element(page, name):
    return re.search(rf'<script id="{name}" type="[^"]*">(.*?)</script>', page, re.S).group(1)


class Data:
    def __init__(self, page):
        self.answers = json.loads(element(page, "answers"))
        self.names = json.loads(element(page, "names"))
        blocks = json.loads(zlib.decompress(base64.b64decode(element(page, "processes-data"))))
        self.rows = []
        for block in blocks:
            self.rows += [dict(zip(block, values)) for values in zip(*block.values())]
        self.by_pid = {self.pid(row): row for row in self.rows}

    @staticmethod
    def pid(row, number="number", serial="serial"):
        number, serial = row[number], row[serial]
        return None if number is None else f"<0.{number}.{serial}>"

    def text(self, number):
        return None if number is None else self.names["texts"][number]

    def stack(self, row):
        """Functions with file and line, the current one first."""
        names, found, node = self.names, [], row["stack"]
        while node:
            place = names["stack_place"][node]
            found.append((self.text(names["place_function"][place]),
                          self.text(names["place_file"][place]), names["place_line"][place]))
            node = names["stack_parent"][node]
        return found

    def process(self, row):
        """As a line of the export, where the page has it."""
        line = {"pid": self.pid(row), "registered_name": self.text(row["name"]),
                "current_function": self.text(row["function"]), "status": self.text(row["status"]),
                "memory": row["memory"], "reductions": row["reductions"],
                "message_queue_len": row["queue"]}
        return {name: value for name, value in line.items() if value is not None}


def compare(test, data, lines, answer):
    """The page's data are those of `export ndjson`'s lines, and of the commands by
    `answer(COMMAND, ..., may_fail=True)`."""
    by_kind = {}
    for line in lines:
        by_kind.setdefault(line["kind"], []).append(line)
    processes = by_kind.get("process", [])
    test.assertEqual(sorted(data.by_pid), sorted(line["pid"] for line in processes))
    frames = {}
    for line in by_kind.get("frame", []):
        frames.setdefault(line["pid"], []).append(
            (line.get("function", "(unknown function)"), line.get("file"), line.get("line")))
    parents = {line["pid"]: line["parent"] for line in by_kind.get("parent", [])}
    shapes = {}
    for line in by_kind.get("message_shape", []):
        shapes.setdefault(line["pid"], {})[line.get("shape")] = line["count"]
    for line in processes:
        row = data.by_pid[line["pid"]]
        shown = data.process(row)
        test.assertEqual(shown, {name: line[name] for name in shown})
        test.assertEqual(set(line) & {"registered_name", "current_function", "status", "memory",
                                      "reductions", "message_queue_len"}, set(shown) - {"pid"})
        test.assertEqual(data.text(row["call"]),
                         line.get("translated_initial_call", line.get("initial_call")))
        test.assertEqual(Data.pid(row, "parent", "parent_serial"), parents.get(line["pid"]))
        stack = [frame for frame in data.stack(row) if frame[0] != "(further frames)"]
        if line["pid"] in frames:
            test.assertEqual(stack, frames[line["pid"]], line["pid"])
        else:
            test.assertIn(stack[0][0], ("(stack not in the dump)", "(flagged sensitive)",
                                        "(no stack)"))
    queued = [line for line in processes if line.get("message_queue_len", 0) > 0]
    test.assertEqual(data.names["with_messages"], len(queued))
    for box in data.names["mailboxes"]:
        if "shapes" in box and len(box["shapes"]) < 20:
            counts = {data.text(shape["shape"]): shape["count"] for shape in box["shapes"]}
            if box["other"]:
                counts[None] = box["other"]
            test.assertEqual(counts, shapes.get(Data.pid(box), {}))
    for name, words in (("summary", ["summary"]), ("memory", ["memory"]),
                        ("ets", ["ets", "--limit", "0"]), ("sockets", ["sockets", "--limit", "1000"]),
                        ("timers", ["timers", "--limit", "1000"]),
                        ("atoms", ["atoms", "--limit", "1000"]),
                        ("waits", ["waits", "--limit", "1000"]),
                        ("binaries", ["binaries", "--limit", "1000"]),
                        ("history", ["history"]), ("leaks", ["binaries", "--leaks", "--limit", "1000"])):
        shown, told = data.answers.get(name), answer(*words, may_fail=True)
        if name == "timers" and told:
            told.pop("counts", None)  # by kind, which the page does not show
        if name == "summary" and "crash" in told:
            # Of a crash dump `summary` converts no terms: it may find less.
            test.assertLessEqual(sentences(told), sentences(shown))
            for one in (shown, told):
                del one["findings"], one["findings_left_out"]
        test.assertEqual(without_lists(shown), without_lists(told), name)


def sentences(summary):
    return {finding["sentence"] for finding in summary["findings"]}


def without_lists(answer):
    """Without what depends on a limit or on the dump's path."""
    if answer is None:
        return None
    kept = {name: value for name, value in answer.items() if name != "largest_processes"}
    kept["dump"] = {**kept["dump"], "file": None}
    for finding in kept.get("findings", []):
        finding["command"] = finding["command"].split("beamdump ", 1)[0].split()[1]
    return kept
