"""What the names of a query stand for, where they are numbers."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import numpy as np

from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED
from gradcli.ops.constants import NAMED
from gradcli.query.options import Options


class Number(NamedTuple):
    """What a name stands for: a number, whether it is whole, and its rank among those that the gradient is by (or none)."""

    value: float
    whole: bool
    rank: int | None


class Taken:
    """Names that a call does not mean the catalogue's function by: those of a program's own functions, of its objects and values."""

    def __init__(self, *names: Container[str]) -> None:
        self.names = names

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in self.names)


Lookup = Callable[[str], Number | None]
Found = tuple[Any, dict[str, Any]]  # a value and its gradient, by names in the order of their ranks


def of_scope(scope: Scope, options: Options) -> Lookup:
    """What names stand for in a program; those that are looked up are noted as mentioned."""
    mentioned = scope.mentioned

    def lookup(name: str) -> Number | None:
        leaf = scope.names.get(name) if name not in RESERVED else None
        if leaf is None:
            return _named(name) if name not in scope.failed else None
        value = scope.values.get(leaf)
        if type(value) is not np.float64:
            return None
        mentioned.add(name)
        fixed = leaf in scope.frozen or name in options.freeze
        return Number(float(value), leaf in scope.whole, None if fixed else leaf.index)

    return lookup


def of_values(values: Mapping[str, Any], options: Options, mentioned: set[str]) -> Lookup:
    """What names stand for in a record's arrays; those that are looked up are noted as mentioned."""
    ranks = dict(zip(values, range(len(values)), strict=True))

    def lookup(name: str) -> Number | None:
        value = values.get(name) if name not in RESERVED else None
        if value is None:
            return _named(name)
        mentioned.add(name)
        kind = value.dtype.kind
        if value.ndim or kind not in "fiu":
            return None
        return Number(float(value), kind != "f", None if name in options.freeze else ranks[name])

    return lookup


def _named(name: str) -> Number | None:
    constant = NAMED.get(name)
    return None if constant is None or isinstance(constant, bool) or name == "E" else Number(float(constant), False, None)
