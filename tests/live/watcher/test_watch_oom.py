"""beamdump-watch in an emulated machine with cgroup v2, whose kernel ends a node for lack of memory: a dump
that names what leaks is complete before the kill, each time; without a watcher there is none.

BEAMDUMP_LEAKS: how often each kind of leak (1; soak: 25)."""

import collections
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

from support.guest import Guest, NoGuest, check_guest
from support.node import compile_testdata
from support.paths import ANALYZE, CAPTURE, WATCH

LEAKS = int(os.environ.get("BEAMDUMP_LEAKS", "1"))
KINDS = "mailbox", "heap", "rows", "binaries"
LIMIT_MIB = 400
# From 40% of it to all of it a leak takes 12 s: an emulated machine is some ten times slower than this one.
# Of a leak in an emulated machine, with the node's start.
MOST_SECONDS = 240
NOT_TO_BE_HAD = 77
# An emulated processor may keep a thread waiting for longer than a stop takes by default.
RULES = """
[[rule]]
of = "memory"
above = "40%"
capture = ["--max-pause", "1000"]
"""
# The shell counts on no other program than busybox's. A node waits for the file `go`, so that its watcher is
# there; it fills its memory by 20 MB a second at most. What is looked at first after its end is whether
# its dump is complete.
COMMANDS = """
mount -t cgroup2 none /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /dumps && mount -t tmpfs -o size=1g dumps /dumps
uname -r
leak() {
    name=$1-$2-$3
    folder=/dumps/$name
    group=/sys/fs/cgroup/$name
    mkdir $folder $group
    echo %(limit)sM > $group/memory.max
    sh -c "echo \\$\\$ > $group/cgroup.procs; exec /usr/lib/erlang/bin/erl -noinput -start_epmd false \\
        -pa /node/ebin -eval 'Go = fun Wait() -> case file:read_file_info(\\"$folder/go\\") of {ok, _} -> ok;
            _ -> timer:sleep(100), Wait() end end, Go(), filling:tell(<<\\"$1\\">>), timer:sleep(infinity).'" \\
        > $folder/node 2>&1 &
    node=$!
    if [ $3 = watched ]; then
        beamdump-watch --json --free 1M -o $folder --config /node/rules --interval 200ms --record off $node \\
            > $folder/events 2> $folder/errors &
        for n in $(seq 600); do grep -q '"watching"' $folder/events && break; sleep 0.1; done
    fi
    touch $folder/go
    wait $node
    status=$?
    dumps=$(ls $folder/*.beamdump 2> /dev/null | wc -l)
    kills=$(sed -n 's/^oom_kill //p' $group/memory.events)
    echo "LEAK $name status $status dumps $dumps kills $kills"
    if [ $dumps -gt 0 ]; then
        beamdump-analyze summary --json $(ls $folder/*.beamdump | head -n 1) > $folder/summary
        echo "SUMMARY $name $(tr -d '\\n' < $folder/summary)"
    else
        [ $3 = watched ] && cat $folder/events $folder/errors $folder/node
    fi
    rm -r $folder
    rmdir $group
}
"""


class Killed(unittest.TestCase):
    def test_a_dump_that_names_the_leak_is_there_before_the_kill(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        guest = Guest(scratch / "guest")
        guest.copy_erlang()
        guest.copy(compile_testdata(scratch), "/node/ebin")
        for program in (WATCH, CAPTURE, ANALYZE):
            guest.copy(program, f"/usr/bin/{pathlib.Path(program).name}")
        guest.write("/node/rules", RULES)
        runs = [(kind, number, "watched") for number in range(LEAKS) for kind in KINDS]
        runs += [(kind, 0, "alone") for kind in KINDS]
        commands = COMMANDS % {"limit": LIMIT_MIB} + "".join(
            f"leak {' '.join(map(str, pair[0]))} &\n" + "".join(f"leak {' '.join(map(str, one))}\n" for one in pair[1:])
            + "wait\n" for pair in zip(runs[::2], runs[1::2]))
        told, _ = guest.run(commands, most_seconds=MOST_SECONDS * len(runs))
        ended = {name: tuple(map(int, numbers)) for name, *numbers in re.findall(
            r"LEAK (\S+) status (\d+) dumps (\d+) kills (\d+)", told)}
        summaries = {name: json.loads(text) for name, text in re.findall(r"SUMMARY (\S+) (\{.*\})$", told, re.M)}
        named = collections.Counter()
        for kind, number, watched in runs:
            name = f"{kind}-{number}-{watched}"
            with self.subTest(name):
                status, dumps, kills = ended[name]
                self.assertGreaterEqual(kills, 1, told[-3000:])
                self.assertEqual(status, 128 + 9)
                self.assertEqual(dumps, 1 if watched == "watched" else 0, told[-3000:])
                if dumps:
                    summary = summaries[name]
                    self.assertIn(f"% of the limit of cgroup /{name}", summary["capture"]["reason"])
                    findings = [finding["sentence"] for finding in summary["findings"]]
                    self.assertIn(f"filling_{kind}", "".join(findings[:1]), summary["warnings"])
                    named[kind] += 1
        print(f"dumps that name what leaks, of {LEAKS} leaks each: {dict(named)}", flush=True)


if __name__ == "__main__":
    try:
        check_guest()
    except NoGuest as error:
        print(f"NOT TESTED here: {error}", file=sys.stderr)
        sys.exit(NOT_TO_BE_HAD)
    unittest.main(verbosity=2)
