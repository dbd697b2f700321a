"""Paths of the checkout and of the built programs."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = pathlib.Path(os.environ.get("BEAMDUMP_PROGRAMS", ROOT / "build" / "bin"))
CAPTURE = PROGRAMS / "beamdump-capture"
ANALYZE = PROGRAMS / "beamdump-analyze"
LAYOUT = PROGRAMS / "beamdump-layout"
SAMPLE = PROGRAMS / "beamdump-sample"
WATCH = PROGRAMS / "beamdump-watch"
