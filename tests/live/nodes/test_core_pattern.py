"""beamdump-capture as the handler of core_pattern, in an emulated machine: core_pattern is one for a
whole machine."""

import pathlib
import re
import sys
import tempfile
import unittest

from support import schemas, tools
from support.guest import Guest, NoGuest, check_guest
from support.nif import build_nif
from support.node import compile_testdata
from support.paths import CAPTURE

NOT_TO_BE_HAD = 77
# What was in core_pattern before: keeps each core's size and first bytes.
SAVE = """#!/bin/sh
cat > /node/core.$1
echo "passed $1 $(wc -c < /node/core.$1) $(head -c 4 /node/core.$1 | od -An -tx1)" >> /node/passed
"""
# A node whose process dies in a NIF. Its modules are not in /ebin: code_server of OTP 25 does not end with
# that (del_ebin_1/1).
NODE = """/usr/lib/erlang/bin/erl -noinput -start_epmd false -pa /node/ebin -eval '
    dying:start(0.1), timer:sleep(3000), dying:tell(<<"null">>), timer:sleep(1000000).'
"""
COMMANDS = f"""
handler() {{ echo "|/usr/bin/beamdump-capture --crashed %P $1 -- |/usr/bin/save %p" > /proc/sys/kernel/core_pattern; }}
export BEAMDUMP_DYING_NIF=/node/dying_nif
# The root says that nothing of it is free.
mkdir /dumps && mount -t tmpfs -o size=100m dumps /dumps
syslogd -O /node/log
handler '-o /dumps --free 1MiB'
sleep 1000 & kill -SEGV $!; wait $!
echo "after another program: $(ls /dumps 2>/dev/null | wc -l) dumps"
date +"begins %s"
{NODE}
date +"ended %s"
echo "after a node: $(ls /dumps | wc -l) dumps"
handler '-o /proc/none'
{NODE}
echo "after a failure: $(ls /dumps | wc -l) dumps"
# The kernel does not wait for what a handler does when it has the whole core.
for n in $(seq 200); do [ $(wc -l < /node/passed) -ge 3 ] && break; sleep 1; done
cat /node/passed /node/log
cat /dumps/* > /dev/ttyS1
"""


class CorePattern(unittest.TestCase):
    def test_handler(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        guest = Guest(scratch / "guest")
        guest.copy_erlang()
        guest.copy(f"{build_nif(scratch, 'dying')}.so", "/node/dying_nif.so")
        guest.copy(compile_testdata(scratch), "/node/ebin")
        guest.copy(CAPTURE, "/usr/bin/beamdump-capture")
        guest.write("/usr/bin/save", SAVE)
        told, dumps = guest.run(COMMANDS)
        print(told[-2000:], flush=True)
        counts = dict(re.findall(r"after (.+): (\d+) dumps", told))
        self.assertEqual(counts, {"another program": "0", "a node": "1", "a failure": "1"})
        passed = re.findall(r"passed \d+ (\d+)\s+((?:[0-9a-f]{2} ?)+)", told)
        self.assertEqual(len(passed), 3, "not every core was passed on")
        for bytes_passed, magic in passed:
            self.assertGreater(int(bytes_passed), 100_000)
            self.assertEqual(magic.split(), ["7f", "45", "4c", "46"])
        dump = scratch / "crash.beamdump"
        dump.write_bytes(dumps)
        answer = tools.analyze_json("crash", dump)
        schemas.validate(answer, "crash")
        self.assertEqual([cause["id"] for cause in answer["causes"]], ["null_pointer", "library"])
        died = answer["thread"]
        self.assertEqual(died["process"]["registered_name"], "victim")
        self.assertEqual(died["native_frames"][0]["function"], "read_through_null")
        self.assertEqual(died["called"], "dying:die/2")
        self.assertIn("sched", died["name"])
        self.assertEqual(tools.analyze_json("summary", dump)["capture"]["mode"], "crashed")
        begins, ended = (int(re.search(rf"{word} (\d+)", told)[1]) for word in ("begins", "ended"))
        print(f"{ended - begins} s from the node's start to its end, dump of {len(dumps)} bytes",
              flush=True)


if __name__ == "__main__":
    try:
        check_guest()
    except NoGuest as error:
        print(f"NOT TESTED here: {error}", file=sys.stderr)
        sys.exit(NOT_TO_BE_HAD)
    unittest.main(verbosity=2)
