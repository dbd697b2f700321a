"""A term's text, as the VM or the analyzer prints it, in the one form of
testdata/crash_dumps/crash_dump_terms.erl: two such texts are equal when the terms are.

The VM's text is ambiguous in two cases. They are resolved so: a quote after a backslash is part of a
string; \\n in a list's string is a newline.
"""

import re

ATOM = r"(?:'(?:[^'\\]|\\.)*'|[^\W\d_A-Z]\w*)"
QUOTED = r'"((?:[^"\\]+|\\"|\\)*)"'
TOKENS = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in (
    ("octets", "<<" + QUOTED.replace("(", "(?P<in_octets>", 1) + ">>"),
    ("numbers", r"<<(?P<in_numbers>[0-9,]*)(?::(?P<bits>\d))?>>"),
    ("pid", r"<\d+\.\d+\.\d+>"),
    ("port", r"#Port<[\d.]+>"),
    ("reference", r"#Ref<(?P<channel>[\d?]+)(?P<reference_numbers>(?:\.\d+)+)>"),
    ("fun", r"#Fun<(?P<fun_module>.*?)\.(?P<fun_numbers>-?\d+\.-?\d+)>"),
    ("export", rf"fun (?P<module>{ATOM}):(?P<function>{ATOM})/(?P<arity>\d+)"),
    ("map", r"#\{"),
    ("node", r"#?<[0-9a-f]+>\{"),
    ("record", rf"#(?P<record_module>{ATOM}):(?P<record_name>{ATOM})\{{"),
    ("absent", r"#Absent<[^>]*>|#Bin<\d+ bytes>"),
    ("marked", r"#(?P<mark>\w+)<[^>]*>"),
    ("float", r"-?\d+\.\d+e[+-]\d+"),
    ("integer", r"-?\d+"),
    ("string", QUOTED.replace("(", "(?P<in_string>", 1)),
    ("atom", ATOM),
    ("open_list", r"\["), ("open_tuple", r"\{"), ("close", r"[\]}]"),
    ("separator", r"=>|[,|=]"))), re.DOTALL)

ABSENT = "%CDVIncompleteHeap"
ESCAPES = {"n": "\n", "f": "\f", "t": "\t", "r": "\r", "b": "\b", "v": "\v"}


class Unreadable(Exception):
    """The text is not a printed term."""


class _Open:
    """A list, tuple, map or record that is still open."""

    def __init__(self, kind, before=""):
        self.kind = kind
        self.before = before
        self.items = []
        self.has_tail = False


def canonical(text):
    opened = [_Open("text")]
    at = 0
    while at < len(text):
        token = TOKENS.match(text, at)
        if not token:
            raise Unreadable(f"at {at} of {len(text)}: {text[at:at + 60]!r}")
        at = token.end()
        kind = token.lastgroup
        # lastgroup is the last group that closed: the token itself, which closes after its parts.
        if kind == "separator":
            opened[-1].has_tail |= token[0] == "|"
        elif kind == "close":
            closed = opened.pop()
            if not opened:
                raise Unreadable(f"at {at}: nothing to close")
            _close(closed, opened[-1])
        elif kind in OPENING:
            opened.append(OPENING[kind](token))
        elif kind == "string" and opened[-1].kind == "node":
            numbers = _numbers(token["in_string"])
            opened[-1].items.append((numbers[0], _list(numbers[1:])))
        else:
            opened[-1].items.append(SIMPLE[kind](token))
    if len(opened) != 1 or len(opened[0].items) != 1:
        raise Unreadable(f"not one term: {text[:60]!r}")
    return opened[0].items[0]


OPENING = {
    "open_list": lambda token: _Open("list"),
    "open_tuple": lambda token: _Open("tuple"),
    "map": lambda token: _Open("map"),
    "node": lambda token: _Open("node", "#" if token[0][0] == "#" else ""),
    "record": lambda token: _Open(
        "record", f"#{_atom(token['record_module'])}:{_atom(token['record_name'])}"),
}

SIMPLE = {
    "octets": lambda token: f"<<{_octets(token['in_octets']).hex()}>>",
    "numbers": lambda token: _bits(token["in_numbers"], token["bits"]),
    "pid": lambda token: token[0],
    "port": lambda token: token[0],
    "reference": lambda token: "#Ref<{}{}>".format(
        "0" if token["channel"] == "0" else "*", token["reference_numbers"]),
    "fun": lambda token: f"#Fun<{_quoted(token['fun_module'])}.{token['fun_numbers']}>",
    "export": lambda token: "fun {}:{}/{}".format(
        _atom(token["module"]), _atom(token["function"]), token["arity"]),
    "absent": lambda token: ABSENT,
    "marked": lambda token: "%" + token["mark"],
    "float": lambda token: token[0],
    "integer": lambda token: token[0],
    "string": lambda token: _list(_numbers(token["in_string"])),
    "atom": lambda token: _atom(token[0]),
}


def _close(closed, outer):
    if closed.kind == "list" and outer.kind == "node":
        # A pair of a large map: its key and value are a cell.
        key, rest = closed.items[0], closed.items[1:]
        value = rest[0] if closed.has_tail and len(rest) == 1 else _list(rest, closed.has_tail)
        outer.items.append((key, value))
    elif closed.kind == "list":
        outer.items.append(_list(closed.items, closed.has_tail))
    elif closed.kind == "tuple":
        outer.items.append("{" + ",".join(closed.items) + "}")
    elif closed.kind == "map":
        outer.items.append(_map(zip(closed.items[::2], closed.items[1::2])))
    elif closed.kind == "node" and closed.before:
        outer.items.append(_map(closed.items))
    elif closed.kind == "node":
        outer.items += closed.items
    else:
        pairs = zip(closed.items[::2], closed.items[1::2])
        outer.items.append(closed.before + "{" + ",".join(f"{name}={value}"
                                                          for name, value in pairs) + "}")


def _map(pairs):
    return "#{" + ",".join(sorted((f"{key}=>{value}" for key, value in pairs),
                                  key=lambda pair: pair.encode())) + "}"


def _list(items, has_tail=False):
    if has_tail:
        return "[" + ",".join(items[:-1]) + "|" + items[-1] + "]"
    return "[" + ",".join(items) + "]"


def _numbers(text):
    return [str(ord(character)) for character in text.replace("\\n", "\n").replace('\\"', '"')]


def _octets(text):
    return text.replace('\\"', '"').encode("latin-1")


def _bits(numbers, bits):
    octets = [int(number) for number in numbers.split(",") if number]
    if not bits:
        return f"<<{bytes(octets).hex()}>>"
    octets[-1] <<= 8 - int(bits)
    return f"<<{bytes(octets).hex()}:{bits}>>"


def _atom(text):
    if text[0] != "'":
        return _quoted(text)
    return _quoted(re.sub(r"\\([0-7]{2,3}|.)", _unescaped, text[1:-1], flags=re.DOTALL))


def _unescaped(escape):
    what = escape[1]
    return chr(int(what, 8)) if what.isdigit() else ESCAPES.get(what, what)


def _quoted(name):
    return 'a"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
