"""Which variables a zero on the way back depends on: by those, it is zero at the point only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_NOTHING: frozenset[int] = frozenset()


class Function(Protocol):
    def read(self, place: int, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments that the partial by one of them depends on."""


class Node(Protocol):
    """A scalar with its history."""

    @property
    def serial(self) -> int: ...
    @property
    def function(self) -> Function | None: ...  # None for a variable
    @property
    def arguments(self) -> tuple[Any, ...]: ...


def dependent(products: Sequence[tuple[Node, Node]], roots: Sequence[Node], nodes: Mapping[int, Node]) -> set[int]:
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
                partial = [behind[a.serial] for a in node.function.read(place, node.arguments) if hasattr(a, "serial")]
                ahead[argument.serial] = _union([ahead.get(argument.serial, _NOTHING), ahead[serial], *partial])
    found: set[int] = set()
    for node, argument in products:
        found |= ahead[node.serial] & behind[argument.serial]
    return found


def _traced(node: Node) -> list[Node]:
    return [a for a in node.arguments if hasattr(a, "serial")]


def _union(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    """Their union; one of them, if it holds the others."""
    largest = max(sets, key=len, default=_NOTHING)
    return largest if all(s <= largest for s in sets) else largest.union(*sets)
