"""Custom gradients of PyTorch's and JAX's, as people write them: no false alarm, no miss, where
these libraries are installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from battery.code import THEMES, entries_of
from battery.code.entries import FINE, WRONG, Entry

from gradcli.testing import check_gradient


def rows(library: str) -> list[Any]:
    """All entries; of a library that is not installed, a row for each of its themes."""
    if find_spec(library) is None:
        skip = pytest.mark.skip(reason=f"{library} is not installed")
        return [
            pytest.param(None, id=f"{library}-{theme}", marks=skip) for theme in THEMES[library]
        ]
    found = [
        (f"{library}-{theme}", entry)
        for theme in THEMES[library]
        for entry in entries_of(library, theme)
    ]
    return [pytest.param(entry, id=f"{name}-{entry.title}") for name, entry in found]


@pytest.mark.parametrize("entry", [*rows("torch"), *rows("jax")])
def test_verdict_on_a_gradient(entry: Entry) -> None:
    check = check_gradient(entry.function, entry.gradient, at=entry.at, **entry.options)
    wanted = FINE if entry.right else WRONG
    assert check.verdict.word in wanted, [
        (name, part.decided_by, part.worst, part.reason) for name, part in check.variables.items()
    ]
