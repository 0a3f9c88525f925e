"""The derivatives of a query whose value is computed: gradient, Jacobian, Hessian, and the derivative in a direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, LimitError, MissingValueError, ShapeError, TypeMismatchError, suggestion
from gradcli.graph import transforms
from gradcli.graph.demand import hold_work
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import Values, forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.reductions.sums import sum_
from gradcli.query.options import Options
from gradcli.report.records import Record


def gradient(
    scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, values: Values, order: Sequence[Expr] | None = None
) -> dict[str, Any]:
    """The vector-Jacobian products of a query, each in its variable's shape."""
    try:
        with np.errstate(all="ignore"):
            found = gradients(order or reachable([root]), {root: seed}, list(wrt.values()), values.__getitem__)
    except (ValueError, ArithmeticError) as error:
        raise EvaluationError(f"the gradient has no value: {error}") from None
    dtype = numpy_dtype("float", scope.precision)
    return {name: _finished(found.get(x), x, dtype) for name, x in wrt.items()}


def _finished(adjoint: Any, x: Expr, dtype: np.dtype[Any]) -> Any:
    if type(adjoint) is dtype.type and not x.shape:
        return adjoint
    if adjoint is None:
        return np.zeros(x.shape, dtype)[()]
    return np.array(adjoint, dtype).reshape(x.shape)[()]  # the caller's own, never a view of the seed or of an input


def jacobian(scope: Scope, root: Expr, x: Expr, values: Values) -> Any:
    """All partial derivatives, of shape output + variable: by rows in reverse mode, or by columns in forward mode."""
    rows, columns = math.prod(root.shape), math.prod(x.shape)
    if rows * columns > scope.limits.tangents:
        raise LimitError(
            f"a Jacobian of {rows} x {columns} entries is over the limit of {scope.limits.tangents:,}",
            help=f"raise it with --limit tangents={rows * columns}",
        )
    scope.limits.check_array((rows, columns))
    hold_work(scope.limits, reachable([root]), (x,), min(rows, columns))
    dtype = numpy_dtype("float", scope.precision)
    out = np.zeros((rows, columns), dtype)
    open_: Iterable[int] = range(rows)  # those that are still to be found
    with np.errstate(all="ignore"):
        if rows > columns:
            tangent = scope.graph.leaf("tangent", x.shape)
            pushed = transforms.jvp(root, {x: tangent})
            for i in range(columns):
                direction = transforms.one_hot(i, x.shape).astype(dtype)[()]
                out[:, i] = np.ravel(forward([pushed], {**values, tangent: direction}, scope.precision)[pushed])
            open_ = np.flatnonzero(np.isnan(out).any(axis=1)).tolist()  # zero times infinity is decided on the way back
        order = reachable([root])
        for i in open_:
            seed = transforms.one_hot(i, root.shape).astype(dtype)[()]
            found = gradients(order, {root: seed}, [x], values.__getitem__).get(x)
            out[i] = 0 if found is None else np.ravel(found)
    return out.reshape((*root.shape, *x.shape))[()]


def hessian(scope: Scope, root: Expr, wrt: dict[str, Expr], values: Values) -> dict[str, dict[str, Any]]:
    if math.prod(root.shape) != 1:
        raise ShapeError(f"a Hessian needs a scalar, not an array of shape {root.shape}", help="take sum(...), or use --jacobian")
    gradients = transforms.vjp(root, list(wrt.values()), transforms.ones_like(root))
    table = forward(gradients, values, scope.precision)
    return {name: {other: jacobian(scope, slope, x, table) for other, x in wrt.items()} for name, slope in zip(wrt, gradients, strict=True)}


def hvp(program: Program, root: Expr, wrt: dict[str, Expr], values: Values, options: Options, record: Record) -> dict[str, Any]:
    """The Hessian times a direction, in the shape of each variable: the gradient of the derivative in that direction."""
    if math.prod(root.shape) != 1:
        raise ShapeError(f"a Hessian-vector product needs a scalar, not an array of shape {root.shape}", help="take sum(...), or use --jvp")
    scope = program.scope
    tangents = _tangents(program, root, options, record)
    moving = list(tangents)
    slopes = transforms.vjp(root, moving, transforms.ones_like(root))
    along = scope.graph.constant(0.0)
    for x, slope in zip(moving, slopes, strict=True):
        along = along + sum_(slope * tangents[x])
    table = forward([along], values, scope.precision)
    return {name: jacobian(scope, along, x, table) for name, x in wrt.items()}


def jvp(program: Program, root: Expr, values: Values, options: Options, record: Record) -> Any:
    """The derivative in the direction that the options have."""
    pushed = transforms.jvp(root, _tangents(program, root, options, record))
    return forward([pushed], values, program.scope.precision)[pushed]


def _tangents(program: Program, root: Expr, options: Options, record: Record) -> dict[Expr, Expr]:
    """The direction by the nodes that move. Raises for names that the result does not depend on, and for shapes that are not theirs."""
    scope = program.scope
    tangents = {}
    depends = set(definition_order(root))
    for name, given in options.tangents.items():
        x = scope.subject(name)
        if x is None:
            close = suggestion(name, [x.payload.name for x in reachable([root]) if x.is_leaf])
            help = f"did you mean '{close}'?" if close else f"give it one: {name}=1"
            raise MissingValueError(f"no value for '{name}', which has a tangent", help=help)
        if x not in depends:
            raise MissingValueError(f"the result does not depend on '{name}', which has a tangent", help="leave its tangent out")
        tangent = program.constant(given, f"<{options.mode}>") if isinstance(given, str) else np.asarray(given)
        if tangent.dtype.kind not in "fiu":
            raise TypeMismatchError(f"the tangent of '{name}' must be real numbers, not {tangent.dtype}")
        if tangent.shape != x.shape:
            raise ShapeError(f"the tangent of '{name}' has the shape {tangent.shape}, its value {x.shape}; they must be the same")
        record.tangents[name] = tangent.astype(np.float64)
        tangents[x] = scope.graph.constant(record.tangents[name])
    return tangents
