"""Nodes that end by themselves, while they start or as they run: the first finding about the crash dump says why,
in words, whatever the release's slogan looks like."""

import pathlib
import subprocess
import tempfile
import unittest

from support import tools
from support.node import base_environment
from support.release import RELEASE, of_release

FILL_ATOMS = '[list_to_atom("x" ++ integer_to_list(N)) || N <- lists:seq(1, 100000)]'
# Arguments of erl, and what the finding says.
ENDS = {
    # OTP 25's slogan names the module.
    "no such module": (["-s", "no_such_module"], r"The node ended while it started: (no_such_module:start/0 does not exist, or "
                       r"its module|a module that the command line names \(-s, -run\)) could not be loaded \(undef\)\."),
    "an error in -eval": (["-eval", "list_to_atom(1)"], r"The node ended while it started: badarg in "
                          r"erlang:list_to_atom/1\."),
    "a broken configuration": (["-config", "broken"], "The node ended while it started: error in config file "),
    "a name that is not valid": (["-sname", "not valid"], "The node ended as the application kernel did not start: "
                                 "net_kernel, a child of net_sup, did not start: the node's distribution "),
    "a full atom table": (["+t", "20000", "-eval", FILL_ATOMS], r"The node ended as its table of atoms was full \(20,000 "
                          r"entries\)\. The thread that asked for it ran <0\."),
    "too much memory": (["-eval", "binary:copy(<<0>>, 1 bsl 45)"], r"The node ended as it could not get 32\.0 TiB of "
                        r'memory for "binary"\. The thread that asked for it ran <0\.'),
}


class Slogans(unittest.TestCase):
    def test_the_first_finding_says_why(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (scratch / "broken.config").write_text("[{kernel, ")
        for number, (end, (arguments, says)) in enumerate(ENDS.items()):
            with self.subTest(end):
                dump = scratch / f"{number}.dump"
                environment = base_environment(scratch) | {
                    "ERL_CRASH_DUMP": str(dump), "ERL_CRASH_DUMP_BYTES": str(1 << 40), "ERL_CRASH_DUMP_SECONDS": "-1"}
                subprocess.run(of_release("erl", "-noinput", "-start_epmd", "false", *arguments),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment, cwd=scratch, timeout=120)
                answer = tools.analyze_json("summary", dump)
                print(f"OTP {RELEASE}, {end}: {answer['crash']['slogan']}", flush=True)
                found = answer["findings"][0]
                self.assertEqual(found["id"], "slogan")
                self.assertRegex(found["sentence"], rf"^{says}")


if __name__ == "__main__":
    unittest.main()
