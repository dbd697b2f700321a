"""Terms of processes: Python objects that ask for their parts when these are wanted."""

import collections.abc
import html
import re

from ._program import Error

# What a text of a term has at most, of the functions and tables of `sql`.
TEXT_BYTES = 4096
SHOWN_PARTS = 20
SHOWN_LEVELS = 3
DIGITS = 4000

PLAIN_ATOM = re.compile(r"[a-z][A-Za-z0-9_@]*\Z")
INTEGER = re.compile(r"-?[0-9]+\Z")
PARTIAL = re.compile(r"#Bin<([0-9]+) bytes(?:, first ([0-9]+): )?")
# Escapes that the VM writes in atoms (erl_printf_term.c, print_atom_name).
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f", "0": "\0"}


class Atom(str):
    """An atom: its name, which equals a str of that name."""

    __slots__ = ()

    @property
    def text(self):
        """As Erlang writes it, with quotes where it needs them."""
        if PLAIN_ATOM.match(self):
            return str(self)
        escaped = self.replace("\\", "\\\\").replace("'", "\\'")
        for letter, character in ESCAPES.items():
            escaped = escaped.replace(character, "\\" + letter)
        return f"'{escaped}'"

    def __repr__(self):
        return f"Atom({str(self)!r})"


class _Name(str):
    """What has no parts, as Erlang writes it."""

    __slots__ = ()

    def __repr__(self):
        return f"{type(self).__name__}({str(self)!r})"


class Pid(_Name):
    """A pid."""


class Port(_Name):
    """A port."""


class Reference(_Name):
    """A reference."""


class Term:
    """A term at a path of a process. `kind` says what it is, `text` how Erlang writes it, up to 4,096 bytes."""

    def __init__(self, dump, process, path, kind, count, text):
        self.dump, self.process, self.path = dump, process, path
        self.kind, self.text = kind, text
        self._count = count

    def whole_text(self):
        """All of the text, however long."""
        return self.text if is_whole(self.text) else self.dump._whole_text(self.process, self.path)

    @property
    def words(self):
        """As erts_debug:size/1; None where the dump lacks a part. This walks the whole term."""
        return self.dump._size("term_words", self.process, self.path)

    @property
    def flat_words(self):
        """As erts_debug:flat_size/1; None where the dump lacks a part."""
        return self.dump._size("term_flat_words", self.process, self.path)

    @property
    def binary_bytes(self):
        """Bytes of the reference-counted binaries that it keeps; None where the dump lacks one."""
        return self.dump._size("term_binary_bytes", self.process, self.path)

    def parts(self):
        """(step, part) for each part, in their order, as they are read."""
        for row in self.dump._parts(self.process, self.path):
            yield row["step"], self._wrap(row)

    def at(self, path):
        """The part that a path from here names: "element 2 -> key users"."""
        return self._part(path)

    def _part(self, step):
        return self.dump.term(self.process, f"{self.path} -> {step}")

    def _wrap(self, row):
        return wrap(self.dump, self.process, f"{self.path} -> {row['step']}", row["kind"], row.get("count"),
                    row.get("term", ""))

    def __repr__(self):
        return f"<{type(self).__name__} {_short(self.text)}>"

    def _repr_html_(self):
        return _html(self, SHOWN_LEVELS)


class _Counted(Term):
    def __len__(self):
        if self._count is None:
            raise Error(f"the dump does not have all parts of {self.path}")
        return self._count

    def __bool__(self):
        return True


class _Sequence(_Counted, collections.abc.Sequence):
    step = ""

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = place + len(self) if place < 0 else place
        if not 0 <= at < len(self):
            raise IndexError(f"{self.path} has {len(self)} parts")
        return self._part(f"{self.step} {at + 1}")

    def __iter__(self):
        return (part for step, part in self.parts() if step.startswith(self.step + " "))


class Tuple(_Sequence):
    """A tuple: elements count from 0, as in Python."""

    step = "element"


class List(_Sequence):
    """A list: items count from 0. The tail of an improper one is at("tail"), and is no item."""

    step = "item"
    _has_tail = None

    def __len__(self):
        parts = super().__len__()
        if self._has_tail is None:
            # The program counts a tail as a part.
            self._has_tail = parts > 0 and self.dump._kind(self.process, f"{self.path} -> tail") is not None
        return parts - self._has_tail

    def __getitem__(self, place):
        # All parts but the last are items: len() would be another question.
        if isinstance(place, int) and 0 <= place < (self._count or 0) - 1:
            return self._part(f"item {place + 1}")
        return super().__getitem__(place)


class Map(_Counted, collections.abc.Mapping):
    """A map. A key is an int, an Atom, bytes, or a str as Erlang writes the key: "users", "{1,2}"."""

    def __getitem__(self, key):
        try:
            return self._part(f"key {key_text(key)}")
        except Error as error:
            raise KeyError(str(error)) from error

    def __iter__(self):
        return (key for key, _ in self.items())

    def items(self):
        """(key, value), as they are read: keys that are no atom, number or whole binary are their texts."""
        for step, part in self.parts():
            if step.startswith("key "):
                yield _key(step.removeprefix("key ")), part

    def keys(self):
        return [key for key, _ in self.items()]

    def values(self):
        return [value for _, value in self.items()]

    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    __hash__ = None


class Fun(_Sequence):
    """A fun: the terms of its environment count from 0. On OTP 25 the process that made it is at("creator")."""

    step = "environment"
    _length = None

    def __len__(self):
        if self._length is None:
            # Its parts are these, and who made it.
            self._length = sum(step.startswith(self.step + " ") for step, _ in self.parts()) if self._count else 0
        return self._length


class Binary(Term):
    """A binary. `size` is its bytes; a dump may have the first ones only."""

    @property
    def size(self):
        partial = PARTIAL.match(self.text)
        return int(partial[1]) if partial else len(self.bytes())

    @property
    def is_whole(self):
        """Whether the dump has all of its bytes."""
        return PARTIAL.match(self.text) is None

    def bytes(self):
        """All bytes. Error: the dump does not have them all."""
        if not self.is_whole:
            raise Error(f"the dump has not all bytes of the binary at {self.path}: {_short(self.text)}")
        return binary_bytes(self.whole_text())

    def known_bytes(self):
        """The first bytes, as many as the dump has."""
        text = self.whole_text()
        partial = PARTIAL.match(text)
        if not partial:
            return binary_bytes(text)
        return binary_bytes(text[partial.end():].removesuffix(">")) if partial[2] else b""

    def __bytes__(self):
        return self.bytes()

    def __eq__(self, other):
        if isinstance(other, (bytes, bytearray)):
            return self.is_whole and self.bytes() == other
        return self is other

    __hash__ = Term.__hash__


class Process:
    """A process of a dump, and the roots of its terms."""

    def __init__(self, dump, name):
        self.dump, self.name = dump, name

    @property
    def facts(self):
        """The columns of the table `processes`, as a dict."""
        return self.dump._facts(self.name)

    def roots(self):
        """(root, term) for each: "y(0) of frame 1", "dictionary KEY", "message 3"..."""
        for row in self.dump._roots(self.name):
            yield row["step"], wrap(self.dump, self.name, row["step"], row["kind"], row.get("count"),
                                    row.get("term", ""))

    def term(self, path):
        """The term that a path names: "state", "message 1", "dictionary KEY", "y(0) of frame 2"."""
        return self.dump.term(self.name, path)

    @property
    def state(self):
        """The state of a gen_server that waits in its loop."""
        return self.term("state")

    @property
    def dictionary(self):
        """Its entries, a Table."""
        return self.dump.table("dictionary", self.name)

    @property
    def messages(self):
        """Its messages, a Table."""
        return self.dump.table("messages", self.name)

    @property
    def stack(self):
        """Its frames, a Table, the innermost first."""
        return self.dump.table("stack", self.name)

    def __repr__(self):
        return f"<Process {self.name}>"

    def _repr_html_(self):
        return "<ul>" + "".join(f"<li><b>{html.escape(root)}</b> {_html(term, 1)}</li>"
                                for root, term in _first(self.roots())) + "</ul>"


def wrap(dump, process, path, kind, count, text):
    """The Python object of a term: int, float, Atom, Pid, Port, Reference, or one that asks for its parts."""
    if kind == "integer":
        return integer(text if is_whole(text) else dump._whole_text(process, path))
    if kind == "float":
        return float(text)
    if kind == "atom":
        return atom(text)
    if kind in NAMES:
        return NAMES[kind](text)
    return TERMS.get(kind, Term)(dump, process, path, kind, count, text)


NAMES = {"pid": Pid, "port": Port, "reference": Reference}
TERMS = {"tuple": Tuple, "list": List, "map": Map, "fun": Fun, "binary": Binary}


def is_whole(text):
    """Whether a text of a term surely is all of it."""
    return len(text.encode()) < TEXT_BYTES - 4


def integer(text):
    """Python refuses to read very long ones at once."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if not (digits.isascii() and digits.isdigit()):
        raise Error(f"not an integer: {_short(text)}")
    value = 0
    for at in range(0, len(digits), DIGITS):
        piece = digits[at:at + DIGITS]
        value = value * 10 ** len(piece) + int(piece)
    return sign * value


def atom(text):
    """The name of an atom as Erlang writes it."""
    if not (text.startswith("'") and text.endswith("'") and len(text) > 1):
        return Atom(text)
    return Atom(re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), text[1:-1], flags=re.S))


def binary_bytes(text):
    """The bytes of <<"text">> or <<1,2,3>>."""
    if not (text.startswith("<<") and text.endswith(">>")):
        raise Error(f"not a binary: {_short(text)}")
    inside = text[2:-2]
    if inside.startswith('"'):
        return re.sub(r"\\(.)", r"\1", inside[1:-1]).encode()
    if ":" in inside:
        raise Error(f"a bit string is no bytes: {_short(text)}")
    return bytes(int(byte) for byte in inside.split(",")) if inside else b""


def key_text(key):
    """A key as Erlang writes it."""
    if isinstance(key, bytes):
        plain = key and all(32 <= byte < 127 for byte in key)
        inside = ('"' + key.decode().replace("\\", "\\\\").replace('"', '\\"') + '"' if plain
                  else ",".join(map(str, key)))
        return f"<<{inside}>>"
    if isinstance(key, bool) or not isinstance(key, (int, str, Term)):
        raise KeyError(f"a key is an int, an Atom, bytes, or a str as Erlang writes it, not {key!r}")
    return key.text if isinstance(key, (Atom, Term)) else str(key)


def _key(text):
    if INTEGER.match(text):
        return integer(text)
    if PLAIN_ATOM.match(text) or (text.startswith("'") and text.endswith("'")):
        return atom(text)
    if text.startswith("<<") and text.endswith(">>") and ":" not in text.split('"')[0]:
        return binary_bytes(text)
    return text


def _short(text):
    text = text.translate({code: f"\\x{code:02x}" for code in (*range(32), 127)})
    return text if len(text) <= 80 else text[:77] + "..."


def _first(parts):
    """The first parts; the others are not read."""
    for _, part in zip(range(SHOWN_PARTS), parts):
        yield part
    if hasattr(parts, "close"):
        parts.close()


def _html(term, levels):
    if isinstance(term, int) and term.bit_length() > DIGITS:
        return f"integer of {term.bit_length():,} bits"
    if not isinstance(term, Term):
        return f"<code>{html.escape(_short(repr(term)))}</code>"
    line = f"<code>{html.escape(_short(term.text))}</code>"
    if not isinstance(term, _Counted) or not term._count or levels == 0:
        return line
    inside = "".join(f"<li>{html.escape(step)}: {_html(part, levels - 1)}</li>"
                     for step, part in _first(term.parts()))
    left = term._count - SHOWN_PARTS
    return (f"<details><summary>{html.escape(term.kind)} of {term._count}: {line}</summary><ul>{inside}"
            f"{f'<li>{left} more</li>' if left > 0 else ''}</ul></details>")
