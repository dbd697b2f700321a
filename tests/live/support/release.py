"""The OTP release of a test's nodes: BEAMDUMP_OTP (25, 27 or 29). 25, the default, is this
machine's own; scripts/install-otp has unpacked the others."""

import os
import pathlib
import subprocess

from support.paths import ROOT

OWN = "25"
RELEASE = os.environ.get("BEAMDUMP_OTP", OWN)


def otp_root(release=RELEASE):
    """Below which the release has its /usr and /etc, as seen from this machine."""
    if release == OWN:
        return pathlib.Path("/")
    found = subprocess.run([ROOT / "scripts" / "install-otp", "--offline", release],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if found.returncode != 0:
        raise FileNotFoundError(f"OTP {release} is not here; scripts/install-otp {release} gets it:\n"
                                f"{found.stderr}")
    return pathlib.Path(found.stdout.strip())


def erlang_directory(release=RELEASE):
    """What code:root_dir() names in a node, as seen from this machine."""
    return otp_root(release) / "usr" / "lib" / "erlang"


def of_release(*command, release=RELEASE):
    """A command line that runs command with the release's programs. The process is the same."""
    if release == OWN:
        return [*map(str, command)]
    return [str(ROOT / "scripts" / "run-otp"), release, *map(str, command)]


def settings(release=RELEASE):
    """Of the environment, for of_release() where HOME is another one."""
    if release == OWN:
        return {}
    return {"BEAMDUMP_OTP_ROOT": str(otp_root(release).parent.parent)}
