"""What an operation is: one record, read by everything else.

The parser, the engine, the judge, the formula printer, the documentation and the tests all iterate the
registry that this module fills. A rule is mathematics: it uses operators and other registered operations,
branches on shapes and static parameters but never on values, and so serves arrays, graph nodes and
multi-precision numbers alike. It never sums to an operand's shape; the sweep does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from gradcli.errors import ShapeError

Shape = tuple[int, ...]
Function = Callable[..., Any]
Kind = Literal["smooth", "piecewise", "flat", "structural"]


@dataclass(frozen=True, eq=False)
class Kink:
    """Where an operation is not differentiable, and the value that is chosen there.

    ``where`` receives the operands as scalars and says whether they lie on the kink.
    """

    where: Function
    place: str
    convention: str


class Carrier:
    """What carries values through rules in place of plain arrays: it decides what applying an operation means."""

    __slots__ = ()

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def is_zero(self) -> bool:
        """Whether the value is known to be exactly zero everywhere."""
        return False


@dataclass(frozen=True, eq=False)
class Op:
    """One operation. Compared by identity.

    name        what graphs, formulas and reports call it
    operands    names of the operands; ``variadic`` operations take a list of them
    optional    operands that may be left out (None)
    static      parameters that are part of the program (axes, shapes), with their defaults
    forward     NumPy: ``forward(*arrays, **static)``
    reference   multi-precision: ``reference(m, *scalars, **static)`` for elementwise operations, on object
                arrays of scalars otherwise; m offers mpmath's functions. The source of truth of the judge
    symbolic    the same on sympy expressions, m being sympy; by default the reference itself
    kind        "smooth": elementwise, analytic in its domain. "piecewise": elementwise, the reference picks a
                branch by comparisons and uses + - * / only. "flat": elementwise, locally constant.
                "structural": everything else; its reference is generic over scalars
    partials    elementwise: one ``partial(out, *operands, **static)`` for each operand, None where there is none
    vjp         otherwise: ``vjp(wanted, cotangent, out, *operands, **static)``, a cotangent (or None) for each operand
    shape       ``shape(*shapes, **static)``; elementwise operations broadcast
    result      dtype of the result: "float", "bool", "int", or "same" as its operands
    saves       what backward keeps, by operand name, or "out" (as PyTorch does)
    outputs     number of results; more than one is a tuple, taken apart by `output`
    core_dims   trailing axes of each operand that the operation works on; the axes before them are batch axes
    domain      in words, for messages and documentation
    ulps        error bound of the forward pass, measured, in units of the last place of what ``rounding`` says
    rounding    what rounding is relative to: the "result", the "terms" of a sum, or the largest of the "operands"
    """

    name: str
    operands: tuple[str, ...]
    forward: Function
    reference: Function
    kind: Kind
    doc: str
    partials: tuple[Function | None, ...] | None = None
    vjp: Function | None = None
    static: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    symbolic: Function | None = None
    shape: Function | None = None
    result: str = "float"
    variadic: bool = False
    optional: frozenset[str] = frozenset()
    saves: tuple[str, ...] = ()
    outputs: int = 1
    core_dims: tuple[int, ...] | None = None
    linear: bool = False
    domain: str = ""
    kinks: tuple[Kink, ...] = ()
    ulps: float = 1.0
    rounding: str = "result"
    aliases: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    public: bool = True

    @property
    def elementwise(self) -> bool:
        return self.kind != "structural"

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply to whatever carries the operands: graph nodes, multi-precision arrays, or plain arrays."""
        if self.static:
            static = {**self.static, **static}
        for operand in operands:
            if isinstance(operand, Carrier):
                return operand.apply_op(self, operands, static)
        return self.forward(*operands, **static)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __reduce__(self) -> tuple[Function, tuple[str]]:
        return find, (self.name,)


_REGISTRY: dict[str, Op] = {}
_BY_NAME: dict[str, Op] = {}


def register(op: Op) -> Op:
    """Add an operation under its name and aliases; each name belongs to one operation."""
    for name in (op.name, *op.aliases):
        if name in _BY_NAME:
            raise ValueError(f"{name!r} is already the operation {_BY_NAME[name]}")
        _BY_NAME[name] = op
    _REGISTRY[op.name] = op
    return op


def _load() -> None:
    """Import every family; expressions of arithmetic alone never need most of them."""
    import gradcli.ops.catalogue  # noqa: F401


def registry() -> Mapping[str, Op]:
    """Every operation by its name."""
    _load()
    return MappingProxyType(_REGISTRY)


def find(name: str) -> Op:
    """The operation of that name or alias; KeyError if there is none."""
    if name not in _BY_NAME:
        _load()
    return _BY_NAME[name]


def public_names() -> list[str]:
    """All names under which a program may call an operation."""
    _load()
    return [name for name, op in _BY_NAME.items() if op.public]


def elementwise(
    name: str,
    operands: str,
    forward: Function,
    reference: Function,
    *partials: Function | None,
    doc: str,
    kind: Kind = "smooth",
    **record: Any,
) -> Op:
    """Register an operation that works entry by entry, with one partial for each operand."""
    return register(
        Op(name, tuple(operands.split()), forward, reference, kind, doc, partials=partials or None, **record)
    )


def structural(name: str, operands: str, forward: Function, reference: Function, *, doc: str, **record: Any) -> Op:
    """Register any other operation, with its VJP."""
    variadic = operands.startswith("*")
    return register(
        Op(name, tuple(operands.lstrip("*").split()), forward, reference, "structural", doc, variadic=variadic, **record)
    )


def on_arrays(forward: Function) -> Function:
    """A reference for operations that NumPy also performs on object arrays (moving entries, + and *)."""

    def reference(m: Any, *arrays: Any, **static: Any) -> Any:
        return forward(*arrays, **static)

    return reference


def shape_by_example(forward: Function) -> Function:
    """Shape rule for operations that only move entries: run them on zero-stride stand-ins."""

    def shape(*shapes: Shape, **static: Any) -> Shape:
        try:
            result = forward(*[np.broadcast_to(np.float64(0), s) for s in shapes], **static)
        except (ValueError, IndexError, TypeError) as error:
            raise ShapeError(str(error)) from None
        return np.shape(result)

    return shape


def scipy_special(name: str) -> Function:
    """A function of scipy.special, imported when it is first called."""

    def forward(*arrays: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*arrays)

    return forward


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that an ``axis`` argument names (None: all), normalized and checked."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    result = []
    for a in axes:
        if isinstance(a, bool) or not isinstance(a, (int, np.integer)):
            raise ShapeError(f"an axis is a whole number, not {a!r}")
        if not -ndim <= a < ndim:
            raise ShapeError(f"axis {a} is out of bounds for an array of {ndim} axes")
        result.append(int(a) % ndim)
    if len(set(result)) != len(result):
        raise ShapeError(f"axis {axis} names an axis twice")
    return tuple(result)
