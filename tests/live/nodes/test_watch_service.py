"""The watcher's service under systemd, in an emulated machine where the package is installed: it starts as
hardened as its unit says, takes dumps of another user's node by a rule and of its crash dump, writes nowhere
but into its folder, goes on when the node starts again, and ends in order.

Only in soak: a root of Debian with systemd is fetched, and kept as those of test_roots.py."""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from roots import ENVIRONMENT, build_package, in_root, root_of, succeed
from support.guest import NoGuest, SystemGuest, check_guest

NOT_TO_BE_HAD = 77
PACKAGES = "systemd", "systemd-sysv", "erlang-base"
# Nothing of these is needed to run.
LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt", "var/lib/apt/lists",
            "dev")
# CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SYS_PTRACE, CAP_SYS_NICE by their numbers in linux/capability.h.
CAPABILITIES = 1 << 2 | 1 << 5 | 1 << 19 | 1 << 23
MESSAGES = 5000
NODE = f"""[Service]
User=nobody
WorkingDirectory=/srv/node
Environment=HOME=/srv/node
Restart=always
ExecStart=/usr/bin/erl -noinput -eval 'register(inbox, spawn(fun() -> receive never -> ok end end)), \\
  [inbox ! N || N <- lists:seq(1, {MESSAGES})], \
  (fun F() -> case file:read_file_info("busy") of {{ok, _}} -> lists:sort(lists:seq(1, 20000)); _ -> timer:sleep(500) end, \
   F() end)().'
"""
# An emulated processor may keep a thread waiting for longer than a stop takes by default.
RULES = f"""
all = true
folder = "/var/lib/beamdump"
interval = "500ms"
scan_interval = "1s"
capture = ["--max-pause", "1000"]
[limits]
free = "1MiB"
distance = "1s"
[[rule]]
of = "mailbox"
above = {MESSAGES - 1}
"""
COMMANDS = """
folder=/var/lib/beamdump
said() { journalctl --output=cat --unit=beamdump-watch; }
# So often, at most for five minutes.
told() { for n in $(seq 300); do [ $(said | grep -c -- "$1") -ge $2 ] && return; sleep 1; done; echo "LACKS $1"; }
systemctl start beamdump-watch
told 'waiting for nodes' 1
systemctl start node
told 'mailbox: .*written to' 1
pid=$(systemctl show --value --property=MainPID beamdump-watch)
echo "USER $(stat -c %U /proc/$(systemctl show --value --property=MainPID node))"
grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/$pid/status
echo "LOCKED $(sed -n 's/^VmLck:[^0-9]*//p' /proc/$pid/status)"
echo "ADJUSTED $(cat /proc/$pid/oom_score_adj)"
# What the service's processes can write.
for where in /etc /usr /var /var/lib /srv /srv/node /root /boot $folder; do
    nsenter --mount --target $pid sh -c "echo >> $where/probe" 2> /dev/null && echo "WRITES $where"
done
rm $folder/probe
# Neither sysctls nor cgroups.
for file in /proc/sys/kernel/core_pattern /sys/fs/cgroup/cgroup.subtree_control; do
    nsenter --mount --target $pid sh -c "echo >> $file" 2> /dev/null && echo "WRITES $file"
done
systemctl restart node
told 'Z watching ' 2
told 'mailbox: .*written to' 2
# The VM writes its crash dump at this signal, and systemd starts it again.
systemctl kill --signal=USR1 node
told 'crash_dump: .*written to' 1
told 'Z watching ' 3
stat -c 'MODE %a %U %n' $folder $folder/*
for dump in $folder/*-mailbox.beamdump; do
    echo "SUMMARY $(beamdump-analyze summary --json $dump | tr -d '\\n')"
done
# A profile in the recording: above 2 Debian's kernels refuse it to all but CAP_SYS_ADMIN.
echo 3 > /proc/sys/kernel/perf_event_paranoid
sed -i 's/^all = true/&\\nrecord = "60s"\\nrecord_profile = 20/; s/^above = .*/above = 1000000/' /etc/beamdump/watch.toml
systemctl restart beamdump-watch
told 'goes on without a profile' 1
echo 2 > /proc/sys/kernel/perf_event_paranoid
touch /srv/node/busy
systemctl restart beamdump-watch
recording() { ls -t $folder/*.recording | head -n 1; }
for n in $(seq 300); do
    beamdump-analyze history --json $(recording) | grep -q lists:s && break
    sleep 1
done
rm /srv/node/busy
recording=$(recording)
systemctl stop beamdump-watch
systemctl show --property=ActiveState,Result,ExecMainStatus,NRestarts beamdump-watch
echo "LEFT $(ls $folder | grep -c partial) $(grep -l beamdump /proc/[0-9]*/comm | wc -l)"
echo "HISTORY $(beamdump-analyze history --json $recording | tr -d '\\n')"
systemctl show --property=ActiveState,SubState node
said
"""


class Service(unittest.TestCase):
    def test_the_service_of_the_package(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        root = scratch / "root"
        succeed("cp", "-a", root_of("bookworm", PACKAGES, "bookworm-systemd"), root)
        (scratch / "package").mkdir()
        shutil.copy(build_package(scratch / "package"), root / "tmp" / "beamdump.deb")
        for words in (("update",), ("-y", "install", "/tmp/beamdump.deb")):
            succeed(*in_root(root, "apt-get", "-q", *words), env=ENVIRONMENT)
        for folder in LEFT_OUT:
            shutil.rmtree(root / folder, ignore_errors=True)
        (root / "dev").mkdir()
        guest = SystemGuest(scratch, root)
        guest.write("/etc/systemd/system/node.service", NODE)
        guest.write("/etc/beamdump/watch.toml", RULES)
        (root / "srv/node").mkdir(0o777)
        (root / "srv/node").chmod(0o777)
        told, _ = guest.run(COMMANDS)
        print(told, flush=True)
        facts = dict(re.findall(r"(?m)^(\w+)[:=]\s*(\S+)$", told))
        self.assertNotIn("LACKS", told)
        self.assertIn("USER nobody\n", told)
        for kind in "CapEff", "CapPrm", "CapBnd":
            self.assertEqual(int(facts[kind], 16), CAPABILITIES, kind)
        self.assertEqual((facts["NoNewPrivs"], facts["Seccomp"]), ("1", "2"))
        self.assertIn("ADJUSTED 1000\n", told)
        self.assertGreater(int(re.search(r"(?m)^LOCKED (\d+) kB$", told)[1]), 0)
        self.assertEqual(re.findall(r"(?m)^WRITES (\S+)$", told), ["/var/lib/beamdump"])
        modes = {name: (mode, user) for mode, user, name in re.findall(r"(?m)^MODE (\d+) (\w+) (\S+)$", told)}
        self.assertEqual(modes.pop("/var/lib/beamdump"), ("700", "root"))
        self.assertEqual(set(modes.values()), {("600", "root")})
        self.assertEqual(sum(name.endswith("-crash_dump.beamdump") for name in modes), 1)
        summaries = [json.loads(text) for text in re.findall(r"(?m)^SUMMARY (.*)$", told)]
        self.assertGreaterEqual(len(summaries), 2)
        for summary in summaries:
            self.assertRegex(summary["capture"]["reason"], f"^mailbox: the longest mailbox was {MESSAGES:,} in ")
        self.assertEqual(len({summary["node"]["os_pid"] for summary in summaries}), len(summaries))
        ended = {name: facts[name] for name in ("Result", "ExecMainStatus", "NRestarts")}
        self.assertEqual(ended, {"Result": "success", "ExecMainStatus": "0", "NRestarts": "0"})
        self.assertEqual(re.findall(r"(?m)^ActiveState=(\w+)$", told), ["inactive", "active"])
        self.assertIn("LEFT 0 0\n", told)
        history = json.loads(re.search(r"(?m)^HISTORY (.*)$", told)[1])
        self.assertIn("watcher_ended_us", history)
        self.assertRegex(told, r"(?m) goes on without a profile: .* kernel.perf_event_paranoid is 3: .* set it to 2 ")
        self.assertIn("lists:s", json.dumps(history["profiles"]))


if __name__ == "__main__":
    try:
        check_guest()
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            raise NoGuest("other roots need root, and debootstrap")
    except NoGuest as error:
        print(f"NOT TESTED here: {error}", file=sys.stderr)
        sys.exit(NOT_TO_BE_HAD)
    unittest.main(verbosity=2)
