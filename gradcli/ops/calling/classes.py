"""Classes of libraries whose objects are functions that keep arguments: losses of torch.nn, distributions.

``nn.SmoothL1Loss(beta=0.5)(x, y)`` is ``F.smooth_l1_loss(x, y, beta=0.5)``, and ``norm(m, s).logpdf(x)`` is ``norm.logpdf(x, m, s)``: what
an object does is a function of the same library, some of whose parameters the constructor has taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from gradcli.ops.calling.dialects import lookup
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.registry import load

CALL = "__call__"


@dataclass(frozen=True, eq=False, repr=False)
class Class:
    """What a constructor keeps, and the functions that its objects are.

    name        what the library calls it
    keeps       the constructor's parameters, under the names of the functions that get them
    methods     what the functions are called, by the names of methods; `CALL` for the object itself
    properties  the methods that are written without brackets
    repeated    how often a single number is repeated, by parameter
    defaults    what the objects give to their functions where the constructor is not told: by parameter
    """

    name: str
    keeps: str
    methods: Mapping[str, str]
    properties: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    library: str = ""
    repeated: Mapping[str, int] = field(default_factory=dict)

    @property
    def constructor(self) -> Signature:
        return signature(self.name, self.keeps) if self.keeps else Signature(self.name, ())

    def function(self, method: str) -> Signature | None:
        """What a method takes: the parameters of its function that the constructor has not taken. None where there is no such method."""
        name = self.methods.get(method)
        found = None if name is None else lookup(name, self.library)
        if found is None:
            return None
        kept = {p.name for p in self.constructor.parameters}
        left = tuple(p for p in found.parameters if p.name not in kept)
        return Signature(found.target, left, (*found.defaults, *self.defaults.items()))

    def accepts(self, method: str) -> frozenset[str]:
        """The parameters of a method's function, those that the constructor takes included."""
        found = lookup(self.methods[method], self.library)
        return frozenset() if found is None else frozenset(p.name for p in found.parameters if not p.ignored)


@dataclass(frozen=True, eq=False, repr=False)
class Refused:
    """A class that is known and not taken: why, and what to write."""

    why: str
    help: str


_CLASSES: dict[str, dict[str, Class | Refused]] = {}


def declare_class(
    library: str,
    name: str,
    keeps: str,
    methods: str | Mapping[str, str],
    *,
    properties: str = "",
    repeated: Mapping[str, int] = MappingProxyType({}),
    **defaults: Any,
) -> None:
    """Say what a library's class keeps, and what its objects do: one function, or several by the names of methods.

    ``keeps`` is written as for `signature`, its names being those of our own parameters: ``axis|dim``.
    """
    functions = {CALL: methods} if isinstance(methods, str) else methods
    made = Class(name, keeps, functions, frozenset(properties.split()), defaults, library, repeated)
    _CLASSES.setdefault(library, {})[name] = made


def refuse_class(library: str, names: str, why: str, help: str) -> None:
    """Say why objects of some classes are not taken, and what to write in their place; ``{}`` stands for the class's name."""
    for name in names.split():
        _CLASSES.setdefault(library, {})[name] = Refused(why.format(name), help.format(name))


@cache
def class_of(name: str, library: str) -> Class | Refused | None:
    """The class of that name in a library, None if there is none."""
    load()
    return _CLASSES.get(library, {}).get(name)


__all__ = ["CALL", "Class", "Refused", "class_of", "declare_class", "refuse_class"]
