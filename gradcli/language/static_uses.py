"""Values that a program takes beforehand: the uses of names that no derivative flows through."""

from __future__ import annotations

from typing import NamedTuple

from gradcli.graph.nodes import Expr

QUANTITY, WHOLE, MASK = "quantity", "whole", "mask"


class StaticUse(NamedTuple):
    """A leaf whose value a program takes beforehand, so that no derivative flows through that place."""

    leaf: Expr
    kind: str  # QUANTITY: a number like any other; WHOLE: an index, a shape, an axis; MASK: which entries
    place: str
