"""A runtime of OTP 27 that was built for musl, Alpine's C library, by scripts/install-musl-otp: only in soak,
as that takes minutes. It is not Alpine's own: the compiler is zig's clang.

In a root with musl, the runtime, and nothing else, the static programs capture it. In the release's usual
root other live tests run on it, which compare all that a dump says with the node's own word."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from roots import copy_static, in_root, run, succeed
from support.paths import PROGRAMS, ROOT

RELEASE = "27"
NOT_TO_BE_HAD = 77
READY_SECONDS = 120
ERLANG = "/usr/lib/erlang"
TESTS = ("zoo", "ets", "messages", "signals", "node_memory", "node_activity", "findings", "no_symbols", "layout_check",
         "core", "stacks", "top")
# Processes that wait, in place when the file "ready" is there. Once there is the file "captured", what the node
# says of each of them and of its registered processes, in "told.json": asking makes a process run.
FACTS = ("current_function", "message_queue_len", "stack_size", "status", "total_heap_size", "memory")
NODE = """
    Waiting = fun Waiting(Pid) ->
        case process_info(Pid, status) of
            {status, waiting} -> ok;
            _ -> erlang:yield(), Waiting(Pid)
        end
    end,
    Start = fun(Name, Kept, Messages) ->
        Pid = spawn(fun() -> put(kept, Kept), receive never -> Kept end end),
        register(Name, Pid),
        lists:foreach(fun(Message) -> Pid ! Message end, Messages),
        Waiting(Pid)
    end,
    Start(probe, <<"kept">>, [{found, <<"in this root">>}]),
    Start(large, lists:seq(1, 20000), []),
    Start(full, {}, lists:seq(1, 500)),
    Start(map, maps:from_keys(lists:seq(1, 2000), 0), [a, b]),
    Written = fun(File, Text) ->
        ok = file:write_file("/tmp/new", Text),
        ok = file:rename("/tmp/new", File)
    end,
    Until = fun Until(File) ->
        filelib:is_file(File) orelse begin timer:sleep(100), Until(File) end
    end,
    MFA = fun({M, F, A}) -> list_to_binary(io_lib:format("~s:~s/~b", [M, F, A])) end,
    Fact = fun({current_function, What}) -> {current_function, MFA(What)}; (Other) -> Other end,
    spawn(fun() ->
        Written("/tmp/ready", ""),
        Until("/tmp/captured"),
        Facts = [{Name, maps:from_list([Fact(One) || One <- process_info(whereis(Name), [FACTS])])}
                 || Name <- [probe, large, full, map]],
        Pids = [{Name, list_to_binary(pid_to_list(whereis(Name)))} || Name <- registered()],
        Written("/tmp/told.json", json:encode(#{
            facts => maps:from_list(Facts), pids => maps:from_list(Pids),
            release => list_to_binary(erlang:system_info(otp_release)),
            flavour => erlang:system_info(emu_flavor)}))
    end).
""".replace("FACTS", ", ".join(FACTS))


def installed():
    """The folder of the runtime. What PyPI and Debian cannot give is shown as skipped."""
    found = subprocess.run([ROOT / "scripts" / "install-musl-otp"], text=True, stdout=subprocess.PIPE,
                           stdin=subprocess.DEVNULL)
    if found.returncode == NOT_TO_BE_HAD:
        sys.exit(NOT_TO_BE_HAD)
    found.check_returncode()
    return pathlib.Path(found.stdout.strip())


def mapped(pid):
    """The names of the files that a process has mapped."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {pathlib.Path(line.split()[5]).name for line in lines if len(line.split()) > 5}


class NodeInRoot:
    """A node in a root without a shell."""

    def __init__(self, root, belongings):
        self._files = root / "tmp"
        for name in ("ready", "captured", "told.json"):
            (self._files / name).unlink(missing_ok=True)
        [runtime] = (root / "usr/lib/erlang").glob("erts-*")
        programs = f"{ERLANG}/{runtime.name}/bin"
        environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LC_ALL": "C.UTF-8", "ROOTDIR": ERLANG,
                       "BINDIR": programs, "EMU": "beam", "PROGNAME": "erl"}
        self._output = belongings.enter_context(tempfile.TemporaryFile("w+"))
        self._process = subprocess.Popen(
            in_root(root, f"{programs}/erlexec", "-noinput", "-start_epmd", "false", "-eval", NODE),
            env=environment, stdin=subprocess.DEVNULL, stdout=self._output,
            stderr=self._output)
        belongings.callback(self._process.wait)
        belongings.callback(self._process.kill)
        self.pid = self._process.pid
        self._wait_for("ready")

    def tell(self):
        """What the node says of itself."""
        (self._files / "captured").touch()
        return json.loads(self._wait_for("told.json").read_text())

    def _wait_for(self, name):
        deadline = time.monotonic() + READY_SECONDS
        while not (self._files / name).exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._output.seek(0)
                raise RuntimeError(f"no {name}; the node's output:\n{self._output.read()[-3000:]}")
            time.sleep(0.1)
        return self._files / name


class Musl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = installed()
        cls.belongings = cls.enterClassContext(contextlib.ExitStack())
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    @unittest.skipUnless(os.geteuid() == 0, "other roots need root")
    def test_in_a_root_with_musl_alone(self):
        root = self.place / "root"
        copy_static(root / "opt")

        def answer(*words):
            return json.loads(succeed(*in_root(root, "/opt/beamdump-analyze", *words, "/tmp/node.beamdump", "--json")))

        node = NodeInRoot(root, self.belongings)
        self.assertIn("ld-musl-x86_64.so.1", mapped(node.pid))
        self.assertNotIn("libc.so.6", mapped(node.pid))
        print(succeed(*in_root(root, "/opt/beamdump-capture", "--force", "-o", "/tmp/node.beamdump", node.pid)), end="")
        processes = answer("processes", "--limit", "0")["processes"]
        named = {one["registered_name"]: one for one in processes if "registered_name" in one}
        messages = succeed(*in_root(root, "/opt/beamdump-analyze", "messages", "/tmp/node.beamdump", "probe"))
        # The sampler is not static: it runs outside.
        succeed(PROGRAMS / "beamdump-sample", "stacks", node.pid)
        [top] = succeed(PROGRAMS / "beamdump-sample", "top", "--once", "--json", "--limit", 1000, node.pid).splitlines()
        listed = {one.get("registered_name"): one for one in json.loads(top)["rows"]}

        told = node.tell()
        self.assertEqual((told["release"], told["flavour"]), (RELEASE, "jit"))
        self.assertEqual({name: one["pid"] for name, one in named.items()}, told["pids"])
        self.assertIn('{found,<<"in this root">>}', messages)
        self.assertEqual(len(told["facts"]), 4)
        for name, facts in told["facts"].items():
            self.assertEqual({fact: named[name][fact] for fact in FACTS}, facts, name)
            self.assertEqual((listed[name]["pid"], listed[name]["message_queue_len"]),
                             (told["pids"][name], facts["message_queue_len"]), name)

    def test_every_offset_is_the_built_in_layouts(self):
        made = self.scratch / "musl.json"
        debug = self.place / "debug"
        succeed(PROGRAMS / "beamdump-layout", "extract", debug / "beam.smp", "--constants", debug / "constants.o",
                "--source", "musl", "-o", made)
        ours, built_in = (json.loads(path.read_text())
                          for path in (made, ROOT / "schemas" / "layouts" / f"otp-{RELEASE}.json"))
        self.assertGreater(sum(len(one["fields"]) for one in ours["structs"].values()), 300)
        for layout in ours, built_in:
            del layout["source"]
        self.assertEqual(ours, built_in)

    def test_other_live_tests(self):
        environment = os.environ | {"BEAMDUMP_OTP": RELEASE, "BEAMDUMP_OTP_ROOT": str(self.place),
                                    "BEAMDUMP_PROGRAMS": str(PROGRAMS)}
        for name in TESTS:
            with self.subTest(name):
                [file] = (ROOT / "tests" / "live").glob(f"*/test_{name}.py")
                ran = run(sys.executable, "-B", file, env=environment)
                print(name, *ran.stderr.splitlines()[-1:], flush=True)
                self.assertEqual(ran.returncode, 0, ran.stdout[-3000:] + ran.stderr[-5000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
