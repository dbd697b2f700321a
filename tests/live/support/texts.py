"""Compares backtraces and terms of a dump with the VM's own text, byte for byte."""

import codecs
import re

from support import tools
from support.canonical import canonical

SHOWN_AROUND = 60  # bytes before and after the first difference

# The VM of OTP 25 prints the inner nodes of large maps, the analyzer prints pairs.
OF_MAP = re.compile("#(<[0-9a-f]+>)?{")


class Texts:
    """For comparison.compare(): compares and counts the texts that the oracle gave."""

    def __init__(self, dump, cookie=None):
        """cookie: the node's cookie. A dump has four asterisks in its place, and a word for the atom."""
        self._dump = dump
        self._cookie = cookie and cookie.encode()
        self.backtraces = 0
        self.terms = 0
        self.sizes = 0
        self.bytes = 0

    def __call__(self, pid, asked):
        if "backtrace" in asked:
            yield from self._backtrace(pid, asked["backtrace"])
        if "terms" in asked:
            yield from self._terms(pid, asked["terms"])
            yield from self._sizes(pid, asked)

    def print(self, what):
        print(f"{what}: {self.backtraces} backtraces and {self.terms} terms compared, "
              f"{self.bytes} bytes, and {self.sizes} flat sizes", flush=True)

    def _backtrace(self, pid, theirs):
        theirs = self._without_cookie(theirs)
        ended = tools.ask_bytes("backtrace", self._dump, pid, "--term-limit", "classic")
        self.backtraces += 1
        self.bytes += len(theirs)
        if ended.output != theirs:
            yield (f"backtrace, exit status {ended.status}, "
                   f"{_first_difference(ended.output, theirs)}")

    def _terms(self, pid, theirs):
        answer = tools.analyze_json("process", self._dump, pid, "--syntax", "erlang", "--limit", "0",
                                    "--term-bytes", "0")
        ours = {"dictionary": [], "messages": []}
        if not answer["withheld"]:
            ours["dictionary"] = [(entry["key"]["text"], entry["value"]["text"])
                                  for entry in answer["dictionary"]["items"]]
            ours["messages"] = [message["term"]["text"] for message in answer["messages"]["items"]]
        told = {part: [self._decoded(text) for text in texts] for part, texts in theirs.items()}
        told["dictionary"] = list(zip(told["dictionary"][::2], told["dictionary"][1::2]))
        # A dictionary has no order.
        for part in ours, told:
            part["dictionary"] = [
                text for entry in sorted(part["dictionary"], key=lambda entry: tuple(
                    map(_of_any_map, entry)))
                for text in entry]
        for part in ours:
            yield from self._texts(part, ours[part], told[part])

    def _sizes(self, pid, asked):
        """Flat sizes of the dictionary's values and of the messages, in words."""
        theirs = asked["flat_words"]
        if not theirs["dictionary"] and not theirs["message"]:
            return
        answer = tools.analyze_json("heap", self._dump, pid, "--limit", "0", "--term-bytes", "0",
                                    "--syntax", "erlang",
                                    "--sensitive")
        roots = answer["roots"]
        keys = [_of_any_map(self._decoded(text)) for text in asked["terms"]["dictionary"][::2]]
        told = {"dictionary": dict(zip(keys, theirs["dictionary"])),
                "message": dict(enumerate(theirs["message"]))}
        ours = {"dictionary": {_of_any_map(root["key"]["text"]): root["flat_words"]
                               for root in roots["dictionary"]["items"]},
                "message": dict(enumerate(root["flat_words"]
                                          for root in roots["message"]["items"]))}
        if undecoded := answer["undecoded_messages"]:
            # They have no words until the process looks at them.
            here = len(ours["message"])
            if here + undecoded != len(told["message"]):
                yield f"{here} messages and {undecoded} undecoded, {len(told['message'])} in the node"
            del told["message"]
        for what, sizes in told.items():
            self.sizes += len(sizes)
            if ours[what] != sizes:
                yield f"flat sizes, {what}: {ours[what]} in the dump, {sizes} in the node"

    def _texts(self, what, ours, theirs):
        self.terms += len(theirs)
        self.bytes += sum(map(len, theirs))
        if len(ours) != len(theirs):
            yield f"{what}: {len(ours)} texts in the dump, {len(theirs)} in the node"
        for number, (one, other) in enumerate(zip(ours, theirs)):
            if one != other and _of_any_map(one) != _of_any_map(other):
                yield f"{what}, text {number}: {_first_difference(one, other)}"

    def _without_cookie(self, text):
        if not self._cookie:
            return text
        quoted = b'"' + self._cookie + b'"'
        return text.replace(quoted, b'"****"') \
                   .replace(self._cookie, b"'<cookie>'")

    def _decoded(self, text):
        """As in the analyzer's JSON: bytes that are not UTF-8 are Latin-1."""
        return self._without_cookie(text).decode(errors="latin1_bytes")


def _of_any_map(text):
    """A text with maps, however they are printed; any other text as it is."""
    return canonical(text) if OF_MAP.search(text) else text


def _latin1_byte(error):
    return error.object[error.start:error.start + 1].decode("latin1"), error.start + 1


codecs.register_error("latin1_bytes", _latin1_byte)


def _first_difference(ours, theirs):
    shared = min(len(ours), len(theirs))
    at = next((i for i in range(shared) if ours[i] != theirs[i]), shared)
    begin, end = max(0, at - SHOWN_AROUND), at + SHOWN_AROUND
    return (f"at {at} of {len(theirs)} it has {ours[begin:end]!r} in the dump, "
            f"{theirs[begin:end]!r} in the node")
