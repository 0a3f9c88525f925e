"""Names that stand for every number of a range, as leaves of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.language.scope import Scope
from gradcli.ops.calling.inputs import FLOAT


class Quantity(NamedTuple):
    """A name that stands for every number of a range, as a leaf of the graph."""

    leaf: Expr
    low: float
    high: float


NO_RANGES: Mapping[str, Quantity] = MappingProxyType({})


@contextmanager
def quantified(scope: Scope, ends: Mapping[str, tuple[float, float]]) -> Iterator[Mapping[str, Quantity]]:
    """Names as variables: where one is bound to a number, it is this number's leaf, so that what depends on it is meant with it."""
    before = {name: [table.get(name) for table in (scope.names, scope.leaves, scope.objects)] for name in ends}
    replaced, found = set(scope.replaced), {}
    try:
        for name, (low, high) in ends.items():
            leaf = scope.names.get(name)
            if leaf is None or not leaf.is_leaf or leaf.shape or leaf.kind != FLOAT:
                leaf = scope.bind_value(name, np.float64(low + (high - low) / 2))
            found[name] = Quantity(leaf, low, high)
        yield found
    finally:
        for name, meanings in before.items():
            for table, meaning in zip((scope.names, scope.leaves, scope.objects), meanings, strict=True):
                table.pop(name, None)
                if meaning is not None:
                    table[name] = meaning
        scope.replaced = replaced
