"""Documents of the judge against docs/verdict.schema.json. Without jsonschema, importing this fails: a check that is
left out in silence is none."""
import json
import pathlib

import jsonschema  # Debian: python3-jsonschema

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "verdict.schema.json"
# Debian 12's jsonschema knows the 2020 draft; older ones read the schema, which keeps to draft 7's words, as well.
DRAFT = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)
VALIDATOR = DRAFT(json.loads(PAGE.read_text(encoding="utf-8")))


def complaints(document: dict) -> list[str]:
    return [f"{error.json_path}: {error.message}"[:500] for error in VALIDATOR.iter_errors(document)]
