"""Erlang nodes for the tests, each with its own home, cookie and ports; ended by pid."""

import contextlib
import glob
import os
import pathlib
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from support.paths import ROOT
from support.release import RELEASE, of_release, settings

READY_SECONDS = 240
LEFTOVERS = pathlib.Path(__file__).with_name("leftovers.py")


def temporary_directory(belongings):
    """Removed when belongings is closed. If the test ends before, its processes are ended."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="beamdump-test."))
    belongings.callback(shutil.rmtree, directory, ignore_errors=True)
    guard = subprocess.Popen([sys.executable, "-B", LEFTOVERS], stdin=subprocess.PIPE, cwd="/",
                             start_new_session=True)
    belongings.callback(guard.stdin.close)
    belongings.callback(_end, guard)
    guard.stdin.write(bytes(directory))
    guard.stdin.flush()
    return directory


def free_port():
    """A loopback port without a listener, which no other test gets.

    It is outside the range from which the kernel takes ports of outgoing connections: one of those
    could take it before the node listens on it.
    """
    bounds = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    first, last = (int(bound) for bound in bounds)
    ports = [port for port in range(10000, 65536) if not first <= port <= last]
    random.shuffle(ports)
    for port in ports:
        # Only one socket on the machine can have a given abstract name. It stays open until this process
        # ends.
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0beamdump-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        reservation.detach()
        return port
    raise OSError(f"no port from 10000 to 65535 outside of {first} to {last} is free")


def base_environment(directory):
    """The environment of a node, without the caller's Erlang settings."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(directory),
        "LANG": "C.UTF-8",
        "ERL_CRASH_DUMP_BYTES": "0",
    } | settings()


def compile_testdata(directory):
    """The folder with testdata's modules: below directory, or where ctest has compiled them."""
    ended = subprocess.run([ROOT / "scripts" / "compile-testdata", RELEASE, directory / "ebin"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           env=os.environ | base_environment(directory))
    if ended.returncode != 0:
        raise RuntimeError(f"compile-testdata failed:\n{ended.stderr}")
    return pathlib.Path(ended.stdout.strip())


class Node:
    """A running node with testdata/oracle/control.erl inside."""

    def __init__(self, pid, directory, belongings, release=RELEASE):
        """belongings: what ends with the node, an ExitStack."""
        self.pid = pid
        self.release = release
        self.directory = directory
        self._belongings = belongings

    def ask(self, question, seconds=120):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(str(self.directory / "control"))
            connection.sendall(question.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                piece = connection.recv(4096)
                if not piece:
                    raise ConnectionError(f"the node hung up on '{question}'")
                answer += piece
            return answer.decode().strip()

    def status_field(self, name):
        """A number of /proc/PID/status, such as VmRSS (in KiB)."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1])
        raise KeyError(name)

    def stopped_threads(self):
        """Thread ids in a stop: by a signal (T) or by a tracer (t)."""
        stopped = []
        for status in glob.glob(f"/proc/{self.pid}/task/*/status"):
            # A thread may end meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                lines = pathlib.Path(status).read_text().splitlines()
                state = next(line for line in lines if line.startswith("State:"))
                if state.split()[1] in ("T", "t"):
                    stopped.append(int(status.split("/")[-2]))
        return stopped

    def wait_until_made(self, file):
        """Waits for a file that the node makes when its terms are in place, and until it is quiet."""
        deadline = time.monotonic() + 240
        while not file.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{file} was not made")
            time.sleep(0.1)
        self.wait_until_quiet()

    def wait_until_quiet(self):
        """Waits until the node uses almost no processor time, which ends its boot: for 0.4 seconds,
        and for 1.2 from OTP 28 on, whose supervisors hibernate after a second of rest."""
        needed = 6 if int(self.release) >= 28 else 2
        quiet = 0
        before = self._ticks()
        deadline = time.monotonic() + 60
        while quiet < needed and time.monotonic() < deadline:
            time.sleep(0.2)
            after = self._ticks()
            quiet = quiet + 1 if after - before <= 2 else 0
            before = after

    def _ticks(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def ends_with(self, process):
        """A process that ends with this node."""
        self._belongings.callback(_end, process)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._belongings.close()


def start_workload(workload, scale=1, otp=RELEASE):
    """A node of scripts/start-node, of that OTP release."""
    with contextlib.ExitStack() as belongings:
        directory = temporary_directory(belongings)
        result = subprocess.run(
            [ROOT / "scripts" / "start-node", "--dir", directory, "--otp", otp, workload,
             str(scale)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode != 0:
            raise RuntimeError(f"start-node failed:\n{result.stderr}")
        return Node(int(result.stdout), directory, belongings.pop_all(), otp)


class ApplicationStart:
    """Prepares an application's node: a directory, testdata's modules, its own epmd."""

    def __init__(self):
        with contextlib.ExitStack() as belongings:
            self.directory = temporary_directory(belongings)
            self.ebin = compile_testdata(self.directory)
            self.cookie = "cookie" + secrets.token_hex(8)
            port = free_port()
            self.environment = base_environment(self.directory)
            self.environment |= {"ERL_EPMD_PORT": str(port), "ERL_EPMD_ADDRESS": "127.0.0.1"}
            epmd = subprocess.Popen(of_release("epmd", "-port", port, "-address", "127.0.0.1"),
                                    env=self.environment, stdin=subprocess.DEVNULL)
            belongings.callback(_end, epmd)
            # A node without an epmd would start one that outlives the node.
            _wait_for_epmd(epmd, port)
            self._belongings = belongings.pop_all()

    def accompany(self, command):
        """Starts command of the release, which ends with the node that run() will start."""
        process = subprocess.Popen(of_release(*command), env=self.environment, cwd=self.directory,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        self._belongings.callback(_end_session, process)

    def stop(self):
        """Ends what accompanies a node that run() was not called for."""
        self._belongings.close()

    def run(self, command, application, environment):
        """Starts command of the release and waits until application runs in the node that it starts."""
        with self._belongings as belongings:
            log = self.directory / "console.log"
            with log.open("wb") as output:
                process = subprocess.Popen(
                    of_release(*command), env=self.environment | environment, cwd=self.directory,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True)
            belongings.callback(_end_session, process)
            deadline = time.monotonic() + READY_SECONDS
            while time.monotonic() < deadline and process.poll() is None:
                with contextlib.suppress(OSError):
                    node = Node(beam_pid(process.pid), self.directory, contextlib.ExitStack())
                    if node.ask(f"running {application}") == "true":
                        node.wait_until_quiet()
                        return Node(node.pid, self.directory, belongings.pop_all())
                time.sleep(0.3)
            told = log.read_text(errors="replace")[-4000:]
            raise RuntimeError(f"{application} did not start:\n{told}")


def _wait_for_epmd(process, port):
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as epmd:
            epmd.sendall(b"\0\1n")  # which names it has
            if epmd.recv(4):
                return
        time.sleep(0.02)
    raise RuntimeError(f"epmd does not answer on port {port}")


def _end(process):
    process.kill()
    process.wait()


def _end_session(process):
    """Ends a process that was started in its own session, and all processes of that session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def beam_pid(pid):
    """The node that a start script has started: pid itself or its descendant named beam.smp."""
    name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    if name == "beam.smp":
        return pid
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        with contextlib.suppress(OSError):
            return beam_pid(int(child))
    raise ProcessLookupError(f"no beam.smp below process {pid}")
