"""Answers of commands: dicts that notebooks show."""

import html
import json

SHOWN_LINES = 200
SHOWN_BYTES = 4000


class Answer(dict):
    """What a command answers as JSON. `messages` says what is missing from it."""

    def __init__(self, answer, messages=()):
        super().__init__(answer)
        self.messages = list(messages)

    def _repr_html_(self):
        text = json.dumps(self, indent=1, ensure_ascii=False)
        return self._with_messages(f"<pre>{html.escape(text[:SHOWN_BYTES])}"
                                   f"{'...' if len(text) > SHOWN_BYTES else ''}</pre>")

    def _with_messages(self, shown):
        return shown + "".join(f"<p>{html.escape(message)}</p>" for message in self.messages)


class Memory(Answer):
    """The node's memory: a bar for each category, the largest first."""

    def _repr_html_(self):
        kinds = self.get("categories") or {}
        most = max(kinds.values(), default=0) or 1
        rows = "".join(
            f'<tr><td style="text-align: left">{html.escape(name)}</td><td style="text-align: right">'
            f'{size_text(size)}</td><td style="text-align: left"><div style="width: {300 * size // most}px; '
            f'height: 1em; background: #58a"></div></td></tr>'
            for name, size in sorted(kinds.items(), key=lambda kind: -kind[1]))
        resident = self.get("resident_bytes")
        caption = "" if resident is None else f"<caption>{size_text(resident)} resident</caption>"
        return self._with_messages(f"<table>{caption}<tbody>{rows}</tbody></table>")


class Tree(Answer):
    """Who started whom: a list in a list for each level."""

    def _repr_html_(self):
        shown, depth = "", -1
        lines = self.get("lines", [])
        for line in lines[:SHOWN_LINES]:
            while depth < line["depth"]:
                shown, depth = shown + "<ul>", depth + 1
            while depth > line["depth"]:
                shown, depth = shown + "</ul>", depth - 1
            shown += f"<li>{html.escape(_tree_line(line))}</li>"
        shown += "</ul>" * (depth + 1)
        if len(lines) > SHOWN_LINES:
            shown += f"<p>{len(lines) - SHOWN_LINES} more of {len(lines)} lines</p>"
        return self._with_messages(shown)


def _tree_line(line):
    process = line.get("process", {})
    name = process.get("registered_name") or process.get("initial_call") or line.get("name", "")
    below = line.get("subtree_processes")
    return " ".join(part for part in (
        process.get("pid", ""), name,
        size_text(line["subtree_memory"]) if "subtree_memory" in line else "",
        f"({below:,} processes)" if below and below > 1 else "") if part)


def size_text(size):
    """A size as the program writes it: 4.9 KiB."""
    if size < 1024:
        return f"{size} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024:
            break
    return f"{size:,.1f} {unit}"
