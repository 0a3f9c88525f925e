"""Pieces of code as people paste them: what the libraries make of them, as recorded, or refused in
their own words.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.pasted import PIECES, VALUES, differentiated, names_in
from recorded import over

import gradcli
from gradcli import GradcliError
from gradcli.language.run import statements as read
from gradcli.language.syntax import Statement

DATA = Path(__file__).parent / "data"
CASES = [
    pytest.param(library, text, id=f"{library}: {text}")
    for library, texts in PIECES.items()
    for text in texts
]


@cache
def recorded(library: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"pasted_of_{library}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(("library", "text"), CASES)
def test_a_piece_is_what_the_library_makes_of_it(library: str, text: str) -> None:
    wanted = recorded(library)[text]
    value = np.asarray(wanted["value"], float)
    given = {name: VALUES[name] for name in names_in(text)}
    record = gradcli.evaluate(
        text, at=given, seed=np.ones(value.shape)[()], dialect=library, check=False
    )
    assert np.shape(record.value) == value.shape
    np.testing.assert_allclose(np.asarray(record.value, float), value, rtol=1e-12, atol=1e-13)
    within = 1e-6 if wanted.get("by") == "differences" else 1e-11
    for name in differentiated(text):
        found = (record.grad or {}).get(name, np.zeros(np.shape(VALUES[name])))
        np.testing.assert_allclose(
            np.asarray(found),
            np.asarray(wanted["gradients"][name]),
            rtol=within,
            atol=within,
            err_msg=name,
        )


def test_every_piece_was_recorded() -> None:
    missing = [
        text for library, texts in PIECES.items() for text in texts if text not in recorded(library)
    ]
    assert missing == [], (
        "python -m oracles.record_pasted torch (numpy, jax) in tests/ records what the libraries "
        "make of the pieces"
    )
    assert sum(map(len, PIECES.values())) > 900


AT = {"x": [0.7, -1.3, 2.1, 0.4], "s": 1.7, "A": [[1.2, -0.7], [0.4, 2.0]]}


def errors_of(text: str) -> list[GradcliError]:
    """What is refused of a program, as it is rendered."""
    from gradcli.language.run import Program
    from gradcli.language.scope import Scope
    from gradcli.query.programs import locate

    program, found = Program(Scope()), []
    for name, value in AT.items():
        program.scope.bind_value(name, value)
    for statement in read(text.splitlines(keepends=True), "model.grad"):
        if isinstance(statement, GradcliError):
            found.append(statement)
            continue
        assert isinstance(statement, Statement)
        try:
            program.execute(statement)
        except GradcliError as error:
            found.append(locate(error, program.scope, statement))
    return found


@over("pasted", "refused", "text", "rendered")
def test_what_is_out_of_the_language_is_refused_in_its_own_words(text: str, rendered: str) -> None:
    assert "\n".join(error.render() for error in errors_of(text)) == rendered


@over("pasted", "read", "text", "value")  # fmt: skip
def test_what_changes_nothing_is_read(text: str, value: Any) -> None:
    from gradcli.language.run import Program
    from gradcli.language.scope import Scope

    program, found = Program(Scope()), []
    for name, given in AT.items():
        program.scope.bind_value(name, given)
    for statement in read(text.splitlines(keepends=True)):
        assert isinstance(statement, Statement), statement
        lowered = program.execute(statement)
        if lowered is not None:
            found.append(program.scope.evaluate(lowered.value))
    np.testing.assert_allclose(np.ravel(found), np.ravel(value))
