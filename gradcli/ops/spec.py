"""What an operation is: one record, read by everything else.

The parser, the engine, the judge, the formula printer, the documentation and the tests all iterate the
registry (registry.py). A rule is mathematics: it uses operators and other registered operations,
branches on shapes and static parameters but never on values, and so serves arrays, graph nodes and
multi-precision numbers alike. It never sums to an operand's shape; the sweep does.

**Bounds on errors** (``Accuracy.ulps``) hold on any processor and system, though each has functions of its own: the C library's, NumPy's
for the vector registers that it finds (X86_V3, ASIMD), Intel's SVML with AVX-512, for float32 others again. They are a quarter more at
least than the worst that was measured over these, each switched off in turn (NPY_DISABLE_CPU_FEATURES), rounded up; where the function is
the C library's, also no less than the largest error known of those of Apple, FreeBSD, glibc, Microsoft and musl (B. Gladman,
V. Innocente, J. Mather, P. Zimmermann, Accuracy of Mathematical Functions in Single, Double, Double Extended, and Quadruple Precision);
0 where nothing is rounded, 1 where IEEE arithmetic rounds once. They are for results that neither overflow nor underflow. Beyond 4, an
operation is only as good as its operands near its zeros: its result is right for operands that are off by a unit in their last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from gradcli.errors import AxisError, ShapeError
from gradcli.ops.domains import EVERYWHERE, Domain
from gradcli.ops.expansions import UNDER_WAY, expanded
from gradcli.ops.extended import Rule
from gradcli.ops.pytorch import USUAL, Torch
from gradcli.ops.text import Text

Shape = tuple[int, ...]
Function = Callable[..., Any]
Kind = Literal["smooth", "piecewise", "flat", "structural"]


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What another library chooses at a kink: in words, and the rule by which it does, if that is not ours.

    rule  partials, one for each operand, or a VJP: what stands in the operation's record, in that library's version
    """

    words: str
    rule: tuple[Function | None, ...] | Function | None = None


SAME = Choice("the same")


@dataclass(frozen=True, eq=False, repr=False)
class Kink:
    """Where an operation is not differentiable, and the value that is chosen there.

    ``where`` receives the operands as scalars, and the static parameters, and says whether they lie on the kink; of operations on
    whole arrays, an entry of the result. Never, where the reference notes the kink itself (`Algebra.extreme`), or the body's operations do.
    ``jax`` is the choice of JAX 0.10, as measured, None where it has not been.
    """

    where: Function
    place: str
    convention: str
    jax: Choice | None = None


class Carrier:
    """What carries values through rules in place of plain arrays: it decides what applying an operation means."""

    __slots__ = ()

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def is_zero(self) -> bool:
        """Whether the value is known to be exactly zero everywhere."""
        return False


@dataclass(frozen=True, eq=False)
class Facts:
    """What holds of an operation as mathematics, beside its rules.

    linear     whether the result is linear in each operand
    signed     operands whose zeros count by their sign: 0.0 and -0.0 give different results
    integral   whether whole numbers as operands give whole numbers: of powers, where the exponent is not negative
    algebraic  whether algebraic numbers give algebraic numbers, where rational constants stand for ``exponents``; what is integral does
    exponents  operands that are exponents
    inverse    whether it undoes a function that is not one to one, so that of an expression it is a choice, as sqrt(x**2) is
    branches   whether it is such a choice of plain operands, too
    selects    whether the result is one of the operands or 0, as they decide: nothing flows back to the others, whatever they are
    turns      of a truth: where it turns, and the program takes another branch
    sees_nan   whether the result may be a number although an operand is NaN
    constant   ``constant(*operands)``, None for those that vary: whether the others are such that the result does not
    commutes   whether its two operands may change places
    folds      the operation of two operands by which a reduction puts its entries together
    work       ``work(out, *operands)`` of their shapes: scalar operations of the reference; by default, as many as the largest has
               entries, times the rows of matrices (``core_dims``)
    algebra     what it is in the algebra of sums, products and powers, in which graphs are simplified and folded: a "sum", "difference",
                "negation", "product", "chain" (a product whose zeros win), "quotient", "reciprocal", "square", "power", "logarithm",
                "matrix product", "total" (a sum of entries), "comparison" or "choice" (by a condition); empty if it is none of these
    adds        what it adds up: "entries" of its operand (a mean is their sum but for a factor), or "products" of two operands' entries
    unchanged   whether the result is the operand, but for repeated entries
    repeats     whether entries are repeated along axes
    reshapes    whether the result has the operand's entries, in their order, in another shape
    on_objects  whether ``forward`` does with arrays of objects, by their + and *, what it does with floats
    simpler     ``simpler(out, *operands, **static)``: something simpler that equals the node ``out`` (up to broadcasting), on operands
                that have been simplified: a node or a number, or None. It may compare nodes, and read what they are made of
    as_ufunc    another operation that computes the same, with what it takes after the operands: a ufunc, which can fill a buffer
    """

    linear: bool = False
    signed: frozenset[str] = frozenset()
    integral: bool = False
    algebraic: bool = False
    exponents: frozenset[str] = frozenset()
    inverse: bool = False
    branches: bool = False
    selects: bool = False
    turns: Kink | None = None
    sees_nan: bool = False
    constant: Function | None = None
    commutes: bool = False
    folds: str = ""
    work: Function | None = None
    algebra: str = ""
    adds: str = ""
    unchanged: bool = False
    repeats: bool = False
    reshapes: bool = False
    on_objects: bool = False
    simpler: Function | None = None
    as_ufunc: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What is known of the floats that an operation computes.

    ulps       error bound of the forward pass in units of the last place of what ``rounding`` says: in float64 and in float32, by
               whichever library NumPy computes with (see above)
    rounding   what rounding is relative to: the "result", the "terms" of a sum, its "partial sums", the largest of the "operands",
               or the "product" of those
    exact      whether nothing is rounded where operands and result are whole numbers that floats have
    power      near 0 the result is the first operand to this power, but for a factor
    compounds  whether a result is a product of entries, whose relative errors add up in it, and one rounding more for each
    decays     whether the result vanishes faster than any power where an operand is infinite
    """

    ulps: float = 1.0
    rounding: str = "result"
    exact: bool = False
    power: float | None = None
    compounds: bool = False
    decays: bool = False


GROUPS = {"text": Text, "facts": Facts, "accuracy": Accuracy, "torch": Torch}


def grouped(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields of a record as they are written, one after the other, with those of a group gathered in it: of all groups, or of these."""
    rest = dict(record)
    for name in names or GROUPS:
        group = GROUPS[name]
        rest[name] = group(**{part.name: rest.pop(part.name) for part in fields(group) if part.name in rest})
    return rest


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """One operation. Compared by identity.

    name        what graphs, formulas and reports call it
    operands    names of the operands; ``variadic`` operations take a list of them
    optional    operands that may be left out (None)
    static      parameters that are part of the program (axes, shapes), with their defaults
    forward     NumPy: ``forward(*arrays, **static)``
    on_scalars  the same where the first operand is a NumPy scalar, in a tenth of the ufunc's time: Python's operator, which
                rules use, too. IEEE arithmetic has one right answer; powers are those of C, nearer to it than NumPy's loops
    reference   multi-precision: ``reference(m, *scalars, **static)`` for elementwise operations, on object
                arrays of scalars otherwise; m offers mpmath's functions. The source of truth of the judge
    symbolic    the same on sympy expressions, m being sympy; by default the reference itself
    slopes      the reference's own derivatives ``slope(m, *scalars)``, where sympy's have no limits at the edges of the domain
    extended    the operation on whole arrays in long double, written anew for the judge (extended.py)
    kind        "smooth": elementwise, analytic in its domain. "piecewise": elementwise, the reference picks a
                branch by comparisons and uses + - * / only. "flat": elementwise, locally constant.
                "structural": everything else; its reference is generic over scalars
    partials    elementwise: one ``partial(out, *operands, **static)`` for each operand, None where there is none
    vjp         otherwise: ``vjp(wanted, cotangent, out, *operands, **static)``, a cotangent (or None) for each operand
    shape       ``shape(*shapes, **static)``; elementwise operations broadcast
    result      dtype of the result: "float", "bool", "int", or "same" as its operands
    saves       what backward keeps, by operand name, or "out" (as PyTorch does); as a mapping, what the derivative
                by each operand keeps
    indices     operands that are whole numbers by which entries are addressed
    outputs     number of results; more than one is a tuple, taken apart by `output`
    always      the rule runs for a cotangent of zeros, too: a user's may do anything
    core_dims   trailing axes of each operand that the operation works on; the axes before them are batch axes
    wider       the same function made of operations, for calls that give more than the operation takes: operands of its own
                (``where``), or an operand in the place of a parameter (``alpha``)
    domain      where it is defined (domains.py); messages and documentation print it
    text        how it is written, in each language that it can be written in
    facts       what holds of it as mathematics, beside its rules
    accuracy    what is known of the floats that it computes
    torch       what PyTorch makes of it
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
    on_scalars: Function | None = None
    symbolic: Function | None = None
    slopes: tuple[Function, ...] | None = None
    extended: Rule | None = None
    shape: Function | None = None
    result: str = "float"
    variadic: bool = False
    optional: frozenset[str] = frozenset()
    saves: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    indices: frozenset[str] = frozenset()
    always: bool = False
    outputs: int = 1
    core_dims: tuple[int, ...] | None = None
    domain: Domain = EVERYWHERE
    kinks: tuple[Kink, ...] = ()
    text: Text = field(default_factory=Text)
    facts: Facts = Facts()
    accuracy: Accuracy = Accuracy()
    torch: Torch = USUAL
    aliases: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    public: bool = True
    wider: Composite | None = None

    @cached_property
    def index_places(self) -> frozenset[int]:
        return frozenset(i for i, name in enumerate(self.operands) if name in self.indices)

    @cached_property
    def broadcasts(self) -> bool:
        """Whether the result is a float of the shape that the operands, which are floats, broadcast to."""
        return self.shape is None and self.result == "float" and not self.indices

    @cached_property
    def elementwise(self) -> bool:
        return self.kind != "structural"

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply to whatever carries the operands: graph nodes, multi-precision arrays, or plain arrays."""
        if self.static:
            static = {**self.static, **static}
        for operand in operands:
            if isinstance(operand, Carrier):
                return operand.apply_op(self, operands, static)
        if self.on_scalars is not None and type(operands[0]) is np.float64:
            return self.on_scalars(*operands, **static)
        return self.forward(*operands, **static)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


@dataclass(frozen=True, eq=False, repr=False)
class Composite:
    """A function made of operations: its derivative is that of its body.

    The body is mathematics as a rule is: operators and registered functions of its operands, branching on shapes
    and static parameters only. It may return a tuple; ``results`` then names its parts.

    operands    names of the operands, which may be missing where ``optional``; ``variadic`` ones come as a list
    rest        the name of operands that follow these in any number
    static      parameters that are part of the program, with their defaults; `REQUIRED` where there is none
    lists       the operands that are lists of arrays, each of its own shape
    scalars     the static parameters that are numbers of the formula: what has a derivative may stand for them, too
    indices     operands that are whole numbers by which entries are addressed
    torch       what PyTorch makes of it: its node's name, where it has one of its own

    A second definition, from the mathematics that the documentation states, vouches for the body: `reference`, found under the
    composite's name in the room of witnesses.
    """

    name: str
    operands: tuple[str, ...]
    body: Function
    doc: str
    static: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    variadic: bool = False
    rest: str = ""
    lists: frozenset[str] = frozenset()
    scalars: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    indices: frozenset[str] = frozenset()
    results: tuple[str, ...] = ()
    torch: Torch = USUAL
    domain: Domain = EVERYWHERE
    kinks: tuple[Kink, ...] = ()
    aliases: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    public: bool = True

    @cached_property
    def reference(self) -> Function | None:
        """``reference(m, *operands, **static)`` on arrays of scalars of any kind, m offering their functions as to an operation's.

        It shares no code with the body. None for a composite that has none yet.
        """
        found: Function | None = import_module("gradcli.ops.references").reference_of(self.name)
        return found

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply to whatever carries the operands."""
        missing = (None,) * (0 if self.variadic else len(self.operands) - len(operands))
        parameters = {**self.static, **static}
        calls = UNDER_WAY.get()
        if calls is None:
            return self.body(*operands, *missing, **parameters)
        call = expanded(self.name, (operands, tuple(static.values())), lambda: self.body(*operands, *missing, **parameters))
        calls.append(call)
        return call.result

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class _Required:
    """The default of a static parameter that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


class Witness:
    """A reference that stands in the room of witnesses, ``gradcli/ops/references``; its file is imported when it is first called."""

    def __init__(self, file: str, name: str) -> None:
        self.file, self.name = file, name

    @cached_property
    def function(self) -> Function:
        function: Function = getattr(import_module(f"gradcli.ops.references.{self.file}"), self.name)
        return function

    def __call__(self, *arguments: Any, **static: Any) -> Any:
        return self.function(*arguments, **static)


def witness(place: str) -> Function:
    """The reference of a name in a file of the room of witnesses: ``witness("moving.transpose")``."""
    return Witness(*place.split("."))


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


def one_axis(axis: Any, ndim: int) -> int:
    """The one axis that an ``axis`` argument names; 0 for a number, which has one entry along any axis."""
    if isinstance(axis, (tuple, list)) and len(axis) != 1:
        raise ShapeError(f"one axis is wanted here, not {axis}")
    return next(iter(axes_of(axis, ndim)), 0)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that an ``axis`` argument names (None: all), normalized and checked."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if not ndim and axes and all(a in (0, -1) for a in axes):
        return ()  # a number has one entry, along any axis
    result = []
    for a in axes:
        if isinstance(a, bool) or not isinstance(a, (int, np.integer)):
            raise ShapeError(f"an axis is a whole number, not {a!r}")
        if not -ndim <= a < ndim:
            raise AxisError(int(a), ndim)
        result.append(int(a) % ndim)
    if len(set(result)) != len(result):
        raise ShapeError(f"axis {axis} names an axis twice")
    return tuple(result)
