"""Native functions of testdata/nif for the workloads."""

import subprocess

from support.paths import ROOT


def build_nif(directory, workload):
    """The workload's library, as BEAMDUMP_WORKLOAD_NIF is to name it."""
    # An older release's: a NIF is for the release that it was built for and for all later ones.
    include = "/usr/lib/erlang/usr/include"
    name = f"{workload}_nif"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{include}", "-o",
                    directory / f"{name}.so", ROOT / "testdata" / "nif" / f"{name}.c"], check=True)
    return directory / name
