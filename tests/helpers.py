"""What the mathematical tests share: lowering a program, its numbers, and derivatives that do not
use our rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from _pytest.mark import ParameterSet

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, forward, reachable
from gradcli.graph.sweep import backward
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.language.syntax import Statement
from gradcli.ops.constants import Constant
from gradcli.ops.elementwise.arithmetic import add, div, mul, neg, sub
from gradcli.ops.elementwise.exponential import pow_
from gradcli.ops.spec import Carrier, Op
from gradcli.texts import text_lines

Arrays = Mapping[str, Any]


def parsed(text: str) -> list[Statement]:
    """The statements of a program. Raises a GradcliError at the first that cannot be read."""
    found = []
    for statement in statements(text_lines(text)):
        if isinstance(statement, GradcliError):
            raise statement
        found.append(statement)
    return found


def thinned(cases: Iterable[Any], every: int = 3) -> list[Any]:
    """Cases of a long table, of which the README's command takes one of every so many; .ci/run
    takes all.
    """
    found = [case if isinstance(case, ParameterSet) else pytest.param(case) for case in cases]
    return [
        case if i % every == 0 else case._replace(marks=[*case.marks, pytest.mark.ci])
        for i, case in enumerate(found)
    ]


def lowered(text: str, bindings: Arrays) -> tuple[Scope, Expr]:
    """The scope of a program with these values bound, and the node of its last query."""
    scope = Scope()
    for name, value in bindings.items():
        scope.bind_value(name, np.asarray(value, float))
    program, root = Program(scope), None
    for statement in statements([text]):
        assert not isinstance(statement, Exception), statement
        result = program.execute(statement)
        root = result.value if result is not None else root
    assert root is not None
    return scope, root


def number(scope: Scope, node: Expr, moved: Arrays | None = None) -> np.ndarray:
    """The value of a node, some names having other values."""
    values = {
        **scope.values,
        **{scope.names[name]: np.asarray(value)[()] for name, value in (moved or {}).items()},
    }
    return np.asarray(forward([node], values)[node])


def swept(scope: Scope, root: Expr, seed: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The vector-Jacobian products by the backward sweep over arrays."""
    values = forward([root], scope.values)
    with np.errstate(all="ignore"):
        leaves = [scope.names[n] for n in names]
        found = backward(
            reachable([root]), {root: np.asarray(seed, float)[()]}, leaves, values.__getitem__
        )
    return {
        n: np.asarray(found.get(x, np.zeros(x.shape))) for n, x in zip(names, leaves, strict=True)
    }


def complex_step(
    function: Callable[..., Any], bindings: Arrays, seed: Any
) -> dict[str, np.ndarray]:
    """The gradient of sum(seed * function(*values)): exact to rounding for an analytic function of
    NumPy arrays.
    """
    gradients = {}
    with np.errstate(all="ignore"):
        for name, value in bindings.items():
            base = np.asarray(value, float)
            slope = np.zeros(base.shape)
            for index in np.ndindex(base.shape):
                moved = {n: np.asarray(v, complex) for n, v in bindings.items()}
                moved[name][index] += 1e-30j
                slope[index] = np.sum(np.asarray(seed) * np.imag(function(*moved.values()))) / 1e-30
            gradients[name] = slope
    return gradients


def differences(
    function: Callable[[np.ndarray], np.ndarray], at: Any, step: float = 1e-3
) -> np.ndarray:
    """The Jacobian by central differences, extrapolated twice: the error is of the order of
    step**6.
    """
    at = np.asarray(at, float)
    columns = []
    for index in np.ndindex(at.shape):
        estimates = []
        for h in (step, step / 2, step / 4):
            up, down = at.copy(), at.copy()
            up[index] += h
            down[index] -= h
            estimates.append((np.asarray(function(up)) - np.asarray(function(down))) / (2 * h))
        once = [(4 * fine - coarse) / 3 for coarse, fine in pairwise(estimates)]
        columns.append((16 * once[1] - once[0]) / 15)
    out = np.asarray(function(at))
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*out.shape, 0))
    return stacked.reshape(out.shape + at.shape)


def same(found: Any, wanted: Any) -> bool:
    """Equal numbers, infinities and NaNs included."""
    return np.shape(found) == np.shape(wanted) and np.allclose(
        found, wanted, rtol=1e-12, atol=0, equal_nan=True
    )


class Precise(Carrier):
    """A multi-precision scalar that derivative rules run on: operations apply their references."""

    shape = ()
    ndim = 0

    def __init__(self, value: Any) -> None:
        self.value = value

    @staticmethod
    def of(value: Any) -> Any:
        if isinstance(value, Precise):
            return value.value
        if isinstance(value, Constant):
            return value.reference(mpmath.mp)
        return value if value is None or isinstance(value, bool) else mpmath.mpf(float(value))

    def apply_op(self, op: Op, operands: Any, static: Mapping[str, Any]) -> Precise:
        return Precise(op.reference(mpmath.mp, *[self.of(o) for o in operands], **static))

    def __neg__(self) -> Precise:
        return self.apply_op(neg, (self,), {})


def _operator(op: Op, turned: bool) -> Callable[[Any, Any], Precise]:
    """An operator of Python's, or that of the right operand."""
    return lambda x, y: x.apply_op(op, (y, x) if turned else (x, y), {})


for _name, _op in {"add": add, "sub": sub, "mul": mul, "truediv": div, "pow": pow_}.items():
    setattr(Precise, f"__{_name}__", _operator(_op, False))
    setattr(Precise, f"__r{_name}__", _operator(_op, True))


def exact(op: Op, *operands: float, digits: int = 60, **static: Any) -> Any:
    """The reference at float operands as a real multi-precision number, or None outside the
    domain.
    """
    with mpmath.workdps(digits):
        try:
            value = op.reference(
                mpmath.mp, *[mpmath.mpf(o) for o in operands], **{**op.static, **static}
            )
        except (
            ValueError,
            ZeroDivisionError,
            OverflowError,
            mpmath.libmp.ComplexResult,
            mpmath.libmp.NoConvergence,
        ):
            return None
        return value if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None


def exact_partial(
    op: Op, place: int, operands: tuple[float, ...], digits: int = 60, **static: Any
) -> Any:
    """The rule of one partial, run on multi-precision numbers; None where it has no finite real
    value.
    """
    assert op.partials is not None
    rule = op.partials[place]
    assert rule is not None
    settings = {**op.static, **static}
    with mpmath.workdps(digits):
        try:
            precise = [Precise(mpmath.mpf(o)) for o in operands]
            out = precise[0].apply_op(op, precise, settings)
            value = Precise.of(rule(out, *precise, **settings))
        except (
            ValueError,
            ZeroDivisionError,
            OverflowError,
            mpmath.libmp.ComplexResult,
            mpmath.libmp.NoConvergence,
        ):
            return None
        return value if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None


def applied(
    op: Op, *operands: Any, precision: str = "float64", **static: Any
) -> tuple[Scope, Expr, list[str]]:
    """An operation on fresh leaves: the scope, the node and the names of the leaves, in order."""
    scope = Scope(precision=precision)
    names = [f"operand_{i}" for i in range(len(operands))]
    leaves = [scope.bind_value(name, value) for name, value in zip(names, operands, strict=True)]
    return scope, op(*leaves, **{**op.static, **static}), names
