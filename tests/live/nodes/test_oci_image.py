"""The image of the programs of one file: tools for images read it, and its programs capture a node in the root that
it has."""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest

from roots import STATIC, in_root, run, succeed
from support.node import base_environment, start_workload
from support.paths import ANALYZE, ROOT

MAKE = ROOT / "scripts" / "make-oci-image"
PROGRAMS = {"beamdump-analyze", "beamdump-capture", "beamdump-sample", "beamdump-watch"}
TAG = "under-test"
READY_SECONDS = 120


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="beamdump-test.")))
        cls.image = cls.scratch / "image.oci.tar"
        succeed(MAKE, "--programs", STATIC, "--output", cls.image, "--tag", TAG)
        cls.version = succeed(ANALYZE, "--version").split()[1]

    def test_a_tool_for_images_reads_it(self):
        at = f"oci-archive:{self.image}:{TAG}"
        told = json.loads(succeed("skopeo", "inspect", at))
        self.assertEqual((told["Architecture"], told["Os"]), ("amd64", "linux"))
        self.assertEqual(told["Labels"]["org.opencontainers.image.version"], self.version)
        copied = self.scratch / "copied"
        # Digests and sizes of all blobs are checked as they are copied.
        succeed("skopeo", "copy", at, f"dir:{copied}")
        [layer] = told["Layers"]
        self.assertTrue((copied / layer.removeprefix("sha256:")).is_file())

    def test_has_the_programs_and_no_other_file(self):
        bundle = self.unpacked()
        files = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if not path.is_dir()}
        self.assertEqual(files, {f"usr/bin/{name}" for name in PROGRAMS})
        for name in PROGRAMS:
            inside = bundle / "usr/bin" / name
            self.assertEqual(inside.stat().st_mode & 0o7777, 0o755)
            self.assertEqual(inside.read_bytes(), (STATIC / name).read_bytes())
        self.assertEqual((bundle / "tmp").stat().st_mode & 0o7777, 0o1777)
        self.assertEqual((bundle / "var/lib/beamdump").stat().st_mode & 0o7777, 0o700)

    def unpacked(self):
        """The root of the image, as umoci unpacks it."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=self.scratch)))
        with tarfile.open(self.image) as archive:
            archive.extractall(folder / "layout")
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        succeed("umoci", "unpack", *rootless, "--image", f"{folder / 'layout'}:{TAG}", folder / "bundle")
        told = json.loads((folder / "bundle/config.json").read_text())
        self.assertEqual(told["process"]["args"], ["beamdump-capture", "--help"])
        self.assertIn("PATH=/usr/bin", told["process"]["env"])
        return folder / "bundle/rootfs"

    @unittest.skipUnless(os.geteuid() == 0, "another root needs root")
    def test_captures_a_node_in_its_root(self):
        node = start_workload("sample")
        self.addCleanup(node.stop)
        root = self.unpacked()
        (root / "proc").mkdir()  # whoever runs an image mounts it
        dump = "/var/lib/beamdump/node.beamdump"
        ran = run(*in_root(root, "/usr/bin/beamdump-capture", "-o", dump, node.pid))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        asked = ["/usr/bin/beamdump-analyze", "processes", "--limit", "0", "--json", dump]
        ran = run(*in_root(root, *asked))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        listed = {process["pid"] for process in json.loads(ran.stdout)["processes"]}
        pids = set(node.ask("processes").split())
        self.assertGreater(len(listed & pids), 0.95 * len(pids))
        ran = run(*in_root(root, "/usr/bin/beamdump-watch", "--check", "--rule", "processes > 100", node.pid))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("processes", ran.stdout)

    @unittest.skipUnless(os.geteuid() == 0 and os.path.ismount("/"), "namespaces need root: NOT TESTED here")
    def test_recipes_beside_a_node_in_its_pid_namespace(self):
        """The programs' part of the commands in docs/watch.md, as a container that shares the node's processes and
        has a root of its own runs them."""
        recipes = (ROOT / "docs" / "watch.md").read_text()
        capture = shlex.split(re.search(r"(?m)^ +(beamdump-capture -o /proc/1/root\S+)$", recipes)[1])
        watch = json.loads(re.search(r'command: (\["beamdump-watch".*\])', recipes)[1])
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=self.scratch)))
        process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "erl", "-noinput", "-start_epmd", "false",
             "-eval", f'ok = file:write_file("{folder}/ready", ""), timer:sleep(infinity).'],
            env=base_environment(folder), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + READY_SECONDS
        while not (folder / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        [node] = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        root = self.unpacked()
        (root / "proc").mkdir()

        def beside(program, *words):
            return succeed("nsenter", "--target", node, "--pid", "unshare", "--mount", "--fork", "sh", "-c",
                           'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root, f"/usr/bin/{program}", *words)

        # That namespace has this machine's root.
        dump = folder / "node.beamdump"
        self.assertEqual(capture[-1], "/proc/1/root/tmp/node.beamdump")
        beside(*capture[:-1], f"/proc/1/root{dump}")
        self.assertIn("init", succeed(ANALYZE, "processes", dump, "--limit", 0))
        told = beside(*watch, "--check")
        self.assertRegex(told, r"nonode@nohost \(process 1\)\nresident: resident memory is [\d.]+ MiB")

    def test_is_the_same_whenever_it_is_made(self):
        again = self.scratch / "again.oci.tar"
        programs = self.scratch / "programs"
        programs.mkdir()
        for name in PROGRAMS:
            shutil.copyfile(STATIC / name, programs / name)
            (programs / name).chmod(0o700)
        succeed(MAKE, "--programs", programs, "--output", again, "--tag", TAG)
        self.assertEqual(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.image, again)))

    def test_what_is_not_a_program_is_refused(self):
        programs = self.scratch / "others"
        programs.mkdir()
        output = self.scratch / "never.oci.tar"
        ran = run(MAKE, "--programs", programs, "--output", output)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"cannot read {programs}/beamdump-analyze: No such file or directory; scripts/build-static",
                      ran.stderr)
        for name in PROGRAMS:
            (programs / name).write_text("#!/bin/sh\n")
        ran = run(MAKE, "--programs", programs, "--output", output)
        self.assertEqual((ran.returncode, ran.stderr),
                         (1, f"make-oci-image: {programs}/beamdump-analyze is no program for x86-64\n"))
        nowhere = programs / "beamdump-watch" / "image.oci.tar"
        ran = run(MAKE, "--programs", STATIC, "--output", nowhere)
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"make-oci-image: cannot write {nowhere}: ", ran.stderr)
        self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
