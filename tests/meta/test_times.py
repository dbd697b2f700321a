"""How long the tests took, from ctest's JUnit file: `test_times.py show FILE` prints the ten slowest and
the sum; `test_times.py record FILE` writes all that took a second or more to docs/test-times.txt, which a
meta test holds against its limit."""

import datetime
import os
import pathlib
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "test-times.txt"
OTHERS = "all others"
SHOWN = 10


def measured(junit):
    """Seconds by name, of the tests that ran."""
    suite = xml.etree.ElementTree.parse(junit).getroot()
    return {case.get("name"): float(case.get("time")) for case in suite.iter("testcase")
            if case.get("status") != "notrun"}


def recorded():
    """Seconds by name, as last recorded; OTHERS is what took less than a second each."""
    found = {}
    for line in RECORD.read_text().splitlines():
        if line and not line.startswith("#"):
            seconds, name = line.split(maxsplit=1)
            found[name] = float(seconds)
    return found


def show(times):
    print(f"The {SHOWN} slowest of {len(times)} tests, which took {sum(times.values()):.0f} s together:")
    for name in sorted(times, key=times.get, reverse=True)[:SHOWN]:
        print(f"{times[name]:8.1f} s  {name}")


def record(times):
    slow = {name: seconds for name, seconds in times.items()
            if seconds >= 1 or name.startswith("live.")}
    others = sum(times.values()) - sum(slow.values())
    lines = [f"# Seconds of each test in a run of scripts/test on {os.cpu_count()} processors, "
             f"{datetime.date.today()}.",
             "# Written by tests/meta/test_times.py record build/tests.xml.",
             *(f"{slow[name]:.1f} {name}" for name in sorted(slow, key=slow.get, reverse=True)),
             f"{others:.1f} {OTHERS}"]
    RECORD.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    {"show": show, "record": record}[sys.argv[1]](measured(sys.argv[2]))
