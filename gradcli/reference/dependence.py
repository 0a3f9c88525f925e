"""Which variables a zero on the way back depends on: by those, it is zero at the point only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcli.reference.scalars import Traced

_STILL: dict[Any, tuple[tuple[int, ...], ...]] = {  # arithmetic: for each argument, the arguments that its partial depends on
    "add": ((), ()),
    "sub": ((), ()),
    "neg": ((),),
    "mul": ((1,), (0,)),
    "div": ((1,), (0, 1)),
}
_NOTHING: frozenset[int] = frozenset()


def dependent(products: Sequence[tuple[Traced, Traced]], roots: Sequence[Traced], nodes: Mapping[int, Traced]) -> set[int]:
    """The serial numbers of the variables behind an argument on which the zero cotangent of its node depends, too.

    products  nodes with a zero cotangent, and an argument by which they have an infinite partial
    """
    order = sorted(nodes)
    behind: dict[int, frozenset[int]] = {}  # the variables that a value depends on
    for serial in order:
        node = nodes[serial]
        behind[serial] = frozenset((serial,)) if node.function is None else _union([behind[a.serial] for a in _traced(node)])
    ahead: dict[int, frozenset[int]] = {root.serial: _NOTHING for root in roots}  # those that a cotangent depends on
    for serial in reversed(order):
        node = nodes[serial]
        if serial not in ahead or node.function is None:
            continue
        for place, argument in enumerate(node.arguments):
            if hasattr(argument, "serial"):
                partial = [behind[a.serial] for a in _read(node, place) if hasattr(a, "serial")]
                ahead[argument.serial] = _union([ahead.get(argument.serial, _NOTHING), ahead[serial], *partial])
    found: set[int] = set()
    for node, argument in products:
        found |= ahead[node.serial] & behind[argument.serial]
    return found


def _traced(node: Traced) -> list[Traced]:
    return [a for a in node.arguments if hasattr(a, "serial")]


def _read(node: Traced, place: int) -> Sequence[Any]:
    """The arguments that a partial of a node depends on."""
    places = _STILL.get(node.function) if isinstance(node.function, str) else None
    return node.arguments if places is None else [node.arguments[i] for i in places[place]]


def _union(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    """Their union; one of them, if it holds the others."""
    largest = max(sets, key=len, default=_NOTHING)
    return largest if all(s <= largest for s in sets) else largest.union(*sets)
