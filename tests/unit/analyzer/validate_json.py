"""Validates every JSON answer of beamdump-analyze against its schema.

validate_json.py PROGRAM WRITE_SAMPLE_DUMPS SCHEMAS. A member that a schema does not describe fails
here, although the schemas allow it: later versions may add members, this one must describe its own.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

CRASH = """=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: boom
System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:2] [ds:2:2:10]
Atoms: 12
=scheduler:1
Scheduler Sleep Info Flags: SLEEPING | TSE_SLEEPING | WAITING
Current Port: 
Run Queue Max Length: 0
Run Queue High Length: 1
Run Queue Normal Length: 2
Run Queue Low Length: 3
Run Queue Port Length: 4
Current Process: <0.9.0>
=dirty_cpu_scheduler:2
Scheduler Sleep Info Flags: 
Current Process: 
=dirty_cpu_run_queue
Run Queue Max Length: 0
=memory
total: 1000
=allocator:eheap_alloc[0]
mbcs blocks[eheap_alloc] count: 3 47 47
mbcs blocks[eheap_alloc] size: 3816 333904 333904
mbcs carriers: 1 2 2
mbcs carriers size: 262144 786432 786432
=timer:<0.9.0>
Message: {timeout,now}
Time left: 86400000
=persistent_terms
A3:key|I7
A4:name|H10
=literals
10:lI1|N
=proc:<0.9.0>
State: Waiting
Name: alpha
Message queue length: 1
Link list: [<0.8.0>]
Reductions: 4411
Memory: 5832
=ets:<0.9.0>
Slot: 4711
a line of no name
=port:#Port<0.3>
State: CONNECTED|BINARY_IO
Slot: 24
Connected: <0.9.0>
Port controls linked-in driver: tcp_inet
Input: 10
Output: 20
Queue: 30
=node:'me@here'
=proc_messages:<0.9.0>
A5:hello:N
=proc_stack:<0.9.0>
0x00007f9c4d31c708:SReturn addr 0x97C011F8 (<terminate process normally>)
=proc_heap:<0.9.0>
=mod:shop
Current size: 1700
=end
"""

# Breaks off before everything that these commands list.
TRUNCATED = CRASH[:CRASH.index("Run Queue Max")]
TRUNCATED_ANSWERS = ("summary", "processes", "tree", "waits", "hang", "ets", "ports", "timers", "nodes",
                     "binaries",
                     "atoms", "memory")

DUMPS = ("sample", "later", "cut", "inferred", "crash", "truncated", "tables", "node_memory",
         "recording", "watched", "crashed", "emulator", "blocks")
ANSWERS = [
    (0, ["summary", "sample"]),
    (3, ["summary", "sample", "--findings", "full"]),
    (3, ["summary", "cut"]),
    (0, ["processes", "sample"]),
    (0, ["sql", "sample", "SELECT p.pid, p.memory / 2.0 AS half, f.function FROM processes p, stack('alpha') f"]),
    (0, ["processes", "sample", "--filter", "nothing like it"]),
    (3, ["processes", "cut", "--limit", "1", "--sort", "name"]),
    (3, ["processes", "sample", "--columns", "binaries,stack,heap,old_heap"]),
    (0, ["processes", "tables", "--sort", "ets"]),
    (0, ["processes", "sample", "--group-by", "status"]),
    (3, ["processes", "sample", "--group-by", "ancestor", "--sort", "count"]),
    (0, ["process", "sample", "alpha"]),
    (3, ["process", "sample", "secret"]),
    (3, ["process", "sample", "<0.4.0>"]),
    (0, ["process", "sample", "secret", "--sensitive", "--limit", "0"]),
    (0, ["messages", "sample", "alpha"]),
    (0, ["messages", "sample", "alpha", "--no-histogram", "--from", "1"]),
    (0, ["messages", "sample", "alpha", "--by", "sender"]),
    (3, ["messages", "sample", "secret"]),
    (3, ["messages", "sample", "<0.4.0>"]),
    (0, ["dictionary", "sample", "alpha"]),
    (3, ["dictionary", "sample", "secret"]),
    (0, ["dictionary", "sample", "secret", "--sensitive", "--from", "5"]),
    (0, ["backtrace", "sample", "alpha"]),
    (0, ["backtrace", "sample", "alpha", "--max-bytes", "2", "--chunk-size", "1"]),
    (3, ["backtrace", "sample", "<0.4.0>"]),
    (3, ["backtrace", "sample", "secret"]),
    (0, ["heap", "sample", "alpha", "--retained", "--terms"]),
    (0, ["heap", "sample", "alpha", "--limit", "0"]),
    (3, ["heap", "sample", "<0.4.0>"]),
    (3, ["heap", "sample", "secret"]),
    (0, ["term", "sample", "alpha"]),
    (0, ["term", "sample", "alpha", "y(0)", "--depth", "3", "--syntax", "elixir"]),
    (0, ["term", "sample", "alpha", "y(0)", "--term-bytes", "0"]),
    (3, ["term", "sample", "secret"]),
    (3, ["term", "sample", "<0.4.0>", "y(0)"]),
    (0, ["dictionary", "sample", "alpha", "--syntax", "elixir"]),
    (0, ["ets", "tables"]),
    (0, ["ets", "tables", "--filter", "nothing like it"]),
    (0, ["ets", "crash"]),
    (0, ["diff", "sample", "later"]),
    (0, ["diff", "sample", "later", "later"]),
    (0, ["diff", "tables", "tables"]),
    (0, ["diff", "sample", "watched"]),
    (0, ["diff", "node_memory", "sample"]),
    (0, ["diff", "sample", "crash", "--terms"]),
    (0, ["diff", "sample", "later", "--heap", "alpha"]),
    (0, ["diff", "sample", "crash", "--heap", "alpha"]),
    (0, ["diff", "sample", "later", "--exit-code"]),
    (3, ["diff", "cut", "sample"]),
    (0, ["memory", "node_memory"]),
    (0, ["memory", "sample"]),
    (0, ["memory", "sample", "--binaries"]),
    (0, ["memory", "blocks", "--blocks"]),
    (0, ["memory", "tables"]),
    (0, ["memory", "crash"]),
    (0, ["allocators", "node_memory"]),
    (0, ["allocators", "node_memory", "--instances"]),
    (0, ["allocators", "node_memory", "--carriers"]),
    (0, ["allocators", "node_memory", "--limit", "1"]),
    (0, ["allocators", "crash"]),
    (0, ["summary", "node_memory"]),
    (0, ["summary", "inferred"]),
    (0, ["memory", "inferred"]),
    (0, ["processes", "inferred"]),
    (0, ["process", "inferred", "alpha"]),
    (0, ["messages", "inferred", "alpha"]),
    (0, ["dictionary", "inferred", "alpha"]),
    (0, ["backtrace", "inferred", "alpha"]),
    (0, ["heap", "inferred", "alpha"]),
    (0, ["diff", "inferred", "later"]),
    (0, ["diff", "sample", "inferred"]),
    (0, ["summary", "crash"]),
    (0, ["processes", "crash"]),
    (0, ["process", "crash", "alpha"]),
    (0, ["messages", "crash", "alpha"]),
    (0, ["dictionary", "crash", "alpha"]),
    (0, ["backtrace", "crash", "alpha"]),
    (0, ["heap", "crash", "alpha"]),
    (0, ["ports", "sample"]),
    (0, ["history", "recording"]),
    (0, ["crash", "crashed"]),
    (0, ["emulator", "emulator"]),
    (0, ["resources", "emulator"]),
    (0, ["resources", "emulator", "demo:loop"]),
    (0, ["resources", "emulator", "--filter", "living>1", "--group-by", "module"]),
    (0, ["crash", "sample"]),
    (0, ["crash", "crash"]),
    (0, ["summary", "crashed"]),
    (0, ["sockets", "sample"]),
    (0, ["sockets", "sample", "--sort", "owner", "--filter", "state=LISTEN"]),
    (3, ["profile", "sample"]),
    (3, ["profile", "sample", "--by", "initial_call"]),
    (0, ["ports", "inferred", "--sort", "name", "--limit", "1"]),
    (0, ["ports", "crash"]),
    (3, ["persistent-terms", "tables"]),
    (0, ["persistent-terms", "tables", "alpha"]),
    (0, ["persistent-terms", "crash"]),
    (0, ["schedulers", "sample"]),
    (0, ["sockets", "sample", "--group-by", "state,owner"]),
    (0, ["ports", "sample", "--group-by", "driver", "--limit", "1"]),
    (0, ["timers", "sample", "--group-by", "receiver,kind", "--sort", "message_words"]),
    (0, ["timers", "sample"]),
    (0, ["timers", "sample", "--filter", "orphaned=true", "--limit", "1"]),
    (0, ["timers", "crash"]),
    (0, ["nodes", "sample"]),
    (0, ["nodes", "sample", "--filter", "busy=true", "--limit", "1"]),
    (0, ["nodes", "crash"]),
    (0, ["schedulers", "crash", "--sort", "scheduler", "--limit", "2"]),
    (3, ["tree", "sample"]),
    (3, ["tree", "sample", "--links", "--limit", "1"]),
    (0, ["binaries", "sample"]),
    (0, ["binaries", "sample", "--at-least", "1KiB"]),
    (3, ["binaries", "sample", "--leaks"]),
    (3, ["refs", "sample", "<0.1.0>"]),
    (0, ["refs", "crash", "alpha"]),
    (3, ["search", "tables", "[<0.77.0>]"]),
    (3, ["refs", "tables", "<0.77.0>"]),
    (3, ["search", "sample", "{loop, _}"]),
    (3, ["search", "sample", "--text", "alp"]),
    (0, ["search", "sample", "_", "--limit", "1"]),
    (0, ["search", "sample", "no_such_atom"]),
    (3, ["waits", "sample"]),
    (0, ["waits", "crash"]),
    (3, ["hang", "sample"]),
    (0, ["hang", "crash"]),
    (0, ["hang", "emulator"]),
    (0, ["hang", "emulator", "alpha"]),
    (0, ["atoms", "sample"]),
    (0, ["atoms", "sample", "--list", "--sort", "name"]),
    (0, ["atoms", "inferred", "--filter", "al"]),
    (0, ["atoms", "crash"]),
    (0, ["modules", "sample"]),
    (3, ["modules", "sample", "--users"]),
    (0, ["modules", "crash"]),
    (0, ["sections", "crash"]),
    (0, ["sections", "crash", "ets"]),
    (0, ["sections", "crash", "no_such"]),
    *((3, [command, "truncated"]) for command in TRUNCATED_ANSWERS),
    (3, ["processes", "truncated", "--group-by", "status"]),
    (3, ["ports", "truncated", "--group-by", "connected"]),
    (3, ["atoms", "truncated", "--list"]),
]


# Policies for `redact`, and whether they are ones.
POLICIES = [
    (True, {"level": "structure"}),
    (True, {"level": "structure", "salt": "s", **{f"{what}_{which}": ["a*", "b"] for what in ("keep", "hide")
            for which in ("atoms", "modules", "records", "structs", "keys")}}),
    (True, {"level": "text", "keep_keys": ["a"], "hide_atoms": ["b"], "hide_keys": []}),
    (False, {"level": "text", "hide_keys": ["a"]}),
    (False, {"keep_keys": ["a"]}),
    (False, {"level": "all"}),
    (False, {"level": "structure", "keep_key": ["a"]}),
    (False, {"level": "structure", "keep_keys": "a"}),
    (False, {"level": "structure", "hide_records": [1]}),
    (False, {"level": "structure", "hide_modules": [""]}),
    (False, {"level": "structure", "keep_structs": ["a\0"]}),
    (False, {"level": "structure", "salt": ""}),
    (False, ["structure"]),
]


def validate_policies(program, directory, schema):
    """The schema takes the policies that the program takes, and no others."""
    resolver = jsonschema.RefResolver.from_schema(schema, store={schema["$id"]: schema})
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    file = pathlib.Path(directory) / "policy.json"
    for right, policy in POLICIES:
        file.write_text(json.dumps(policy))
        ended = subprocess.run([program, "redact", f"{directory}/sample.beamdump", "--policy", file,
                                "-o", f"{directory}/redacted.beamdump"], capture_output=True, text=True)
        # The sample dump is not from a capture and has no room to say by what it was redacted.
        assert ended.returncode == (1 if right else 2), f"{policy}: exit status {ended.returncode}: {ended.stderr}"
        assert validator.is_valid(policy) == right, f"{policy}: the schema says otherwise"
        assert right or ended.stderr.count("\n") == 1, f"{policy}: {ended.stderr}"


def commands_with_json(program):
    """As the program's own help says."""
    def help_of(*words):
        return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", help_of())
    return {name for name in names if "--json" in help_of(name)}


def strict(schema):
    """The schema, refusing members that it does not describe."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        result.setdefault("additionalProperties", False)
    return result


def main():
    program, write_dumps, folder = sys.argv[1:]
    schemas = {}
    for path in sorted(pathlib.Path(folder).rglob("*.schema.json")):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        schemas[schema["$id"]] = strict(schema)
    answered = set()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([write_dumps, directory], check=True)
        (pathlib.Path(directory) / "crash.beamdump").write_text(CRASH)
        (pathlib.Path(directory) / "truncated.beamdump").write_text(TRUNCATED)
        for status, words in ANSWERS:
            arguments = [words[0], *(f"{directory}/{word}.beamdump" if word in DUMPS else word
                                     for word in words[1:])]
            ended = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
            assert ended.returncode == status, \
                f"{words}: exit status {ended.returncode}, not {status}: {ended.stderr}"
            answer = json.loads(ended.stdout)
            name, version = answer["schema"].removeprefix("beamdump.").split("/")
            assert name == ("groups" if "--group-by" in words and words[0] != "processes" else words[0]), f"{words}: names the schema {answer['schema']}"
            schema = schemas[f"urn:beamdump:{name}:{version}"]
            resolver = jsonschema.RefResolver.from_schema(schema, store=schemas)
            jsonschema.Draft202012Validator(schema, resolver=resolver).validate(answer)
            members = {member for part in [answer, *answer.get("dumps", [])] for member in part}
            assert ("layout" in members) == ("inferred" in words), \
                f"{words}: whether a layout was inferred is not said right"
            answered.add(name)
        validate_policies(program, directory, schemas["urn:beamdump:redaction-policy:1"])
    # Exports are validated by test_exports.py, the answers of the sampler and of mcp by the live tests of their names.
    described = {identity.split(":")[2] for identity in schemas} - {
        "common", "export", "export-line", "open", "stacks", "alloc", "alloc-functions", "off-cpu",
        "top", "threads", "redaction-policy"}
    assert answered == described, f"schemas without an answer: {described - answered}"
    commands = commands_with_json(program)
    answered.remove("groups")  # of several commands
    assert commands == answered, f"commands with --json, and commands asked: {commands ^ answered} differ"
    print(f"{len(ANSWERS)} answers are as {len(described)} schemas say")


if __name__ == "__main__":
    main()
