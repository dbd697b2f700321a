"""Cores of nodes."""

import pathlib
import subprocess


def gcore(node, directory):
    """gcore stops the node, writes the core and resumes the node."""
    core = directory / "gcore"
    result = subprocess.run(["gcore", "-o", core, str(node.pid)], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True)
    core = pathlib.Path(f"{core}.{node.pid}")
    if not core.exists():
        raise RuntimeError(f"gcore wrote no core:\n{result.stdout}\n{result.stderr}")
    return core
