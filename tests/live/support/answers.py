"""Answers in JSON, compared with one another."""


def without(answer, names):
    """An answer with these members left out wherever they are."""
    if isinstance(answer, dict):
        return {name: without(value, names) for name, value in answer.items()
                if name not in names}
    if isinstance(answer, list):
        return [without(value, names) for value in answer]
    return answer
