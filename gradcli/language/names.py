"""Meanings of a name besides a value.

They are libraries, functions, dtypes, several results, and nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradcli.errors import TypeMismatchError, UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.ops.calling.prefixes import DTYPES, DType
from gradcli.ops.facts import Fixed
from gradcli.texts import by_word

# Derivatives in expressions, ``grad(y, x)``, and of functions, ``grad(f)(x)``: their parameters,
# and the transformation that each one is.
DERIVATIVES = by_word({
    "grad value_and_grad": ("y, x, seed", "vjp"), "vjp": ("y, x, v|seed", "vjp"), "jvp": ("y, x, v", "jvp"),
    "jacobian jacfwd jacrev": ("y, x", "jacobian"), "hessian": ("y, x", "hessian"), "hvp": ("y, x, v", "hvp"),
})  # fmt: skip


class Module(Fixed):
    """A library prefix such as np or torch.nn.functional."""

    path: str


class Function(Fixed):
    """A function of a library, or (with a base) a method of a value."""

    name: str
    library: str
    base: Any = None


class Thing:
    """Name that is neither a value nor a function.

    Examples are ``x.at``, ``np.r_`` and ``np.finfo(float)``. What it does not have is refused by
    name.

    ``builder`` makes nodes (`scope.Builder`). It knows scopes, so that it is not named here.
    """

    written = "this"  # how a program writes it, for messages
    parts: Sequence[Any] = ()  # the lowered results that it was made of

    @property
    def words(self) -> str:
        """Return what it is, in the words of a message."""
        return f"'{self.written}'"

    def attribute(self, builder: Any, name: str) -> Any:
        raise UnknownNameError(f"{self.written} has no attribute '{name}'")

    def subscript(self, builder: Any, items: list[Any]) -> Any:
        """``thing[items]``, each of them a result of lowering or a `Range`."""
        raise TypeMismatchError(f"{self.written} has no entries")

    def call(self, builder: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise TypeMismatchError(f"{self.written} is no function")


class Indices(tuple[Any, ...]):
    """Whole numbers for each axis: a shape, or what addresses entries.

    A name may be bound to them.
    """


class Results(tuple[Any, ...]):
    """Several results of a function, which have names: ``torch.linalg.qr(A).R``."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, parts: tuple[Any, ...], names: tuple[str, ...]) -> Results:
        results = cls(parts)
        results.names = names
        return results


class FreeVariable(Fixed):
    """A name without a value, which is an error only where a value is wanted."""

    name: str


def nodes_in(result: Any) -> Iterator[Expr]:
    """Yield the nodes in a result of lowering, however it is nested."""
    pending = [result]
    while pending:
        part = pending.pop()
        if isinstance(part, Expr):
            yield part
        elif isinstance(part, (tuple, list)):
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, Function):
            pending.append(part.base)
        elif isinstance(part, Thing):
            pending += part.parts


def dtype_of(argument: Any) -> DType | None:
    """Return the dtype that an argument names, None if it names none.

    Examples are np.float64, float, torch.float, 'float64'.
    """
    if isinstance(argument, DType):
        return argument
    name = argument.name if isinstance(argument, FreeVariable) else argument
    return DType(name) if isinstance(name, str) and name in DTYPES else None


def kind_in_words(result: Any) -> str:
    """Return what a result is, in the words of a message."""
    if isinstance(result, str):
        return f"the string {result!r}"
    if isinstance(result, DType):
        return f"the dtype '{result.name}'"
    words: str = getattr(result, "words", f"a {type(result).__name__}")
    if isinstance(result, tuple):
        return "a tuple"
    if isinstance(result, Module):
        return f"the library prefix '{result.path}'"
    if isinstance(result, Function):
        return f"the function '{result.name}'"
    return "None" if result is None else words
