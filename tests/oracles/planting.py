"""Mistakes planted into the catalogue, one at a time: each of them has to be found by the oracles.

A record is frozen, and everything else holds it by identity: what is planted is put into the record
itself and taken out again.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.language import calls
from gradcli.ops import registry as catalogue_of_records
from gradcli.ops.registry import composites, find, registry
from gradcli.ops.spec import Composite, Op
from gradcli.query import interface
from oracles.catalogue import catalogue
from oracles.compare import faults
from oracles.explicit import EXPLICIT, explicit_faults
from oracles.families import FAMILIES, family_faults
from oracles.samples import SAMPLES, sample_faults
from oracles.texts import TEXTS
from oracles.told import text_faults

FACTOR = 1.001


TEXTS_AND_THEIR_LIBRARIES = {text: library for library, texts in TEXTS.items() for text in texts}


def all_faults(name: str, every: bool = True) -> Iterator[str]:
    """What is wrong with a name of the catalogue, with a text of a library's or with a function of
    one of SciPy's families.
    """
    if name in TEXTS_AND_THEIR_LIBRARIES:
        yield from text_faults(TEXTS_AND_THEIR_LIBRARIES[name], name)
    elif name in SAMPLES:
        yield from sample_faults(name)
    elif name in FAMILIES:
        yield from family_faults(name)
    else:
        yield from faults(name, every)
        yield from explicit_faults(name)


def records() -> list[Op | Composite]:
    return [*registry().values(), *composites().values()]


@contextlib.contextmanager
def planted(record: Any, **fields: Any) -> Iterator[None]:
    """A record with other fields, for a while."""
    kept = {name: getattr(record, name) for name in fields}
    try:
        for name, value in fields.items():
            object.__setattr__(record, name, value)
        interface._idle_programs.cache_clear()  # these are made of what the record was
        yield
    finally:
        for name, value in kept.items():
            object.__setattr__(record, name, value)
        interface._idle_programs.cache_clear()


@contextlib.contextmanager
def exchanged(one: str, other: str) -> Iterator[None]:
    """Two names of the catalogue that mean each other's function, for a while."""
    table = catalogue_of_records._BY_NAME
    try:
        table[one], table[other] = table[other], table[one]
        calls.operation.cache_clear()
        interface._idle_programs.cache_clear()
        yield
    finally:
        table[one], table[other] = table[other], table[one]
        calls.operation.cache_clear()
        interface._idle_programs.cache_clear()


def _moved(value: Any) -> Any:
    """A result that is wrong by a factor, or by one, or the other way round."""
    if isinstance(value, (tuple, list)):
        parts = map(_moved, value)
        return type(value)(parts) if type(value) in (tuple, list) else type(value)(*parts)
    kind = getattr(value, "kind", None)
    if isinstance(kind, str):  # a node of a graph
        return value * FACTOR if kind == "float" else find("logical_not")(value)
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return np.logical_not(array)[()]
    return (
        value
        if array.dtype.kind not in "fiu"
        else (array * FACTOR if array.dtype.kind == "f" else array + 1)[()]
    )


def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands, **static: _moved(function(*operands, **static))


def wrong_value(record: Op | Composite) -> dict[str, Any]:
    """The fields of a record whose function is wrong by a factor."""
    if isinstance(record, Composite):
        return {"definition": wrong(record.definition)}
    return {"forward": wrong(record.forward), "operator": None}


def constants(function: Any) -> Iterator[tuple[str, FunctionType]]:
    """A function with each of its floats moved, one at a time: those in its code, and those of its
    file that it names.
    """
    if not isinstance(function, FunctionType):
        return
    code = function.__code__
    for place, value in enumerate(code.co_consts):
        if isinstance(value, float) and math.isfinite(value):
            moved = code.replace(co_consts=_with(code.co_consts, place, value * FACTOR or 0.001))
            yield repr(value), _remade(function, moved, function.__globals__)
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, float) and math.isfinite(
            value
        ):  # others stay what they are by any factor
            yield (
                name,
                _remade(function, code, {**function.__globals__, name: float(value) * FACTOR}),
            )


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _remade(function: FunctionType, code: CodeType, names: dict[str, Any]) -> FunctionType:
    made = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@cache
def touched() -> Mapping[str, list[str]]:
    """The names whose calls run a record's function, by records."""
    found: dict[str, list[str]] = defaultdict(list)
    for record in records():
        found[record.name] = []
    current = ""

    def watched(record: Op | Composite, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*operands: Any, **static: Any) -> Any:
            if current not in found[record.name][-1:]:
                found[record.name].append(current)
            return function(*operands, **static)

        return run

    with contextlib.ExitStack() as stack:
        for record in records():
            fields = ("definition",) if isinstance(record, Composite) else ("forward", "operator")
            functions = {field: getattr(record, field) for field in fields}
            watching = {
                field: watched(record, function)
                for field, function in functions.items()
                if function is not None
            }
            stack.enter_context(planted(record, **watching))
        for name in dict.fromkeys(
            [*catalogue(), *EXPLICIT, *TEXTS_AND_THEIR_LIBRARIES, *FAMILIES, *SAMPLES]
        ):
            current = name
            with contextlib.suppress(
                GradcliError
            ):  # what is refused is found where it stands in a test of its own
                for _ in all_faults(name, every=False):
                    pass
    for record in records():  # some are what a name means only without a prefix
        found[record.name] = found[record.name] or [
            name for name in (record.name, *record.aliases) if name in catalogue()
        ]
    return found


def first_found(record: Op | Composite, **fields: Any) -> str | None:
    """The first thing that the oracles say of a planted mistake."""
    own = (record.name, *record.aliases)
    names = sorted(touched()[record.name], key=lambda name: (name not in own, len(name)))
    with planted(record, **fields):
        for name, every in (*((name, False) for name in names), *((name, True) for name in own)):
            with contextlib.suppress(Exception):
                for fault in all_faults(name, every):
                    return fault
    return None


def aliases() -> list[tuple[str, str]]:
    """Every alias, and the next one of another record of as many operands, so that the calls of one
    can be those of the other.
    """
    table = catalogue_of_records._BY_NAME
    every = [
        alias
        for record in records()
        if record.public
        for alias in record.aliases
        if "." not in alias
    ]

    def alike(one: str, two: str) -> bool:
        kinds = [(len(table[name].operands), table[name].variadic) for name in (one, two)]
        return table[two] is not table[one] and kinds[0] == kinds[1]

    following = [
        (one, next((two for two in (*every[i + 1 :], *every) if alike(one, two)), None))
        for i, one in enumerate(every)
    ]
    return [(one, two) for one, two in following if two is not None]


def found_in(*names: str) -> str | None:
    """The first thing that the oracles say of these names."""
    for name in names:
        try:
            for fault in all_faults(name):
                return fault
        except Exception as error:
            return f"{name}: {error!r}"
    return None


def other_default(value: Any) -> Any:
    """Another value of a parameter, or None if it has no other that is known to mean something."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * 1.5 + 0.01 if isinstance(value, float) else None
