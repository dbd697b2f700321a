"""Compares a dump's carriers with those that the node tells of (instrument:carriers/1)."""

import collections
from typing import NamedTuple

from support import tools
from support.release import RELEASE

MOST_LEFT_OUT = 0.05
# They have the heap, the messages, the socket and the packet of a question, at both times the same.
QUESTIONS_ALLOCATORS = ("eheap_alloc", "driver_alloc", "binary_alloc")
LEAST_ALLOCATORS = 3
LEAST_FREE_BLOCKS = 100
# About, of blocks that are far apart; and how much one takes.
MOST_COPIED_IN_A_STOP = 2 << 20
A_BLOCK = 1 << 10
# Before the first of several blocks.
LEAST_CARRIER_BYTES = 300
MOST_CARRIER_BYTES = 1024


class Carrier(NamedTuple):
    """What tells carriers apart; of one block without its bytes, as the node tells the carrier's."""
    allocator: str
    pooled: bool
    bytes: int
    blocks: int
    block_bytes: int | None
    free_blocks: int | None
    largest_from: int | None  # the size class of the largest free block


class Told(NamedTuple):
    carriers: collections.Counter  # of Carrier
    sizes: dict  # of each allocator all of whose blocks were looked at: {from_bytes: count}


def ask(node, scratch):
    """The node's carriers, now."""
    path = scratch / "carriers"
    node.ask(f"facts {path} carriers")
    carriers, sizes, not_looked_at = collections.Counter(), {}, set()
    for line in path.read_text().splitlines():
        name, pooled, size, unscanned, blocks, block_bytes, free = line.split("\t")
        classes = {16 << place: int(count) for place, count in enumerate(free.split(",")) if count != "0"}
        sizes.setdefault(name, collections.Counter()).update(classes)
        if unscanned != "0":
            not_looked_at.add(name)
        one_block = blocks == "1" and block_bytes == size
        carriers[Carrier(
            name, pooled == "true", int(size), int(blocks), None if one_block else int(block_bytes),
            None if one_block or unscanned != "0" else sum(classes.values()),
            max(classes) if classes and unscanned == "0" else None)] += 1
    return Told(carriers, {name: dict(counts) for name, counts in sizes.items()
                           if name not in not_looked_at})


def _captured(line):
    one_block, largest = line["single_block"], line.get("largest_free_bytes")
    return Carrier(line["allocator"], line["pooled"], line["bytes"], line["blocks"],
                   None if one_block else line["block_bytes"],
                   None if one_block else line.get("free_blocks"),
                   1 << (largest.bit_length() - 1) if largest and not one_block else None)


def _without_free_blocks(carrier):
    return carrier._replace(free_blocks=None, largest_from=None)


def compare(test, dump, before, after, all_read=True):
    """Compares `allocators --carriers` with the carriers that the node told of before and after the capture,
    those that are the same at both times; and free blocks by size of allocators that are. all_read: but for
    carriers that changed meanwhile, the dump has the free blocks of all."""
    answer = tools.analyze_json("allocators", dump, "--carriers", "--limit", "0")
    lines = answer["carrier_list"]
    found = collections.Counter(map(_captured, lines))
    still = before.carriers & after.carriers
    compared = still & found
    # Without free blocks: to the node, those of more than 16,000 blocks; to the dump, those that it did not read.
    partly = collections.Counter(map(_without_free_blocks, (found - compared).elements()))
    compared_partly, other = 0, []
    for carrier in (still - compared).elements():
        half_known = _without_free_blocks(carrier)
        if partly[half_known] > 0 and (carrier == half_known or half_known in found):
            partly[half_known] -= 1
            compared_partly += 1
        elif carrier.allocator not in QUESTIONS_ALLOCATORS:
            other.append(carrier)
    test.assertEqual(other, [])
    left_out = after.carriers.total() - compared.total() - compared_partly
    print(f"OTP {RELEASE}: {compared.total()} carriers are the same, {compared_partly} but for free blocks "
          f"that are not known, {left_out} left out: the node or the question changed them", flush=True)
    test.assertLessEqual(left_out, MOST_LEFT_OUT * after.carriers.total())
    if all_read:
        test.assertLessEqual(compared_partly, MOST_LEFT_OUT * after.carriers.total())
        _compare_sizes(test, dump, lines, before, after)
    _check_sums(test, answer, all_read)


def _of(allocator, carriers):
    return collections.Counter({carrier: count for carrier, count in carriers.items()
                                if carrier.allocator == allocator})


def _compare_sizes(test, dump, lines, before, after):
    unread = {line["allocator"] for line in lines
              if not line["single_block"] and "free_blocks" not in line}
    still = [name for name, sizes in after.sizes.items()
             if before.sizes.get(name) == sizes and name not in {*unread, *QUESTIONS_ALLOCATORS}
             and _of(name, before.carriers) == _of(name, after.carriers)]
    count = 0
    for name in still:
        free = tools.analyze_json("allocators", dump, "--filter", name)["free_blocks"]
        test.assertEqual({size["from_bytes"]: size["count"] for size in free["sizes"]},
                         after.sizes[name], name)
        count += free["count"]
    print(f"OTP {RELEASE}: {count} free blocks by size are the same, of {', '.join(sorted(still))}",
          flush=True)
    test.assertGreaterEqual(len(still), LEAST_ALLOCATORS)


def _check_sums(test, answer, all_read):
    """Checks that the sums are those of the carriers, and that what is neither used nor free is the carriers'
    own beginning (Carrier_t and what the strategy needs)."""
    of_blocks = [line for line in answer["carrier_list"] if not line["single_block"]]
    read = [line for line in of_blocks if "free_blocks" in line]
    free = answer["free_blocks"]
    test.assertEqual(free["carriers"], len(of_blocks))
    test.assertEqual(free["read_carriers"], len(read))
    failed = free["changed_carriers"] + free["unreadable_carriers"]
    if all_read:
        test.assertEqual(len(of_blocks) - len(read), failed)
        test.assertGreater(free["count"], LEAST_FREE_BLOCKS)
    else:
        test.assertLess(len(read), len(of_blocks) - failed)
        copied = sum(min(line["bytes"], (line["blocks"] + 1) * A_BLOCK) for line in read)
        test.assertLessEqual(copied, MOST_COPIED_IN_A_STOP)
    test.assertGreater(free["count"], 0)
    test.assertEqual(free["count"], sum(line["free_blocks"] for line in read))
    test.assertEqual(free["largest_bytes"], max(line["largest_free_bytes"] for line in read))
    own = sum(line["free_bytes"] for line in read) - free["bytes"]
    test.assertGreater(own, len(read) * LEAST_CARRIER_BYTES)
    test.assertLess(own, len(read) * MOST_CARRIER_BYTES)
