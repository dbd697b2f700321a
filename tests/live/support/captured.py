"""The processes of a dump, with process_info's names."""

from support import tools
from support.comparison import COLLECTION_NAMES


# Kinds that process_info does not show.
UNTOLD_MONITORS = ("node", "nodes", "suspend", "alias")


def listed(dump, *options):
    """All processes, as `processes` lists them."""
    answer = tools.analyze_json("processes", dump, "--limit", "0", *options)
    return {process["pid"]: process for process in answer["processes"]}


def details(dump, pids):
    """The named processes that are in the dump, as `process` shows them."""
    found = {}
    for pid in pids:
        ended = tools.ask("process", dump, pid, "--json", "--limit", "0", "--syntax", "erlang")
        if ended.status == 1 and "no process" in ended.diagnostics:
            continue
        found[pid] = _flat(tools.parse(tools.expect(ended, 0, 3)))
    return found


def _flat(answer):
    facts = {"registered_name": None, "translated_initial_call": None, "label": None,
             "void_reason": answer.get("void_reason")}
    collection = answer["garbage_collection_info"]
    for name, group in answer.items():
        if isinstance(group, dict) and "items" not in group and group is not collection:
            facts |= group
    facts |= {ours: collection.get(theirs) for ours, theirs in COLLECTION_NAMES.items()}
    # process_info does not count a link that is being removed.
    facts["links"] = [link["other"] for link in answer["links"]["items"] if not link["unlinking"]]
    for side in ("monitors", "monitored_by"):
        facts[side] = [monitor["other"] for monitor in answer[side]["items"]
                       if monitor["kind"] not in UNTOLD_MONITORS]
    facts["current_stacktrace"] = [
        [line["function"], f"{line['file']}:{line['line']}" if "line" in line else None]
        for line in answer["current_stacktrace"]["items"]]
    facts["suspending"] = [f"{{{line['process']},{line['active']},{line['outstanding']}}}"
                           for line in answer["suspending"]["items"]]
    facts["binary"] = [[int(line["address"], 16), line.get("size_bytes")]
                       for line in answer["binary"]["items"]]
    return facts
