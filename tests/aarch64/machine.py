"""An emulated machine of aarch64 with a kernel of its own and stock Erlang, in which programs of the preset
aarch64 run on nodes. A folder of this machine is there at the same path."""

import os
import pathlib
import shutil
import subprocess
import time
from dataclasses import dataclass

from support.guest import NoGuest, write_image
from support.paths import ROOT

# Of an emulated processor on a machine that others use.
MOST_SECONDS = 1800
MEMORY_MIB = 2500
POLL_SECONDS = 0.05
# Programs of the other build.
PROGRAMS = pathlib.Path(os.environ.get("BEAMDUMP_AARCH64_PROGRAMS", ROOT / "build-aarch64" / "bin"))
# ... that need nothing of the machine's root (scripts/build-static aarch64).
STATIC = PROGRAMS.parent / "static"
STATIC_NAMES = ("beamdump-capture", "beamdump-analyze", "beamdump-sample", "beamdump-watch")
QEMU = "qemu-system-aarch64"
# In the order in which one needs the other (modules.dep of Debian's kernel).
MODULES = ("drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci_legacy_dev",
           "drivers/virtio/virtio_pci", "fs/netfs/netfs", "fs/fscache/fscache", "net/9p/9pnet",
           "net/9p/9pnet_virtio", "fs/9p/9p")
# Runs the scripts that this machine puts into the shared folder, one after another.
INIT = """#!/bin/busybox sh
export PATH=/usr/bin:/usr/sbin HOME=/root LANG=C.UTF-8 ERL_CRASH_DUMP_BYTES=0
/bin/busybox --install -s /usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
exec </dev/console >/dev/console 2>&1
ip link set lo up
hostname localhost
for module in {modules}; do insmod /modules/$module.ko; done
mkdir -p {share}
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none share {share}
cd /tmp
number=1
while true; do
  if [ -f {share}/scripts/$number ]; then
    sh {share}/scripts/$number >{share}/scripts/$number.out 2>{share}/scripts/$number.err </dev/null
    echo $? >{share}/scripts/$number.ended
    mv {share}/scripts/$number.ended {share}/scripts/$number.status
    number=$((number + 1))
  else
    sleep 0.05
  fi
done
"""
# Of a node whose process is $erl.
AWAIT_READY = """while [ ! -s ready ]; do
  kill -0 $erl || { cat log >&2; exit 1; }
  sleep 0.1
done"""
# Asks a node through its socket, which cannot be in the shared folder.
ASK = """import socket, sys
with socket.socket(socket.AF_UNIX) as node:
    node.connect("/tmp/node/control")
    node.sendall(sys.argv[1].encode() + b"\\n")
    answer = b""
    while not answer.endswith(b"\\n"):
        piece = node.recv(4096)
        if not piece:
            sys.exit("the node hung up")
        answer += piece
    sys.stdout.write(answer.decode())
"""


def check_machine():
    """NoGuest where this machine cannot emulate one."""
    if not all(map(shutil.which, (QEMU, "cpio"))):
        raise NoGuest(f"{QEMU} (qemu-system-arm) or cpio is not installed")


def installed(what):
    """The folder of scripts/install-aarch64-root."""
    ended = subprocess.run([ROOT / "scripts" / "install-aarch64-root", what],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        raise NoGuest(f"install-aarch64-root {what}: {ended.stderr}")
    return pathlib.Path(ended.stdout.strip())


@dataclass
class Ended:
    """A script that has ended."""
    status: int
    output: str
    diagnostics: str


class Machine:
    """Boots with the Erlang of a release; ends with stop()."""

    def __init__(self, directory, release):
        check_machine()
        self.share = pathlib.Path(directory) / "share"
        (self.share / "scripts").mkdir(parents=True)
        self._directory = pathlib.Path(directory)
        self._scripts = 0
        kernel = installed("kernel")
        root = self._directory / "root"
        shutil.copytree(installed(release), root, symlinks=True)
        self._fill(root, kernel)
        image = self._directory / "root.cpio"
        write_image(root, image)
        shutil.rmtree(root)
        self._console = self._directory / "console"
        [linux] = (kernel / "boot").glob("vmlinuz-*")
        complaints = (self._directory / "complaints").open("wb")
        self._process = subprocess.Popen(
            # It ends with this process, however that ends.
            ["setpriv", "--pdeathsig", "KILL", QEMU, "-M", "virt", "-cpu", "max,pauth-impdef=on",
             "-smp", "2", "-m", f"{MEMORY_MIB}M", "-nographic", "-no-reboot", "-nic", "none",
             "-kernel", linux, "-initrd", image,
             "-append", "console=ttyAMA0 rdinit=/init quiet panic=-1",
             "-fsdev", f"local,id=share,path={self.share},security_model=none",
             "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
             "-serial", f"file:{self._console}", "-monitor", "none"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints)
        complaints.close()

    def _fill(self, root, kernel):
        for folder in ("dev", "proc", "sys", "tmp/node", "root", "modules"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for module in MODULES:
            [file] = kernel.glob(f"lib/modules/*/kernel/{module}.ko")
            shutil.copy(file, root / "modules")
        for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n"),
                           ("hosts", "127.0.0.1 localhost\n"), ("nsswitch.conf", "hosts: files\n")):
            (root / "etc" / name).write_text(text)
        (root / "ask.py").write_text(ASK)
        init = root / "init"
        init.write_text(INIT.format(share=self.share, modules=" ".join(
            module.rsplit("/", 1)[1] for module in MODULES)))
        init.chmod(0o755)

    def run(self, script, seconds=MOST_SECONDS):
        """What a shell script does there."""
        self._scripts += 1
        place = self.share / "scripts" / str(self._scripts)
        written = place.with_suffix(".written")
        written.write_text(script)
        written.rename(place)
        deadline = time.monotonic() + seconds
        status = place.with_suffix(".status")
        while not status.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the emulated machine did not end the script:\n{script}\n"
                                     f"{self.told()}")
            time.sleep(POLL_SECONDS)
        return Ended(int(status.read_text()), *(
            place.with_suffix(suffix).read_text(errors="replace") for suffix in (".out", ".err")))

    def expect(self, script, seconds=MOST_SECONDS):
        """What it does, if it ends well."""
        ended = self.run(script, seconds)
        if ended.status != 0:
            raise AssertionError(f"status {ended.status} of:\n{script}\n{ended.output[-2000:]}\n"
                                 f"{ended.diagnostics[-2000:]}")
        return ended

    def told(self):
        """What it and its emulator wrote."""
        return "".join(file.read_text(errors="replace")[-3000:] for file in
                       (self._console, self._directory / "complaints") if file.exists())

    def stop(self):
        self._process.kill()
        self._process.wait()


class GuestNode:
    """A node in the machine, with testdata/oracle/control.erl inside. Files that it writes for a test
    are in the shared folder."""

    def __init__(self, machine, release, pid):
        self.machine = machine
        self.release = release
        self.pid = pid
        self.directory = machine.share

    def ask(self, question):
        return self.machine.expect(f"exec python3 /ask.py '{question}'").output.strip()


def compiled_testdata(machine, release):
    """Where testdata's modules are in the machine."""
    ebin = machine.share / "ebin"
    subprocess.run([ROOT / "scripts" / "compile-testdata", release, ebin],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True,
                   env={name: value for name, value in os.environ.items()
                        if name != "BEAMDUMP_EBIN"})
    return ebin


def capture(machine, pid, mode, dump, options="", seconds=MOST_SECONDS):
    """How a capture ended, which wrote to a file of the shared folder."""
    # That folder is slow.
    there = f"/tmp/{dump.name}"
    return machine.run(f"""{machine.share}/beamdump-capture --quiet --mode {mode} {options} -o {there} {pid}
status=$?
[ -f {there} ] && mv {there} {dump}
exit $status""", seconds=seconds)


def await_rest(machine, pid):
    """Returns when the process uses almost no processor time: a node has ended its boot, or its last work."""
    machine.expect(f"""quiet=0
while [ $quiet -lt 6 ]; do
  before=$(awk '{{print $14 + $15}}' /proc/{pid}/stat)
  sleep 0.2
  after=$(awk '{{print $14 + $15}}' /proc/{pid}/stat)
  if [ $((after - before)) -le 2 ]; then quiet=$((quiet + 1)); else quiet=0; fi
done""")


def start_workload(machine, release, ebin, workload):
    """As support.node's: a node that is not distributed."""
    machine.expect(f"""cd /tmp/node
HOME=/tmp/node erl -noinput -pa {ebin} -run workload start {workload} 1 /tmp/node </dev/null >log 2>&1 &
erl=$!
{AWAIT_READY}""")
    return GuestNode(machine, release, int(machine.expect("cat /tmp/node/ready").output))


def start_zoo(machine, release, ebin, cookie, scale=1):
    """As support.zoo's: a distributed node that knows a second one, at rest."""
    peer = "beamdump_zoo_peer@localhost"
    erl = (f"setsid erl -noinput -setcookie {cookie} -kernel inet_dist_use_interface "
           f"'{{127,0,0,1}}' -kernel net_ticktime 100000 -connect_all false -pa {ebin}")
    machine.expect(f"""cd /tmp/node
export HOME=/tmp/node ERL_EPMD_ADDRESS=127.0.0.1
epmd -daemon
{erl} -sname {peer} </dev/null >peer.log 2>&1 &
{erl} -sname beamdump_zoo@localhost -zoo {peer} -run workload start zoo {scale} /tmp/node \\
  </dev/null >log 2>&1 &
erl=$!
{AWAIT_READY}""")
    node = GuestNode(machine, release, int(machine.expect("cat /tmp/node/ready").output))
    await_rest(machine, node.pid)
    return node
