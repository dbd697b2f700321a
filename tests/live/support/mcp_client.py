"""Speaks to a server of the Model Context Protocol by the protocol's own client library, which the Python of
`scripts/install-pypi mcp` has.

mcp_client.py auto|legacy COMMAND...: a JSON list of steps on standard input, of the answers to them on standard
output. Steps: {"list": "tools"|"resources"|"templates"}, {"read": URI}, {"call": NAME, "arguments": {...}}, with
"progress": true also what was told of progress, with "cancel": SECONDS a call that is given up then."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def step(client, wanted):
    if "list" in wanted:
        lister = {"tools": client.list_tools, "resources": client.list_resources,
                  "templates": client.list_resource_templates}[wanted["list"]]
        return plain(await lister())
    if "read" in wanted:
        return plain(await client.read_resource(wanted["read"]))
    told = []

    async def progress(done, total, message):
        told.append([done, total, message])

    call = client.call_tool(wanted["call"], wanted.get("arguments", {}),
                            progress_callback=progress if "progress" in wanted else None)
    if "cancel" in wanted:
        try:
            await asyncio.wait_for(call, wanted["cancel"])
        except TimeoutError:
            return {"cancelled": True}
        return {"cancelled": False}
    answer = plain(await call)
    return answer | ({"told": told} if "progress" in wanted else {})


async def main(mode, command):
    answers = []
    async with Client(StdioServerParameters(command=command[0], args=command[1:],
                                            env={"BEAMDUMP_CACHE": "off"}), mode=mode) as client:
        for wanted in json.load(sys.stdin):
            try:
                answers.append(await step(client, wanted))
            except MCPError as error:
                answers.append({"error": error.error.message, "code": error.error.code})
        version = client.session.protocol_version
    json.dump({"version": version, "answers": answers}, sys.stdout)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
