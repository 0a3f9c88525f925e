"""What NumPy makes of a text: values of arrays, and gradients by differences of them."""

from __future__ import annotations

import ast
import builtins
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

Values = Mapping[str, Any]


class Unusable(Exception):
    """A text that NumPy does not compute, or whose numbers nobody should compare: infinite,
    complex, on a jump.
    """


# Where an array stands, these are NumPy's; two values have a larger one, as in Python.
def _larger(x: Any, *rest: Any, **keywords: Any) -> Any:
    _no_tuple(rest)
    return np.maximum(x, *rest, **keywords) if rest else np.max(x, **keywords)


def _smaller(x: Any, *rest: Any, **keywords: Any) -> Any:
    _no_tuple(rest)
    return np.minimum(x, *rest, **keywords) if rest else np.min(x, **keywords)


def _no_tuple(rest: tuple[Any, ...]) -> None:
    if any(isinstance(value, tuple) for value in rest):
        raise TypeError("an axis, where the second value stands")


def _logsumexp(x: Any, *rest: Any, **keywords: Any) -> Any:
    if not np.ndim(x):
        raise TypeError("SciPy makes a number an array")
    return special.logsumexp(x, *rest, **keywords)


# a saw with finer ones has no slopes that differences see, and NumPy's of whole numbers by 0 are 0
_TEETH = 0.05


def _saw(function: Callable[..., Any]) -> Callable[..., Any]:
    def tried(x: Any, y: Any) -> Any:
        if np.any(np.abs(y) < _TEETH):
            raise ValueError("too fine a saw")
        return function(x, y)

    return tried


def _array(*items: Any) -> Any:
    """What a list in brackets stands for: an array, or a list of arrays where they do not fit
    together.
    """
    try:
        return np.array(items)
    except ValueError:
        return list(items)


_OURS: dict[str, Any] = {
    "max": _larger, "min": _smaller, "pow": np.power, "abs": np.abs, "round": np.round, "sum": np.sum, "len": len, "_array": _array,
    "fmod": _saw(np.fmod), "_remainder": _saw(operator.mod), "_floor_divide": _saw(operator.floordiv),
    "norm": np.linalg.norm, "inv": np.linalg.inv, "det": np.linalg.det, "solve": np.linalg.solve,
    "erf": special.erf, "expit": special.expit, "gammaln": special.gammaln, "logsumexp": _logsumexp, "xlogy": special.xlogy,
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "np": np, "numpy": np, "math": math,
    "scipy": SimpleNamespace(special=special),
}  # fmt: skip


class AsArrays(ast.NodeTransformer):
    """What the language means where Python's own types would stand in the way: lists, conditions,
    boolean words, ``x += 1``.
    """

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return _call("_array", node.elts) if node.elts else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("where", [node.test, node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        found = node.values[0]
        for value in node.values[1:]:
            found = _call(name, [found, value])
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("logical_not", [node.operand]) if isinstance(node.op, ast.Not) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.Mod: "_remainder", ast.FloorDiv: "_floor_divide"}.get(type(node.op))
        return _call(name, [node.left, node.right]) if name else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1:
            raise Unusable("a chain of comparisons is another thing for arrays")
        self.generic_visit(node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        assert isinstance(node.target, ast.Name)
        found = self.visit(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        return ast.Assign([ast.Name(node.target.id, ast.Store())], found)


def _call(name: str, arguments: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])


def compiled(text: str) -> Callable[[Values], Any]:
    """The value of a text's last line as a function of the names' values.

    The texts are the tests' own.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compiled(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unusable(str(error)) from None


def _compiled(text: str) -> Callable[[Values], Any]:
    tree = ast.parse(text)
    tree = ast.fix_missing_locations(AsArrays().visit(tree))
    *bindings, query = tree.body
    if not isinstance(query, ast.Expr):
        raise Unusable("the last line is no query")
    steps = (
        compile(ast.Module(bindings, []), "<bindings>", "exec"),
        compile(ast.Expression(query.value), "<query>", "eval"),
    )

    def value(values: Values) -> Any:
        names = {
            **vars(np),
            **_OURS,
            **values,
            "__builtins__": {"__import__": __import__},
        }  # which NumPy calls late
        exec(steps[0], names)
        return eval(steps[1], names)

    return value


_FAILS = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    NameError,
    ArithmeticError,
    RuntimeError,
    np.linalg.LinAlgError,
)
_LARGE = 1e8


def value_of(text: str, values: Values) -> np.ndarray:
    """The value as finite real floats. Raises Unusable."""
    return _floats(_tried(compiled(text), values))


def _tried(function: Callable[[Values], Any], values: Values) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(values)
        except _FAILS as error:
            raise Unusable(str(error)) from None


def _floats(value: Any) -> np.ndarray:
    if (
        isinstance(value, (str, type, slice, builtins.range))
        or callable(value)
        or value is None
        or value is ...
    ):
        raise Unusable("no value")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise Unusable(str(error)) from None
    if array.dtype.kind not in "biuf":
        raise Unusable(f"{array.dtype}")
    floats = np.asarray(array, float)
    if not np.all(np.isfinite(floats)) or np.any(np.abs(floats) > _LARGE):
        raise Unusable("not finite, or large")
    return floats


_STEP = 2e-4  # of central differences, extrapolated: the error is of the order of its fourth power
_OTHERS = (1.7320508e-6, 7.3890561e-5)  # steps that find saws whose teeth are as wide as the first


def gradients(
    text: str, values: Values, seed: Any, fixed: Values | None = None
) -> dict[str, np.ndarray]:
    """The gradient of sum(seed*value) by every name but the fixed ones, NaN at the entries where
    differences say that there is none.
    """
    function, still = compiled(text), fixed or {}

    def total(moved: Values) -> float:
        value = _floats(_tried(function, {**still, **moved}))
        if value.shape != np.shape(seed):
            raise Unusable("an entry more or less")
        return float(np.sum(value * seed))

    found = {}
    here = total(values)
    for name, value in values.items():
        base = np.asarray(value, float)
        slopes = np.full(base.shape, np.nan)
        for index in np.ndindex(base.shape):
            slopes[index] = _slope(total, here, values, name, index)
        found[name] = slopes
    return found


def _slope(
    total: Callable[[Values], float], here: float, values: Values, name: str, index: tuple[int, ...]
) -> float:
    def at(step: float) -> float:
        moved = np.array(values[name], float)
        moved[index] += step
        return total({**values, name: moved if moved.ndim else moved[()]})

    h = _STEP
    try:
        up, down, up2, down2 = at(h), at(-h), at(2 * h), at(-2 * h)
    except Unusable:
        return math.nan
    sides = (up - here) / h, (here - down) / h
    wide, narrow = (up2 - down2) / (4 * h), (up - down) / (2 * h)
    size = 1 + abs(narrow)
    if abs(sides[0] - sides[1]) > 0.02 * size or abs(wide - narrow) > 1e-4 * size or size > _LARGE:
        return math.nan  # a kink, a jump, or too curved
    if any(abs((at(step) - at(-step)) / (2 * step) - narrow) > 1e-5 * size for step in _OTHERS):
        return math.nan
    return (4 * narrow - wide) / 3


def steady(text: str, values: Values) -> bool:
    """Whether rounding changes nothing that can be seen: no jump lies here, and no digits
    are lost.
    """
    function = compiled(text)
    try:
        here = _floats(_tried(function, values))
        for factor in (1 + 1e-12, 1 - 1e-12):
            moved = _floats(
                _tried(
                    function, {name: np.asarray(value) * factor for name, value in values.items()}
                )
            )
            if moved.shape != here.shape or np.any(
                np.abs(moved - here) > 1e-8 * (1 + np.abs(here))
            ):
                return False
    except Unusable:
        return False
    return True
