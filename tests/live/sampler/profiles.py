"""What holds of each profile, whoever shows it."""


def check_sums(test, answer):
    """Each sample is counted once in each list."""
    samples = answer["samples"]
    test.assertEqual(sum(answer["account"].values()), samples)
    test.assertEqual(sum(stack["samples"] for stack in answer["stacks"]), samples)
    test.assertLessEqual(sum(answer["not_known"].values()), samples)
    test.assertEqual(sum(thread["samples"] for thread in answer["other_threads"]),
                     answer["account"].get("other_thread", 0))
    test.assertLessEqual(sum(one["self"] for one in answer["functions"]), samples)
    for one in answer["functions"]:
        test.assertLessEqual(one["native"], one["self"])
        test.assertLessEqual(one["self"], one["total"])
    for stack in answer["stacks"]:
        test.assertTrue(stack["frames"])


# Functions of the parts of the rounds of the workload "profiled", besides that of a part's name.
PARTS = {
    "count": ["profiled:counting/2"],
    "unpack": ["profiled:unpacking/3"],
    "lookup": ["profiled:looking_up/3"],
    "sort": ["profiled:sorting/3", "lists:sort/1"],
    "build": ["profiled:building/2", "profiled:rows/1"],
    "send": ["profiled:sending/2"],
}


def part_of(frames):
    """Which part of a round a stack is in; nothing: in none."""
    found = {part for part, functions in PARTS.items()
             if any(frame in functions or frame == f"profiled:{part}/1" for frame in frames)}
    # What lists:sort/1 calls does not always lead back to it.
    if not found and any(frame.startswith("lists:") for frame in frames):
        found = {"sort"}
    # Only one part receives; whoever called that has often gone on when it is read.
    if not found and "<i_loop_rec_shared>" in frames:
        found = {"send"}
    return found


def by_part(test, answer):
    """Each stack of an answer with the one part that it is in; None: with none."""
    for stack in answer["stacks"]:
        found = part_of(stack["frames"])
        test.assertLessEqual(len(found), 1, stack)
        yield next(iter(found), None), stack


def add_counts(counts, more):
    for kind, count in more.items():
        counts[kind] = counts.get(kind, 0) + count


def spent(test, node):
    """Nanoseconds of each part, by the clock of the worker itself."""
    words = node.ask("profiled spent").split()
    told = {part: int(spent) for part, spent in zip(words[::2], words[1::2])}
    test.assertEqual(set(told), set(PARTS))
    return told
