"""Answers in JSON, compared with one another."""

# Sizes, counts and shapes. A limit would cut between equal sizes, which are listed by their names.
SIZE_LISTS = ("processes", "ets", "binaries", "memory", "allocators", "persistent-terms", "modules", "ports",
              "timers", "nodes")
SIZE_QUESTIONS = (("summary",), *((command, "--limit", "0") for command in SIZE_LISTS))


def without(answer, names):
    """An answer without these members, at any depth."""
    if isinstance(answer, dict):
        return {name: without(value, names) for name, value in answer.items()
                if name not in names}
    if isinstance(answer, list):
        return [without(value, names) for value in answer]
    return answer


def numbers(value):
    """An answer without its texts, and without what it says of the file: what redaction leaves."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()
                if key not in ("dump", "warnings", "findings_left_out") and not isinstance(item, str)}
    if isinstance(value, list):
        # In any order: equal sizes are listed by their texts.
        return sorted((numbers(item) for item in value), key=repr)
    return None if isinstance(value, str) else value
