"""`on_release.py RELEASE TEST.PY` runs a test on nodes of that OTP release, as ctest does. What
install-otp says of a release that is not here is the exit status: a skip only where that says so."""

import os
import subprocess
import sys

from support.paths import ROOT

release, test = sys.argv[1:]
found = subprocess.run([ROOT / "scripts" / "install-otp", "--offline", release],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
if found.returncode != 0:
    print(f"NOT TESTED here: {os.path.basename(test)} on OTP {release}", file=sys.stderr)
    sys.exit(found.returncode)
os.environ["BEAMDUMP_OTP"] = release
os.execv(sys.executable, [sys.executable, "-B", test])
