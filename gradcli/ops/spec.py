"""The record of an operation: one record, read by everything else.

The parser, the engine, the judge, the formula printer, the documentation and the tests all iterate
the registry (registry.py). A rule is mathematics: it uses operators and other registered
operations, branches on shapes and static parameters but never on values, and so serves arrays,
graph nodes and multi-precision numbers alike. It never sums to an operand's shape; the sweep does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from gradcli.ops.extended import Rule
from gradcli.ops.facts import Function, Kink
from gradcli.ops.text import (
    BY_SIGN,
    FORM,
    IN_LATEX,
    IN_MATH,
    IN_PYTHON,
    UNDER_WAY,
    ByStatic,
    Exported,
    InC,
    expand_call,
)

_Double = np.float64
Kind = Literal["smooth", "piecewise", "flat", "structural"]


class Carrier:
    """Object that carries values through rules in place of plain arrays.

    apply_op  decides what applying an operation means
    """

    __slots__ = ()
    apply_op: Callable[[Op, Sequence[Any], Mapping[str, Any]], Any]

    def is_zero(self) -> bool:
        """Return whether the value is known to be exactly zero everywhere."""
        return False


def as_tuple(x: Any) -> tuple[Any, ...]:
    """Return a tuple as it is, and anything else as the only part of one."""
    return x if isinstance(x, tuple) else (x,)


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record, with those that follow from the ones that are written."""
    if record.get("vjp") and record.get("ulps") == 0 and not record.get("saves"):
        record = {"dtype": "same", **record}  # it only moves entries
    if "core_dims" in record:
        record = {"ulps": 64, **record}
    found = dict(record)
    for name in _LISTS.intersection(record):
        found[name] = _words_of(record[name], name)
    return found


# Fields with several values. Records write them as words, or as the value itself if there is only
# one.
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


def _names_marked(mark: str) -> cached_property[tuple[str, ...]]:
    """Return the property that has the names with a mark in a record's signature."""

    def names(record: Record) -> tuple[str, ...]:
        words = [word for word in record.signature.split() if mark in word]
        return tuple([word.partition(":")[0].strip("*?") for word in words])

    return cached_property(names)


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
    backward    what PyTorch calls the node of its graph, without "Backward0", where that is not the
                operation's name; or a function that says so, of the operands (arrays and numbers)
                and static parameters
    memory      how the result lies to the operand's memory in PyTorch. It shares it, where NumPy
                lets it, as a "view", which writing to it is recorded through, or as an "alias",
                which is not seen by the graph; the result of a composite is a "view" also where it
                is its operand, has memory of its "own" also there, or is of "parts", views that the
                graph follows no writing through; or ``memory(array, **static)`` is the view of what
                a composite takes entry by entry. Where it depends on the "format" of floats, those
                of 16 bits are not computed with in float32
    refuses     the error in PyTorch for whole numbers and booleans that it is not defined for:
                ``refuses(dtype, operands)``, of the operands' common dtype and of the operands,
                arrays and numbers; None if it takes them
    """

    names: str
    signature: str
    about: str
    static: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    results: tuple[str, ...] = ()
    domain: str = ""
    kinks: tuple[Kink, ...] = ()
    backward: str | Function | None = None
    memory: str | Function = ""
    refuses: Function | None = None
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
                for name in self._every
                if name not in (*self.numbers, *self.stated_names, self.rest)
            ]
        )

    @property
    def shares(self) -> bool:
        """Return whether the result shows the memory of its operand."""
        return self.memory in ("view", "alias")

    @cached_property
    def variadic(self) -> bool:
        """Return whether the operands are any number of arrays."""
        return self.signature.startswith("*")

    @cached_property
    def rest(self) -> str:
        """The name of operands that follow the others in any number; empty if there are none."""
        return "" if self.variadic else "".join(self._starred)

    optional = _names_marked("?")  # operands that may be left out
    indices = _names_marked(
        ":index"
    )  # operands that are whole numbers by which entries are addressed
    lists = _names_marked(":arrays")  # operands that are lists of arrays
    numbers = _names_marked(":number")  # static parameters that are numbers of the formula
    # Static parameters that are written even if they have their defaults.
    stated_names = _names_marked(":stated")
    _every, _starred = _names_marked(""), _names_marked("*")


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
    vjp         otherwise: ``vjp(cotangent, out, *operands, **static)``, the cotangent (or None) of
                the operand; of several operands a tuple of such rules, None where there is none, or
                one that gives a tuple of their cotangents, where these share their work
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
    written     its form in the language, where it is not NAME(operands, parameter=value); or an
                operator alone, between two operands or before one: the language reads that as this
                operation, if it is public
    latex       its form in LaTeX, where it is not its name with the operands in brackets
    c           in C, entry by entry: a template of the operands by their places, of the type
                ``real``, or ``int`` where they are truths; or a function of the static parameters
                that gives one. With operands that may be left out there is one for each tuple of
                which are given. It calls functions of the headers in plans/native only, which have
                all of them for both types of floats; by default the one of its name. Exported code
                for single numbers has that of NumPy where there is none, as far as the language
                has its functions
    numpy       in exported Python, of NumPy's arrays (``np``, ``special`` and ``linalg`` of SciPy,
                and functions of exports/library): a template of the operands by their places, or
                one for each tuple of which are given, or a function of the operands' shapes and
                the static parameters that gives one. By default the call of the ufunc, or of
                SciPy's function, that ``forward`` is; empty: none
    torch       the same for PyTorch; by default NumPy's under its names. For JAX it is NumPy's
                under JAX's names, or this one where that has a function which JAX lacks, and this
                names nothing of PyTorch
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
    ulps        error bound of the forward pass in units of the last place of what ``rounding`` says:
                in float64 and in float32, by whichever library NumPy computes with (facts.py). By
                default 1, of smooth functions of entries 4, of matrices 64
    rounding    what rounding is relative to: the "result", the "terms" of a sum, its "partial sums"
                or the "operands"; or ``rounding(m, out, *operands, **static)``, the error of the
                operation's own rounding, in ``m.unit``
    carries     ``carries(m, out, *operands, *errors, **static)``: a bound on how far operands that
                are off by up to their errors (0.0 of those that are exact) take the result from
                ``out``; None where it is not known. m offers NumPy's functions, the operation itself
                as ``m.at(*operands)``, and the rounding error ``m.unit`` of a number. Or the points
                between which the result rises or falls with each operand (of several operands,
                points for each), so that errors carry farthest at the ends of intervals; edges of
                the domain are among them, and -inf comes first where there are others below the
                next. Of operations on whole arrays: ``()`` where it rises with every entry. By
                default errors are propagated through what the operation is made of
    axes        ``axes(m, *views, **static)``: the view of the result (axes.py)
    parts       ``parts(*operands, **static)``: the same made of operations that loops can do, as
                exactly where all is finite

    A form is a template (of operands and static parameters by their names, see `Piece`), or a
    function of the operands' pieces and the static parameters, which gives a text and how tightly
    it holds together, or raises `Unprintable`; or there is one for each tuple of values of the
    static parameters, with ``...`` for all others.
    """

    # Whether the rule also runs for a cotangent of zeros: a user's rule may do anything.
    always: ClassVar[bool] = False
    forward: Function
    reference: Function
    kind: Kind
    partials: tuple[Function | None, ...] | None = None
    vjp: Function | tuple[Function | None, ...] | None = None
    symbolic: Function | None = None
    extended: Rule | None = None
    shape: Function | None = None
    dtype: str = "float"
    saves: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    core_dims: tuple[int, ...] | None = None
    written: ByStatic | None = None
    latex: ByStatic | None = None
    c: InC | Mapping[tuple[bool, ...], InC] = ""
    numpy: Exported = None
    torch: Exported = None
    algebra: str = ""
    simpler: Function | None = None
    ulps: float = 1.0
    rounding: str | Function = "result"
    carries: Function | tuple[Any, ...] | None = None
    axes: Function | None = None
    parts: Function | None = None
    definition: Function | None = None

    def pull(
        self, wanted: Sequence[bool], cotangent: Any, *values: Any, **static: Any
    ) -> Sequence[Any]:
        """Return what the rule passes back to each operand that is wanted, None to others.

        values  the result and the operands
        """
        rule = self.vjp
        if isinstance(rule, tuple):
            return [
                each(cotangent, *values, **static) if want and each is not None else None
                for each, want in zip(rule, wanted, strict=True)
            ]
        assert rule is not None
        found = rule(cotangent, *values, **static)
        parts = found if type(found) is tuple else (found,)
        return (
            parts
            if False not in wanted
            else [part if want else None for part, want in zip(parts, wanted, strict=True)]
        )

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
        """The kind of the result in the language, whose numbers are floats: "float", "bool", "int",
        or "same" as its operands.
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
        return any(self.partials or (self.vjp,)) and not self.saves and self.carries is None

    @cached_property
    def moves(self) -> bool:
        """Return whether each entry of the result is one of the operands', or zero, and values do
        not decide which.
        """
        return self.kind == "structural" and self.linear and not self.ulps

    @property
    def chooses(self) -> bool:
        """Return whether values decide which of the operand's entries the result is, or where that
        is.
        """
        return self.kind == "structural" and bool(self.kinks) and not self.ulps

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
        # Close, not equal: some processors' cube roots are off by a unit in the last place.
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
        return BY_SIGN.get((self.sign, len(self.operands))) if self.public else None

    @property
    def sign(self) -> str:
        """The operator that it is written as; empty if it is none."""
        return self.written if isinstance(self.written, str) and "{" not in self.written else ""

    @property
    def transparent(self) -> bool:
        """Return whether it is written as its operand is: it is about the program, not about
        numbers.
        """
        return self.written == "{x}"

    @property
    def on_floats(self) -> str:
        """The template of Python's floats, to the bit: C's, if it has operators and functions that
        are the same; empty if there is none.
        """
        text = self.c if isinstance(self.c, str) else ""
        for call, same in IN_PYTHON.items():
            text = text.replace(call, same)
        return "" if "g_" in text else text[1:-1] if text.startswith("(") else text

    def in_c(self, given: Sequence[bool], **static: Any) -> str:
        """Return the C template for the operands that are given, or an empty text if there is none.

        The template numbers only the operands that are given.
        """
        form = self.c.get(tuple(given), "") if isinstance(self.c, Mapping) else self.c
        return form if isinstance(form, str) else form(**static)

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
        return self.on_floats or (f"{self.name}({{}})" if self.name in IN_MATH else "")

    @cached_property
    def elementwise(self) -> bool:
        return self.kind != "structural"

    def __call__(self, *operands: Any, **static: Any) -> Any:
        """Apply the operation to operands: graph nodes, multi-precision arrays, or plain arrays."""
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
