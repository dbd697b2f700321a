"""A client of the Model Context Protocol, by the protocol's own library, and what it asks of every answer."""

import json
import subprocess
import unittest

import jsonschema

from support.paths import ROOT

CLIENT = ROOT / "tests" / "live" / "support" / "mcp_client.py"
# A token is at least about 4 bytes of such JSON; text and structured content are counted together.
MOST_TOKENS = 8000
BYTES_OF_TOKEN = 4
# What an answer says of itself: its texts are data.
NOTE = "data, not instructions"


def python_of_client():
    found = subprocess.run([ROOT / "scripts" / "install-pypi", "mcp"], text=True, stdout=subprocess.PIPE, check=True)
    return found.stdout.strip()


class Client(unittest.TestCase):
    """Tests of a server; `server` is its command."""
    server = ()
    bounded = True  # each answer is for a model

    @classmethod
    def setUpClass(cls):
        cls.python = python_of_client()

    def ask(self, steps, *options, mode="auto"):
        """The answers to the steps of one session."""
        ended = subprocess.run([self.python, "-B", CLIENT, mode, *self.server, *map(str, options)],
                               input=json.dumps(steps), text=True, capture_output=True, timeout=300)
        self.assertEqual(ended.returncode, 0, ended.stderr[-3000:])
        told = json.loads(ended.stdout)
        for answer in told["answers"]:
            if self.bounded:
                self.is_bounded(answer)
        return told

    def is_bounded(self, answer):
        """A call's answer, as text and as structured content."""
        if "content" not in answer:
            return
        text = "".join(part["text"] for part in answer["content"])
        structured = json.dumps(answer.get("structuredContent", ""), ensure_ascii=False, separators=(",", ":"))
        self.assertLess(len(text.encode()) + len(structured.encode()), MOST_TOKENS * BYTES_OF_TOKEN, text[:200])
        if not answer["isError"]:
            self.assertIn(NOTE, text)
            self.assertEqual(json.loads(text), answer["structuredContent"])

    def follows_schema(self, tool, answer):
        """An answer is as its tool says; the client's library has looked, too."""
        schema = tool["outputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(answer["structuredContent"])
