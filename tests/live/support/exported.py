"""Compares exports with the answers of the commands, and profiles with each other."""

import collections
import gzip
import os
import re
import subprocess

from .paths import ROOT

COMMON = ("kind", "node", "captured_us", "schema", "redaction", "text_complete", "memory_of_heaps")
# For each kind: the command, the list in its answer, and fields that have another name in the export.
LISTS = {
    "process": (("processes", "--limit", "0"), "processes", {}),
    "ets_table": (("ets", "--limit", "0"), "tables", {}),
    "port": (("ports", "--limit", "0"), "ports", {}),
    "socket": (("sockets", "--limit", "0"), "sockets", {}),
    "timer": (("timers", "--limit", "0"), "timers", {"kind": "timer_kind"}),
    "scheduler": (("schedulers", "--limit", "0"), "schedulers", {"kind": "scheduler_kind"}),
    "node": (("nodes", "--limit", "0"), "nodes", {"node": "other_node", "processes": "suspended_processes"}),
    "persistent_term": (("persistent-terms", "--limit", "0"), "terms", {}),
    "finding": (("summary",), "findings", {}),
    "finding_left_out": (("summary",), "findings_left_out", {}),
    "module": (("modules", "--limit", "0"), "modules", {}),
    "binary": (("binaries", "--limit", "0"), "binaries", {}),
    "atom": (("atoms", "--list", "--limit", "0"), "atoms", {"index": "number"}),
    "atom_group": (("atoms", "--limit", "0"), "groups", {"atoms": "pattern"}),
    "allocator": (("allocators",), "allocators", {}),
    "resident": (("memory",), "resident_parts", {}),
}
# Only in the command's answer; names of a process are in an export's line of the process.
LEFT_OUT = {"memory_words", "figures", "label", "process_name", "owner_display_name", "owner_initial_call",
            "owner_application", "receiver_application",
            "receiver_display_name", "process_display_name", "controller_display_name", "value"}
# What a process is called by: the first of these that it has.
NAMES = ("registered_name", "label", "process_name", "translated_initial_call", "initial_call")
# An export of a crash dump at --detail stacks reads all heaps and so may know more names.
NAMED_BY_HEAPS = ("atom", "atom_group", "module")

# The part of speedscope's schema for "sampled" profiles (file-format-schema.json).
SPEEDSCOPE = {
    "type": "object",
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {"type": "object", "required": ["frames"], "properties": {"frames": {
            "type": "array", "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "file": {"type": "string"},
                "line": {"type": "number"}, "col": {"type": "number"}}}}}},
        "profiles": {"type": "array", "items": {
            "type": "object",
            "required": ["endValue", "name", "samples", "startValue", "type", "unit", "weights"],
            "properties": {
                "type": {"const": "sampled"}, "name": {"type": "string"},
                "unit": {"enum": ["bytes", "none"]},
                "startValue": {"type": "number"}, "endValue": {"type": "number"},
                "samples": {"type": "array",
                            "items": {"type": "array", "items": {"type": "number"}}},
                "weights": {"type": "array", "items": {"type": "number"}}}}}},
    "required": ["$schema", "profiles", "shared"],
}


def of_kind(lines, kind):
    return [{name: value for name, value in line.items() if name not in COMMON}
            for line in lines if line["kind"] == kind]


def multiset(things):
    return collections.Counter(tuple(sorted(thing.items())) for thing in things)


def compare_names(test, processes, told):
    """Takes the display names out of exported processes."""
    named = {process["pid"]: next((process[name] for name in NAMES if name in process), None)
             for process in told}
    for process in processes:
        shown, expected = process.pop("display_name", None), named[process["pid"]]
        # An alias is as Elixir writes it.
        if expected is None or not expected.startswith("'Elixir."):
            test.assertEqual(shown, expected, process)


def compare(test, lines, answer):
    """Compares the lines of a dump with `answer(COMMAND, ...)`. Returns the number of kinds compared."""
    compared = 0
    for kind, (words, member, names) in LISTS.items():
        told = answer(*words, may_fail=True)
        found = of_kind(lines, kind)
        if told is None or member not in told:
            test.assertEqual(found, [], kind)
            continue
        if kind == "process":
            compare_names(test, found, told[member])
        expected = multiset({names.get(name, name): value for name, value in thing.items()
                             if name not in LEFT_OUT} for thing in told[member])
        if of_kind(lines, "dump")[0]["mode"] == "crash_dump" and kind in NAMED_BY_HEAPS:
            names_of = lambda things: {thing.get("text", thing.get("name")) for thing in things}
            # The command reads the text's own sections where it has them, the export what terms name.
            fewer, more = sorted((names_of(told[member]), names_of(found)), key=len)
            test.assertLessEqual(len(fewer - more), 0, sorted(fewer - more)[:10])
        else:
            test.assertEqual(multiset(found), expected, kind)
        compared += len(expected) > 0
    by_status = answer("processes", "--group-by", "status", "--limit", "0")
    expected = [{**group, "group_by": "status", "largest": group["largest"]["pid"]}
                for group in by_status["groups"]]
    test.assertEqual(multiset(line for line in of_kind(lines, "group")
                              if line["group_by"] == "status"), multiset(expected))
    shown = {line["category"]: line["bytes"] for line in of_kind(lines, "memory")}
    test.assertEqual(shown, answer("memory").get("categories", {}))
    facts = of_kind(lines, "dump")[0]
    counts = answer("summary")["counts"]
    for mine, theirs in (("processes", "processes"), ("messages", "messages"),
                         ("reductions", "reductions"), ("module_instances", "module_instances")):
        test.assertEqual(facts.get(mine), counts.get(theirs), mine)
    return compared


def compare_sqlite(test, base, dump, lines):
    """Checks that the rows of one dump are the lines of its export. `base` returns rows as sqlite3.Row."""
    tables = {"dump": "dumps", "memory": "memory", "resident": "resident", "end": "exports",
              "process": "processes", "binary": "binaries",
              "finding_left_out": "findings_left_out"}
    for kind in {line["kind"] for line in lines}:
        table = tables.get(kind, kind + "s")
        column = "id" if kind == "dump" else "dump"
        rows = base.execute(f"SELECT * FROM {table} WHERE {column} = ?", (dump,)).fetchall()
        stored = [{name: row[name] for name in row.keys()
                   if row[name] is not None and name not in (column, *COMMON)} for row in rows]
        expected = of_kind(lines, kind)
        test.assertEqual(multiset(stored), multiset(expected), table)


def folded(text):
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(weight)
    return stacks


def folded_of_speedscope(document):
    (profile,) = document["profiles"]
    stacks = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        stacks[tuple(document["shared"]["frames"][frame]["name"] for frame in sample)] += weight
    if profile["endValue"] != sum(stacks.values()):
        raise AssertionError("endValue is not the sum of the weights")
    return stacks


def folded_of_pprof(packed):
    """By protoc."""
    text = subprocess.run(
        [os.environ.get("PROTOC", "protoc"), "--decode=beamdump.pprof.Profile", f"-I{ROOT / 'schemas'}",
         "pprof.proto"], input=gzip.decompress(packed), capture_output=True, check=True).stdout.decode()
    strings = [re.sub(r"\\(.)", r"\1", found)
               for found in re.findall(r'^string_table: "(.*)"$', text, re.MULTILINE)]
    parts = re.findall(r"^(\w+) \{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    names, functions, stacks = {}, {}, collections.Counter()

    def number(body, name):
        found = re.search(rf"^ *{name}: (\d+)$", body, re.MULTILINE)
        return int(found[1]) if found else 0

    for kind, body in parts:
        if kind == "function":
            names[number(body, "id")] = strings[number(body, "name")]
        elif kind == "location":
            functions[number(body, "id")] = number(body, "function_id")
    for kind, body in parts:
        if kind == "sample":
            places = [int(found) for found in re.findall(r"location_id: (\d+)", body)]
            stacks[tuple(names[functions[place]] for place in reversed(places))] += \
                number(body, "value")
    return stacks
