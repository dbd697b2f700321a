"""A core of a node of aarch64 is read on this machine: of each process of the zoo, the dump that is made of it has
what the node itself says: facts, backtraces, terms and sizes. BEAMDUMP_OTP: the node's release."""

import unittest

import zoo_there
from support import tools
from support.release import RELEASE

CORE_SECONDS = 1200


class Core(zoo_there.ZooThere):
    @classmethod
    def copy_node(cls):
        core = cls.machine.share / "core"
        # It stops the node, writes the core and lets it go on.
        cls.machine.expect(f"gdb -p {cls.node.pid} -batch -nx -ex 'set debuginfod enabled off' "
                           f"-ex 'generate-core-file {core}'", seconds=CORE_SECONDS)
        [program] = cls.root.glob("usr/lib/erlang/erts-*/bin/beam.smp")
        return tools.run_measured([tools.CAPTURE, "--quiet", "--core", core, "--exe", program,
                                   "--binary-bytes", "all", "-o", cls.dump])

    def test_all_that_the_node_says_is_in_the_dump(self):
        self.compare_with_the_node("core of aarch64")

    def test_tables_and_persistent_terms_are_in_the_dump(self):
        self.assertEqual(self.said.diagnostics, "", "something was not found")
        node = tools.analyze_json("summary", self.dump)["node"]
        self.assertEqual((node["otp_release"], node["jit"]), (RELEASE, True))
        for question, member in ("ets", "tables"), ("persistent-terms", "terms"), ("ports", "ports"):
            answer = tools.analyze_json(question, self.dump, "--limit", "0")
            self.assertGreaterEqual(len(answer[member]), 10, question)


if __name__ == "__main__":
    unittest.main(verbosity=2)
