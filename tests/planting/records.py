"""Mistakes in the records of operations and of functions made of them: slopes, values, meanings,
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial as bound
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from checking import operand, planted, times
from checking import partial as at_place

from gradcli.ops.registry import composites, find, registry
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import derivative
from planting.mistakes import Mistake
from planting.programs import reaching
from planting.witnesses import oracles_of, own_oracles

FACTOR = 1.001
TWICE = 2  # of what is wrong everywhere: no rounding gives it away
Rule = Callable[..., Any]
Change = Callable[[Any], Any]


# -- slopes: the verdict's own derivative finds them
# -----------------------------------------------------------------


def _dropped(part: Any) -> Any:
    """One entry of a cotangent is lost."""
    shape = getattr(part, "shape", ())
    if not shape or 0 in shape:
        return part * 0
    mask = np.ones(shape)
    mask[(0,) * len(shape)] = 0.0
    return part * mask


def _turned(part: Any) -> Any:
    """A matrix transposed, a list of entries read backwards."""
    shape = getattr(part, "shape", ())
    if len(shape) > 1 and shape[-1] == shape[-2]:
        return _transposed(part)
    return find("flip")(part, axis=-1) if shape else part * 1.001


def _transposed(part: Any) -> Any:
    axes = list(range(len(part.shape)))
    axes[-2:] = axes[-1], axes[-2]
    return find("transpose")(part, axes=tuple(axes))


SLOPES: dict[str, Change] = {
    "a factor": lambda part: part * FACTOR,
    "a summand": lambda part: part + 1e-6,
    "the sign": lambda part: -part,
    "an entry dropped": _dropped,
    "transposed": _turned,
}


def _changed(change: Change) -> Callable[[Rule], Rule]:
    return lambda rule: lambda *given, **static: change(rule(*given, **static))


def _exchanged(rule: Any) -> Any:
    """A partial that takes its operands in the other order, or a VJP that gives its parts in it."""
    if isinstance(rule, tuple):
        return rule[::-1]

    def wrong(first: Any, *given: Any, **static: Any) -> Any:
        found = rule(first, *given, **static)
        return (
            tuple(reversed(found))
            if isinstance(found, tuple)
            else rule(first, *reversed(given), **static)
        )

    return wrong


def slopes() -> Iterator[Mistake]:
    for op in registry().values():
        places = [
            i
            for i, rule in enumerate(op.partials or op.operands)
            if rule is not None and i not in op.index_places
        ]
        if op.partials is None and op.vjp is None:
            continue
        for place in places if not op.variadic else [0]:
            for words, change in SLOPES.items():
                fields = (
                    at_place(place, _changed(change))
                    if op.partials
                    else {"vjp": operand(place, change)}
                )
                yield _mistake(f"slope: {words}", f"{op.name} by {op.operands[place]}", op, fields)
        if len(op.operands) == 2:
            for place in places if op.partials else [0]:
                fields = at_place(place, _exchanged) if op.partials else {"vjp": _exchanged}
                yield _mistake(
                    "slope: operands exchanged", f"{op.name} by {op.operands[place]}", op, fields
                )


# -- values, and what a function is
# ----------------------------------------------------------------------------------


def _times(value: Any) -> Any:
    """A result times the factor; what is no float the other way round, or one more."""
    if isinstance(value, tuple):
        return tuple(map(_times, value))
    if isinstance(value, list):
        return list(map(_times, value))
    kind = getattr(value, "kind", None) or np.asarray(value).dtype.kind
    if kind in ("bool", "b"):
        return (
            find("logical_not")(value)
            if isinstance(kind, str) and kind == "bool"
            else np.logical_not(value)[()]
        )
    return value + 1 if kind in ("int", "i", "u") else value * 1001 / 1000


def _function(op: Op) -> dict[str, Any]:
    fields: dict[str, Any] = {"forward": _changed(_times), "reference": _changed(_times)}
    return fields if op.operator is None else {**fields, "operator": _changed(_times)}


def _meaning(op: Op) -> dict[str, Any]:
    """Another function everywhere: value, reference and slopes fit together, and the verdict has
    nothing to say.
    """

    def slope(rule: Rule | None) -> Rule | None:
        return (
            None
            if rule is None
            else lambda out, *given, **static: TWICE * rule(out / TWICE, *given, **static)
        )

    names = (
        ("forward", "reference") if op.operator is None else ("forward", "reference", "operator")
    )
    fields: dict[str, Any] = dict.fromkeys(names, _changed(lambda y: y * TWICE))
    if op.partials is not None:
        return {**fields, "partials": lambda rules: tuple(map(slope, rules))}

    def pulled(rule: Rule) -> Rule:
        def vjp(cotangent: Any, out: Any, *given: Any, **static: Any) -> Any:
            return rule(cotangent * TWICE, out / TWICE, *given, **static)

        return vjp

    def every(rule: Any) -> Any:
        if isinstance(rule, tuple):
            return tuple(None if each is None else pulled(each) for each in rule)
        return None if rule is None else pulled(rule)

    return {**fields, "vjp": every}


def values() -> Iterator[Mistake]:
    for op in registry().values():
        small = times(1 + 1e-6)
        if op.result == "float" and op.outputs == 1:
            fields = (
                {"forward": small} if op.operator is None else {"forward": small, "operator": small}
            )
            yield _mistake("value: forward", op.name, op, fields)
            if not (
                op.core_dims or op is derivative
            ):  # references that are algorithms, and one that the tape has in its place
                reference = {"reference": _changed(lambda y: y + y / 1000000)}
                yield _mistake("value: reference", op.name, op, reference)._replace(silent=True)


def meanings() -> Iterator[Mistake]:
    for op in registry().values():
        yield _mistake("function: forward and reference", op.name, op, _function(op))
        if op.outputs == 1 and op.result == "float":
            yield _mistake("function: everywhere", op.name, op, _meaning(op))
    for record in composites().values():
        yield _mistake(
            "function: a body by a factor", record.name, record, {"definition": _changed(_times)}
        )


def constants() -> Iterator[Mistake]:
    """Each float of a body's code, by itself."""
    for record in composites().values():
        for place, value in enumerate(_consts(record.definition)):
            if isinstance(value, float):
                change = bound(_moved, place=place)
                yield _mistake(
                    "function: a constant of a body",
                    f"{record.name}: {value!r}",
                    record,
                    {"definition": change},
                )


def _consts(function: Any) -> tuple[Any, ...]:
    return function.__code__.co_consts if isinstance(function, FunctionType) else ()


def _moved(function: FunctionType, place: int) -> FunctionType:
    code: CodeType = function.__code__
    consts = list(code.co_consts)
    consts[place] = consts[place] * FACTOR or 0.001
    made = FunctionType(
        code.replace(co_consts=tuple(consts)),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _mistake(kind: str, place: str, record: Op | Composite, fields: dict[str, Any]) -> Mistake:
    def plant() -> AbstractContextManager[Any]:
        return planted(record.name, **fields)

    inner = not own_oracles(record)
    return Mistake(
        kind,
        place,
        plant,
        lambda wide: reaching(record, wide),
        lambda wide: oracles_of(record, wide),
        inner,
    )
