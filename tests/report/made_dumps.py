"""Crash dumps for reports: one with texts that would be harmful in a page, one of many processes, one of
processes with labels that wait for each other."""

import base64
import random
import struct

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


NODE = "nonode@nohost"
CALLERS = 30


def reference(number):
    """As a crash dump has it on a heap: in the external term format (NEWER_REFERENCE_EXT)."""
    name = NODE.encode()
    term = struct.pack(">BBHBH", 131, 90, 3, 100, len(name)) + name + struct.pack(
        ">IIII", 0, number, 2, 1)
    return f"E{len(term):X}:{base64.b64encode(term).decode()}"


def caller(number, target, facts, label):
    """A process in gen_server:call/3 (as OTP 25 prints it), and its label."""
    heap = 0x7F8BC9A00000 + number * 0x1000
    text = process(number, {
        "Spawned as": "erlang:apply/2", "Message queue length": 0,
        "Link list": f"[{{to,<0.{target}.0>,#Ref<0.1.2.{number}>}}]", "Reductions": 11,
        "Memory": 2792, **facts,
        "Program counter": "0x00007f8bc7dfabf8 (gen:do_call/4 + 776)"})
    terms = [f"{heap:X}:{reference(number)}"]
    if label:
        text += f"=proc_dictionary:<0.{number}.0>\nH{heap + 0x20:X}\n"
        terms += [f"{heap + 0x20:X}:t2:AE:$process_label,H{heap + 0x38:X}",
                  f"{heap + 0x38:X}:t2:A{len(label[0]):X}:{label[0]},I{label[1]}"]
    return (f"{text}=proc_stack:<0.{number}.0>\ny0:H{heap:X}\n"
            f"0x{heap + 0x500:016x}:SReturn addr 0xC7E0E4EC (gen_server:call/3 + 140)\n"
            f"0x{heap + 0x528:016x}:SReturn addr 0xC7C00C30 (<terminate process normally>)\n"
            f"=proc_heap:<0.{number}.0>\n" + "".join(f"{term}\n" for term in terms))


def waiting(callers):
    """Two servers that wait for each other, and workers with labels that wait for one of them."""
    text = HEAD.format(slogan="waits") + f"=node:'{NODE}'\n"
    text += caller(10, 11, {"Name": "one"}, None) + caller(11, 10, {"Name": "other"}, None)
    for number in range(callers):
        text += caller(20 + number, 10, {}, ("worker", number))
    return text + "=end\n"
