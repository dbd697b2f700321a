"""The zoo: a distributed node with every kind of term and process, and a second node that it knows."""

import json
import os
import pathlib
import signal
import time

from support.node import ApplicationStart, READY_SECONDS

CRASH_SECONDS = 300
PEER = "beamdump_zoo_peer@localhost"


def start_zoo(scale=1, arguments=(), crash_dump=None):
    """The node, ready and at rest, and its cookie. arguments: more arguments of the node. crash_dump:
    path of its crash dump."""
    environment = {} if crash_dump is None else {
        "ERL_CRASH_DUMP": str(crash_dump), "ERL_CRASH_DUMP_BYTES": str(1 << 40),
        "ERL_CRASH_DUMP_SECONDS": "-1"}
    start = ApplicationStart()
    erl = ["erl", "-noinput", "-setcookie", start.cookie,
           "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
           "-kernel", "net_ticktime", "100000", "-connect_all", "false", "-pa", str(start.ebin)]
    start.accompany([*erl, "-sname", PEER])
    node = start.run([*erl, "-sname", "beamdump_zoo@localhost", "-zoo", PEER, *arguments,
                      "-run", "workload", "start", "zoo", str(scale), str(start.directory)],
                     "kernel", environment)
    deadline = time.monotonic() + READY_SECONDS
    while not (start.directory / "ready").exists():
        if time.monotonic() > deadline:
            told = (start.directory / "console.log").read_text(errors="replace")[-4000:]
            node.stop()
            raise TimeoutError(f"the zoo did not open:\n{told}")
        time.sleep(0.1)
    return node, start.cookie


def left_out(*groups):
    """Arguments that leave out these groups of terms."""
    return ("-zoo_without", *groups)


def crash_zoo(node):
    """Ends the node by a signal, and waits until it has written its crash dump."""
    os.kill(node.pid, signal.SIGUSR1)
    deadline = time.monotonic() + CRASH_SECONDS
    while not _ended(node.pid):
        if time.monotonic() > deadline:
            raise TimeoutError("the zoo still writes its crash dump")
        time.sleep(0.2)


def _ended(pid):
    """Whether the process is gone or a zombie."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return status.rsplit(")", 1)[1].split()[0] == "Z"


def ask_sizes(node):
    """What the zoo's processes said of their own roots, a list of objects:
    pid and name; where: "dictionary" with key, "message" with index, "stack" with key (what it is),
    frame (0 is the innermost) and register, "state" with key (the behaviour); flat_words as
    erts_debug:flat_size/1 counts, shared_words as erts_debug:size/1."""
    answers = node.directory / "sizes.jsonl"
    node.ask(f"sizes {answers}")
    return [json.loads(line) for line in answers.read_text().splitlines()]
