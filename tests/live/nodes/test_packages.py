"""What a customer's machine gets. The Debian package, unpacked into an empty folder and run there. And
the programs of one file each, which are run in a root that has nothing else."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import tempfile
import unittest

from support import tools
from roots import BUILD, STATIC, STATIC_NAMES, build_package, copy_static, in_root, run, succeed
from support.node import start_workload
from support.paths import ANALYZE, PROGRAMS, ROOT

NAMES = (*STATIC_NAMES, "beamdump-layout")
MOST_STATIC_BYTES = 16_000_000
MOST_EXPOSED = 4
PT_DYNAMIC, PT_INTERP = 2, 3
NOBODY = 65534


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def expected_files():
    """The golden list: what is installed below the prefix."""
    files = {f"bin/{name}" for name in NAMES}
    for name in NAMES:
        files |= {f"share/man/man1/{name}.1", f"share/bash-completion/completions/{name}",
                  f"share/zsh/site-functions/_{name}", f"share/fish/vendor_completions.d/{name}.fish"}
    schemas = ROOT / "schemas"
    for pattern in ("json/**/*.json", "json/**/*.md", "layouts/*.json", "*.proto", "dump-format.md"):
        found = [path.relative_to(schemas) for path in schemas.glob(pattern)]
        assert found or pattern.endswith("json/**/*.md"), pattern
        files |= {f"share/beamdump/schemas/{path}" for path in found}
    files |= {f"share/doc/beamdump/docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    return files | {"share/doc/beamdump/README.md", "share/doc/beamdump/CHANGELOG.md", "share/doc/beamdump/watch.toml",
                    "share/doc/beamdump/beamdump-crash.conf",
                    "lib/systemd/system/beamdump-watch.service"}


class OfANode(unittest.TestCase):
    """With a node of this machine's own release, the same for all tests, which it does not notice."""

    node = None

    @classmethod
    def setUpClass(cls):
        if OfANode.node is None:
            OfANode.node = start_workload("sample")
            unittest.addModuleCleanup(cls.node.stop)
        belongings = contextlib.ExitStack()
        cls.addClassCleanup(belongings.close)
        cls.scratch = pathlib.Path(belongings.enter_context(tempfile.TemporaryDirectory(prefix="beamdump-test.")))

    def assert_is_the_node(self, listed):
        """The processes of an answer of `processes --limit 0 --json`."""
        pids = set(self.node.ask("processes").split())
        self.assertGreater(len(pids), 100)
        self.assertGreater(len(pids & {process["pid"] for process in listed["processes"]}), 0.95 * len(pids))


class Package(OfANode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.scratch / "package").mkdir()
        cls.deb = build_package(cls.scratch / "package", umask=0o077)  # the caller's must not matter
        cls.root = cls.scratch / "root"
        succeed("dpkg-deb", "-x", cls.deb, cls.root)

    def test_contents(self):
        inside = {path.removesuffix(".gz") if "/man/" in path else path
                  for path in files_below(self.root)}
        self.assertEqual(inside, {f"usr/{path}" for path in expected_files()})
        for line in succeed("dpkg-deb", "-c", self.deb).splitlines():
            mode, owner, *_, path = line.split()
            with self.subTest(path):
                self.assertEqual(owner, "root/root")
                program = path.endswith("/") or "/bin/" in path
                self.assertEqual(mode[1:], "rwxr-xr-x" if program else "rw-r--r--")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "NOT TESTED here: systemd is not installed")
    def test_the_service_is_valid(self):
        """All keys are known, the program is there, and what is left open is little (10.0 is all)."""
        installed = self.root / "usr/lib/systemd/system/beamdump-watch.service"
        service = self.scratch / installed.name
        service.write_text(installed.read_text().replace("/usr/bin/", f"{self.root}/usr/bin/"))
        for words in (("verify", "--man=no", service),
                      ("security", "--offline=true", f"--threshold={MOST_EXPOSED * 10}", service)):
            ended = run("systemd-analyze", *words)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)

    def test_install_without_a_package(self):
        prefix = self.scratch / "prefix"
        succeed("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertEqual(files_below(prefix), expected_files())

    def test_it_depends_on_the_packages_of_its_libraries(self):
        fields = {name: succeed("dpkg-deb", "-f", self.deb, name).strip()
                  for name in ("Package", "Version", "Architecture", "Depends")}
        version = succeed(PROGRAMS / "beamdump-analyze", "--version").split()[1]
        self.assertEqual([fields["Package"], fields["Version"]], ["beamdump", version])
        self.assertEqual(fields["Architecture"], succeed("dpkg", "--print-architecture").strip())
        named = {re.split(r"[ (:]", one.strip())[0] for one in fields["Depends"].split(",")}
        needed = set()
        for name in NAMES:
            told = succeed("readelf", "-d", self.root / "usr/bin" / name)
            needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
        self.assertIn("libc.so.6", needed)
        for library in needed - {"ld-linux-x86-64.so.2"}:
            owners = {line.split(":")[0] for line in succeed("dpkg-query", "-S", f"*/{library}").splitlines()}
            self.assertTrue(owners & named, f"{library}: none of {owners} in {fields['Depends']}")

    def test_run_from_where_it_was_unpacked(self):
        programs = self.root / "usr" / "bin"
        dump = self.scratch / "packaged.beamdump"
        # The layouts of the package in place of the built-in ones.
        succeed(programs / "beamdump-capture", "--quiet", "-o", dump, "--layout",
                self.root / "usr/share/beamdump/schemas/layouts", self.node.pid)
        layout = self.root / "usr/share/beamdump/schemas/layouts/otp-25.json"
        succeed(programs / "beamdump-layout", "diff", layout, layout)
        asked = ["processes", "--limit", "0", "--json", dump]
        answer = run(programs / "beamdump-analyze", *asked)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout, tools.expect(tools.ask(*asked), 0).output)
        self.assert_is_the_node(tools.analyze_json("processes", dump, "--limit", "0"))
        page = self.root / "usr/share/man/man1/beamdump-capture.1.gz"
        self.assertIn("--max-pause", re.sub(".\x08", "", succeed("mandoc", "-T", "ascii", page)))


@unittest.skipUnless(os.geteuid() == 0, "another root needs root")
class OneFile(OfANode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.scratch / "empty-root"
        (cls.root / "proc").mkdir(parents=True)
        copy_static(cls.root)

    def inside(self, *command, options=()):
        """A command in the root, which has its program and /proc."""
        return run(*in_root(self.root, *command, options=options))

    def test_files_need_no_other_and_are_small(self):
        for name in STATIC_NAMES:
            data = (STATIC / name).read_bytes()
            self.assertLess(len(data), MOST_STATIC_BYTES, name)
            # Elf64_Ehdr: e_machine, e_phoff, e_phentsize and e_phnum; Elf64_Phdr: p_type. See elf(5).
            self.assertEqual((data[:5], struct.unpack_from("<H", data, 18)), (b"\x7fELF\2", (62,)))
            [at] = struct.unpack_from("<Q", data, 32)
            size, count = struct.unpack_from("<HH", data, 54)
            kinds = [struct.unpack_from("<I", data, at + number * size)[0] for number in range(count)]
            self.assertGreater(len(kinds), 2)
            self.assertFalse({PT_DYNAMIC, PT_INTERP} & set(kinds), name)

    def test_checksums_and_the_bill_of_materials(self):
        first, again = self.scratch / "bill", self.scratch / "bill-again"
        for folder in (first, again):
            succeed(ROOT / "scripts" / "write-sbom", BUILD, folder)
        self.assertEqual((first / "beamdump.spdx.json").read_bytes(), (again / "beamdump.spdx.json").read_bytes())
        succeed("sha256sum", "--check", "--strict", first / "SHA256SUMS", cwd=STATIC)
        bill = json.loads((first / "beamdump.spdx.json").read_text())
        files = {entry["SPDXID"]: entry["fileName"] for entry in bill["files"]}
        self.assertEqual(set(files.values()), {f"./{name}" for name in STATIC_NAMES})
        packages = {entry["SPDXID"]: entry for entry in bill["packages"]}
        linked = {name: set() for name in files.values()}
        compiled = set()
        for relation in bill["relationships"]:
            one, other = relation["spdxElementId"], relation["relatedSpdxElement"]
            self.assertLessEqual({one, other}, {"SPDXRef-DOCUMENT", *files, *packages})
            if relation["relationshipType"] == "STATIC_LINK":
                linked[files[one]].add(packages[other]["name"])
            if relation["relationshipType"] == "BUILD_DEPENDENCY_OF":
                compiled.add(packages[one]["name"])
        for name, used in linked.items():
            self.assertLessEqual({"glibc", "gcc-12", "libzstd", "fmtlib", "protobuf"}, used, name)
        self.assertIn("sqlite3", linked["./beamdump-analyze"])
        self.assertNotIn("sqlite3", linked["./beamdump-capture"])
        self.assertLessEqual({"cli11", "rapidjson"}, compiled)
        self.assertFalse(compiled & {"googletest", "libzstd"})
        versions = {entry["name"]: entry["versionInfo"] for entry in packages.values()}
        self.assertEqual(versions["libzstd"],
                         succeed("dpkg-query", "-W", "-f", "${source:Version}", "libzstd-dev"))

    def test_in_an_empty_root(self):
        ran = self.inside("/beamdump-capture", "--binary-bytes", "all", "-o", "/node.beamdump", self.node.pid)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        asked = {}
        for command in (["summary"], ["processes", "--limit", "0", "--json"], ["memory", "--json"],
                        ["backtrace", "node.beamdump", "sample_accounts"],
                        ["search", "--text", "Lund", "--json"], ["export", "folded"]):
            words = command if "node.beamdump" in command else [*command, "node.beamdump"]
            inside = self.inside("/beamdump-analyze", *words)
            self.assertEqual(inside.returncode, 0, inside.stderr)
            self.assertEqual(inside.stdout, succeed(ANALYZE, *words, cwd=self.root), words)
            asked[command[0]] = inside.stdout
        self.assertIn("Lund", asked["backtrace"])
        self.assert_is_the_node(tools.analyze_json("processes", self.root / "node.beamdump", "--limit", "0"))

    def test_a_running_node_from_an_empty_root(self):
        ran = self.inside("/beamdump-sample", "top", "--once", "--json", "--limit", "1000", self.node.pid)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        listed = {process["pid"] for process in json.loads(ran.stdout)["rows"]}
        pids = set(self.node.ask("processes").split())
        self.assertGreater(len(listed & pids), 0.95 * len(pids))
        ran = self.inside("/beamdump-sample", "stacks", self.node.pid)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        ran = self.inside("/beamdump-watch", "--check", "--rule", "processes > 100", self.node.pid)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"(process {self.node.pid})\nprocesses: ", ran.stdout)

    def test_a_screen_without_terminfo_is_refused_with_what_helps(self):
        """As the program that is linked dynamically does it; with terminfo it has its screen."""
        root = in_root(self.root, "/beamdump-sample", "top", self.node.pid)
        script = ["script", "--quiet", "--return", "--command", shlex.join(map(str, root)), "/dev/null"]
        ran = run(*script, env={**os.environ, "TERM": "xterm"})
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn("use --once or --count", ran.stdout)

    def test_users_without_the_roots_libraries(self):
        """The C library would load what nsswitch.conf names; a static program must not."""
        refused = ["/beamdump-capture", "-o", "/never.beamdump", self.node.pid]
        nobody = [f"--userspec={NOBODY}:{NOBODY}"]
        ran = self.inside(*refused, options=nobody)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn(f"user uid 0 and this program runs as uid {NOBODY}", ran.stderr)
        (self.root / "etc").mkdir()
        (self.root / "etc/nsswitch.conf").write_text("passwd: sss files\n")
        (self.root / "etc/passwd").write_text(f"first:x:0:0::/:/x\nother:x:{NOBODY}:{NOBODY}::/:/x\n")
        self.assertIn("user first and this program runs as other", self.inside(*refused, options=nobody).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
