"""Rows of an answer."""

import collections.abc
import html

# Shown of a table by itself; all of it is there.
SHOWN_ROWS = 20
SHOWN_BYTES = 80


class Table(collections.abc.Sequence):
    """Rows in memory: dicts with all columns, None where the dump does not tell. `messages` says what is missing."""

    def __init__(self, columns, rows, messages=()):
        self.columns = list(columns)
        self.messages = list(messages)
        self._rows = [{name: row.get(name) for name in self.columns} for row in rows]

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return Table(self.columns, self._rows[place], self.messages)
        if isinstance(place, str):
            return self.column(place)
        return self._rows[place]

    def column(self, name):
        """The values of one column."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name}: there are {', '.join(self.columns)}")
        return [row[name] for row in self._rows]

    def to_pandas(self):
        """A pandas.DataFrame. Columns of numbers have the types Int64 and Float64, which keep what is absent."""
        import pandas

        return pandas.DataFrame({name: pandas.array(values, dtype=_pandas_type(values))
                                 for name, values in self._columns()})

    def to_arrow(self):
        """A pyarrow.Table. A column with values of several types is of texts."""
        import pyarrow

        return pyarrow.table({name: pyarrow.array(_of_one_type(values)) for name, values in self._columns()})

    def _columns(self):
        return ((name, [row[name] for row in self._rows]) for name in self.columns)

    def __repr__(self):
        shown = [[_cell(row[name]) for name in self.columns] for row in self._rows[:SHOWN_ROWS]]
        widths = [max(map(len, [name, *(row[at] for row in shown)])) for at, name in enumerate(self.columns)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in [self.columns, *shown]]
        return "\n".join([*lines, *self._remarks()])

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align: {_side(row[name])}">{html.escape(_cell(row[name]))}</td>'
                             for name in self.columns) + "</tr>" for row in self._rows[:SHOWN_ROWS])
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{remarks}"

    def _remarks(self):
        left = len(self) - SHOWN_ROWS
        return [*([f"{left} more of {len(self)} rows"] if left > 0 else []), *self.messages]


def _cell(value):
    text = "" if value is None else str(value)
    text = text.translate({code: f"\\x{code:02x}" for code in (*range(32), 127)})
    return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES - 3] + "..."


def _side(value):
    return "left" if isinstance(value, str) else "right"


def _types(values):
    return {type(value) for value in values if value is not None}


def _pandas_type(values):
    types = _types(values)
    if types == {int}:
        return "Int64"
    if types and types <= {int, float}:
        return "Float64"
    return "string" if types == {str} else object


def _of_one_type(values):
    types = _types(values)
    if len(types) < 2:
        return values
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
