"""Answers in JSON, compared with one another."""


def without(answer, names):
    """An answer without these members, at any depth."""
    if isinstance(answer, dict):
        return {name: without(value, names) for name, value in answer.items()
                if name not in names}
    if isinstance(answer, list):
        return [without(value, names) for value in answer]
    return answer
