"""Gradients in Python code: no false alarm, no miss, over some hundred functions of NumPy's and SciPy's, as people write them."""

from __future__ import annotations

import pytest
from battery.code import THEMES, entries_of
from battery.code.entries import FINE, OPEN, WRONG, Entry

from gradcli.testing import check_gradient

ENTRIES = [(f"{theme}-{entry.title}", entry) for theme in THEMES["numpy"] for entry in entries_of("numpy", theme)]


@pytest.mark.parametrize("entry", [pytest.param(entry, id=name) for name, entry in ENTRIES])
def test_verdict_on_a_gradient(entry: Entry) -> None:
    check = check_gradient(entry.function, entry.gradient, at=entry.at, **entry.options)
    wanted = (FINE if entry.right else WRONG) + (OPEN if entry.open is not None else ())
    assert check.verdict.word in wanted, [(name, part.decided_by, part.worst, part.reason) for name, part in check.variables.items()]


def test_at_most_two_of_a_hundred_stay_open() -> None:
    doubtful = [(name, entry) for name, entry in ENTRIES if entry.open is not None]
    checks = [(name, check_gradient(entry.function, entry.gradient, at=entry.at, **entry.options)) for name, entry in doubtful]
    undecided = [name for name, check in checks if check.verdict.word in OPEN]
    assert len(undecided) <= 0.02 * len(ENTRIES), undecided
