"""Validates answers by the JSON Schemas of schemas/json."""

import json

import jsonschema

from support.paths import ROOT

FOLDER = ROOT / "schemas" / "json"


def validate(answer, name):
    """Raises an error if the answer does not follow NAME.schema.json."""
    schemas = {path.name: json.loads(path.read_text()) for path in FOLDER.rglob("*.schema.json")}
    schema = schemas[f"{name}.schema.json"]
    # The files refer to each other by file name or by $id.
    store = {schema_id: document for file_name, document in schemas.items()
             for schema_id in (file_name, document.get("$id", file_name))}
    resolver = jsonschema.RefResolver(base_uri=schema.get("$id", ""), referrer=schema, store=store)
    jsonschema.validators.validator_for(schema)(schema, resolver=resolver).validate(answer)
