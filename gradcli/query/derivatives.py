"""Derivatives of a query whose value is computed: gradient, Jacobian, Hessian, directions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import (
    EvaluationError,
    MissingValueError,
    ShapeError,
    TypeMismatchError,
    did_you_mean,
)
from gradcli.graph import transforms
from gradcli.graph.indeterminate import gradients
from gradcli.graph.interpret import Values, forward, hold_work
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.reductions.sums import sum_
from gradcli.options import Options
from gradcli.report.records import Record


def gradient(
    scope: Scope,
    root: Expr,
    wrt: dict[str, Expr],
    seed: Any,
    values: Values,
    order: Sequence[Expr] | None = None,
    decided: list[Expr] | None = None,
) -> dict[str, Any]:
    """Return the vector-Jacobian products of a query, each in its variable's shape.

    decided  takes the variables for which zero times infinity was decided
    """
    found = vjps_of(root, seed, list(wrt.values()), values, order, decided)
    dtype = numpy_dtype("float", scope.precision)
    return {name: _finish(found.get(x), x, dtype) for name, x in wrt.items()}


def vjps_of(
    root: Expr,
    seed: Any,
    wrt: Sequence[Expr],
    values: Mapping[Expr, Any],
    order: Sequence[Expr] | None = None,
    decided: list[Expr] | None = None,
) -> dict[Expr, Any]:
    """Return the vector-Jacobian products of a node by those that it depends on.

    Raises EvaluationError.
    """
    try:
        with np.errstate(all="ignore"):
            seeds, of = {root: seed}, values.__getitem__
            return gradients(order or reachable([root]), seeds, wrt, of, decided)
    except (ValueError, ArithmeticError) as error:
        raise EvaluationError(f"the gradient has no value: {error}") from None


def _finish(adjoint: Any, x: Expr, dtype: np.dtype[Any]) -> Any:
    if type(adjoint) is dtype.type and not x.shape:
        return adjoint
    if adjoint is None:
        return np.zeros(x.shape, dtype)[()]
    # the caller's own, never a view of the seed or of an input
    return np.array(adjoint, dtype).reshape(x.shape)[()]


def jacobian(scope: Scope, root: Expr, x: Expr, values: Values) -> Any:
    """Return all partial derivatives, of shape output + variable.

    They are computed by rows in reverse mode, or by columns in forward mode.
    """
    rows, columns = math.prod(root.shape), math.prod(x.shape)
    scope.limits.check_derivatives(rows, columns)
    scope.limits.check_array((rows, columns))
    hold_work(scope.limits, reachable([root]), (x,), min(rows, columns))
    dtype = numpy_dtype("float", scope.precision)
    out = np.zeros((rows, columns), dtype)
    open_: Iterable[int] = range(rows)  # those that are still to be found
    if rows > columns:
        tangent = scope.graph.leaf("tangent", x.shape)
        pushed = transforms.jvp(root, {x: tangent})
        for i in range(columns):
            direction = transforms.one_hot(i, x.shape).astype(dtype)[()]
            out[:, i] = np.ravel(
                forward([pushed], {**values, tangent: direction}, scope.precision)[pushed]
            )
        # zero times infinity is decided on the way back
        open_ = np.flatnonzero(np.isnan(out).any(axis=1)).tolist()
    order = reachable([root])
    for i in open_:
        seed = transforms.one_hot(i, root.shape).astype(dtype)[()]
        found = vjps_of(root, seed, [x], values, order).get(x)
        out[i] = 0 if found is None else np.ravel(found)
    return out.reshape((*root.shape, *x.shape))[()]


def hessian(
    scope: Scope, root: Expr, wrt: dict[str, Expr], values: Values
) -> dict[str, dict[str, Any]]:
    if math.prod(root.shape) != 1:
        raise ShapeError(
            f"a Hessian needs a scalar, not an array of shape {root.shape}",
            help="take sum(...), or use --jacobian",
        )
    slopes = slopes_of(root, wrt)
    table = forward([*slopes.values()], values, scope.precision)
    return {
        name: {other: jacobian(scope, slope, x, table) for other, x in wrt.items()}
        for name, slope in slopes.items()
    }


def slopes_of(root: Expr, wrt: Mapping[str, Expr], seed: Expr | None = None) -> dict[str, Expr]:
    """Return the vector-Jacobian products of a node as nodes, by name.

    The seed is ones, if there is no other.
    """
    found = transforms.vjp(
        root, list(wrt.values()), transforms.ones_like(root) if seed is None else seed
    )
    return dict(zip(wrt, found, strict=True))


def hvp(
    program: Program,
    root: Expr,
    wrt: dict[str, Expr],
    values: Values,
    options: Options,
    record: Record,
) -> dict[str, Any]:
    """Return the Hessian times a direction, in the shape of each variable.

    It is the gradient of the derivative in that direction.
    """
    if math.prod(root.shape) != 1:
        raise ShapeError(
            f"a Hessian-vector product needs a scalar, not an array of shape {root.shape}",
            help="take sum(...), or use --jvp",
        )
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
    """Return the derivative in the direction that the options have."""
    pushed = transforms.jvp(root, _tangents(program, root, options, record))
    return forward([pushed], values, program.scope.precision)[pushed]


def _tangents(program: Program, root: Expr, options: Options, record: Record) -> dict[Expr, Expr]:
    """Return the direction, by the nodes that change.

    Raises an error for names that the result does not depend on, and for wrong shapes.
    """
    scope = program.scope
    tangents = {}
    depends = set(definition_order(root))
    for name, given in options.tangents.items():
        x = scope.subject(name)
        if x is None or x not in depends:
            known = [node.payload.name for node in depends if node.is_leaf]
            raise MissingValueError(
                f"the result does not depend on '{name}', which has a tangent",
                help=did_you_mean(name, sorted(known), "leave its tangent out"),
            )
        what = f"the tangent of '{name}'"
        tangent = numbers_like(program, given, f"<{options.mode}>", what, "its value", x.shape)
        record.tangents[name] = tangent.astype(np.float64)
        tangents[x] = scope.graph.constant(record.tangents[name])
    return tangents


def numbers_like(
    program: Program, given: Any, place: str, what: str, other: str, shape: tuple[int, ...]
) -> np.ndarray:
    """Return numbers, from an array or a text of the language, of the shape of another array.

    Raises TypeMismatchError and ShapeError.
    """
    found = program.constant(given, place) if isinstance(given, str) else np.asarray(given)
    if not found.size and not math.prod(shape):
        found = found.reshape(shape)  # JSON has one array without entries: []
    if found.dtype.kind not in "fiu":
        raise TypeMismatchError(f"{what} must be real numbers, not {found.dtype}")
    if found.shape != shape:
        raise ShapeError(
            f"{what} has the shape {found.shape}, {other} {shape}; they must be the same"
        )
    return found
