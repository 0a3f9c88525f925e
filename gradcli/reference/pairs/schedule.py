"""Which loops compute what was written down: operations on arrays of one shape together, once what is reduced before them is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.pairs.deferred import Halves, Shape, Wide
from gradcli.reference.pairs.loops import run

REDUCTIONS = {"sum", "max", "min", "place"}
# as dear as to store and to load a number: what is computed again where it is needed again
_CHEAP = {
    "add", "sub", "mul", "neg", "abs", "less", "less_equal", "equal", "not_equal", "known", "both", "either", "not", "where", "widen",
    "rounded", "maximum", "minimum", "finite", "single", "sign", "div",
}  # fmt: skip


class Loop(NamedTuple):
    """One loop: over what shape, and after how many others that it waits for."""

    level: int
    shape: Shape


def computed(targets: Sequence[Wide]) -> list[Halves]:
    """The doubles of some arrays, the high parts and the low ones."""
    order = _reachable(targets)
    if any(x.what not in ("array", "number") for x in order):
        _run(order, targets)
    return [x.doubles for x in targets]


def _reachable(targets: Sequence[Wide]) -> list[Wide]:
    """What is to be computed and what it is made of, operands first."""
    order: dict[Wide, None] = {}
    stack = [(x, False) for x in reversed(targets)]
    while stack:
        x, ready = stack.pop()
        if x in order:
            continue
        if ready or not x.operands:
            order[x] = None
            continue
        stack.append((x, True))
        stack.extend((o, False) for o in x.operands)
    return list(order)


def by_entries(x: Wide) -> bool:
    return x.what not in REDUCTIONS and x.what not in ("array", "number", "view")


def _run(order: Sequence[Wide], targets: Sequence[Wide]) -> None:
    level, roots = _levels(order, targets)
    loops: dict[Loop, list[Wide]] = {}
    for x in roots:
        loops.setdefault(Loop(level[x], _space(x)), []).append(x)
    computed_in: dict[Wide, Loop] = {}
    stored: dict[Loop, set[Wide]] = {}
    cones: dict[Loop, list[Wide]] = {}
    for loop in sorted(loops, key=lambda loop: loop.level):
        stored[loop] = {x for x in loops[loop] if by_entries(x)}
        cones[loop] = _cone(loops[loop], loop, computed_in, stored)
    for loop, cone in cones.items():
        still_in_time()
        wanted = [x for x in cone if x in stored[loop]] + [x for x in loops[loop] if not by_entries(x)]
        for x, halves in zip(wanted, run(loop.shape, cone, wanted), strict=True):
            x.held, x.what, x.operands = halves, "array", ()


def _levels(order: Sequence[Wide], targets: Iterable[Wide]) -> tuple[dict[Wide, int], list[Wide]]:
    """How many loops come before each, and what is to be there after one: targets, reductions, what another shape is made of."""
    level: dict[Wide, int] = {}
    roots = dict.fromkeys(x for x in targets if by_entries(x))
    for x in order:
        if by_entries(x):
            known = [level[o] + (not (by_entries(o) and o.shape == x.shape) and _waits(o)) for o in x.operands]
            for o in x.operands:
                if by_entries(o) and o.shape != x.shape:
                    roots[o] = None
        elif x.what in REDUCTIONS:
            known = [level[o] + (not by_entries(o) and _waits(o)) for o in x.operands]
            roots[x] = None
        else:  # behind a view there is an array
            known = [level[o] for o in x.operands]
            roots.update(dict.fromkeys(o for o in x.operands if by_entries(o)))
        level[x] = max(known, default=0)
    return level, list(roots)


def _waits(x: Wide) -> bool:
    """Whether it is there only after the loop of its level."""
    while x.what == "view":
        (x,) = x.operands
    return x.what not in ("array", "number")


def _space(x: Wide) -> Shape:
    return x.operands[0].shape if x.what in REDUCTIONS else x.shape


def _cone(roots: Sequence[Wide], loop: Loop, computed_in: dict[Wide, Loop], stored: Mapping[Loop, set[Wide]]) -> list[Wide]:
    """What a loop computes for its roots, operands first: what an earlier one did is stored there if it is dear."""
    found: dict[Wide, None] = {}
    stack: list[tuple[Wide, bool]] = [(o, False) for x in roots for o in (x.operands if x.what in REDUCTIONS else (x,))]
    while stack:
        x, ready = stack.pop()
        if x in found:
            continue
        if ready:
            found[x] = None
            computed_in.setdefault(x, loop)
            continue
        earlier = computed_in.get(x)
        if not by_entries(x) or x.shape != loop.shape:
            continue
        if earlier is not None and earlier is not loop and (x in stored[earlier] or _dear(x)):
            stored[earlier].add(x)
            continue
        stack.append((x, True))
        stack.extend((o, False) for o in x.operands)
    return list(found)


def _dear(x: Wide) -> bool:
    return x.what.removeprefix("rough_") not in _CHEAP
