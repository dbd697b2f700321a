"""What testdata/workloads/steady.erl needs."""

import subprocess

from support.paths import ROOT


def build_nif(directory):
    """The NIF that sleeps, as BEAMDUMP_STEADY_NIF is to name it."""
    # An older release's: a NIF is for the release that it was built for and for all later ones.
    include = "/usr/lib/erlang/usr/include"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{include}", "-o",
                    directory / "steady_nif.so", ROOT / "testdata" / "nif" / "steady_nif.c"],
                   check=True)
    return directory / "steady_nif"
