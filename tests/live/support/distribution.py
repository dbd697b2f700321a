"""Two nodes that talk to each other, on loopback, with an epmd of their own."""

import subprocess
import time

from support.node import ApplicationStart, READY_SECONDS
from support.release import of_release


# Longer than a test: a node that is stopped stays connected.
TICK_SECONDS = 3600


def start_pair(*options):
    """A node with a process `silent` that has undecoded messages from another node, the number of
    messages, and the pid of the process. The other node, which gets options, ends with the first."""
    start = ApplicationStart()
    directory = start.directory
    common = ["erl", "-noinput", "-setcookie", start.cookie, "-pa", str(start.ebin),
              "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
              "net_ticktime", str(TICK_SECONDS)]
    node = start.run([*common, "-sname", "near@localhost", "-run", "control", "start",
                      str(directory / "control")], "kernel", {})
    silent = node.ask("silent")
    told = directory / "sent"
    log = directory / "far.log"
    with log.open("wb") as output:
        far = subprocess.Popen(of_release(*common, *options, "-sname", "far@localhost", "-run", "far", "send",
                                          "near@localhost", told),
                               env=start.environment, cwd=directory, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=output)
    node.ends_with(far)
    node.far = far
    deadline = time.monotonic() + READY_SECONDS
    while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
        if far.poll() is not None or "ERROR REPORT" in log.read_text(errors="replace"):
            node.stop()
            raise RuntimeError(f"the sending node failed:\n{log.read_text(errors='replace')}")
        time.sleep(0.1)
    return node, int(told.read_text()), silent
