"""The schemas of lists in schemas/json have what the columns say of themselves: names, types, texts
that are possible, descriptions. `check_schemas.py` compares them; `check_schemas.py update` writes
them anew. What is required, and what is beside the rows, is written by hand. docs/columns.md has the
same for people."""

import difflib
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas" / "json"
PROGRAMS = pathlib.Path(os.environ.get("BEAMDUMP_PROGRAMS", ROOT / "build" / "bin"))

# Of each list: its file, where the properties of a row are, and the kind of thing in exports.
LISTS = {
    "ets": ("ets", "$defs/table", "ets_table"),
    "modules": ("modules", "properties/modules/items", "module"),
    "allocators": ("allocators", "$defs/line", "allocator"),
    "carriers": ("allocators", "$defs/carrier", None),
    "ports": ("activity/ports", "properties/ports/items", "port"),
    "sockets": ("activity/sockets", "properties/sockets/items", "socket"),
    "resources": ("activity/resources", "properties/resources/items", None),
    "resource_holders": ("activity/resources", "properties/holders/items", None),
    "timers": ("activity/timers", "properties/timers/items", "timer"),
    "schedulers": ("activity/schedulers", "properties/schedulers/items", "scheduler"),
    "nodes": ("activity/nodes", "properties/nodes/items", "node"),
    "persistent-terms": ("activity/persistent-terms", "properties/terms/items", "persistent_term"),
    "history": ("activity/history", "properties/readings/items", None),
    "history_processes": ("activity/history", "properties/processes/items/properties/seen/items", None),
    "history_functions": ("activity/history", "properties/profiles/items/properties/functions/items", None),
    "processes": ("common", "$defs/process", "process"),
    "binaries": ("binaries", "properties/binaries/items", "binary"),
    "atoms": ("atoms", "properties/groups/items", "atom_group"),
    "each_atom": ("atoms", "properties/atoms/items", "atom"),
}
# The commands whose lists they are, where the name says something else.
COMMANDS = {"carriers": "allocators --carriers", "each_atom": "atoms --list",
            "resource_holders": "resources TYPE"}
# Those whose commands filter and sort by columns of their own.
NO_LISTS = ("history", "history_processes", "history_functions", "processes")
PAGE = ROOT / "docs" / "columns.md"
PAGE_HEAD = """# Columns of lists

The names for `--columns`, `--sort`, `--filter` and `--group-by`, in the order of the JSON. Written by
`tests/golden/check_schemas.py update` from the columns themselves.
"""

# Members of a row that are no columns, or have a definition of their own.
MORE = {"modules": ("user_count", "users"), "persistent-terms": ("term",),
        "processes": ("void_reason",)}
# A line of an export says of what kind its thing is.
RENAMED = {"timer": {"kind": "timer_kind"}, "scheduler": {"kind": "scheduler_kind"},
           "node": {"node": "other_node", "processes": "suspended_processes"},
           "atom_group": {"atoms": "pattern"}, "atom": {"index": "number"}}
# Columns that exports do not have, and what they have besides.
NOT_EXPORTED = {"persistent_term": ("value",)}
ONLY_EXPORTED = {"process": ("display_name",)}
OF_A_LINE = ("kind", "node", "captured_us")


def at(schema, path):
    for name in path.split("/"):
        schema = schema[name]
    return schema


class Schemas:
    def __init__(self):
        self.files = {path: json.loads(path.read_text()) for path in SCHEMAS.rglob("*.json")}
        printed = subprocess.run([PROGRAMS / "column_schemas"], check=True, capture_output=True)
        self.columns = json.loads(printed.stdout)

    def file(self, name):
        return self.files[SCHEMAS / f"{name}.schema.json"]

    def fill(self):
        """Writes what the columns say into the schemas."""
        export = self.file("export")
        lines = {line["properties"]["kind"]["const"]: line
                 for line in self.file("export-line")["oneOf"]}
        assert set(LISTS) == set(self.columns)
        for name, (file, path, kind) in LISTS.items():
            said = self.columns[name]
            rows = at(self.file(file), path)
            rows["properties"] = said["properties"] | {
                more: rows["properties"][more] for more in MORE.get(name, ())}
            if kind is None:
                continue
            urn = self.file(file)["$id"]
            named = {RENAMED.get(kind, {}).get(column, column): column
                     for column in said["exported"] if column not in NOT_EXPORTED.get(kind, ())}
            only = {name: export["$defs"][kind]["properties"][name]
                    for name in ONLY_EXPORTED.get(kind, ())}
            export["$defs"][kind]["properties"] = {
                member: {"$ref": f"{urn}#/{path}/properties/{column}"}
                for member, column in named.items()} | only
            of_line = lines[kind]["properties"]
            lines[kind]["properties"] = {name: of_line[name] for name in OF_A_LINE} | {
                member: {"$ref": f"{export['$id']}#/$defs/{kind}/properties/{member}"}
                for member in (*named, *only)}

    def page(self):
        text = PAGE_HEAD
        for name, said in self.columns.items():
            if name in NO_LISTS:
                continue
            text += f"\n## {COMMANDS.get(name, name)}\n\n| Column | Values | What it is |\n| --- | --- | --- |\n"
            for column, unit, also in said["units"]:
                what = said["properties"].get(column, {}).get("description", "")
                texts = said["properties"].get(column, {}).get("enum")
                names = f"`{column}`" + (f", `{also}`" if also else "")
                text += f"| {names} | {', '.join(texts) if texts else unit} | {what} |\n"
        return text

    def texts(self):
        names = {file for file, _, _ in LISTS.values()} | {"export", "export-line"}
        paths = [SCHEMAS / f"{name}.schema.json" for name in sorted(names)]
        return {path: json.dumps(self.files[path], indent=2, ensure_ascii=False) + "\n"
                for path in paths} | {PAGE: self.page()}


class ColumnsAndSchemas(unittest.TestCase):
    def test_schemas_have_what_columns_say(self):
        schemas = Schemas()
        schemas.fill()
        for path, now in schemas.texts().items():
            known = path.read_text()
            with self.subTest(path.name):
                difference = difflib.unified_diff(known.splitlines(), now.splitlines(), "written",
                                                  "said by the columns", lineterm="", n=1)
                self.assertEqual(known, now, "tests/golden/check_schemas.py update:\n"
                                 + "\n".join(difference))


if __name__ == "__main__":
    if sys.argv[1:] == ["update"]:
        SAID = Schemas()
        SAID.fill()
        for file_path, text in SAID.texts().items():
            file_path.write_text(text)
    else:
        unittest.main()
