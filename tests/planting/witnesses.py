"""The tests that find what the verdict cannot: their comparisons, called as functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from checking import remembered_differs
from oracles.compare import oracles as libraries_of
from oracles.explicit import EXPLICIT
from oracles.families import FAMILIES
from oracles.planting import TEXTS_AND_THEIR_LIBRARIES, all_faults, touched
from witness import LINES
from witness.comparison import (
    compiled_differs,
    epsilon_differs,
    numbers_differ,
    queries_differ,
    random_program,
    tree_differs,
    writes_differ,
)
from witness.numpy_values import Unusable
from witness.programs import values_of

from gradcli.errors import GradcliError
from gradcli.ops.spec import Composite, Op
from planting.mistakes import Witness

ORACLES = "tests/test_oracles.py"
PYTHON = "tests/test_against_python.py"
KEPT = "tests/test_indeterminate.py"
_OF_TENSORS = frozenset({"overwrite"})  # operations that no program of the language runs
_NUMBER = 3  # of the values
_RANDOM = 60  # random programs


def own_oracles(record: Op | Composite) -> list[str]:
    """The names of a record that have an oracle."""
    return [
        name for name in (record.name, *record.aliases) if name in EXPLICIT or libraries_of(name)
    ]


def oracles_of(record: Op | Composite, wide: bool) -> Iterator[Witness]:
    """The oracles of a record's own names, and of every name whose calls run it, if these are to be
    looked for.
    """
    own = own_oracles(record)
    yield from oracles(*own)
    if record.name in _OF_TENSORS:
        yield f"{PYTHON} [writes into tensors]", writes_differ
    if record.name == "machine_epsilon":
        yield f"{PYTHON} [small numbers normalized]", epsilon_differs
    if wide:
        yield from oracles(*sorted(set(touched()[record.name]).difference(own), key=len)[:12])


def oracles(*names: str) -> Iterator[Witness]:
    for name in names:
        yield f"{ORACLES} [{name}]", lambda name=name: next(iter(all_faults(name)), None)


def texts_of(name: str) -> list[str]:
    """The texts and functions recorded of libraries in which a name of a part of one stands:

    ``lax.reduce_sum``, ``Weibull.icdf``.
    """
    part, _, last = name.rpartition(".")
    known = (*TEXTS_AND_THEIR_LIBRARIES, *FAMILIES)
    return [
        text
        for text in known
        if part and (name in text or (f".{part}(" in text and f").{last}" in text))
    ]


def lines() -> Iterator[Witness]:
    """The lines that NumPy computes, and random programs."""
    for text in LINES:
        yield (
            f"{PYTHON} [{text}]",
            lambda text=text: numbers_differ(text, values_of(_NUMBER), _NUMBER),
        )
    for text in programs():
        yield (
            f"{PYTHON} [{text}]",
            lambda text=text: numbers_differ(text, values_of(_NUMBER), _NUMBER),
        )


@cache
def programs() -> list[str]:
    """Random programs with numbers to compare, which the language takes."""
    found = []
    for number in range(_RANDOM):
        text = random_program(Random(number), 4, _NUMBER)
        try:
            assert numbers_differ(text, values_of(_NUMBER), _NUMBER) is None
        except (Unusable, GradcliError):
            continue
        found.append(text)
    return found


def trees() -> Iterator[Witness]:
    for number in range(_RANDOM):
        text = random_program(Random(number), 5, None)
        yield f"{PYTHON} [{text}]", lambda text=text: tree_differs(text)


def plans() -> Iterator[Witness]:
    for text in LINES:
        yield (
            f"{PYTHON} [compiled: {text}]",
            lambda text=text: compiled_differs(text, values_of(_NUMBER), _NUMBER),
        )


def queries() -> Iterator[Witness]:
    yield f"{PYTHON} [queries of one form]", queries_differ


def verdicts() -> Iterator[Witness]:
    """Verdicts that are kept between runs, asked for right and wrong numbers one after the
    other.
    """
    yield (
        f"{KEPT} [test_a_remembered_verdict_does_not_hide_what_was_computed_anew]",
        remembered_differs,
    )
