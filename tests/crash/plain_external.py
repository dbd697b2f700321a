"""Reads terms in external format, independently of the analyzer."""

import struct


class Malformed(Exception):
    """No term stands there."""


def quoted(name):
    return 'a"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class External:
    """A term in external format, version magic passed."""

    def __init__(self, octets, node, prints_pid_of_alias):
        self._octets, self._node, self._at = octets, node, 0
        self._prints_pid_of_alias = prints_pid_of_alias

    def _take(self, form):
        values = struct.unpack_from(">" + form, self._octets, self._at)
        self._at += struct.calcsize(">" + form)
        return values if len(values) > 1 else values[0]

    def _bytes(self, count):
        self._at += count
        if self._at > len(self._octets):
            raise Malformed("external format breaks off")
        return self._octets[self._at - count:self._at]

    def _channel(self):
        return "0" if self._atom() == self._node else "*"

    def _atom(self):
        tag = self._take("B")
        if tag in (100, 118):
            return self._name(self._bytes(self._take("H")), tag == 100)
        if tag in (115, 119):
            return self._name(self._bytes(self._take("B")), tag == 115)
        raise Malformed(f"tag {tag} for an atom")

    @staticmethod
    def _name(octets, latin1):
        return octets.decode("latin-1" if latin1 else "utf-8")

    def _terms(self, count):
        return [self.term() for _ in range(count)]

    def term(self):
        tag = self._octets[self._at]
        if tag in (100, 115, 118, 119):
            return quoted(self._atom())
        self._at += 1
        if tag == 97:
            return str(self._take("B"))
        if tag == 98:
            return str(self._take("i"))
        if tag in (110, 111):
            size = self._take("B" if tag == 110 else "I")
            sign = self._take("B")
            value = int.from_bytes(self._bytes(size), "little")
            return str(-value if sign else value)
        if tag == 70:
            return f"{self._take('d'):.6e}"
        if tag == 99:
            return f"{float(self._bytes(31).rstrip(bytes(1))):.6e}"
        if tag == 106:
            return "[]"
        if tag == 107:
            return "[" + ",".join(map(str, self._bytes(self._take("H")))) + "]"
        if tag == 108:
            items = self._terms(self._take("I"))
            tail = self.term()
            return "[" + ",".join(items) + ("" if tail == "[]" else "|" + tail) + "]"
        if tag in (104, 105):
            return "{" + ",".join(self._terms(self._take("B" if tag == 104 else "I"))) + "}"
        if tag == 109:
            return f"<<{self._bytes(self._take('I')).hex()}>>"
        if tag == 77:
            size, bits = self._take("IB")
            return f"<<{self._bytes(size).hex()}:{bits}>>"
        if tag == 116:
            pairs = [(self.term(), self.term()) for _ in range(self._take("I"))]
            return "#{" + ",".join(sorted((f"{key}=>{value}" for key, value in pairs),
                                          key=lambda pair: pair.encode())) + "}"
        if tag in (103, 88):
            channel = self._channel()
            number, serial = self._take("II")
            self._take("B" if tag == 103 else "I")
            return f"<{channel}.{number}.{serial}>"
        if tag in (102, 89, 120):
            channel = self._channel()
            number = self._take("Q" if tag == 120 else "I")
            self._take("B" if tag == 102 else "I")
            return f"#Port<{channel}.{number}>"
        if tag in (114, 90):
            count = self._take("H")
            channel = self._channel()
            self._take("B" if tag == 114 else "I")
            numbers = [self._take("I") for _ in range(count)]
            if count == 5 and not self._prints_pid_of_alias:
                numbers = numbers[:3]
            return f"#Ref<{channel}." + ".".join(map(str, reversed(numbers))) + ">"
        if tag == 113:
            module, function = self._atom(), self._atom()
            return f"fun {quoted(module)}:{quoted(function)}/{self.term()}"
        if tag == 112:
            _, _, _, _, free = self._take("IB16sII")
            module = self._atom()
            index, uniq = int(self.term()), int(self.term())
            self._terms(1 + free)
            return f"#Fun<{quoted(module)}.{index}.{uniq}>"
        if tag == 117:
            free = self._take("I")
            self.term()
            module = self._atom()
            index, uniq = int(self.term()), int(self.term())
            self._terms(free)
            return f"#Fun<{quoted(module)}.{index}.{uniq}>"
        raise Malformed(f"tag {tag}")
