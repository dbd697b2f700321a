"""The zoo: a distributed node with every kind of term and process, and the node that it knows."""

import json
import time

from support.node import ApplicationStart, READY_SECONDS

PEER = "beamdump_zoo_peer@localhost"


def start_zoo(scale=1, arguments=(), environment=()):
    """The node, in place and at rest, and its cookie. arguments and environment: more of the
    node's."""
    start = ApplicationStart("workloads")
    erl = ["erl", "-noinput", "-setcookie", start.cookie,
           "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
           "-kernel", "net_ticktime", "100000", "-connect_all", "false", "-pa", str(start.ebin)]
    start.accompany([*erl, "-sname", PEER])
    node = start.run([*erl, "-sname", "beamdump_zoo@localhost", "-zoo", PEER, *arguments,
                      "-run", "workload", "start", "zoo", str(scale), str(start.directory)],
                     "kernel", dict(environment))
    deadline = time.monotonic() + READY_SECONDS
    while not (start.directory / "ready").exists():
        if time.monotonic() > deadline:
            told = (start.directory / "console.log").read_text(errors="replace")[-4000:]
            node.stop()
            raise TimeoutError(f"the zoo did not open:\n{told}")
        time.sleep(0.1)
    return node, start.cookie


def ask_sizes(node):
    """What the zoo's processes said of their own roots, a list of objects:
    pid and name; where: "dictionary" with key, "message" with index, "stack" with key (what it is),
    frame (0 is the innermost) and register, "state" with key (the behaviour); flat_words as
    erts_debug:flat_size/1 counts, shared_words as erts_debug:size/1."""
    answers = node.directory / "sizes.jsonl"
    node.ask(f"sizes {answers}")
    return [json.loads(line) for line in answers.read_text().splitlines()]
