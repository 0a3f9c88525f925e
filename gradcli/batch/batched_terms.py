"""Batched terms: those of a long sum, all of one template at once, as columns of what their names and numbers are.

Terms are added in their order. Value and gradient differ from the ordinary way's by rounding, as a name's contributions are added in
another order. What stands around a sum in brackets, as in ``-log(...)/2``, is taken by the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from gradcli.batch.templates import Template, Templates, Term, lowered, terms
from gradcli.batch.values import Found, Lookup, Number
from gradcli.language.tokens import STARTS_NUMBER
from gradcli.plans.plan import Plan
from gradcli.plans.subjects import Gradients
from gradcli.query.options import LONG

_ROWS = 16  # terms of a template that are worth a plan
_FIRST = 256  # terms among which there may be more templates
_NESTED = 8  # brackets around a sum, one in the other
_INNER = "sum_in_brackets"  # stands for a sum in what is around it


@dataclass(eq=False)
class Rows:
    """Expressions of one template: their places among others, and their names and numbers, one expression's after the other's."""

    places: list[int] = field(default_factory=list)
    negative: list[bool] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def add(self, place: int, negative: bool, names: Iterable[str], numbers: Iterable[float]) -> None:
        self.places.append(place)
        self.negative.append(negative)
        self.names += names
        self.numbers += numbers

    def slots(self, index: Mapping[str, int], template: Template) -> np.ndarray:
        """What an index has of the names: a row for each name of the template."""
        return np.fromiter(map(index.__getitem__, self.names), np.intp).reshape(len(self.places), len(template.names)).T

    def given(self, template: Template) -> np.ndarray:
        """The numbers: a row for each number of the template."""
        return np.ascontiguousarray(np.array(self.numbers, float).reshape(len(self.places), len(template.numbers)).T)


def gradient_of_terms(
    templates: Templates,
    text: str,
    lookup: Lookup,
    functions: Container[str],
    of_short: Callable[[str, Lookup, Container[str]], Found | None],
    nodes: int = 0,
) -> Found | None:
    """The value and the gradient of a sum, or of what is around a sum in brackets. None if it is for the ordinary way.

    of_short   gives the same of a short expression, of a new template when it is asked for the second time
    nodes      how many the program has already
    """
    outside: list[str] = []  # texts around brackets, the outermost first
    while (inside := _brackets(text)) is not None:
        if len(outside) == _NESTED:
            return None
        outside.append(text[: inside[0]] + _INNER + text[inside[1] :])
        text = text[slice(*inside)]
    if any(around.count(_INNER) > 1 or len(around) > LONG for around in outside):
        return None
    found = gradient_of_sum(templates, text, lookup, functions, nodes)
    for around in reversed(outside):
        if found is None:
            return None
        value, slopes = found
        within = _with_number(lookup, value)
        whole = of_short(around, within, functions) or of_short(around, within, functions)
        if whole is None:
            return None
        value, outer = whole
        factor = outer.pop(_INNER)
        slopes = {name: factor * slope for name, slope in slopes.items()}
        for name, slope in outer.items():
            slopes[name] = slopes[name] + slope if name in slopes else slope
        found = value, slopes
    if found is None or not outside:
        return found
    value, slopes = found
    return (value, dict(sorted(slopes.items(), key=lambda item: _rank(lookup, item[0])))) if _all_finite(slopes) else None


def _brackets(text: str) -> tuple[int, int] | None:
    """The inside of the outermost brackets that hold more than half of a text."""
    data = np.frombuffer(text.encode("ascii"), np.uint8)
    opening, closing = data == ord("("), data == ord(")")
    depth = np.cumsum(opening.astype(np.int8) - closing.astype(np.int8), dtype=np.int32)
    starts, ends = np.flatnonzero(opening & (depth == 1)), np.flatnonzero(closing & (depth == 0))
    if not len(starts) or len(starts) != len(ends):
        return None
    widest = int(np.argmax(ends - starts))
    start, end = int(starts[widest]) + 1, int(ends[widest])
    return (start, end) if 2 * (end - start) > len(text) else None


def _with_number(lookup: Lookup, value: float) -> Lookup:
    inner = Number(float(value), True, -1)  # as if whole, for it may be: where that decides, the ordinary way does
    return lambda name: inner if name == _INNER else lookup(name)


def _rank(lookup: Lookup, name: str) -> int:
    number = lookup(name)
    assert number is not None
    assert number.rank is not None
    return number.rank


def _all_finite(slopes: dict[str, Any]) -> bool:
    return bool(np.isfinite(list(slopes.values())).all())


def gradient_of_sum(templates: Templates, text: str, lookup: Lookup, functions: Container[str], nodes: int) -> Found | None:
    """The value of a sum and its gradient. None if it is not one of many terms of few templates, over numbers, and finite."""
    rows_of = by_template(templates, terms(text))
    if rows_of is None or any(name in functions for template in rows_of for name in template.callees):
        return None
    numbers: dict[str, Number] = {}
    for name in dict.fromkeys(chain.from_iterable(rows.names for rows in rows_of.values())):
        number = lookup(name)
        if number is None:
            return None
        numbers[name] = number
    index = dict(zip(numbers, range(len(numbers)), strict=True))
    values = np.array([number.value for number in numbers.values()])
    whole = np.array([number.whole for number in numbers.values()])
    summands = np.empty(sum(len(rows.places) for rows in rows_of.values()))
    slopes = np.zeros(len(index))
    nodes += 2 * len(summands) + 2 * len(index)  # no fewer than the ordinary way counts: what adds, and names
    for template, rows in rows_of.items():
        columns = rows.slots(index, template)
        graph = lowered(template, (len(rows.places),), templates.limits)
        if graph is None or any(whole[columns[place]].any() for place in template.deciding):
            return None
        nodes += graph.operations * len(rows.places) + len(set(rows.numbers))
        if nodes > templates.limits.nodes:
            return None
        seed = graph.root.graph.leaf("seed", graph.root.shape)
        plan = Plan(Gradients(graph.root, graph.names, seed), [*graph.names, *graph.numbers, seed], "float64", backend="numpy")
        signs = np.where(rows.negative, -1.0, 1.0)
        value, *parts = plan([*values[columns], *rows.given(template), signs])
        summands[rows.places] = signs * value
        for column, part in zip(columns, parts, strict=True):
            slopes += np.bincount(column, part, len(slopes))
    value = np.add.accumulate(summands)[-1]
    ranked = sorted((number.rank, name) for name, number in numbers.items() if number.rank is not None)
    if not ranked or not np.isfinite(value) or not np.isfinite(slopes).all():
        return None
    return value, {name: slopes[index[name]] for _, name in ranked}


def by_template(templates: Templates, expressions: Iterable[Term]) -> dict[Template, Rows] | None:
    """Expressions by their templates. None if these are too many."""
    found: dict[Template, Rows] = {}
    waiting = []  # the first ones of their kind
    alone: dict[tuple[str, ...], Rows] = {}  # names with nothing else, by the blanks around them
    count = 0
    for place, term in enumerate(expressions):
        count = place + 1
        negative, between, words = term
        rows = alone.get(between) if len(words) == 1 and words[0][0] not in STARTS_NUMBER else None
        if rows is not None:
            rows.add(place, negative, words, ())
            continue
        rows = _added(found, templates, place, *term)
        if rows is None:
            waiting.append((place, *term))
            if len(waiting) * _ROWS > place + _FIRST * _ROWS:
                return None
        elif len(words) == 1 and not rows.numbers:
            alone[between] = rows
    if len(waiting) * _ROWS > count or not all(_added(found, templates, *term) or _added(found, templates, *term) for term in waiting):
        return None
    return found if len(found) * _ROWS <= count else None


def _added(
    found: dict[Template, Rows], templates: Templates, place: int, negative: bool, between: tuple[str, ...], words: Sequence[str]
) -> Rows | None:
    """The rows that an expression belongs to, with it. None if its template is not known yet, or it has none."""
    reading = templates.read(between, words)
    if reading is None:
        return None
    rows = found.get(reading.template)
    if rows is None:
        rows = found[reading.template] = Rows()
    rows.add(place, negative, reading.names, reading.numbers)
    return rows
