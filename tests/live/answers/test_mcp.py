"""A client of the Model Context Protocol, by the protocol's own library, asks dumps of real nodes: every tool, of a
dump and of a crash dump; five incidents are solved by fixed sequences of calls; no planted text is in an answer when
only redacted dumps may be opened."""

import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from support import assistant, schemas, tools
from support.node import ApplicationStart, start_workload
from support.paths import ANALYZE, CAPTURE

LETTERS = "QXZJKVWY"

# Of each tool the arguments besides the dump. `P` is a process of the node.
ARGUMENTS = {
    "process": {"process": "P"}, "backtrace": {"process": "P"}, "messages": {"process": "P"},
    "dictionary": {"process": "P"}, "heap": {"process": "P"}, "term": {"process": "P"},
    "refs": {"target": "P"}, "search": {"pattern": "{_, _}"},
}
# They have an answer only of dumps that have what they show.
MAY_BE_ABSENT = {"history", "profile", "schedulers", "sections", "sockets", "allocators", "persistent-terms",
                 "emulator", "resources"}

# SQL of each table, as `sql --tables` has them, and of functions of terms.
MAY_BE_EMPTY = [f"SELECT * FROM {table} LIMIT 1000" for table in
                ("history", "history_processes", "history_functions", "samples", "sockets", "allocators", "carriers",
                 "schedulers")]
EVERY_TABLE = [*MAY_BE_EMPTY, *(f"SELECT * FROM {table} LIMIT 1000" for table in (
    "binaries", "ets_tables", "hang", "modules", "nodes", "persistent_terms", "ports", "processes", "timers")),
    *(f"SELECT o.* FROM processes p, {table}(p.pid) o LIMIT 1000" for table in (
        "messages", "dictionary", "stack", "heap_roots")),
    "SELECT t.* FROM processes p, heap_roots(p.pid) r, terms(p.pid, r.step) t LIMIT 1000",
    "SELECT h.* FROM (SELECT pid FROM processes LIMIT 3) p, holders(p.pid) h LIMIT 1000",
    "SELECT r.*, text(r.value), tag(r.value) FROM ets_tables t, ets_rows(t.id) r LIMIT 1000",
    "SELECT text(m.value), tag(m.value), element(m.value, 1) FROM processes p, messages(p.pid) m LIMIT 1000",
    "SELECT kind(m.value), part(m.value, 'element 1'), matches(m.value, '_') FROM processes p, messages(p.pid) m "
    "LIMIT 1000",
    "SELECT term(p.pid, 'message 1') FROM processes p"]

# Each incident: calls, the last of which has to say this.
INCIDENTS = {
    "mailbox": ([("summary", {}), ("processes", {"sort": "queue", "limit": 3}),
                 ("messages", {"process": "incident_mailbox", "limit": 3}),
                 ("sql", {"statement": "SELECT term(process, 'message ' || number || '/element 1') AS tag, "
                                       "count(*) AS n FROM messages('incident_mailbox') GROUP BY tag"})],
                '"tag":"event","n":12000'),
    "deadlock": ([("summary", {}), ("waits", {}),
                  ("backtrace", {"process": "incident_one", "lines": True})], "gen.erl"),
    "table": ([("summary", {}), ("memory", {}), ("ets", {"limit": 3}),
               ("sql", {"statement": "SELECT name, size FROM ets_tables ORDER BY memory_bytes DESC LIMIT 1"})],
              '"name":"incident_table","size":80000'),
    "binaries": ([("summary", {}), ("memory", {}), ("binaries", {"leaks": True, "limit": 3})],
                 "incident_binaries"),
    "processes": ([("summary", {}), ("processes", {"group_by": "initial_call", "limit": 3})],
                  '"name":"incidents:parked/0","count":1500'),
}


def endless(dump):
    """A statement that ends only when it is ended, however quick the machine is."""
    return {"dumps": [dump], "statement":
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"}


class Client(assistant.Client):
    server = (ANALYZE, "mcp")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def arguments(self, tool, dump):
        """What calls a tool about a dump, by the schema that the server gives."""
        wanted = {name: "code_server" if value == "P" else value for name, value in
                  ARGUMENTS.get(tool["name"], {}).items()}
        schema = tool["inputSchema"]["properties"]
        if "dump" in schema:
            wanted["dump"] = dump
        if tool["name"] == "diff":
            wanted |= {"before": dump, "after": [dump]}
        if tool["name"] == "sql":
            wanted |= {"dumps": [dump], "statement": "SELECT pid FROM processes LIMIT 3"}
        if tool["name"] == "open":
            wanted["path"] = str(self.scratch / dump)
        return wanted


class Tools(Client):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.dump = cls.scratch / "node.beamdump"
        tools.capture(cls.node, cls.dump, "--ets", "full")
        cls.crash = cls.scratch / "erl_crash.dump"
        tools.expect(tools.analyze("crash-dump", cls.dump, "-o", cls.crash), 0, 3)

    def call_all(self, dump, mode):
        """The answers of all tools, by name."""
        options = ["--output-schemas", "--folder", self.scratch, self.dump, self.crash]
        listed = self.ask([{"list": "tools"}], *options, mode=mode)["answers"][0]["tools"]
        steps = [{"call": tool["name"], "arguments": self.arguments(tool, dump)} for tool in listed]
        told = self.ask(steps, *options, mode=mode)
        for tool, answer in zip(listed, told["answers"]):
            if not answer["isError"]:
                self.follows_schema(tool, answer)
        return told["version"], {tool["name"]: answer for tool, answer in zip(listed, told["answers"])}

    def check_all(self, dump, mode, version, absent=MAY_BE_ABSENT):
        agreed, answers = self.call_all(dump, mode)
        self.assertEqual(agreed, version)
        self.assertGreater(len(answers), 28)
        failed = {name: answer["content"][0]["text"] for name, answer in answers.items() if answer["isError"]}
        print(f"{dump}: {len(answers)} tools, failed: {failed}", flush=True)
        self.assertLessEqual(failed.keys(), absent)
        return answers

    def test_all_tools_of_a_dump(self):
        answers = self.check_all("node.beamdump", "auto", "2026-07-28")
        schemas.validate(answers["open"]["structuredContent"]["answer"], "open")
        for name in ("summary", "processes", "ets", "memory"):
            with self.subTest(name):
                answer = answers[name]["structuredContent"]
                if answer["pages"] == 1:
                    self.assertEqual(answer["answer"], tools.analyze_json(name, self.dump))

    def test_all_tools_of_a_crash_dump(self):
        """One that was written of a running node."""
        self.check_all("erl_crash.dump", "legacy", "2025-11-25", MAY_BE_ABSENT | {"ets", "nodes", "ports", "timers"})

    def test_pages_have_the_whole_answer(self):
        arguments = {"dump": "node.beamdump", "limit": 0}
        first = self.ask([{"call": "modules", "arguments": arguments}], self.dump)["answers"][0]["structuredContent"]
        self.assertGreater(first["pages"], 1)
        self.assertIn("ask again with the argument page", first["left_out"])
        steps = [{"call": "modules", "arguments": arguments | {"page": page}}
                 for page in range(1, first["pages"] + 1)]
        pages = [answer["structuredContent"]["answer"] for answer in self.ask(steps, self.dump)["answers"]]
        rows = [row for page in pages for row in page.get("modules", [])]
        self.assertEqual(rows, tools.analyze_json("modules", self.dump, "--limit", "0")["modules"])

    def test_resources(self):
        told = self.ask([{"list": "resources"}, {"list": "templates"}, {"read": "beamdump://guide"},
                         {"read": "beamdump://schema"}, {"read": "beamdump://summary/node.beamdump"},
                         {"read": "beamdump://findings/erl_crash.dump"}, {"read": "beamdump://summary/none"}],
                        self.dump, self.crash)
        resources, templates, guide, schema, summary, findings, none = told["answers"]
        self.assertEqual(len(resources["resources"]), 6)
        self.assertEqual(len(templates["resourceTemplates"]), 2)
        self.assertIn("A leak", guide["contents"][0]["text"])
        self.assertIn("messages(process)", schema["contents"][0]["text"])
        self.assertEqual(json.loads(summary["contents"][0]["text"])["answer"]["schema"], "beamdump.summary/1")
        self.assertEqual(json.loads(findings["contents"][0]["text"])["answer"]["findings_depth"], "full")
        self.assertIn("no open dump", none["error"])

    def test_a_call_is_cancelled_and_others_are_answered(self):
        endless = {"dumps": ["node.beamdump"], "statement":
                   "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"}
        told = self.ask([{"call": "sql", "arguments": endless, "cancel": 0.5},
                         {"call": "list"}], self.dump)
        self.assertEqual(told["answers"][0], {"cancelled": True})
        self.assertFalse(told["answers"][1]["isError"])

    def test_a_call_that_takes_too_long_says_so(self):
        answer = self.ask([{"call": "sql", "arguments": endless("node.beamdump")}], "--max-seconds", "1", self.dump)["answers"][0]
        self.assertTrue(answer["isError"])
        self.assertIn("took longer than 1 second", answer["content"][0]["text"])

    def test_the_streams_end(self):
        """Standard output has messages alone; a client that leaves ends the server."""
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        ended = subprocess.run([ANALYZE, "mcp", self.dump], input=ping + ping[:20], text=True, capture_output=True,
                               timeout=60)
        self.assertEqual(ended.returncode, 0)
        self.assertEqual([json.loads(line).get("error", {}).get("code") for line in ended.stdout.splitlines()],
                         [None, -32700])
        self.assertEqual(ended.stderr, "")
        with subprocess.Popen([ANALYZE, "mcp", self.dump], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            server.stdin.write(ping.encode())
            server.stdin.flush()
            self.assertTrue(server.stdout.readline())
            server.stdout.close()
            self.assertEqual(server.wait(timeout=30), 0)
        with subprocess.Popen([ANALYZE, "mcp", self.dump], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            # An id is free again as soon as its answer is there.
            call = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","_meta":'
                    '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
                    '"io.modelcontextprotocol/clientCapabilities":{}}}}\n').encode()
            for _ in range(200):
                server.stdin.write(call)
                server.stdin.flush()
                self.assertIn("result", json.loads(server.stdout.readline()))
            server.stdin.close()
            self.assertEqual(server.wait(timeout=30), 0)
        long = ping.replace("ping", "p" * (1 << 21)) + ping
        ended = subprocess.run([ANALYZE, "mcp", self.dump], input=long, text=True, capture_output=True, timeout=60)
        self.assertEqual(len(ended.stdout.splitlines()), 2)
        self.assertIn("longer than 1048576 bytes", ended.stdout)


class Long(Client):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        node = start_workload("standard", 0.1)
        cls.addClassCleanup(node.stop)
        cls.dump, cls.crash = cls.scratch / "large.beamdump", cls.scratch / "large_erl_crash.dump"
        tools.capture(node, cls.dump, "--ets", "full")
        tools.expect(tools.analyze("crash-dump", cls.dump, "-o", cls.crash), 0, 3)

    def test_every_answer_is_bounded(self):
        """Of each tool with what it needs alone, and with every row; what is left out is on its other pages."""
        options = ["--folder", self.scratch, self.dump]
        listed = self.ask([{"list": "tools"}], *options)["answers"][0]["tools"]
        steps = []
        for tool in listed:
            least = self.arguments(tool, self.dump.name)
            more = {name: value for name, value in (("limit", 0), ("list", True), ("lines", True))
                    if name in tool["inputSchema"]["properties"]}
            steps += [{"call": tool["name"], "arguments": least}, {"call": tool["name"], "arguments": least | more}]
        steps += [{"call": "sql", "arguments": {"dumps": [self.dump.name], "statement": statement}} for statement in (
            "SELECT * FROM processes", "SELECT group_concat(pid) FROM processes",
            "SELECT * FROM ets_tables t, ets_rows(t.id) LIMIT 3000")]
        answers = self.ask(steps, *options)["answers"]
        self.assertEqual(len(answers), len(steps))
        largest, divided = {}, []
        for step, answer in zip(steps, answers):
            text = answer["content"][0]["text"]
            largest[step["call"]] = max(len(text.encode()), largest.get(step["call"], 0))
            if not answer["isError"] and answer["structuredContent"]["pages"] > 1:
                self.assertIn("ask again with the argument page", answer["structuredContent"]["left_out"])
                divided.append(step | {"pages": answer["structuredContent"]["pages"]})
        self.assertGreater(len(divided), 5)
        # is_bounded looks at each of these, too.
        last = [{"call": step["call"], "arguments": step["arguments"] | {"page": step["pages"]}} for step in divided]
        for answer in self.ask(last, *options)["answers"]:
            self.assertFalse(answer["isError"], answer["content"][0]["text"])
        print(f"{len(largest)} tools, {len(divided)} answers of several pages; bytes of the text at most:",
              dict(sorted(largest.items(), key=lambda one: -one[1])[:8]), flush=True)

    def test_a_long_call_tells_its_progress_and_is_cancelled(self):
        """Of a crash dump's text, which is read from its beginning."""
        crash = self.crash
        search = {"call": "search", "arguments": {"dump": crash.name, "pattern": "{never_there, _}"}}
        ask = {"call": "sql", "arguments": endless(crash.name)}
        told, cancelled, after = self.ask([search | {"progress": True}, ask | {"cancel": 0.3}, {"call": "list"}],
                                          crash)["answers"]
        progress = [done for done, _, _ in told["told"]]
        print(f"{crash.stat().st_size} bytes: progress was told {len(progress)} times", flush=True)
        self.assertGreater(len(progress), 0)
        self.assertEqual(progress, sorted(set(progress)))
        self.assertEqual(cancelled, {"cancelled": True})
        self.assertFalse(after["isError"])


class Solved(Client):
    def test_five_incidents(self):
        node = start_workload("incidents")
        self.addCleanup(node.stop)
        for incident, (calls, says) in INCIDENTS.items():
            with self.subTest(incident):
                dump = self.scratch / f"{incident}.beamdump"
                node.ask(f"incident {incident}")
                tools.capture(node, dump)
                self.assertEqual(node.ask("incident end"), "ended")
                steps = [{"call": name, "arguments": arguments | (
                    {"dumps": [dump.name]} if name == "sql" else {"dump": dump.name})}
                    for name, arguments in calls]
                answers = self.ask(steps, dump)["answers"]
                sizes = [len(answer["content"][0]["text"]) for answer in answers]
                print(f"{incident}: {sizes} bytes", flush=True)
                for answer in answers:
                    self.assertFalse(answer["isError"], answer["content"][0]["text"])
                self.assertIn(says, answers[-1]["content"][0]["text"])


class Redacted(Client):
    def other_texts(self, dump, listed, holders, options):
        """All lists, all resources, and for each tool what it says of wrong arguments."""
        lists = [{"list": kind} for kind in ("tools", "resources", "templates")]
        told = self.ask(lists, *options)["answers"]
        reads = [{"read": resource["uri"]} for resource in told[1]["resources"]]
        self.assertEqual(len(reads), 4)
        wrong = []
        for tool in listed:
            arguments = self.arguments(tool, dump)
            wrong.append({"call": tool["name"], "arguments": arguments | {"never_an_argument": 1}})
            for name, schema in tool["inputSchema"]["properties"].items():
                if name not in ("dump", "dumps", "before", "after", "page"):
                    # A name that is none is often answered with those that there are.
                    wrong.append({"call": tool["name"], "arguments": arguments | {
                        name: [] if schema.get("type") == "integer" else -1}})
                    wrong.append({"call": tool["name"], "arguments": arguments | {name: "never_a_name"}})
        wrong += [{"call": tool, "arguments": {"dump": dump, "process": holders[0], "path": path}}
                  for tool in ("heap", "term")
                  for path in ("message 99999", "message 1/key x", "dictionary no", "y9999")]
        wrong += [{"call": "sql", "arguments": {"dumps": [dump], "statement": statement}} for statement in (
            "SELECT nothing FROM processes", "SELECT * FROM messages('never_a_name')", "SELECT element(1, 1)",
            f"SELECT term('{holders[0]}', 'message 99999')", "SELECT * FROM ets_rows('never_a_name')")]
        answers = self.ask(reads, *options)["answers"]
        self.assertFalse([answer for answer in answers if "error" in answer])
        errors = self.ask(wrong, *options)["answers"]
        self.assertGreater(len([answer for answer in errors if answer.get("isError", True)]), 100)
        print(f"{dump}: {len(reads)} resources, {len(errors)} calls with wrong arguments", flush=True)
        return json.dumps([told, answers, errors])

    def test_each_table_is_asked(self):
        """`EVERY_TABLE` has each table of `sql --tables`."""
        listed = tools.expect(tools.analyze("sql", "--tables"), 0).output
        names = set(re.findall(r"^(\w+)(?:\([\w, ]*\))?: ", listed, re.MULTILINE))
        print(len(names), "tables", flush=True)
        self.assertEqual({name for name in names if not any(re.search(rf"\b{name}\b", asked) for asked in EVERY_TABLE)},
                         set())

    def test_no_planted_text_is_in_an_answer(self):
        chance = random.Random(39)
        secrets = ["".join(chance.choices(LETTERS, k=16)) for _ in range(2100)]
        start = ApplicationStart()
        listed = start.directory / "secrets"
        listed.write_text("\n".join(secrets))
        node = start.run(
            ["erl", "-noinput", "-sname", secrets[0] + "@localhost", "-pa", start.ebin, "+t", "4000000",
             "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-run", "control", "start",
             start.directory / "control", "-run", "secrets", "start", listed], "kernel", {})
        self.addCleanup(node.stop)
        node.wait_until_made(listed.with_suffix(".held"))
        whole = self.scratch / "whole.beamdump"
        tools.expect(tools.run_measured([CAPTURE, "--quiet", "-o", whole, "--ets", "full", "--binary-bytes", "all",
                                         node.pid]), 0, 3)
        redacted = self.scratch / "redacted.beamdump"
        tools.expect(tools.analyze("redact", whole, "-o", redacted), 0)
        ended = subprocess.run([ANALYZE, "mcp", "--redacted-only", whole], stdin=subprocess.DEVNULL, text=True,
                               capture_output=True)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("is not redacted", ended.stderr)
        options = ["--redacted-only", "--folder", self.scratch, redacted]
        holders = [row["pid"] for row in tools.parse(tools.expect(tools.analyze(
            "processes", whole, "--limit", "0", "--json"), 0, 3))["processes"]
            if row.get("initial_call", "").startswith("secrets:")]
        self.assertGreater(len(holders), 10)
        tables = tools.analyze_json("sql", whole, "SELECT id FROM ets_tables WHERE size > 1000")["rows"]

        listed = self.ask([{"list": "tools"}], *options)["answers"][0]["tools"]
        asked = {"process": {"process": holders[0]}, "backtrace": {"process": holders[0]},
                 "messages": {"process": holders[0]}, "dictionary": {"process": holders[0]},
                 "heap": {"process": holders[0]}, "term": {"process": holders[0]},
                 "refs": {"target": holders[0]}, "search": {"pattern": "_", "limit": 200},
                 "sections": {"tag": "ets"}}

        def every_tool(dump):
            """Of each tool one call, and of SQL one for each table and function."""
            for tool in listed:
                name, known = tool["name"], tool["inputSchema"]["properties"]
                if name not in ("sql", "diff", "open", "list"):
                    yield {"call": name, "arguments": {"dump": dump} | asked.get(name, {}) | (
                        {"limit": 0} if "limit" in known and name not in asked else {})}
            yield {"call": "diff", "arguments": {"before": dump, "after": [dump]}}
            yield {"call": "list"}
            for statement in EVERY_TABLE:
                yield {"call": "sql", "arguments": {"dumps": [dump], "statement": statement}}

        def steps(dump):
            yield {"call": "open", "arguments": {"path": str(self.scratch / dump)}}
            for tool in ("summary", "processes", "ets", "ports", "nodes", "timers", "modules", "persistent-terms",
                         "binaries"):
                yield {"call": tool, "arguments": {"dump": dump, "limit": 50} if tool not in ("summary",)
                       else {"dump": dump, "findings": "full"}}
            yield {"call": "atoms", "arguments": {"dump": dump, "list": True, "limit": 500}}
            for pid in holders:
                for tool in ("process", "messages", "dictionary", "heap", "term", "backtrace"):
                    yield {"call": tool, "arguments": {"dump": dump, "process": pid}}
            for row in tables:
                yield {"call": "ets", "arguments": {"dump": dump, "table": row["id"], "limit": 50}}
            yield {"call": "sql", "arguments": {"dumps": [dump], "statement": "SELECT term FROM processes p, "
                                                "messages(p.pid) LIMIT 500"}}
            yield {"call": "search", "arguments": {"dump": dump, "text": secrets[5]}}

        texts = {}
        for dump, chosen in (("whole.beamdump", ["--folder", self.scratch, whole]), ("redacted.beamdump", options),
                             ("whole.beamdump", options)):
            answers = self.ask([step for step in steps(dump) if step["call"] != "search"], *chosen)["answers"]
            said = json.dumps(answers)
            texts[dump, len(chosen)] = sum(secret in said for secret in secrets)
            if chosen is options and dump == "whole.beamdump":
                self.assertTrue(all(answer["isError"] for answer in answers))
                self.assertIn("is not redacted", said)
        # What is no answer of a tool: lists, resources, errors.
        for dump, chosen in (("whole.beamdump", [whole]), ("redacted.beamdump", ["--redacted-only", redacted])):
            said = self.other_texts(dump, listed, holders, chosen)
            texts[dump, "other texts"] = sum(secret in said for secret in secrets)
        # Whole answers, in pages that no model would take.
        self.bounded = False
        for dump, chosen in (("whole.beamdump", [whole]), ("redacted.beamdump", ["--redacted-only", redacted])):
            answers = self.ask(list(every_tool(dump)), "--page-bytes", 16 << 20, *chosen)["answers"]
            failed = [step for step, answer in zip(every_tool(dump), answers) if answer["isError"]]
            self.assertLessEqual({step["call"] for step in failed}, MAY_BE_ABSENT | {"crash", "sql"}, failed)
            self.assertLessEqual({step["arguments"]["statement"] for step in failed if step["call"] == "sql"},
                                 set(MAY_BE_EMPTY))
            said = json.dumps(answers)
            self.assertTrue(all(answer["structuredContent"]["pages"] == 1 for answer in answers
                                if not answer["isError"]))
            texts[dump, "every tool"] = sum(secret in said for secret in secrets)
        print(f"planted texts in answers: {texts}", flush=True)
        self.assertGreater(texts["whole.beamdump", "other texts"], 0, "the node's name is in a resource")
        self.assertEqual(texts["redacted.beamdump", "other texts"], 0)
        self.assertGreater(texts["whole.beamdump", "every tool"], 500, "the questions do not show the texts")
        self.assertEqual(texts["redacted.beamdump", "every tool"], 0)
        self.assertGreater(texts["whole.beamdump", 3], 100, "the questions do not show the texts")
        self.assertEqual(texts["redacted.beamdump", 4], 0)
        self.assertEqual(texts["whole.beamdump", 4], 0)


if __name__ == "__main__":
    unittest.main()
