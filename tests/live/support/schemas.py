"""Validates answers by the JSON Schemas of schemas/json."""

import functools
import json

import jsonschema

from support.paths import ROOT

FOLDER = ROOT / "schemas" / "json"


@functools.cache
def _documents():
    """The schemas by file name and by $id: the files refer to each other by both."""
    read = {path.name: json.loads(path.read_text()) for path in FOLDER.rglob("*.schema.json")}
    return {schema_id: document for file_name, document in read.items()
            for schema_id in (file_name, document.get("$id", file_name))}


@functools.cache
def _validator(name):
    """Made once: it keeps what it has found of other schemas."""
    schema = _documents()[f"{name}.schema.json"]
    resolver = jsonschema.RefResolver(base_uri=schema.get("$id", ""), referrer=schema, store=_documents())
    return jsonschema.validators.validator_for(schema)(schema, resolver=resolver)


def validate(answer, name):
    """Raises an error if the answer does not follow NAME.schema.json."""
    _validator(name).validate(answer)
