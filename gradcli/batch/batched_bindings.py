"""Batched bindings: those of a long program, all of one template at once, as columns of what their names and numbers are.

Bindings that depend on others come after them, level by level. What a query finds for its names is carried back through the bindings by
the chain rule, so that value and gradient are those of the ordinary way to rounding. What is not numbers throughout, or not finite, or
made of nearly as many templates and levels as bindings, is left to the ordinary way.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradcli.batch.batched_terms import Rows, by_template
from gradcli.batch.templates import Template, Templates, lowered, pieces
from gradcli.batch.values import Found, Lookup, Number
from gradcli.language.held_bindings import HeldBindings
from gradcli.plans.plan import Plan
from gradcli.plans.subjects import Gradients

_ROWS = 16  # bindings of one template and level that are worth a plan
_DEEPEST = 64  # levels
_QUERIES = 64  # of which each goes through all bindings; in the time of some more, these are run one by one
_LATER = 1 << 60  # ranks from here on are those of names bound after all others
_NODES = 3  # of a name: its number, a sign, and its leaf; or what it stands for, and the name of that


@dataclass(eq=False, repr=False)
class _Slots:
    """What names stand for: first those that are bound, in their order, and then others that they are made of.

    whole      may be whole numbers
    variables  are numbers, not made of others
    constants  have values that no program has given them
    """

    index: dict[str, int]
    names: list[str]
    values: np.ndarray
    ranks: list[int | None]
    whole: np.ndarray
    variables: np.ndarray
    constants: np.ndarray


@dataclass(eq=False, repr=False)
class _Group:
    """Bindings of one template and one level: their slots, those of their names, their numbers, and the derivatives by names."""

    template: Template
    targets: np.ndarray
    columns: np.ndarray
    numbers: np.ndarray
    parts: list[np.ndarray] = field(default_factory=list)

    def where(self, chosen: np.ndarray) -> _Group:
        return _Group(self.template, self.targets[chosen], self.columns[:, chosen], np.ascontiguousarray(self.numbers[:, chosen]))


class BatchedBindings:
    """The values of bindings, and how they depend on each other."""

    def __init__(self, slots: _Slots, groups: Sequence[_Group], outer: Lookup, mentioned: set[str], nodes: int) -> None:
        self.slots, self.outer, self.mentioned = slots, outer, mentioned
        self.groups = groups  # each after those that it is made of
        self.nodes = nodes  # no fewer than the ordinary way makes
        self._carried = 0  # queries so far
        self._values, self._whole, self._constants = slots.values.tolist(), slots.whole.tolist(), slots.constants.tolist()

    def lookup(self, name: str) -> Number | None:
        """What a name stands for in a query; those that are looked up are noted as mentioned."""
        slot = self.slots.index.get(name)
        if slot is None or self._constants[slot]:
            return self.outer(name)
        self.mentioned.add(name)
        return Number(self._values[slot], self._whole[slot], self.slots.ranks[slot])

    def carried(self, found: Found) -> Found | None:
        """A value and its gradient, by the numbers that bindings are made of. None if it is not finite, or there are many queries."""
        self._carried += 1
        if self._carried > _QUERIES:
            return None
        value, slopes = found
        slots = self.slots
        adjoints, needed = np.zeros(len(slots.names)), np.zeros(len(slots.names), bool)
        own = [name for name in slopes if name in slots.index]
        places = [slots.index[name] for name in own]
        adjoints[places], needed[places] = [slopes[name] for name in own], True
        for group in reversed(self.groups):
            cotangents, wanted = adjoints[group.targets], needed[group.targets]
            for column, part in zip(group.columns, group.parts, strict=True):
                adjoints += np.bincount(column, cotangents * part, len(adjoints))
                needed[column[wanted]] = True
        if not np.isfinite(adjoints).all():
            return None
        others = {name: number.rank for name in slopes if name not in slots.index and (number := self.outer(name)) is not None}
        reached = [slot for slot in np.flatnonzero(needed & slots.variables).tolist() if slots.ranks[slot] is not None]
        names = [slots.names[slot] for slot in reached] + [name for name, rank in others.items() if rank is not None]
        ranks = [slots.ranks[slot] for slot in reached] + [rank for rank in others.values() if rank is not None]
        parts = np.array([*adjoints[reached], *(slopes[name] for name, rank in others.items() if rank is not None)])
        order = np.argsort(np.array(ranks, np.int64))
        gradient = dict(zip([names[place] for place in order.tolist()], parts[order], strict=True))
        return value, gradient


def batched(
    held: HeldBindings, templates: Templates, outer: Lookup, taken: Container[str], frozen: Container[str], mentioned: set[str]
) -> BatchedBindings | None:
    """The bindings that are held back, in columns. None if they are for the ordinary way.

    outer      what other names stand for
    taken      names to which the program has given a meaning
    mentioned  takes the names that stand in the bindings
    """
    rows_of = by_template(templates, ((False, *pieces(text)) for text in held.expressions()))
    if rows_of is None or any(name in taken or name in held.places for template in rows_of for name in template.callees):
        return None
    slots = _slots(held, rows_of, outer, taken, frozen)
    groups = None if slots is None else _groups(held, rows_of, slots)
    if slots is None or groups is None:
        return None
    nodes = _NODES * len(slots.names)
    for group in groups:
        graph = lowered(group.template, group.targets.shape, templates.limits)
        nodes += 0 if graph is None else graph.operations * len(group.targets) + np.unique(group.numbers).size
        if graph is None or nodes > templates.limits.nodes:
            return None
        plan = Plan(Gradients(graph.root, graph.names), [*graph.names, *graph.numbers], "float64")
        slots.values[group.targets], *group.parts = plan([*slots.values[group.columns], *group.numbers])
    if not np.isfinite(slots.values).all():
        return None
    mentioned |= _names(rows_of).difference(slots.names[slot] for slot in np.flatnonzero(slots.constants).tolist())
    return BatchedBindings(slots, groups, outer, mentioned, nodes)


def _slots(
    held: HeldBindings, rows_of: Mapping[Template, Rows], outer: Lookup, taken: Container[str], frozen: Container[str]
) -> _Slots | None:
    """What names stand for, as far as it is known. None if one of them is no number."""
    bound = len(held.places)
    others: dict[str, Number] = {}
    for name in sorted(_names(rows_of).difference(held.places)):
        number = outer(name)
        if number is None:
            return None
        others[name] = number
    index = held.places | dict(zip(others, range(bound, bound + len(others)), strict=True))
    ranks = [
        None if number is not None and name in frozen else _LATER + slot
        for (name, slot), number in zip(held.places.items(), held.numbers, strict=True)
    ]
    return _Slots(
        index,
        [*index],
        np.array([0.0 if number is None else number for number in held.numbers] + [number.value for number in others.values()], float),
        ranks + [number.rank for number in others.values()],
        np.array([type(number) is not float for number in held.numbers] + [number.whole for number in others.values()]),
        np.array([number is not None for number in held.numbers] + [True] * len(others)),
        np.array([False] * bound + [name not in taken for name in others]),
    )


def _names(rows_of: Mapping[Template, Rows]) -> set[str]:
    """The names that stand in the bindings."""
    return set().union(*(rows.names for rows in rows_of.values()))


def _groups(held: HeldBindings, rows_of: Mapping[Template, Rows], slots: _Slots) -> list[_Group] | None:
    """The bindings by template and level, lower levels first.

    None if a binding mentions a name before it is bound, or a whole number that may decide something; or if there are too many groups.
    """
    computed = np.array([slot for slot, number in enumerate(held.numbers) if number is None], np.intp)
    found = []
    for template, rows in rows_of.items():
        group = _Group(template, computed[rows.places], rows.slots(slots.index, template), rows.given(template))
        columns = group.columns
        early = (columns >= group.targets) & (columns < len(held.places))
        if early.any() or any(slots.whole[columns[place]].any() for place in template.deciding):
            return None
        slots.variables[group.targets] = slots.constants[columns].all(axis=0)  # of numbers alone
        found.append(group)
    levels = np.zeros(len(slots.names), int)
    for _ in range(_DEEPEST):
        deeper = [1 + levels[group.columns].max(axis=0, initial=0) for group in found]
        if all((level == levels[group.targets]).all() for group, level in zip(found, deeper, strict=True)):
            break
        for group, level in zip(found, deeper, strict=True):
            levels[group.targets] = level
    else:
        return None
    parts = [(int(level), group.where(levels[group.targets] == level)) for group in found for level in np.unique(levels[group.targets])]
    return None if len(parts) * _ROWS > len(computed) else [group for _, group in sorted(parts, key=lambda part: part[0])]
