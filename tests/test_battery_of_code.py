"""Gradients in Python code: no false alarm, no miss, over some hundred functions of NumPy's and
SciPy's, as people write them.
"""

from __future__ import annotations

from functools import cache

import pytest
from battery.code import THEMES, entries_of
from battery.code.entries import FINE, OPEN, WRONG

from gradcli import Check
from gradcli.testing import check_gradient

pytestmark = pytest.mark.ci

ENTRIES = [
    (f"{theme}-{entry.title}", entry)
    for theme in THEMES["numpy"]
    for entry in entries_of("numpy", theme)
]
TRIED = [
    place for place, (_, entry) in enumerate(ENTRIES) if place % 3 == 0 or entry.open is not None
]


@cache
def checked(place: int) -> Check:
    _, entry = ENTRIES[place]
    return check_gradient(entry.function, entry.gradient, at=entry.at, **entry.options)


@pytest.mark.parametrize("place", [pytest.param(place, id=ENTRIES[place][0]) for place in TRIED])
def test_verdict_on_a_gradient(place: int) -> None:
    _, entry = ENTRIES[place]
    check = checked(place)
    wanted = (FINE if entry.right else WRONG) + (OPEN if entry.open is not None else ())
    assert check.verdict.word in wanted, [
        (name, part.decided_by, part.worst, part.reason) for name, part in check.variables.items()
    ]


def test_at_most_two_of_a_hundred_stay_open() -> None:
    doubtful = [
        (place, name) for place, (name, entry) in enumerate(ENTRIES) if entry.open is not None
    ]
    undecided = [name for place, name in doubtful if checked(place).verdict.word in OPEN]
    assert len(undecided) <= 0.02 * len(ENTRIES), undecided
