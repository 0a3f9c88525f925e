"""The record of an operation: one record, read by everything else.

The parser, the engine, the judge, the formula printer, the documentation and the tests all iterate
the registry (registry.py). A rule is mathematics: it uses operators and other registered
operations, branches on shapes and static parameters but never on values, and so serves arrays,
graph nodes and multi-precision numbers alike. It never sums to an operand's shape; the sweep does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from gradcli.ops.extended import Rule
from gradcli.ops.facts import USUAL, Accuracy, Fixed, Function, Kink, Torch
from gradcli.ops.text import BY_SIGN, FORM, IN_LATEX, IN_MATH, UNDER_WAY, Text, expand_call

_Double = np.float64
Kind = Literal["smooth", "piecewise", "flat", "structural"]


class Carrier:
    """Object that carries values through rules in place of plain arrays: it decides what applying
    an operation means.
    """

    __slots__ = ()

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def is_zero(self) -> bool:
        """Return whether the value is known to be exactly zero everywhere."""
        return False


GROUPS: dict[str, type[Fixed]] = {
    "text": Text,
    "accuracy": Accuracy,
    "torch": Torch,
}
_GROUP_OF = {field_: name for name, group in GROUPS.items() for field_ in group._fields}
_TEXT, _ACCURACY = Text(), Accuracy()  # of operations that say nothing of these


def group_fields(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields of a record as they are written, one after the other, with those of a group
    gathered in it: of all groups, or of these.
    """
    if record.get("vjp") and record.get("ulps") == 0 and not record.get("saves"):
        record = {"dtype": "same", **record}  # entries are moved
    if "core_dims" in record:
        record = {"ulps": 64, **record}
    record = {
        field_: _words_of(value, field_) if field_ in _LISTS else value
        for field_, value in record.items()
    }
    rest: dict[str, Any] = {}
    given: dict[str, dict[str, Any]] = {}
    for field_, value in record.items():
        name = _GROUP_OF.get(field_)
        into = rest if name is None or (names and name not in names) else given.setdefault(name, {})
        into[field_] = value
    return {**rest, **{name: GROUPS[name](**parts) for name, parts in given.items()}}


# Fields of several things, which records write as words, or as the one thing that there is.
_LISTS = {"kinks", "results", "saves"}


def _words_of(value: Any, name: str) -> Any:
    """Return the words of a text, or what it says of each name: "x: out; y: x out"."""
    if name == "saves" and ":" in value:
        return {
            name.strip(): tuple(kept.split())
            for name, _, kept in (part.partition(":") for part in value.split(";"))
        }
    return (
        tuple(value.split())
        if isinstance(value, str)
        else (value,)
        if isinstance(value, Kink)
        else value
    )


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """An operation, or a function made of some. Compared by identity.

    names       what graphs, formulas and reports call it, and other names of it
    signature   its operands in words, with what they are beside arrays: "x? bounds:arrays *more". Those that end in a question mark may
                be left out (None), and ``*more`` is any number of operands. ``index:index`` are whole numbers by which entries are
                addressed, ``choices:arrays`` a list of arrays, each of its own shape, ``x:signed`` has zeros that count by their
                sign, and ``y:alike`` must have the dtype of the others in PyTorch. ``alpha:number`` is no operand, but a static
                parameter that is a number of the formula: what has a derivative may stand for it, too. Nor is ``axis:stated``,
                which is written even if it has its default, where the operand has several axes: people take the default for two
                things, so that a call without it is refused
    about       what it is, in words, and an example after ``>>>``
    static      parameters that are part of the program (axes, shapes), with their defaults; `REQUIRED` where there is none
    results     names of the results, where there are several; with a colon those that no gradient flows through on tensors, and
                with their dtype behind it, if it is not that of the others
    domain      where it is defined, in words (facts.py); everywhere, if it says nothing
    torch       what PyTorch makes of it
    """

    names: str
    signature: str
    about: str
    static: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    results: tuple[str, ...] = ()
    domain: str = ""
    kinks: tuple[Kink, ...] = ()
    torch: Torch = USUAL
    public: bool = True

    @cached_property
    def name(self) -> str:
        return self.names.split()[0]

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        return tuple(self.names.split()[1:])

    @cached_property
    def doc(self) -> str:
        """Its documentation without the example."""
        return " ".join(self.about.partition(">>>")[0].split())

    @property
    def example(self) -> str:
        """A call of it; empty if there is none."""
        return self.about.partition(">>>")[2].strip()

    def _names_marked(self, mark: str) -> tuple[str, ...]:
        words = [word for word in self.signature.split() if mark in word]
        return tuple([word.partition(":")[0].strip("*?") for word in words])

    @cached_property
    def result_names(self) -> tuple[str, ...]:
        return tuple([word.partition(":")[0] for word in self.results])

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Names of the operands, the one that stands for any number among them if there is no
        other.
        """
        return tuple(
            [
                name
                for name in self._names_marked("")
                if name not in (*self.numbers, *self.stated_names, self.rest)
            ]
        )

    @cached_property
    def variadic(self) -> bool:
        """Return whether the operands are any number of arrays."""
        return self.signature.startswith("*")

    @cached_property
    def rest(self) -> str:
        """The name of operands that follow the others in any number; empty if there are none."""
        return "" if self.variadic else "".join(self._names_marked("*"))

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Names of the operands that may be left out."""
        return self._names_marked("?")

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """Names of the operands that are whole numbers by which entries are addressed."""
        return self._names_marked(":index")

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """Names of the operands that are lists of arrays."""
        return self._names_marked(":arrays")

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Names of the static parameters that are numbers of the formula."""
        return self._names_marked(":number")

    @cached_property
    def stated_names(self) -> tuple[str, ...]:
        """Names of the static parameters that are written even if they have their defaults."""
        return self._names_marked(":stated")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Op(Record):
    """One operation.

    forward     NumPy: ``forward(*arrays, **static)``
    reference   multi-precision: ``reference(m, *scalars, **static)`` for elementwise operations, on
                object arrays of scalars otherwise; m offers mpmath's functions. The source of truth
                of the judge
    symbolic    the same on sympy expressions, m being sympy; by default the reference itself
    extended    the operation on whole arrays in long double, written anew for the judge
                (extended.py)
    kind        "smooth": elementwise, analytic in its domain. "piecewise": elementwise, the
                reference picks a branch by comparisons and uses + - * / only. "flat": elementwise,
                locally constant. "structural": everything else; its reference is generic over
                scalars
    partials    elementwise: one ``partial(out, *operands, **static)`` for each operand, None where
                there is none; `Pieces` where it is zero on whole pieces (elementwise/logic.py)
    vjp         otherwise: ``vjp(wanted, cotangent, out, *operands, **static)``, a cotangent (or
                None) for each operand
    shape       ``shape(*shapes, **static)``; elementwise operations broadcast
    dtype       of the result: "float"; "number", a float or of whole numbers a whole number (of
                powers, where the exponent is not negative); "bool", "int", or "same" as its
                operands
    saves       what backward keeps, by operand name, or "out" (as PyTorch does); as a mapping, what
                the derivative by each operand keeps
    core_dims   trailing axes of each operand that the operation works on; the axes before them are
                batch axes
    definition  what it is, made of other operations, where it is no primitive; also with operands
                in the place of numbers (``alpha``)
    text        how it is written, in each language that it can be written in
    algebra     what it is in the algebra of sums, products and powers, in which graphs are
                simplified and folded: a "sum", "difference", "negation", "product", "chain" (a
                product whose zeros win), "quotient", "reciprocal", "square", "power", "logarithm",
                "exponential", "sign", "matrix product", "product of entries", "total" (a sum of
                entries), "mean", "comparison", "choice" (by a condition), "extreme" (of the
                operands, or of the operand and 0), "identity", "repetition" (of entries along
                axes), "reshaping", "circular" or "hyperbolic" (a sine or cosine), "inverse" (of a
                function that turns), or "composed" of what its definition says, in which formulas
                are compared: of tan, sin(x)/cos(x); where it is shorter, it is written as this one
                again. Empty for others
    simpler     ``simpler(out, *operands, **static)``: something simpler that equals the node
                ``out`` (up to broadcasting), on operands that have been simplified: a node or a
                number, or None. It may compare nodes, and read what they are made of
    accuracy    what is known of the floats that it computes
    axes        ``axes(m, *views, **static)``: the view of the result (axes.py)
    parts       ``parts(*operands, **static)``: the same made of operations that loops can do, as
                exactly where all is finite
    """

    always: ClassVar[bool] = (
        False  # whether the rule runs for a cotangent of zeros, too: a user's may do anything
    )
    forward: Function
    reference: Function
    kind: Kind
    partials: tuple[Function | None, ...] | None = None
    vjp: Function | None = None
    symbolic: Function | None = None
    extended: Rule | None = None
    shape: Function | None = None
    dtype: str = "float"
    saves: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    core_dims: tuple[int, ...] | None = None
    text: Text = _TEXT
    algebra: str = ""
    simpler: Function | None = None
    accuracy: Accuracy = _ACCURACY
    axes: Function | None = None
    parts: Function | None = None
    definition: Function | None = None

    @cached_property
    def outputs(self) -> int:
        """Number of results; more than one are a tuple, taken apart by `output`."""
        return len(self.results) or 1

    @cached_property
    def index_places(self) -> frozenset[int]:
        return frozenset(i for i, name in enumerate(self.operands) if name in self.indices)

    @cached_property
    def integral(self) -> bool:
        """Return whether whole numbers as operands give whole numbers."""
        return self.dtype == "number"

    @cached_property
    def result(self) -> str:
        """The kind of the result in the language, whose numbers are floats:

        "float", "bool", "int", or "same" as its operands.
        """
        return "float" if self.integral else self.dtype

    @property
    def leaves_unchanged(self) -> bool:
        """Return whether the result is the operand, but for repeated entries."""
        return self.algebra in ("identity", "repetition")

    @property
    def selects(self) -> bool:
        """Return whether the result is one of the operands or 0, as they decide: nothing flows back
        to the others, whatever they are.
        """
        return self.algebra in ("choice", "extreme")

    @property
    def adds(self) -> str:
        """Return whether it adds up "entries" of its operand or "products" of two operands'
        entries.
        """
        return (
            "products"
            if self.algebra == "matrix product"
            else "entries"
            if self.algebra in ("total", "mean")
            else ""
        )

    @cached_property
    def linear(self) -> bool:
        """Return whether the result is linear in each operand: derivatives need no values, and no
        more is said of errors.
        """
        return (
            any(self.partials or (self.vjp,)) and not self.saves and self.accuracy.carries is None
        )

    @cached_property
    def moves(self) -> bool:
        """Return whether each entry of the result is one of the operands', or zero, and values do
        not decide which.
        """
        return self.kind == "structural" and self.linear and not self.accuracy.ulps

    @cached_property
    def degree(self) -> float | None:
        """The p with f(c*x) = c**p * f(x) for all numbers c > 0, by what some numbers become; None
        where there is none.
        """
        if (
            not self.elementwise
            or self.kind == "flat"
            or self.result != "float"
            or self.static
            or len(self.operands) != 1
        ):
            return None
        with np.errstate(all="ignore"):
            negative, small, one, large = map(
                abs, self.forward(np.array([-1.0, 2.0**-60, 1.0, 2.0**60]))
            )
        # close, not equal: some processors' cube roots are off by a unit in the last place
        is_homogeneous = (
            one
            and math.isclose(small * large, one * one)
            and (math.isclose(negative, one) or negative != negative)
        )
        return round(math.log2(large / one) / 5) / 12 if is_homogeneous else None

    @property
    def undoes(self) -> bool:
        """Return whether it undoes a function that is not one to one, so that of an expression it
        is a choice, as sqrt(x**2) is.
        """
        return self.algebra in ("power", "inverse") or (
            self.degree is not None and self.degree % 1 == 0.5
        )

    @cached_property
    def parity(self) -> int:
        """1 where the result is the same of -x as of x, -1 where it is the opposite, 0 for others,
        by what some numbers become.
        """
        if not self.elementwise or self.result != "float" or self.static or len(self.operands) != 1:
            return 0
        x = np.array([0.3, 0.7, 2.5])
        with np.errstate(all="ignore"):
            here, there = self.forward(x), self.forward(-x)
        return next(
            (sign for sign in (1, -1) if np.array_equal(here, sign * there, equal_nan=True)), 0
        )

    @cached_property
    def broadcasts(self) -> bool:
        """Return whether the result is a float of the shape that the operands, which are floats,
        broadcast to.
        """
        return self.shape is None and self.result == "float" and not self.indices

    @cached_property
    def operator(self) -> Function | None:
        """Python's operator that it is written as, which rules and tensors have, too, and NumPy's
        scalars in a tenth of the ufunc's time.

        IEEE arithmetic has one right answer; powers are those of C, nearer to it than NumPy's
        loops.
        """
        return BY_SIGN.get((self.text.sign, len(self.operands))) if self.public else None

    @property
    def body(self) -> Function | None:
        """Return the definition of its result by other operations, or what stands for one; None
        where the record has none.
        """
        return None if self.outputs > 1 else self.definition or self.parts

    @property
    def is_latex_command(self) -> bool:
        """Return whether LaTeX has a command of its name."""
        return self.name in IN_LATEX

    @cached_property
    def in_python(self) -> str:
        """The template of Python's floats, to the bit or to the last one; empty if there is
        none.
        """
        return self.text.on_floats or (f"{self.name}({{}})" if self.name in IN_MATH else "")

    @cached_property
    def elementwise(self) -> bool:
        return self.kind != "structural"

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply to whatever carries the operands: graph nodes, multi-precision arrays, or plain
        arrays.
        """
        if self.static and len(static) < len(self.static):
            static = {**self.static, **static}
        for operand in operands:
            if isinstance(operand, Carrier):
                return operand.apply_op(self, operands, static)
        if self.operator is not None and type(operands[0]) is _Double:
            return self.operator(*operands, **static)
        return self.forward(*operands, **static)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Composite(Record):
    """A function made of operations: its derivative is that of its definition.

    That is mathematics as a rule is: operators and registered functions of its operands, branching
    on shapes and static parameters only. It may return a tuple.
    """

    definition: Function

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply to whatever carries the operands."""
        missing = (None,) * (0 if self.variadic else len(self.operands) - len(operands))
        parameters = {**self.static, **static}
        calls = UNDER_WAY.get()
        if calls is None:
            return self.definition(*operands, *missing, **parameters)
        given = operands, tuple(static.values())
        call = expand_call(
            FORM.sub("", self.name),
            given,
            lambda: self.definition(*operands, *missing, **parameters),
        )
        calls.append(call)
        return call.result

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class _Required:
    """The default of a static parameter that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
