"""beamdump-sample mcp: the client library of the Model Context Protocol asks a running node. Queues and places where
processes wait are the node's own, what burns is first; nothing stops the node, and no tool can."""

import json
import subprocess
import unittest

from support import assistant
from support.node import start_workload
from support.paths import SAMPLE

TOOLS = {"top", "stacks", "profile", "blame", "alloc", "threads"}
WAITING = 5000
# Between two turns of a process its scheduler runs none: one reading in some dozens on a busy machine.
READINGS = 20
SERVERS, DEEP = 40, 300


class Client(assistant.Client):
    server = (SAMPLE, "mcp")

    def answers(self, node, *steps, options=()):
        told = self.ask([{"list": "tools"}, *steps], *options, node.pid)["answers"]
        tools = {tool["name"]: tool for tool in told[0]["tools"]}
        for step, answer in zip(steps, told[1:]):
            if not answer.get("isError", True):
                self.follows_schema(tools[step["call"]], answer)
        return tools, told[1:]

    def content(self, answer):
        self.assertFalse(answer["isError"], answer["content"][0]["text"])
        return answer["structuredContent"]["answer"]


class Busy(Client):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.node = start_workload("topped")
        cls.addClassCleanup(cls.node.stop)

    def test_tools(self):
        tools, _ = self.answers(self.node)
        self.assertEqual(tools.keys(), TOOLS)
        for tool in tools.values():
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            arguments = tool["inputSchema"]["properties"]
            self.assertFalse(arguments.keys() & {"node", "stop", "max_pause", "layout", "no_symbols", "format", "json",
                                                 "count", "once", "help"})
            # A page needs none.
            self.assertEqual([name for name, one in arguments.items() if not one.get("description")], ["page"])

    def test_what_the_node_does(self):
        self.assertEqual(self.node.ask(f"topped mailbox {WAITING}"), "sent")
        _, (top, profile, *stacks) = self.answers(
            self.node, {"call": "top", "arguments": {"sort": "queue", "interval": "300ms", "limit": 3}},
            {"call": "profile", "arguments": {"duration": "2s", "by": "name", "limit": 5}},
            *[{"call": "stacks", "arguments": {}}] * READINGS)
        first = self.content(top)["rows"][0]
        waiting = int(self.node.ask("topped info topped_full").split()[2])
        self.assertEqual((first["registered_name"], first["message_queue_len"]), ("topped_full", waiting))
        self.assertGreaterEqual(waiting, WAITING)
        self.assertIn("topped:burner/0", json.dumps([self.content(reading) for reading in stacks]))
        functions = self.content(profile)["functions"]
        self.assertEqual(functions[0]["function"], "topped:burner/0")

    def test_other_tools_answer(self):
        _, (alloc, blame, threads, waits) = self.answers(
            self.node, {"call": "alloc", "arguments": {"duration": "500ms"}},
            {"call": "blame", "arguments": {"native": "gc", "duration": "500ms"}},
            {"call": "threads", "arguments": {"duration": "500ms"}},
            {"call": "profile", "arguments": {"off_cpu": True, "duration": "500ms"}})
        for answer in (alloc, blame, threads, waits):
            self.content(answer)

    def test_a_long_call_tells_its_progress_and_is_cancelled(self):
        """The answer that is cancelled would take ten minutes."""
        long = {"call": "profile", "arguments": {"duration": "600s"}}
        _, (told, cancelled, after) = self.answers(
            self.node, {"call": "profile", "arguments": {"duration": "3s"}, "progress": True}, long | {"cancel": 0.5},
            {"call": "top", "arguments": {"interval": "100ms"}}, options=("--max-seconds", 600))
        progress = [(done, total) for done, total, _ in told["told"]]
        self.assertGreater(len(progress), 0)
        self.assertEqual({total for _, total in progress}, {3})
        self.assertEqual([done for done, _ in progress], sorted({done for done, _ in progress}))
        self.content(told)
        self.assertEqual(cancelled, {"cancelled": True})
        self.content(after)

    def test_what_is_refused(self):
        _, answers = self.answers(
            self.node, {"call": "profile", "arguments": {"duration": "10s"}},
            {"call": "stacks", "arguments": {"stop": True}},
            {"call": "top", "arguments": {"sort": "nothing"}},
            {"call": "perf-map", "arguments": {}},
            {"call": "profile", "arguments": {"format": "pprof"}},
            {"call": "top", "arguments": {"interval": "--layout=/etc/passwd"}},
            {"read": "beamdump://guide"}, options=("--max-seconds", 5))
        says = [answer["content"][0]["text"] if "content" in answer else answer["error"] for answer in answers]
        self.assertTrue(all(answer.get("isError", True) for answer in answers), says)
        for text, expected in zip(says, ("gives up answers after 5 s", 'no argument "stop"', "nothing",
                                         'no tool "perf-map"', 'no argument "format"', "is not a time", "resources")):
            self.assertIn(expected, text)

    def test_the_streams_end(self):
        """Standard output has messages alone; a client that leaves ends the server."""
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        command = [SAMPLE, "mcp", str(self.node.pid)]
        ended = subprocess.run(command, input=ping, text=True, capture_output=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(json.loads(ended.stdout)["result"], {})
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            server.stdin.write(ping.encode())
            server.stdin.flush()
            self.assertTrue(server.stdout.readline())
            server.stdout.close()
            self.assertEqual(server.wait(timeout=60), 0)
        none = subprocess.run([SAMPLE, "mcp", "1"], stdin=subprocess.DEVNULL, text=True, capture_output=True)
        self.assertEqual(none.returncode, 1)
        self.assertEqual(len(none.stderr.splitlines()), 1)


class Ended(Client):
    def test_a_node_that_has_ended(self):
        node = start_workload("topped")
        self.addCleanup(node.stop)
        with subprocess.Popen([SAMPLE, "mcp", str(node.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
            server.stdin.write(ping.encode())
            server.stdin.flush()
            server.stdout.readline()
            node.stop()
            meta = ('{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
                    '"io.modelcontextprotocol/clientCapabilities":{}}')
            server.stdin.write(('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"top","arguments":{},'
                                f'"_meta":{meta}}}}}\n').encode())
            server.stdin.flush()
            answer = json.loads(server.stdout.readline())["result"]
            self.assertTrue(answer["isError"])
            self.assertIn(str(node.pid), answer["content"][0]["text"])
            server.stdin.close()
            self.assertEqual(server.wait(timeout=60), 0)


class Waiting(Client):
    def test_where_processes_wait(self):
        node = start_workload("parked", 1)
        self.addCleanup(node.stop)
        _, (waits,) = self.answers(node, {"call": "profile", "arguments": {
            "off_cpu": True, "duration": "1500ms", "by": "initial_call", "limit": 20}})
        stacks = self.content(waits)["stacks"]
        for kind, number, group in (("servers", SERVERS, "parked:init/1"), ("deep", DEEP, "parked:deep/1")):
            told, count = node.ask(f"parked {kind}").split("=")
            self.assertEqual(int(count), number)
            self.assertEqual([(stack["frames"], stack["waiting"]) for stack in stacks if stack["group"] == group],
                             [(told.split(","), number)])


if __name__ == "__main__":
    unittest.main()
