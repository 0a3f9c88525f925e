"""Derivatives of a query beside its gradient, and what is to be said of values and entries."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import (
    MissingValueError,
    ShapeError,
    TypeMismatchError,
    did_you_mean,
)
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, Values, definition_order, forward, hold_work, reachable
from gradcli.graph.sweep import (
    grad_nodes,
    has_nan,
    ones_like,
    pull_back,
    scale,
    slopes_of,
    sweep,
    useful_nodes,
    varied_nodes,
    vjp,
    vjps_at,
)
from gradcli.language.run import Program
from gradcli.language.scope import QUANTITY, Scope, StaticUse
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.elementwise.exponential import has_exponent
from gradcli.ops.elementwise.logic import where
from gradcli.ops.reductions.sums import sum_
from gradcli.options import Options
from gradcli.report.records import Record


def jacobian(scope: Scope, root: Expr, x: Expr, values: Values) -> Any:
    """Return all partial derivatives, of shape output + variable.

    They are computed by rows in reverse mode, or by columns in forward mode.
    """
    rows, columns = root.size, x.size
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
        found = vjps_at(root, seed, [x], values, order).get(x)
        out[i] = 0 if found is None else np.ravel(found)
    return out.reshape((*root.shape, *x.shape))[()]


def hessian(
    scope: Scope, root: Expr, wrt: dict[str, Expr], values: Values
) -> dict[str, dict[str, Any]]:
    if root.size != 1:
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
    if root.size != 1:
        raise ShapeError(
            f"a Hessian-vector product needs a scalar, not an array of shape {root.shape}",
            help="take sum(...), or use --jvp",
        )
    scope = program.scope
    tangents = _tangents(program, root, options, record)
    moving = list(tangents)
    slopes = vjp(root, moving, ones_like(root))
    along = scope.graph.constant(0.0)
    for x, slope in zip(moving, slopes, strict=True):
        along = along + sum_(slope * tangents[x])
    table = forward([along], values, scope.precision)
    return {name: jacobian(scope, along, x, table) for name, x in wrt.items()}


def jvp(program: Program, root: Expr, values: Values, options: Options, record: Record) -> Any:
    """Return the derivative in the direction that the options have."""
    pushed = transforms.jvp(root, _tangents(program, root, options, record))
    found = forward([pushed], values, program.scope.precision)[pushed]
    return np.array(found)[()]  # never the direction itself


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
            known = [node.name for node in depends if node.is_leaf]
            raise MissingValueError(
                f"the result does not depend on '{name}', which has a tangent",
                help=did_you_mean(name, sorted(known), "leave its tangent out"),
            )
        what = f"the tangent of '{name}'"
        tangent = numbers_like(program, given, f"<{options.mode}>", what, "its value", x.shape)
        record.tangents[name] = tangent.astype(np.float64)
        tangents[x] = scope.graph.constant(tangent.astype(np.float64))
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


# -- Warnings of results that are infinite, undefined or zero: where a value became so, here or in
# PyTorch, and why entries of a gradient are zero or do not exist.


_TOLD = 3  # most operations named in a warning


CONVENTION = "whose value 1 is a convention"


def _form_of_power(x: Any, y: Any) -> str:
    """Return the indeterminate form of a power that is 1 all the same; empty if it has none."""
    forms = {
        "0^0": (x == 0) & (y == 0),
        "∞^0": np.isinf(x) & (y == 0),
        "1^∞": (x == 1) & np.isinf(y),
    }
    return next((name for name, at in forms.items() if np.any(at)), "")


def nonfinite(scope: Scope, order: Sequence[Expr], values: Values) -> list[str]:
    """Return warnings that say where a value first became infinite or NaN.

    They name the operations that the result has it from, and powers that are 1 by convention.
    """
    powers = dict.fromkeys(
        f"{text_of(scope, node)} has the form {form}, {CONVENTION}"
        for node in filter(has_exponent, order)
        if (form := _form_of_power(*[values[operand] for operand in node.given_operands]))
        and any(each.is_leaf for each in reachable([node.given_operands[1]]))
    )
    if order[-1].kind != "float" or np.isfinite(values[order[-1]]).all():
        return [*powers]
    found: list[str] = []
    given = False
    blamed = {order[-1]}
    for node in reversed(order):
        if node not in blamed:
            continue
        if node.op is None:
            given = True
            continue
        passed = {o for o in node.given_operands if _passes(node, o, values)}
        blamed |= passed
        is_born = not passed or (
            has_nan(values[node]) and not any(has_nan(values[o]) for o in passed)
        )
        if node.op.outputs == 1 and is_born:
            found.append(_origin_in_words(scope, node, values))
    told = [*[*dict.fromkeys(reversed(found))][:_TOLD], *powers]
    return ["a value that was given is not finite", *told] if given else told


def _passes(node: Expr, operand: Expr, values: Values) -> bool:
    """Return whether a result may have an infinity or NaN from an operand."""
    value = values[operand]
    if isinstance(value, tuple):
        return not all(np.isfinite(part).all() for part in value)
    if operand.kind != "float" or np.isfinite(value).all():
        return False
    if node.op is None or not node.op.selects or not node.op.elementwise:
        return True
    chosen = values[node]  # a chosen constant was given by nobody: the function is defined there
    same = (value == chosen) | np.isnan(value) & np.isnan(chosen)
    return not operand.is_constant and bool(np.any(same & ~np.isfinite(chosen)))


def _origin_in_words(scope: Scope, node: Expr, values: Values) -> str:
    """Return what became infinite or NaN, where, and of which two numbers."""
    array = np.asarray(values[node])
    assert node.op is not None
    lost = bad = ~np.isfinite(array)
    for operand in node.given_operands if node.op.elementwise else ():
        if operand.kind == "float":
            lost = lost & np.isfinite(values[operand])
    first = next(part for part in (lost, np.isnan(array), bad) if part.any())
    place = tuple(np.argwhere(first)[0].tolist())
    where = f" at index {list(place)}" if place else ""
    if node.op.selects:
        where += ", by its definition there"
    two = _of_two(node, array, place, values)
    return f"{text_of(scope, node)} is {array[place]}{where}{two}"


def _of_two(node: Expr, array: np.ndarray, place: tuple[int, ...], values: Values) -> str:
    """Return the two numbers between which an operator stands, as in ``: 0.0/0.0``.

    A second text says how to write a real root.
    """
    assert node.op is not None
    sign = node.op.sign
    if not node.op.elementwise or not sign or len(node.operands) != 2:
        return ""
    x, y = (float(np.broadcast_to(values[o], array.shape)[place]) for o in node.given_operands)
    left = f"({x!r})" if sign == "**" and x < 0 else f"{x!r}"
    right = f"({y!r})" if y < 0 else f"{y!r}"
    for n in (3, 5, 7, 9) if sign == "**" and x < 0 and math.isfinite(9 * y) else ():
        power = round(n * y)
        if math.gcd(power, n) == 1 and math.isclose(n * y, power, rel_tol=1e-7):
            root = "cbrt(...)" if n == 3 else f"(sign(...)*abs(...)**(1/{n}))"
            right += f"; the real value is {root}{'' if power == 1 else f'**{power}'}"
    return f": {left} {sign} {right}" if sign in "+-" else f": {left}{sign}{right}"


def text_of(scope: Scope, node: Expr) -> str:
    """Return what the user wrote for a node."""
    if text := scope.text(node):
        return f"'{text}'"
    return f"the result of {node.op.name}" if node.op else "a value"


def nan_in_pytorch(
    scope: Scope,
    root: Expr,
    wrt: Mapping[str, Expr],
    record: Record,
    values: Values,
    order: Sequence[Expr],
) -> list[str]:
    """Return warnings of entries that are finite here, but NaN in PyTorch and in JAX.

    There a product of zero and infinity makes them NaN.
    """
    told = []
    library = "JAX" if record.dialect == JAX else "PyTorch"
    repair = ". The usual repair masks the input as well, as in sqrt(where(x > 0, x, 1))"
    if not any(node.op is where for node in order):
        repair = ""
    for name, x in wrt.items():
        adjoint, made = _as_pytorch(order, root, record.seed, x, values)
        lost = np.isnan(adjoint) & np.isfinite((record.grad or {})[name])
        if made and np.any(lost):
            first, *others = np.argwhere(lost).tolist()
            told.append(
                f"{library} gives nan for {name}{first or ''}"
                f"{f' and {len(others)} more' if others else ''}: at {text_of(scope, made[0])} it "
                f"multiplies zero by what is not finite{repair}"
            )
    return told


def choices_of_jax(scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record) -> Iterator[str]:
    """Yield warnings of what JAX has another number for, at a kink."""
    from gradcli.check.claims import in_jax

    theirs, _ = in_jax(root, [])
    if theirs is root:
        return
    values = forward([theirs], scope.values, scope.precision)
    slopes = vjps_at(theirs, record.seed, [*wrt.values()], values)
    found = {
        "the value": values[theirs],
        **{name: slopes[x] if x in slopes else np.zeros(x.shape) for name, x in wrt.items()},
    }
    ours = {"the value": record.value, **(record.grad or {})}
    for name, number in found.items():
        differs = ~np.isclose(number, ours[name], rtol=1e-6, equal_nan=True)
        for place in np.argwhere(differs)[:1].tolist():
            entry = np.asarray(number)[tuple(place)]
            yield f"{name}{place or ''}: JAX has {entry:g}, its choice at a kink"


def _as_pytorch(
    order: Sequence[Expr], root: Expr, seed: Any, x: Expr, values: Values
) -> tuple[Any, list[Expr]]:
    """Return the adjoint of x with IEEE products, and the nodes that make NaN on the way."""
    needed = grad_nodes(order, {x})
    made: list[Expr] = []
    adjoints: dict[Expr, Any] = {}

    def pull(node: Expr, cotangent: Any) -> Any:
        adjoints[node] = cotangent
        if node.op is not None and node.op.kind == "flat":
            # PyTorch passes zeros back through flat operations.
            return [cotangent * 0.0 if x in needed else None for x in node.operands]
        parts = pull_back(node, needed, cotangent, values.__getitem__, scale)
        if has_nan(tuple(parts)) and not has_nan(cotangent):
            made.append(node)
        return parts

    with np.errstate(all="ignore"):
        sweep(order, {root: seed} if root in needed else {}, pull)
    return adjoints.get(x, 0.0), made


# -- entries that are zero, or that do not exist


def remarks(
    scope: Scope,
    order: Sequence[Expr],
    wrt: Mapping[str, Expr],
    uses: Iterable[StaticUse],
    options: Options,
    zero: Collection[str],
) -> tuple[list[str], dict[str, str]]:
    """Return warnings about names whose entries are zero, or lack a part.

    Nothing is differentiated at the places where these names stand. The second result has those of
    them that stand nowhere else: no entry can be right or wrong.

    zero   the names whose entries are zero
    """
    found = []
    constant = {}
    places = {use.leaf: use.place for use in uses if use.kind == QUANTITY}
    flows = useful_nodes(order) if zero or places else set()
    for name, x in wrt.items():
        if x in places:
            part = "leaves out" if x in flows else "is 0:"
            found.append(f"the derivative by {name} {part} {places[x]}, which is held constant")
            if x not in flows:
                constant[name] = found[-1]
        elif name in zero and x not in flows and (options.wrt is None or x in order):
            cause = _detaching(scope, order, x)
            why = (
                f"{cause} stops gradients, as in PyTorch"
                if cause
                else "nothing differentiable depends on it"
            )
            found.append(f"the derivative by {name} is 0: {why}")
    return found, constant


def _detaching(scope: Scope, order: Sequence[Expr], x: Expr) -> str | None:
    """Return the only conversion through which a result depends on a name, as it is written."""
    return (
        next(
            (
                scope.detached[node]
                for node in order
                if node in scope.detached and x in reachable([node])
            ),
            None,
        )
        if scope.detached
        else None
    )


def nowhere(scope: Scope, order: Sequence[Expr], names: Mapping[str, Expr]) -> dict[str, str]:
    """Return names with entries that are exponents of negative bases, with what to report."""
    powers = [node for node in order if has_exponent(node)]
    values = forward([node.operand for node in powers], scope.values, scope.precision)
    powers = [node for node in powers if np.any(np.asarray(values[node.operand]) < 0)]
    found: dict[str, str] = {}
    for name, x in names.items() if powers else ():
        above = varied_nodes(order, [x])
        power = next(
            (node for node in powers if node.operands[1] in above and node.operand not in above),
            None,
        )
        if power is not None:
            found[name] = (
                f"no derivative by {name}: the base of {text_of(scope, power)} is negative; "
                f"--freeze {name} leaves it out"
            )
    return found
