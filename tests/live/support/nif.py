"""Native functions of testdata/nif for the workloads."""

import subprocess

from support.paths import ROOT


def build_nif(directory, workload):
    """The workload's library, for BEAMDUMP_WORKLOAD_NIF."""
    # Built with an older release: a NIF works in the release that it was built for and in later ones.
    include = "/usr/lib/erlang/usr/include"
    name = f"{workload}_nif"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{include}", "-o",
                    directory / f"{name}.so", ROOT / "testdata" / "nif" / f"{name}.c"], check=True)
    return directory / name
