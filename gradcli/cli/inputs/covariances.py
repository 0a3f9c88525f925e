"""``--cov A,B=VALUE``: covariances of names, as numbers, matrices of the language, or data files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.errors import UsageError
from gradcli.query.bindings import Programs
from gradcli.query.options import names_of


def covariances_of(texts: Sequence[str], programs: Programs, state: int) -> list[tuple[tuple[str, ...], Any]]:
    """Return what is given of covariances. Raises GradcliError."""
    calculator = programs.fresh(state, values={})
    found: list[tuple[tuple[str, ...], Any]] = []
    for text in texts:
        listed, equals, value = text.partition("=")
        names = names_of(listed) or ()
        if not equals or not names or not value.strip() or not all(name.isidentifier() for name in names):
            raise UsageError(f"--cov takes NAMES=VALUE, not '{text}'", help="write --cov a,b=0.02, or --cov a,b=@matrix.npy")
        if any({*names} == {*other} for other, _ in found):
            raise UsageError(f"--cov {listed}=... is given twice")
        given = value.strip()
        found.append((names, programs.loader()(given[1:]) if given.startswith("@") else calculator.constant(given, "<cov>")))
    return found
