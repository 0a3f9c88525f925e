"""The judge's own table of names (`gradcli/reference/reading/names.txt`): adds lines for functions that it lacks.

``python tests/reading_table.py`` proposes lines for new functions from what is declared for them. They are to be read before they are
committed: `test_reading.py` holds the table to the libraries' own signatures, where these can be asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradcli
from gradcli.language.builtin_functions import ALIASES, FUNCTIONS
from gradcli.ops import registry
from gradcli.ops.calling import classes, signatures
from gradcli.ops.calling.dialects import lookup
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import Parameter, Signature
from gradcli.ops.spec import REQUIRED

TABLE = Path(gradcli.__file__).parent / "reference" / "reading" / "names.txt"
LIBRARIES = (NUMPY, TORCH, SCIPY, JAX, MATH)
HEAD = "name\tlibraries\tfunction\tparameters\tdefaults\n"


def written(parameter: Parameter) -> str:
    """A parameter in the table's notation: its spellings, what it takes, and whether it is read."""
    stars = "***" if parameter.each else "**" if parameter.many else ""
    word = "-" * parameter.ignored + stars + "|".join(dict.fromkeys((parameter.name, *parameter.spellings)))
    return word + "?" * parameter.flattens + (f"@{parameter.otherwise}" if parameter.otherwise else "")


def defaults_of(found: Signature) -> dict[str, Any]:
    """The parameters that are no operands, with what they are where nothing is said."""
    if found.target in FUNCTIONS:
        return dict(found.defaults)
    record = registry.named(found.target)
    own = {key: value for key, value in record.static.items() if value is not REQUIRED}
    wider = getattr(record, "wider", None)
    more = {} if wider is None else {k: v for k, v in wider.static.items() if v is not REQUIRED}
    return {**more, **own, **dict(found.defaults)}


def lines() -> Iterator[str]:
    """A line for each name and each way in which libraries have it."""
    registry.load()
    names = {*registry.public_names(), *signatures.declared_names(), *FUNCTIONS, *ALIASES}
    for name in sorted(names):
        rows: dict[tuple[str, str, str], list[str]] = {}
        for library in LIBRARIES:
            # a name of a part of a library, linalg.norm, is that library's alone
            part = "." in name and not (library == JAX and name in registry.public_names())
            found = signatures.declared(name, library) if part else lookup(ALIASES.get(name, name), library)
            if found is None:
                continue
            said = defaults_of(found)
            if found.values:
                said["="] = {key: [[*pair] for pair in table.items()] for key, table in found.values.items()}
            row = found.target, ",".join(map(written, found.parameters)), json.dumps(said)
            rows.setdefault(row, []).append(library)
        for row, libraries in rows.items():
            yield "\t".join((name, ",".join(libraries), *row)) + "\n"


def class_lines() -> Iterator[str]:
    """A line for each class of a library: what its constructor takes, and the functions that its objects are."""
    for library, table in classes._CLASSES.items():
        for name, of in table.items():
            if isinstance(of, classes.Class):
                said = {
                    "methods": dict(of.methods), "properties": sorted(of.properties), "defaults": dict(of.defaults),
                    "repeated": dict(of.repeated),
                }  # fmt: skip
                yield "\t".join((f"class {name}", library, "", ",".join(map(written, of.constructor.parameters)), json.dumps(said))) + "\n"


def main() -> None:
    known = TABLE.read_text().splitlines(keepends=True) if TABLE.exists() else [HEAD]
    names = {line.split("\t", 1)[0] for line in known}
    new = [line for line in (*lines(), *class_lines()) if line.split("\t", 1)[0] not in names]
    TABLE.write_text(known[0] + "".join(sorted([*known[1:], *new])))
    print(f"{len(new)} lines added")


if __name__ == "__main__":
    main()
