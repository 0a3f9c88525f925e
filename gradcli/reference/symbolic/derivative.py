"""The whole function as one sympy expression, every array entry a real symbol, and its derivative by sympy.

Where the function has branches, the expression is that of the branch taken at the point, so that derivatives need
no Heaviside or Dirac functions; whoever asks has made sure that the point is not on a kink.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from gradcli.graph.interpret import Domain, interpret
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.constants import Constant
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported, number, real
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.deadline import in_time
from gradcli.reference.symbolic.translate import Steps
from gradcli.reference.tape import constant_array, exact_array

_HEAVIEST = 2_000  # nodes of an expression written out as a tree: what sympy may have to look at
_FINEST = 64  # the largest denominator of an exponent: beyond, sympy's polynomials have as many terms


def _combination(combine: Callable[[Any, Any], Any]) -> Any:
    def method(self: Formal, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy takes the scalar into its own loop
        weight = self.weight + _weight(other) + 1
        return Formal(combine(self.expression, _expression(other)), combine(self.value, _value(other)), weight)

    return method


def _comparison(holds: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: bool(holds(self.value, _value(other)))


class Formal:
    """A sympy expression together with its value at the point, and its nodes as a tree. Raises Unsupported for those that are too many."""

    __slots__ = ("expression", "value", "weight")

    def __init__(self, expression: Any, value: Any, weight: int = 1) -> None:
        if weight > _HEAVIEST:
            raise Unsupported("an expression of so many nodes")
        self.expression, self.value, self.weight = expression, value, weight

    __add__ = __radd__ = _combination(operator.add)
    __sub__, __rsub__ = _combination(operator.sub), _combination(lambda x, y: y - x)
    __mul__ = __rmul__ = _combination(operator.mul)
    __truediv__, __rtruediv__ = _combination(operator.truediv), _combination(lambda x, y: y / x)
    __eq__, __lt__, __gt__, __le__, __ge__ = map(_comparison, (operator.eq, operator.lt, operator.gt, operator.le, operator.ge))

    def __neg__(self) -> Formal:
        return Formal(-self.expression, -self.value, self.weight + 1)

    def __abs__(self) -> Formal:
        return -self if self.value < 0 else self

    __hash__ = object.__hash__


def _is_simple(payload: Any) -> bool:
    """Return whether numbers are fractions of small numbers, with which sympy is at ease."""
    numbers = np.asarray(payload, float)
    numbers = np.where(np.isfinite(numbers), numbers, 0.1)
    return bool(np.all(np.abs(numbers) < 1e6) and np.all(numbers * 64 % 1 == 0))


def _weight(x: Any) -> int:
    return x.weight if isinstance(x, Formal) else 1


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Formal) else x


def _expression(x: Any) -> Any:
    if isinstance(x, Formal):
        return x.expression
    if isinstance(x, (int, np.integer)):
        return sympy.Integer(int(x))
    parts = getattr(x, "_mpf_", None)
    if parts is None or not parts[1]:
        if parts is not None and parts[2] == 0 and parts[3] == 0:
            return sympy.Integer(0)
        raise Unsupported("a number that is not finite")
    sign, mantissa, exponent, _ = parts
    number = sympy.Integer(-int(mantissa) if sign else int(mantissa))
    return number * sympy.Integer(2) ** exponent


class _Symbols(Algebra):
    """References on sympy expressions."""

    iterates = False

    def plain(self, x: Any) -> Any:
        return _value(x)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        values = [_value(a) for a in arguments]
        if op.kind == "flat" or not any(isinstance(a, Formal) for a in arguments):
            return real(self.m, op.reference, *values, **static)
        if op.kind == "piecewise":
            return op.reference(self, *arguments, **static)
        value = number(self.m, op, static, *values)
        expressions = [_expression(a) for a in arguments]
        exponents = [x for x, name in zip(expressions, op.operands, strict=True) if name in op.facts.exponents]
        if any(x.is_Rational and x.q > _FINEST for x in exponents):
            raise Unsupported("an exponent of so many digits")
        library = _AtThePoint(dict(zip(expressions, values, strict=True)))
        return Formal((op.symbolic or op.reference)(library, *expressions, **static), value, 1 + sum(map(_weight, arguments)))


class _AtThePoint:
    """sympy, but for the size and the sign of what has a value: on its side of zero these are x or -x, and a number.

    sympy looks for other forms of both, by expanding whatever stands in them, which takes for ever where they are nested.
    """

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(sympy, name)

    def sign(self, x: Any) -> Any:
        return sympy.sign(x) if x not in self._values else sympy.Integer((self._values[x] > 0) - (self._values[x] < 0))

    def Abs(self, x: Any) -> Any:
        return sympy.Abs(x) if x not in self._values else -x if self._values[x] < 0 else x


class WholeDerivative(Domain[Any]):
    """Value and gradients of a function as sympy expressions in symbols for the entries of its leaves."""

    def __init__(self, m: Any, root: Expr, wrt: Sequence[Expr], leaves: Mapping[Expr, Any], seed: Any, precision: str) -> None:
        self.symbols: list[Any] = []
        self.inputs: list[tuple[Expr, int]] = []  # what the symbols stand for: entries of leaves, and literals
        self.point: list[Any] = []
        self.wrt, self.precision, self.algebra = wrt, precision, _Symbols(m)
        table: dict[Expr, Any] = {}
        for leaf, value in leaves.items():
            array = exact_array(m, value, leaf.kind)
            table[leaf] = self._named(leaf, array) if leaf.kind == "float" else array
        interpret(definition_order(root, wrt), self, table)
        still_in_time()
        weights = exact_array(m, seed, "float")
        pairs = zip(np.ravel(table[root]), np.ravel(weights), strict=True)
        total = sympy.Add(*[_expression(y) * _expression(w) for y, w in pairs if w != 0])
        self.shapes = [x.shape for x in wrt]
        roots = [sympy.diff(total, entry.expression) for x in wrt for entry in in_time(np.ravel(table[x]))]
        self.program = Steps(roots, tuple(self.symbols))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Any:
        still_in_time()
        return self.algebra.apply(op, node.static, operands)

    def part(self, node: Expr, whole: Any, place: int) -> np.ndarray:
        return np.asarray(whole[place], dtype=object)

    def alias(self, node: Expr, x: np.ndarray) -> np.ndarray:
        if node in self.wrt:
            raise Unsupported("a derivative with respect to an intermediate result")
        return x

    def detach(self, node: Expr, x: np.ndarray) -> np.ndarray:
        raise Unsupported("a detached value")

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> np.ndarray:
        return self._derivative(node.static["of"], table)

    def _named(self, leaf: Expr, array: np.ndarray) -> np.ndarray:
        out = np.empty(array.size, dtype=object)
        for i, value in enumerate(array.ravel()):
            # the same symbols for every function: sympy remembers what it found out about them
            symbol = sympy.Symbol(f"x{len(self.symbols)}", real=True)
            self.symbols.append(symbol)
            self.inputs.append((leaf, i))
            self.point.append(value)
            out[i] = Formal(symbol, value)
        return out.reshape(array.shape)

    def constant(self, node: Expr) -> np.ndarray:
        """Whole numbers and simple fractions as they are; pi as pi; other literals as symbols.

        Their exact binary fractions, such as that of 0.1, have so many digits that sympy may take for ever to look for common factors.
        """
        payload = node.payload
        array = constant_array(self.algebra.m, node, self.precision)
        if isinstance(payload, (float, np.ndarray)) and node.kind == "float" and not _is_simple(payload):
            return self._named(node, array)
        if isinstance(payload, Constant):
            out = np.empty((), dtype=object)
            formulas = {"pi": sympy.pi, "e": sympy.E}
            if payload.text not in formulas:
                raise Unsupported(payload.text)
            out[()] = Formal(formulas[payload.text], array[()])
            return out
        return array

    def _derivative(self, of: Derivation, table: Mapping[Expr, Any]) -> np.ndarray:
        """A derivative inside the expression, by sympy from its definition."""
        y, x = table[of.y], table[of.x]
        if not all(isinstance(v, Formal) and v.expression.is_Symbol for v in np.ravel(x)):
            raise Unsupported("a derivative with respect to an intermediate result")
        if of.kind == "vjp":
            weights = [1] * y.size if of.vector is None else list(np.ravel(table[of.vector]))
            return self._slopes(self._weighted(y, weights), x)
        if of.kind == "hessian":
            slopes = self._slopes(self._weighted(y, [1]), x)
            return np.array([self._slopes(v.expression, x) for v in np.ravel(slopes)], dtype=object).reshape((*x.shape, *x.shape))
        raise Unsupported(of.kind)

    @staticmethod
    def _weighted(y: np.ndarray, weights: list[Any]) -> Any:
        return sympy.Add(*[_expression(v) * _expression(w) for v, w in zip(np.ravel(y), weights, strict=True)])

    def _slopes(self, total: Any, x: np.ndarray) -> np.ndarray:
        expressions = [sympy.diff(total, v.expression) for v in in_time(np.ravel(x))]
        values = Steps(expressions, tuple(self.symbols)).run(self.algebra.m, tuple(self.point))
        out = np.empty(x.size, dtype=object)
        out[:] = [Formal(e, v) for e, v in zip(expressions, values, strict=True)]
        return out.reshape(x.shape)

    def evaluate(self, m: Any, leaves: Mapping[Expr, Any]) -> list[np.ndarray]:
        """The gradients at the precision of a context."""
        exact = {leaf: np.ravel(exact_array(m, value, leaf.kind)) for leaf, value in leaves.items() if leaf.kind == "float"}
        exact |= {node: np.ravel(constant_array(m, node, self.precision)) for node, _ in self.inputs if node.is_constant}
        results = self.program.run(m, tuple(exact[leaf][i] for leaf, i in self.inputs))
        out, start = [], 0
        for shape in self.shapes:
            stop = start + int(np.prod(shape))
            part = np.empty(stop - start, dtype=object)
            part[:] = results[start:stop]
            out.append(part.reshape(shape))
            start = stop
        return out


# -- Operations as text of Python with sympy's functions: what their records say that they are in
# sympy, printed.


_NAMES = re.compile(r"\b([A-Za-z]\w*)(?=\()|\b(pi|E|oo|zoo|nan|EulerGamma|Catalan)\b|\b_(\d+)\b")


def written_for_sympy(op: Any, count: int, static: Mapping[str, Any]) -> str:
    """A template of operands by their places; empty where sympy has no such function."""
    import sympy

    if op.rewriting.algebra == "choice":
        return "sympy.Piecewise(({1}, {0}), ({2}, True))"
    places = [sympy.Symbol(f"_{place}", real=True) for place in range(count)]
    function = op.symbolic or op.reference
    try:
        found = function(sympy, *places, **static)
        found = sympy.sympify(found).replace(_has_formula, lambda part: part.formula(part.args[0], int(part.args[1])))
    except Exception:  # a reference that compares, or calls what sympy does not have
        return ""
    if any(not _is_sympys(part) for part in sympy.preorder_traversal(found)):
        return ""
    text = _NAMES.sub(_named, sympy.sstr(found))
    return f"({text})" if not text.endswith(")") or text[0] in "(-{" or " " in text else text


def _has_formula(part: Any) -> bool:
    """Tell whether a record has made a function that sympy can write otherwise."""
    return getattr(part, "formula", None) is not None


def _is_sympys(part: Any) -> bool:
    return type(part).__module__.startswith("sympy.") and not type(part).__name__.startswith("_")


def _named(found: re.Match[str]) -> str:
    if found[3]:
        return f"{{{found[3]}:atom}}"
    return f"sympy.{found[1] or found[2]}"
