"""Trees of tensors: lists, tuples, named tuples and dictionaries, nested, and what stands at their ends."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Spec:
    """The structure of a tree: its kind, what its parts are called, and their structures; of an end, nothing."""

    __slots__ = ("kind", "names", "parts")

    def __init__(self, kind: Any = None, names: Any = (), parts: tuple[Spec, ...] = ()) -> None:
        self.kind, self.names, self.parts = kind, names, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (self.kind, self.names, self.parts) == (other.kind, other.names, other.parts)

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind in (dict, OrderedDict, defaultdict):
            return "{" + ", ".join(f"{name!r}: {part}" for name, part in zip(self.names, self.parts, strict=True)) + "}"
        return ("[{}]" if self.kind is list else "({})").format(", ".join(map(repr, self.parts)))

    def count(self) -> int:
        """How many ends there are."""
        return 1 if self.kind is None else sum(part.count() for part in self.parts)

    def unflatten(self, ends: Iterable[Any]) -> Any:
        """The tree with these ends, one after the other."""
        return self._filled(iter(ends))

    def _filled(self, ends: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(ends)
        parts = [part._filled(ends) for part in self.parts]
        if self.kind in (dict, OrderedDict):
            return self.kind(zip(self.names, parts, strict=True))
        if self.kind is defaultdict:
            made: Any = defaultdict(None)
            made.update(zip(self.names, parts, strict=True))
            return made
        return self.kind(*parts) if self.names else self.kind(parts)


_END = Spec()


def flatten(tree: Any) -> tuple[list[Any], Spec]:
    """The ends of a tree, from left to right, and its structure."""
    kind = type(tree)
    if kind in (dict, OrderedDict, defaultdict):
        names, parts = tuple(tree), [flatten(part) for part in tree.values()]
    elif kind in (list, tuple) or hasattr(kind, "_fields"):
        names, parts = getattr(kind, "_fields", ()), [flatten(part) for part in tree]
    else:
        return [tree], _END
    return [end for ends, _ in parts for end in ends], Spec(kind, names, tuple([spec for _, spec in parts]))


def mapped(function: Callable[..., Any], tree: Any) -> Any:
    """The tree with what the function makes of its ends."""
    ends, spec = flatten(tree)
    return spec.unflatten(map(function, ends))


def spread(prefix: Any, spec: Spec) -> list[Any] | None:
    """The ends of a tree whose own ends stand for whole parts of another structure, one for each end of that; None if they do not fit."""
    if spec.kind is None:
        return [prefix]
    kind = type(prefix)
    if kind not in (list, tuple, dict, OrderedDict, defaultdict) and not hasattr(kind, "_fields"):
        return [prefix] * spec.count()
    given = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    if kind is not spec.kind or len(given) != len(spec.parts) or (isinstance(prefix, dict) and tuple(prefix) != spec.names):
        return None
    found = [spread(part, inner) for part, inner in zip(given, spec.parts, strict=True)]
    return None if any(part is None for part in found) else [end for part in found for end in part or ()]
