"""Crash dumps for reports: one with texts that would be harmful in a page, one of many processes."""

import random

# What ends an element, runs a script, names an entity, or turns the direction of a text.
HARMFUL = ("</script><img src=x onerror=pwned()>", "<script>pwned()</script>", "<!--<script>",
           "\"'><svg onload=pwned()>", "]]>&lt;b&gt;", "\u2028\u202Ereversed\u2029", "{{data}}",
           "javascript:pwned()", "</style><style>*{display:none}")

HEAD = """=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: {slogan}
System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:2] [ds:2:2:10]
Atoms: 12
=memory
total: 1000000000
processes: 700000000
system: 300000000
atom: 1000000
binary: 100000000
code: 20000000
ets: 90000000
"""


def process(number, lines):
    return f"=proc:<0.{number}.0>\nState: Waiting\n" + "".join(
        f"{name}: {value}\n" for name, value in lines.items())


def atom(text):
    """As Erlang prints it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def heap_atom(text):
    return f"A{len(text.encode()):X}:{text}"


def harmful():
    """Each text as: slogan, node, names, functions, messages, ETS tables."""
    text = HEAD.format(slogan=HARMFUL[0]) + f"=node:{atom(HARMFUL[0] + '@host')}\n"
    for at, word in enumerate(HARMFUL):
        text += process(10 + at, {
            "Name": atom(word), "Spawned as": f"{atom(word)}:{atom(word)}/1",
            "Current call": f"m:{atom(word)}/0", "Message queue length": 1, "Reductions": 1000 + at,
            "Memory": 100000 - at})
        text += (f"=ets:<0.{10 + at}.0>\nSlot: {at}\nTable: {atom(word)}\nName: {atom(word)}\n"
                 "Objects: 3\nWords: 400\nType: set\nProtection: public\n")
        text += f"=proc_messages:<0.{10 + at}.0>\n{heap_atom(word)}:N\n"
        text += (f"=proc_stack:<0.{10 + at}.0>\n0x00007f9c4d31c708:SReturn addr "
                 f"0x{0x97C02000 + 64 * at:X} (m:{atom(word)}/2 + 8)\n0x00007f9c4d31c718:SReturn addr 0x97C011F8 "
                 f"(<terminate process normally>)\n=proc_heap:<0.{10 + at}.0>\n")
    return text + "=end\n"


def crowd(count):
    """Numbers that hardly repeat, as a page cannot pack them well."""
    numbers = random.Random(1)
    pieces = [HEAD.format(slogan="many")]
    for at in range(count):
        facts = {"Spawned as": f"worker_{at % 300}:init/1", "Current call": f"gen_{at % 50}:loop/7",
                 "Spawned by": f"<0.{10 + at // 20 if at else 9}.0>",
                 "Message queue length": numbers.randrange(3) if at % 10 == 0 else 0,
                 "Reductions": numbers.randrange(10 ** 7), "Memory": numbers.randrange(2000, 10 ** 6)}
        if at % 4 == 0:
            facts["Name"] = f"name_{at}"
        pieces.append(process(10 + at, facts))
    for at in range(count):
        pieces.append(
            f"=proc_stack:<0.{10 + at}.0>\n"
            f"0x00007f9c4d31c708:SReturn addr 0x{0x97C00000 + 64 * (at % 300):X} (worker_{at % 300}:loop/2 + 8)\n"
            f"0x00007f9c4d31c718:SReturn addr 0x{0x97D00000 + 64 * (at % 40):X} (gen_{at % 40}:run/2 + 8)\n"
            "0x00007f9c4d31c728:SReturn addr 0x97C011F8 (<terminate process normally>)\n"
            f"=proc_heap:<0.{10 + at}.0>\n")
    pieces.append("=end\n")
    return "".join(pieces)
