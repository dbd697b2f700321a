"""`on_release.py RELEASE TEST.PY [CLASS.TEST...]` runs a test on nodes of that OTP release, as
ctest does. If the release is missing, install-otp's exit status is passed on, which may be a skip.
The applications of sid may be missing; a test of these is then skipped."""

import os
import pathlib
import subprocess
import sys

from support.paths import ROOT

MOVING = "29"
NOT_TO_BE_HAD = 77
OF_APPLICATIONS = ("test_applications.py",)

release, test, *only = sys.argv[1:]
found = subprocess.run([ROOT / "scripts" / "install-otp", "--offline", release],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
status = found.returncode
if status == 0 and release == MOVING and os.path.basename(test) in OF_APPLICATIONS and \
        not pathlib.Path(found.stdout.strip(), "usr", "lib", "rabbitmq").exists():
    status = NOT_TO_BE_HAD
if status != 0:
    print(f"NOT TESTED here: {os.path.basename(test)} on OTP {release}", file=sys.stderr)
    sys.exit(status)
os.environ["BEAMDUMP_OTP"] = release
os.execv(sys.executable, [sys.executable, "-B", test, *only])
