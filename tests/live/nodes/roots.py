"""Other root directories, and what is put into them: the static programs, the Debian package."""

import os
import pathlib
import subprocess
import tempfile

from support.paths import PROGRAMS, ROOT

BUILD = PROGRAMS.parent
STATIC = BUILD / "static"
CACHE = pathlib.Path(os.environ.get("BEAMDUMP_OTP_ROOT", pathlib.Path.home() / ".cache" / "beamdump"))
MIRROR = os.environ.get("BEAMDUMP_DEBIAN", "http://deb.debian.org/debian")
# Of commands in another root: little of that here.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
STATIC_NAMES = ("beamdump-analyze", "beamdump-capture", "beamdump-sample", "beamdump-watch")


def run(*command, **options):
    return subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=1800, **options)


def succeed(*command, **options):
    """What a command writes that must succeed."""
    ran = run(*command, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: exit status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    return ran.stdout


def root_of(suite, packages, name=None):
    """A root of that Debian with these packages installed; `name`: of another one than the suite's."""
    root = CACHE / f"root-{name or suite}"
    if not root.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="unpacking-root.") as work:
            succeed("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, work, MIRROR)
            os.chmod(work, 0o755)
            os.rename(work, root)
            os.mkdir(work)  # for its removal
    return root


def in_root(root, *command, options=()):
    """The command line that runs a command in a root with /proc, which it has as a mount in a namespace of its
    own. The process is the same. `options`: of chroot."""
    private = ["unshare", "--mount", "--propagation", "private"]
    if not any(line.split()[4] == "/" for line in
               pathlib.Path("/proc/self/mountinfo").read_text().splitlines()):
        private = [ROOT / "scripts" / "private-mounts"]  # in a plain chroot
    return [*map(str, [*private, "/bin/sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$@"', root,
                       *options, root, *command])]


def copy_static(folder):
    """Copies the static programs."""
    for name in STATIC_NAMES:
        if not (STATIC / name).exists():
            raise FileNotFoundError(f"{STATIC / name} is not there: scripts/build-static makes it")
        (folder / name).write_bytes((STATIC / name).read_bytes())
        (folder / name).chmod(0o755)


def build_package(folder, **options):
    """The Debian package, made below a folder."""
    succeed("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder, cwd=folder, **options)
    [package] = folder.glob("*.deb")
    return package
