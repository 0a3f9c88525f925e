"""Whole function as one sympy expression, and its derivative by sympy.

Every array entry is a real symbol.

The expression is read off the tape of scalars, which has the branches that were taken at the point,
so that derivatives need no Heaviside or Dirac functions. The caller has made sure that the point is
not on a kink.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import sympy

from gradcli.graph.nodes import Expr
from gradcli.ops.constants import Constant
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.deadline import in_time, still_in_time
from gradcli.reference.scalars import (
    Arithmetic,
    Differentiated,
    Power,
    Traced,
    Tracing,
    behind,
    plain,
)
from gradcli.reference.symbolic.translate import Smooth, Steps, expression_of, smooth_function
from gradcli.reference.tape import ReferenceTape, exact_array

_HEAVIEST = 2_000  # most nodes of an expression written out as a tree, all of which sympy may visit
_HEAVIEST_OPENED = 500  # the same of a function of what sympy does not know to be real
# Largest denominator of an exponent: sympy's polynomials have about as many terms as this.
_FINEST = 64
_LARGEST = 10**6  # largest number of which sympy may compute a function: gamma has all digits


class _Symbols(Tracing):
    """Scalars on a tape, with symbols for the constants that definitions of functions have.

    inputs  the values of variables, by their serial numbers, and the constants that they stand for
    """

    def __init__(self, m: Any, precision: str = "float64") -> None:
        super().__init__(m, precision)
        self.inputs: dict[int, tuple[Any, Constant | None]] = {}

    def variable(self, value: Any, known: Constant | None = None) -> Traced:
        found = super().variable(value)
        self.inputs[found.serial] = value, known
        return found

    def constant(self, known: Any) -> Any:
        return np.asarray(self.variable(known.reference(self.m), known), dtype=object)


class _Tape(ReferenceTape):
    """The function on a tape whose variables are entries of leaves, and literals that stay symbols.

    Whole numbers and simple fractions are none. The exact binary fractions of others, such as that
    of 0.1, have so many digits that sympy may take for ever to look for common factors.
    """

    tracing = _Symbols
    scalars: _Symbols

    def constant(self, node: Expr) -> np.ndarray:
        if isinstance(node.payload, Constant):
            return np.asarray(self.scalars.constant(node.payload))
        array = super().constant(node)
        return (
            array
            if node.kind != "float" or _is_simple(node.payload)
            else Algebra.map(self.scalars.variable, array)
        )

    def detach(self, node: Expr, x: np.ndarray) -> np.ndarray:
        raise Unsupported("a detached value")


def _is_simple(payload: Any) -> bool:
    """Return whether numbers are fractions of small numbers, with which sympy is at ease."""
    numbers = np.ravel(np.asarray(payload, float))
    small = numbers[np.abs(numbers) < 1e6]
    return small.size == numbers.size and bool(np.all(small * 64 % 1 == 0))


def _number(x: Any) -> Any:
    """Convert a constant number of the tape exactly."""
    if isinstance(x, (int, np.integer)):
        return sympy.Integer(int(x))
    parts = getattr(x, "_mpf_", None)
    if parts is None or (not parts[1] and parts[2]):
        raise Unsupported("a number that is not finite")
    sign, mantissa, exponent, _ = parts
    return (-1) ** sign * sympy.Integer(int(mantissa)) * sympy.Integer(2) ** exponent


def _write(node: Traced, expressions: list[Any]) -> Any:
    """Return the expression of a step of the tape, given those of its arguments."""
    step: Any = node.function
    if isinstance(step, Arithmetic):
        return step.value(*expressions)
    if isinstance(step, Power):
        if any(x.is_Rational and x.q > _FINEST for x in expressions[1:]):
            raise Unsupported("an exponent of so many digits")
        smooth: Smooth = smooth_function(step.op, len(expressions), {})
    elif isinstance(step, Differentiated):
        if any(x.is_Rational and abs(x) > _LARGEST for x in expressions):
            raise Unsupported("a function of so large a number")
        smooth = step.smooth
    else:
        raise Unsupported(step.name)
    # sympy tries to rewrite absolute values and signs by expanding their arguments, which takes
    # forever where they are nested. On one side of zero, an absolute value is x or -x, and a sign
    # is a number.
    table: dict[Any, Any] = {}
    for symbol, expression, argument in zip(
        smooth.symbols, expressions, node.arguments, strict=True
    ):
        sign = (plain(argument) > 0) - (plain(argument) < 0)
        table |= {
            symbol: expression,
            sympy.Abs(symbol): -expression if sign < 0 else expression,
            sympy.sign(symbol): sympy.Integer(sign),
        }
    return smooth.expression.xreplace(table)


def _label(node: Traced) -> str:
    """Return what a step of the tape does, in words that stand for it and nothing else."""
    step: Any = node.function
    return str(step.smooth.text if isinstance(step, Differentiated) else step.name)


# Returns the data stored under a key, or makes it. The two functions give the key and the data.
# Both are of types that JSON has, apart from functions that a record has made.
Kept = Callable[[Callable[[], Any], Callable[[], Any]], Any]


class WholeDerivative:
    """Gradients of a function as sympy expressions in symbols for the entries of its leaves."""

    def __init__(
        self,
        m: Any,
        root: Expr,
        wrt: Sequence[Expr],
        leaves: Mapping[Expr, Any],
        seed: Any,
        precision: str,
        kept: Kept | None = None,
    ) -> None:
        tape = _Tape(m, leaves, precision)
        results = np.ravel(tape.run(root, wrt))
        still_in_time()
        self.shapes, inputs = [x.shape for x in wrt], tape.scalars.inputs
        self.inputs = list(inputs.values())
        entries = [entry for x in wrt for entry in np.ravel(tape.table[x])]
        if not all(getattr(entry, "serial", None) in inputs for entry in entries):
            raise Unsupported("a derivative with respect to an intermediate result")
        weights = np.ravel(exact_array(m, seed))
        nodes = behind([y for y in results if type(y) is Traced])
        order = sorted(nodes.keys() - inputs.keys())
        places = {serial: place for place, serial in enumerate([*inputs, *order])}

        def value_of(x: Any) -> Any:
            return (
                (places[x.serial], int(plain(x) > 0) - int(plain(x) < 0))
                if type(x) is Traced
                else str(_number(x))
            )

        def key() -> Any:
            lines = [
                (_label(nodes[serial]), *map(value_of, nodes[serial].arguments)) for serial in order
            ]
            return len(inputs), lines, list(map(value_of, [*results, *weights, *entries]))

        def differentiate() -> Any:
            # All functions share the same symbols, because sympy caches what it finds out about
            # them.
            symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(len(inputs))]
            expressions, sizes = dict(zip(inputs, symbols, strict=True)), dict.fromkeys(inputs, 1)
            doubtful = set[int]()  # not known to be real: sympy may take the real part of it
            for serial in in_time(order):
                arguments = nodes[serial].arguments
                traced = {a.serial for a in arguments if type(a) is Traced}
                sizes[serial] = 1 + sum(
                    [sizes[a.serial] if type(a) is Traced else 1 for a in arguments]
                )
                opened = bool(doubtful & traced) and type(nodes[serial].function) is not Arithmetic
                if sizes[serial] > (_HEAVIEST_OPENED if opened else _HEAVIEST):
                    raise Unsupported("an expression of so many nodes")
                known = [
                    expressions[a.serial] if type(a) is Traced else _number(a) for a in arguments
                ]
                expressions[serial] = _write(nodes[serial], known)
                if doubtful & traced or not expressions[serial].is_real:
                    doubtful.add(serial)
            pairs = zip(results, weights, strict=True)
            total = sympy.Add(
                *[
                    (expressions[y.serial] if type(y) is Traced else _number(y)) * _number(w)
                    for y, w in pairs
                    if w != 0
                ]
            )
            return Steps.of(
                [sympy.diff(total, expressions[entry.serial]) for entry in in_time(entries)],
                tuple(symbols),
            ).data

        self.program = Steps(differentiate() if kept is None else kept(key, differentiate))

    def evaluate(self, m: Any) -> list[np.ndarray]:
        """Return the gradients at the precision of a context."""
        numbers = [
            m.mpf(value) if known is None else known.reference(m) for value, known in self.inputs
        ]
        results = iter(self.program.run(m, tuple(numbers)))
        return [Algebra.map(lambda _: next(results), np.empty(shape)) for shape in self.shapes]


# -- Operations as text of Python with sympy's functions: what their records say that they are in
# sympy, printed.


_CALL = re.compile(r"[\w.]+\([^()]*\)")
_NAMES = re.compile(r"\b([A-Za-z]\w*)(?=\()|\b(pi|E|oo|zoo|nan|EulerGamma|Catalan)\b|\b_(\d+)\b")


def written_for_sympy(op: Any, operands: Sequence[Any], static: Mapping[str, Any]) -> str:
    """Return a template of operands by their places, or "" if sympy has no such function."""
    if op.algebra == "choice":
        return "sympy.Piecewise(({1}, {0}), ({2}, True))"
    number = count()

    def place_of(operand: Any) -> Any:
        symbol = None if operand is None else sympy.Symbol(f"_{next(number)}", real=True)
        counts = operand is not None and operand.kind == "bool" != op.dtype
        return sympy.Piecewise((1, symbol), (0, True)) if counts else symbol

    try:
        found = sympy.sympify(expression_of(op, [*map(place_of, operands)], static))
        found = found.replace(  # a record's function that sympy can write in another way
            lambda part: getattr(part, "formula", None) is not None,
            lambda part: part.formula(part.args[0], int(part.args[1])),
        )
    except Exception:  # the reference compares, or calls what sympy does not have
        return ""
    kinds = {type(part) for part in sympy.preorder_traversal(found)}
    if any(k.__name__.startswith("_") or not k.__module__.startswith("sympy.") for k in kinds):
        return ""

    def name_of(name: re.Match[str]) -> str:
        return f"{{{name[3]}:atom}}" if name[3] else f"sympy.{name[1] or name[2]}"

    text = _NAMES.sub(name_of, sympy.sstr(found))
    return text if _CALL.fullmatch(text) else f"({text})"
