"""An emulated machine with a kernel of its own: for what belongs to a whole machine, as core_pattern does."""

import os
import pathlib
import shutil
import subprocess

# An emulated processor, on a machine that others use.
MOST_SECONDS = 1200
MEMORY_MIB = 1536
ERLANG = pathlib.Path("/usr/lib/erlang")
PROGRAMS = ("beam.smp", "erl_child_setup", "inet_gethost", "erlexec")
# What the guest runs first. Its last lines are the test's.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
export PATH=/bin:/usr/bin HOME=/node LANG=C.UTF-8 ERL_CRASH_DUMP_BYTES=0
cd /node
stty -F /dev/ttyS1 raw
. /commands
echo GUEST ENDS
poweroff -f
"""


# A root with an init of its own moves into a file system of its own first: a service's file system is made by
# pivot_root(2), which the initial root refuses.
SYSTEM_INIT = """#!/busybox sh
/busybox mkdir /system
/busybox mount -t tmpfs -o size=90% system /system
for entry in /*; do
    case $entry in /system|/busybox|/init) ;; *) /busybox mv $entry /system ;; esac
done
exec /busybox switch_root /system /sbin/init
"""
# The commands of a test, once everything else has started.
SYSTEM_COMMANDS = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /commands
ExecStopPost=/bin/bash -c 'echo GUEST ENDS'
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=file:/dev/console
StandardError=inherit
"""


class NoGuest(RuntimeError):
    """What a guest needs is not on this machine."""


def kernel(directory):
    """A kernel of Debian's package, unpacked; the package is kept in the user's cache."""
    found = sorted(pathlib.Path("/boot").glob("vmlinuz-*"))
    if found:
        return found[-1]
    cache = pathlib.Path.home() / ".cache" / "beamdump" / "guest"
    cache.mkdir(parents=True, exist_ok=True)
    if not list(cache.glob("*.deb")):
        depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True,
                                 text=True).stdout
        names = [word for word in depends.split() if word.startswith("linux-image-")
                 and word != "linux-image-amd64"]
        if not names or subprocess.run(["apt-get", "download", names[0]], cwd=cache,
                                       capture_output=True).returncode != 0:
            raise NoGuest("Debian's kernel cannot be downloaded")
    subprocess.run(["dpkg-deb", "-x", next(cache.glob("*.deb")), directory], check=True)
    return next(pathlib.Path(directory, "boot").glob("vmlinuz-*"))


def check_guest():
    """NoGuest where this machine cannot emulate one."""
    if not all(map(shutil.which, ("qemu-system-x86_64", "busybox", "cpio"))):
        raise NoGuest("qemu-system-x86, busybox-static or cpio is not installed")


def write_image(root, image):
    """Writes a folder as the initial root of a kernel."""
    with open(image, "wb") as file:
        names = subprocess.Popen(["find", "."], cwd=root, stdout=subprocess.PIPE)
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, stdin=names.stdout,
                       stdout=file, check=True)
        names.stdout.close()
        names.wait()


class Guest:
    """A root that the guest boots from, in its memory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.root = self.directory / "root"
        for folder in ("bin", "dev", "proc", "sys", "tmp", "node"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), self.root / "bin" / "busybox")
        self.write("/init", INIT)

    def write(self, path, text):
        """A program or script."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def copy(self, path, to=None):
        """A file or folder of this machine, at the same path, with the libraries that a program needs."""
        file = self.root / str(to or path).lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, file, symlinks=True, dirs_exist_ok=True)
            return
        shutil.copy(path, file)
        libraries = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        for word in libraries.split():
            if word.startswith("/") and not (self.root / word.lstrip("/")).exists():
                library = self.root / word.lstrip("/")
                library.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, library)

    def copy_erlang(self):
        """This machine's own Erlang: what a node needs that runs nothing but kernel and stdlib."""
        [erts] = ERLANG.glob("erts-*")
        for name in PROGRAMS:
            self.copy(erts / "bin" / name)
        for folder in ("bin", "releases", *(f"lib/{path.name}" for application in ("kernel", "stdlib")
                                            for path in ERLANG.glob(f"lib/{application}-*"))):
            self.copy(ERLANG / folder)

    def run(self, commands, most_seconds=MOST_SECONDS, memory_mib=MEMORY_MIB):
        """Boots, runs the commands and powers off; what it printed, and what it wrote to /dev/ttyS1."""
        self.write("/commands", commands)
        return boot(self.directory, self.root, most_seconds, memory_mib)


class SystemGuest:
    """A root of Debian with systemd that the guest boots from, in its memory. The root is changed."""

    MEMORY_MIB = 3072

    def __init__(self, directory, root):
        self.directory = pathlib.Path(directory)
        self.root = pathlib.Path(root)
        shutil.copy(shutil.which("busybox"), self.root / "busybox")
        self.write("/init", SYSTEM_INIT, 0o755)
        self.write("/etc/systemd/system/commands.service", SYSTEM_COMMANDS)
        wanted = self.root / "etc/systemd/system/default.target.wants"
        wanted.mkdir()
        (wanted / "commands.service").symlink_to("/etc/systemd/system/commands.service")
        # Nobody logs in.
        for name in ("getty.target", "systemd-logind.service"):
            (self.root / "etc/systemd/system" / name).symlink_to("/dev/null")

    def write(self, path, text, mode=0o644):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def run(self, commands, most_seconds=MOST_SECONDS):
        """As Guest.run(); the commands are for bash."""
        self.write("/commands", commands)
        return boot(self.directory, self.root, most_seconds, self.MEMORY_MIB, "systemd.show_status=0")


def boot(directory, root, most_seconds, memory_mib=MEMORY_MIB, *settings):
    """Runs the init of a root until the guest ends; what it printed, and what it wrote to /dev/ttyS1."""
    image, second = directory / "root.cpio", directory / "ttyS1"
    write_image(root, image)
    console = directory / "console"
    # A starved emulator's timer does not tick when the kernel looks (no_timer_check).
    command = ["qemu-system-x86_64", "-cpu", "max", "-smp", "2", "-m", f"{memory_mib}M",
               "-nographic", "-no-reboot", "-nic", "none",
               "-kernel", kernel(directory / "kernel"), "-initrd", image,
               "-append", " ".join(("console=ttyS0 rdinit=/init quiet panic=-1 no_timer_check", *settings)),
               "-serial", f"file:{console}", "-serial", f"file:{second}", "-monitor", "none"]
    try:
        complaints = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                    timeout=most_seconds).stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        complaints = f"it still ran after {most_seconds} s"
    told = console.read_text(errors="replace").replace("\r", "")
    if "GUEST ENDS" not in told:
        raise AssertionError(f"the guest did not end as it should: {complaints[-1000:]}\n"
                             f"{told[-3000:]}")
    return told, second.read_bytes()
