"""A dump, or several, that are asked."""

import json
import os

from ._answer import Answer, Memory, Tree
from ._program import Error, Server, find_program, running, warn
from ._table import Table
from ._terms import Process, Term, wrap

ANSWERS = {"memory": Memory, "tree": Tree}


def open(path, *others, program=None):
    """Opens a dump or a crash dump; several are asked together by sql(). `program`: the path of beamdump-analyze."""
    return Dump([os.fspath(name) for name in (path, *others)], find_program(program))


class Dump:
    """One dump or several. Each answer that lacks data gives an IncompleteWarning. Close it, or use `with`."""

    def __init__(self, paths, program):
        self.paths = list(paths)
        self._program = program
        self._server = Server(program, paths)
        try:
            self._server.call("list", {})
        except Error:
            self._server.close()
            raise

    def close(self):
        """Ends the program."""
        self._server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        server = getattr(self, "_server", None)
        if server is not None:
            server.close()

    def __repr__(self):
        return f"<Dump {', '.join(self.paths)}>"

    def _repr_html_(self):
        return self.memory()._repr_html_()

    # Questions

    def ask(self, command, **arguments):
        """The answer of a command of beamdump-analyze: ask("processes", sort="memory", limit=5). Of the first dump,
        unless `dump` names another."""
        if command != "diff":
            arguments.setdefault("dump", self.paths[0])
        return self._answer(command, arguments)

    def summary(self, findings="quick"):
        """The node and what deserves a look; findings="full" looks into all terms."""
        return self.ask("summary", findings=findings)

    def memory(self):
        """Where the node's memory is."""
        return self.ask("memory")

    def tree(self, **arguments):
        """Who started whom."""
        return self.ask("tree", **arguments)

    def sql(self, statement):
        """All rows of a SELECT statement, a Table."""
        with running(self._sql("--json", statement)) as run:
            text = run.output.read()
        if run.incomplete:
            warn(run.messages)
        answer = json.loads(text)
        return Table(answer["columns"], answer["rows"], run.messages)

    def rows(self, statement):
        """The rows of a SELECT statement one by one, as they are read: dicts, without what the dump does not tell."""
        with running(self._sql("--ndjson", statement)) as run:
            for line in run.output:
                yield json.loads(line)
        if run.incomplete:
            warn(run.messages)

    def table(self, name, *arguments, limit=None):
        """A table of `sql --tables`, with its arguments: table("messages", "my_server", limit=10)."""
        of = f"({', '.join(map(_literal, arguments))})" if arguments else ""
        return self.sql(f"SELECT * FROM {_identifier(name)}{of}{'' if limit is None else f' LIMIT {int(limit)}'}")

    def tables(self):
        """What table() knows, with the sentence of each."""
        with running([self._program, "sql", "--tables"]) as run:
            lines = run.output.read().decode().splitlines()
        heads = (line.partition(": ") for line in lines if line and not line.startswith((" ", "Every ", "Functions ")))
        return {head: sentence for head, _, sentence in heads}

    # Terms

    def process(self, name):
        """A process by its pid ("<0.82.0>") or registered name."""
        return Process(self, str(name))

    def processes(self):
        """The pids of all processes."""
        return self.sql("SELECT pid FROM processes").column("pid")

    def term(self, process, path):
        """A term of a process by its path: "state", "message 1", "state.users[3]"."""
        of = f"{_literal(process)}, {_literal(path)}{self._dump_argument()}"
        answer = self._answer("sql", {"dumps": self.paths, "statement":
                                      f"SELECT term_kind({of}) AS kind, term_count({of}) AS count, term({of}) AS term"},
                              tells=False)
        row = answer["rows"][0]
        if "kind" not in row:
            raise Error("\n".join(answer.messages))
        return wrap(self, str(process), path, row["kind"], row.get("count"), row.get("term", ""))

    def _answer(self, command, arguments, tells=True):
        told = self._server.call(command, arguments)
        answer = ANSWERS.get(command, Answer)(told["answer"], told.get("messages", ()))
        if tells and told.get("incomplete"):
            warn(answer.messages)
        return answer

    def _sql(self, form, statement):
        return [self._program, "sql", form, "--", *self.paths, statement]

    def _dump_argument(self):
        return f", {_literal(self.paths[0])}" if len(self.paths) > 1 else ""

    def _of_first(self):
        return f" WHERE dump = {_literal(self.paths[0])}" if len(self.paths) > 1 else ""

    def _whole_text(self, process, path):
        with running([self._program, "term", "--term-bytes=0", "--width=0", "--syntax=erlang", "--json", "--",
                      self.paths[0], process, path]) as run:
            text = run.output.read()
        answer = json.loads(text)
        if "term" not in answer:
            raise Error("\n".join(run.messages))
        return answer["term"]["text"]

    def _kind(self, process, path):
        """None where there is no such part."""
        of = f"{_literal(process)}, {_literal(path)}{self._dump_argument()}"
        answer = self._answer("sql", {"dumps": self.paths, "statement": f"SELECT term_kind({of}) AS kind"}, tells=False)
        return answer["rows"][0].get("kind")

    def _size(self, function, process, path):
        of = f"{_literal(process)}, {_literal(path)}{self._dump_argument()}"
        answer = self._answer("sql", {"dumps": self.paths, "statement": f"SELECT {function}({of}) AS size"})
        return answer["rows"][0].get("size")

    def _parts(self, process, path):
        return self.rows(f"SELECT step, kind, count, term FROM terms({_literal(process)}, {_literal(path)})"
                         f"{self._of_first()}")

    def _roots(self, process):
        return self.rows(f"SELECT step, kind, count, term FROM heap_roots({_literal(process)}){self._of_first()}")

    def _facts(self, name):
        column = "pid" if name.startswith("<") else "registered_name"
        found = self.sql(f"SELECT * FROM processes WHERE {column} = {_literal(name)}")
        if not found:
            raise Error(f"there is no process {name} in {self.paths[0]}")
        return found[0]


def _literal(value):
    """A value in SQL."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = value.text if isinstance(value, Term) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _identifier(name):
    return '"' + name.replace('"', '""') + '"'
