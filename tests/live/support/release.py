"""The OTP release of a test's nodes: BEAMDUMP_OTP (25, 27 or 29, or one that install-otp --built has
made). 25, the default, is the installed one; scripts/install-otp unpacks the others."""

import os
import pathlib
import subprocess

from support.paths import ROOT

OWN = "25"
RELEASE = os.environ.get("BEAMDUMP_OTP", OWN)


def otp_root(release=RELEASE):
    """The path on this machine that contains the release's /usr and /etc."""
    if release == OWN:
        return pathlib.Path("/")
    found = subprocess.run([ROOT / "scripts" / "install-otp", "--offline", release],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if found.returncode != 0:
        raise FileNotFoundError(f"OTP {release} is not here; scripts/install-otp {release} gets it:\n"
                                f"{found.stderr}")
    return pathlib.Path(found.stdout.strip())


def erlang_directory(release=RELEASE):
    """The path on this machine of what code:root_dir() returns in a node."""
    return otp_root(release) / "usr" / "lib" / "erlang"


def of_release(*command, release=RELEASE):
    """A command line that runs command with the release's programs. The process is the same."""
    if release == OWN:
        return [*map(str, command)]
    return [str(ROOT / "scripts" / "run-otp"), release, *map(str, command)]


def settings(release=RELEASE):
    """Variables that of_release() needs if HOME is changed."""
    if release == OWN:
        return {}
    return {"BEAMDUMP_OTP_ROOT": str(otp_root(release).parent.parent)}
