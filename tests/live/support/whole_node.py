"""Compares a dump's facts about the whole node with the node's own: memory, tables, counts."""

import collections

from support import tools
from support.release import RELEASE

MOST_OFF = 0.001
MOST_LEFT_OUT = 0.05
# Memory that a question uses: a process's heap, a socket's buffers, the answer.
QUESTION_BYTES = 160 << 10
MOST_UNEXPLAINED = 0.03
# Categories and allocators that questions do not change.
STILL_CATEGORIES = ("atom", "atom_used", "code", "ets")
# By how much the tests' cookies (node.py) are longer than what stands in their place.
COOKIE_BYTES = len("cookie") + 2 * 8 - len("<cookie>")
STILL_ALLOCATORS = ("ets_alloc", "literal_alloc")
# On a stripped OTP 29, a counter that is part of it has no symbol and cannot be found.
UNKNOWN_CATEGORIES = {"ets"} if RELEASE == "29" else set()
# A question may need one more carrier in an allocator.
QUESTION_CARRIERS = 2
# Those with the most rows are compared.
MOST_TABLES_OF_ROWS = 30
LEAST_ROWS = 500
FLAGS = {"true": True, "false": False}


def ask_numbers(node):
    """The numbers of node_memory.erl, by name."""
    return {name: int(number) for name, number in
            (word.split("=") for word in node.ask("node_memory").split())}


def ask_tables(node, scratch):
    """ets:info/1 of each table, by its reference, in the words of `ets --json`."""
    path = scratch / "tables"
    count = int(node.ask(f"facts {path} tables"))
    tables = [_table(line) for line in path.read_text().splitlines()]
    if len(tables) != count:
        raise AssertionError(f"{count} tables, {len(tables)} lines")
    return {table["id"]: table for table in tables}


def unquoted(atom):
    """io_lib quotes fewer atoms than the VM: not those with @."""
    return atom.strip("'")


def _table(line):
    info = dict(item.split("=", 1) for item in line.split("\t"))
    return {"id": info["id"], "name": unquoted(info["name"]), "named_table": FLAGS[info["named_table"]],
            "type": info["type"], "owner": info["owner"], "heir": info["heir"],
            "keypos": int(info["keypos"]), "protection": info["protection"],
            "size": int(info["size"]), "memory_words": int(info["memory"]),
            "read_concurrency": FLAGS[info["read_concurrency"]],
            "write_concurrency": info["write_concurrency"],
            "decentralized_counters": FLAGS[info["decentralized_counters"]],
            "compressed": FLAGS[info["compressed"]], "fixed": FLAGS[info["fixed"]]}


def worked_meanwhile(dump, before, told):
    """Whether the node's own work changed its memory between the questions before and after the capture by
    more than a question does, in one direction or there and back: then the capture has to be repeated. A
    dump that is wrong differs in each repetition."""
    total = "memory.total"
    captured = tools.analyze_json("memory", dump)["categories"]
    changes = {"asked": told[total] - before[total], "captured": captured["total"] - told[total]}
    print(f"OTP {RELEASE}: change of the total in bytes: {changes}", flush=True)
    captured = with_cookie(captured, told)
    allocators = {line["name"]: line for line in tools.analyze_json("allocators", dump)["allocators"]}
    blocks = {name: f"blocks.{name}.size" for name in STILL_ALLOCATORS}
    allocated_and_freed = [name for name, size in blocks.items()
                           if before.get(size, 0) == told.get(size, 0) != allocators[name]["block_bytes"]]
    there_and_back = [name for name in STILL_CATEGORIES
                      if name in captured and before[f"memory.{name}"] == told[f"memory.{name}"]
                      and captured[name] != told[f"memory.{name}"]]
    return bool(there_and_back or allocated_and_freed) or any(abs(change) > QUESTION_BYTES for change in changes.values())


def with_cookie(categories, told):
    """The dump has a placeholder for the atom of the node's cookie, and counts that."""
    hidden = {name: categories[name] + COOKIE_BYTES for name in ("atom", "atom_used")
              if name in categories and told[f"memory.{name}"] - categories[name] == COOKIE_BYTES}
    return {**categories, **hidden}


def compare_categories(test, ours, told, before=None):
    """Compares erlang:memory/0 with `memory --json`. before: see compare_allocators()."""
    before = told if before is None else before
    ours = with_cookie(ours, told)
    theirs = {name.removeprefix("memory."): number for name, number in told.items()
              if name.startswith("memory.")}
    test.assertEqual(set(theirs) - set(ours), UNKNOWN_CATEGORIES)
    test.assertEqual(list(ours), [name for name in theirs if name in ours])
    still = [name for name in STILL_CATEGORIES
             if name in ours and before[f"memory.{name}"] == theirs[name]]
    print(f"OTP {RELEASE}: not changed meanwhile: {still}", flush=True)
    test.assertGreater(len(still), 1)
    test.assertEqual({name: ours[name] for name in still}, {name: theirs[name] for name in still})
    off = abs(ours["total"] - theirs["total"])
    print(f"OTP {RELEASE}: total {ours['total']}, {off / theirs['total']:.4%} off", flush=True)
    test.assertLessEqual(off, max(QUESTION_BYTES, MOST_OFF * theirs["total"]))
    for name, bytes_ in ours.items():
        test.assertAlmostEqual(bytes_, theirs[name], delta=QUESTION_BYTES, msg=name)


def compare_allocators(test, answer, told, before=None):
    """Compares erlang:system_info({allocator, _}) with `allocators --json`. before: the numbers of a busy
    node before the capture; numbers that changed since are not compared exactly."""
    before = told if before is None else before
    lines = {line["name"]: line for line in answer["allocators"]}
    theirs = {name.split(".")[1] for name in told if name.startswith("allocator.")
              and not name.startswith("allocator.test_alloc")}
    test.assertEqual(set(lines), theirs)
    for name, line in lines.items():
        blocks = f"blocks.{name}.size"
        exact = name in STILL_ALLOCATORS and before.get(blocks) == told.get(blocks)
        test.assertAlmostEqual(line["carriers"], told[f"allocator.{name}.carriers"], msg=name,
                               delta=0 if exact else QUESTION_CARRIERS)
        test.assertAlmostEqual(line["block_bytes"], told.get(blocks, 0), msg=name,
                               delta=0 if exact else QUESTION_BYTES)
        size = f"allocator.{name}.carriers_size"
        if line["carriers"] == told[f"allocator.{name}.carriers"] and before[size] == told[size]:
            test.assertEqual(line["carrier_bytes"], told[size])
        test.assertLessEqual(line["resident_bytes"], line["carrier_bytes"])


def check_resident(test, dump, most=MOST_UNEXPLAINED):
    """Checks that the parts of resident memory add up and little is unexplained. Returns the answer."""
    answer = tools.analyze_json("memory", dump)
    test.assertEqual(sum(part["bytes"] for part in answer["resident_parts"]),
                     answer["resident_bytes"])
    share = answer["unexplained_bytes"] / answer["resident_bytes"]
    print(f"OTP {RELEASE}: {answer['resident_bytes']} resident, {share:.2%} unexplained",
          flush=True)
    test.assertLessEqual(share, most)
    return answer


def compare_tables(test, dump, before, after):
    """Compares `ets --json` with the node's facts before and after the capture, for tables whose facts
    are the same at both times."""
    answer = tools.analyze_json("ets", dump, "--limit", "0")
    found = {table["id"]: table for table in answer["tables"]}
    test.assertEqual(len(found), answer["total"])
    still = {identity: table for identity, table in before.items()
             if after.get(identity) == table}
    left_out = len(before.keys() | after.keys()) - len(still)
    print(f"OTP {RELEASE}: {len(still)} tables compared, {left_out} left out: they changed",
          flush=True)
    test.assertLessEqual(left_out, MOST_LEFT_OUT * len(before))
    test.assertEqual(still.keys() - found.keys(), set())
    for identity, table in still.items():
        ours = {item: found[identity].get(item) for item in table}
        test.assertEqual(ours | {"name": unquoted(ours["name"])}, table)
    return answer


def ask_rows(node, scratch):
    """The rows of each small table that others may read, as the VM prints them, by its reference."""
    path = scratch / "rows"
    node.ask(f"facts {path} rows")
    tables = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        identity, row = line.split("\t")
        tables[identity].append(bytes.fromhex(row).decode())
    return tables


def compare_rows(test, dump, before, after):
    """Compares `ets T` with the rows before and after the capture, for the largest tables. Rows that are
    there at both times must be in the dump, and no others if the table is the same at both times."""
    largest = sorted(before, key=lambda identity: len(before[identity]))[-MOST_TABLES_OF_ROWS:]
    compared = left_out = 0
    for identity in largest:
        then, now = (collections.Counter(rows.get(identity, [])) for rows in (before, after))
        still = then & now
        compared += still.total()
        left_out += ((then | now) - still).total()
        if not still:
            continue
        answer = tools.analyze_json("ets", dump, identity, "--limit", "0", "--term-bytes", "0",
                                    "--syntax", "erlang")
        found = collections.Counter(row["row"]["text"] for row in answer["rows"])
        test.assertEqual(still - found, collections.Counter(), answer["table"]["name"])
        if then == now:
            test.assertEqual(sum(answer["missing"].values()), 0, answer["table"])
            test.assertEqual(found, then, answer["table"]["name"])
    print(f"OTP {RELEASE}: {compared} rows of {len(largest)} tables are the same, {left_out} left out: "
          "they changed", flush=True)
    test.assertGreater(compared, LEAST_ROWS)
    test.assertLessEqual(left_out, MOST_LEFT_OUT * compared)


def ask_persistent_terms(node, scratch):
    """How many, and their bytes, as persistent_term:info/0 says; and of each key its value, as the VM
    prints it, and words."""
    path = scratch / "persistent_terms"
    node.ask(f"facts {path} persistent_terms")
    first, *lines = (line.split("\t") for line in path.read_text().splitlines())
    return (int(first[1]), int(first[2])), {
        bytes.fromhex(key).decode(): (bytes.fromhex(value).decode(), int(words))
        for key, value, words in lines}


def compare_persistent_terms(test, dump, told):
    total, said = told
    answer = tools.analyze_json("persistent-terms", dump, "--limit", "0", "--term-bytes", "0",
                                "--syntax", "erlang")
    test.assertEqual((answer["count"], answer["memory_bytes"]), total)
    found = {term["key"]: term["value"] for term in answer["terms"] if not term["left_out"]}
    test.assertEqual(found, {key: value for key, (value, _) in said.items() if value})
    print(f"OTP {RELEASE}: {total[0]} persistent terms are the same", flush=True)


def compare_counts(test, dump, told):
    atoms = tools.analyze_json("atoms", dump, "--limit", "1")
    test.assertEqual(atoms["count"], told["count.atoms"])
    test.assertEqual(atoms["limit"], told["limit.atoms"])
    modules = tools.analyze_json("modules", dump, "--limit", "1")
    test.assertEqual(modules["total"] - modules["old"], told["count.modules"])
    test.assertEqual(modules["old"], told["count.old"])
