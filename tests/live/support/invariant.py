"""Terms {invariant, Counter, Sum, List, Binary} with checksums (busy.erl, spinning.erl), as a dump
shows them."""

import json
import re
import struct
import subprocess

from support.paths import PROGRAMS

INVARIANT = re.compile(r"\{invariant,(\d+),(\d+),\[([\d,]*)\],<<([\d,]*)>>\}")


def contradiction(counter, total, items, octets):
    """The contradiction in a term; None if it is intact."""
    expected = struct.pack(">BI", 255, counter) * (len(octets) // 5)
    if not items or items != list(range(counter, counter - len(items), -1)):
        return f"counter {counter} but list {items[:5]}..."
    if sum(items) != total:
        return f"sum {total} but the list's is {sum(items)}"
    if not octets or bytes(octets) != expected:
        return f"counter {counter} but binary {octets[:10]}..."
    return None


class Checked:
    """The results for one dump."""

    def __init__(self, dump):
        ended = subprocess.run([PROGRAMS / "process_texts", dump], capture_output=True, check=True)
        self.processes = self.consistent = self.terms = 0
        self.faults = []
        self.void = {}
        for line in ended.stdout.splitlines():
            self._process(json.loads(line))

    def _process(self, process):
        self.processes += 1
        if process.get("error"):
            self.faults.append(f"{process['pid']}: {process['error']}")
        elif process["void"]:
            self.void[process["void"]] = self.void.get(process["void"], 0) + 1
        else:
            self.consistent += 1
            self._consistent(process)

    def _consistent(self, process):
        for name in "malformed", "absent", "cut_short", "placeholders", "message_placeholders":
            if process[name]:
                self.faults.append(f"{process['pid']} {process['name']}: {name} {process[name]}")
        for text in [process["backtrace"], *process["dictionary"], *process["messages"]]:
            found = list(INVARIANT.finditer(text))
            if len(found) != text.count("{invariant,"):
                self.faults.append(f"{process['pid']} {process['name']}: no whole invariant in "
                                   f"{text[text.find('{invariant'):][:300]}")
            for term in found:
                self.terms += 1
                counter, total, items, octets = term.groups()
                wrong = contradiction(int(counter), int(total),
                                      list(map(int, items.split(","))) if items else [],
                                      list(map(int, octets.split(","))) if octets else [])
                if wrong:
                    self.faults.append(f"{process['pid']} {process['name']}: {wrong}")
