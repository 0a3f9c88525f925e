"""Points that are asked about: the limits of a value beside a hole or a pole, and the kind of a
critical point, by the signs of the Hessian's eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.check.judge import Judge, are_finite, scalar_operations
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Algebra
from gradcli.reference.contexts import Undecidable
from gradcli.reference.digits import by_balls
from gradcli.reference.kinks import active_kinks, limits_of_value
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array
from gradcli.report.verdicts import CriticalPoint, Limit

# -- Limits beside a point without a value: one entry of a name moves, all others stay.


_MOST_MOVES = 2  # entries that are moved: each costs some forty values of hundreds of digits
_MOST_OPERATIONS = 400  # of the function, on numbers


def limits_beside(judge: Judge, gradients: Mapping[str, Any]) -> list[Limit]:
    """The limits of the entries of a value that the reference has no finite number for, as one
    entry of a name, whose gradient is not finite either, goes to where it is.
    """
    value, found = judge.value_comparison, list[Limit]()
    lost = [i for i, y in enumerate(value.reference) if not value.m.isfinite(y)]
    is_small = lost and judge.size < _MOST_OPERATIONS
    moves = [
        (name, x, tuple(map(int, index)))
        for name, x in (judge.wrt.items() if is_small else ())
        for index in np.argwhere(~np.isfinite(gradients[name]))
    ]
    for name, x, index in moves[:_MOST_MOVES]:
        at = float(np.asarray(judge.leaves.get(x, np.nan))[index])
        if not np.isfinite(at):
            continue
        sides = limits_of_value(
            value.m, judge.root, judge.leaves, judge.precision, judge.zeros, (x, index)
        )
        for i in lost:
            left, right = (float(side[i]) for side in sides)
            if left == left or right == right:
                of = tuple(map(int, np.unravel_index(i, judge.root.shape)))
                found.append(Limit(name, at, left, right, index, of))
    return found


# -- Critical points. The gradient is zero there, or within a few units in the last place, which a
# step of the interval Newton method proves (R. Krawczyk, Computing 4, 1969).


_DIGITS = 100
_ULPS, _LEAST = 4, 1e-80  # around a number, and around zero
_MOST_WORK = 40_000  # scalar operations of all rows of the Hessian


def critical_point(scope: Scope, root: Expr, wrt: Mapping[str, Expr]) -> CriticalPoint | None:
    """The kind of the point for all names together; None where the gradient is not zero."""
    nodes, order = [*wrt.values()], definition_order(root, [*wrt.values()])
    leaves = {x: scope.values[x] for x in order if x.is_leaf}
    given = {x: scope.values.get(x, np.full(x.shape, np.nan)) for x in nodes}  # NaN: no leaf
    radii = {x: np.maximum(_ULPS * np.spacing(np.abs(v)), _LEAST) for x, v in given.items()}
    room = np.concatenate([np.ravel(radius) for radius in radii.values()])

    def derivatives(balls: Any, values: Mapping[Expr, Any]) -> tuple[Any, Any, bool]:
        """The gradient and the Hessian, and whether the function has a kink here."""
        tape = ReferenceTape(balls, values, scope.precision)
        y = tape.run(root, nodes)
        xs = np.concatenate([np.ravel(tape.table[x]) for x in nodes])
        slopes = tape.gradient(y, [balls.one] * y.size, xs, traced=True)
        on_kink = any(active_kinks(tape, nodes).values())
        first, second = (
            Algebra.map(lambda v: balls.mpf(plain(v)), part)
            for part in (slopes, tape.rows(slopes, xs))
        )
        return first, second, on_kink

    def around(balls: Any, gradient: Any) -> Any:
        """The Hessian all over a box around the point, if a critical point is proved to be in it;
        else None.
        """
        unit = balls.mpf("0 +/- 1")
        boxes = {
            x: exact_array(balls, given[x], "float") + exact_array(balls, radius, "float") * unit
            for x, radius in radii.items()
        }
        with suppress(Undecidable, np.linalg.LinAlgError):
            _, hessian, _ = derivatives(balls, {**leaves, **boxes})
            inverse = np.linalg.pinv(hessian.astype(float))
            reach = abs(inverse @ gradient) + abs(np.eye(len(room)) - inverse @ hessian) @ room
            if all(far.ball < radius for far, radius in zip(reach, room, strict=True)):
                return hessian
        return None

    def decide(balls: Any) -> CriticalPoint:
        gradient, hessian, on_kink = derivatives(balls, leaves)
        if on_kink:
            return CriticalPoint("undecided", "the function has a kink here")
        said = "the gradient is zero"
        if not all(slope.is_zero for slope in gradient):
            box = around(balls, gradient)
            if box is None:
                if any(slope.ball != 0 for slope in gradient):
                    return CriticalPoint("regular", "the gradient is not zero")
                return CriticalPoint("undecided", f"the gradient is zero to {_DIGITS} digits")
            hessian, said = box, f"{said} within {room.max():.1e} of the point"
        if balls.uncertified or not are_finite(balls, [hessian]):
            return CriticalPoint("undecided", f"{said}, second derivatives have no certain bounds")
        signs = {*_signs(hessian)}
        if signs >= {1, -1}:
            return CriticalPoint("saddle", f"{said}, eigenvalues of the Hessian have both signs")
        if 0 in signs:
            return CriticalPoint(
                "undecided", f"{said}, an eigenvalue of the Hessian is zero or small"
            )
        kind, sign = ("minimum", "positive") if 1 in signs else ("maximum", "negative")
        return CriticalPoint(kind, f"{said}, all eigenvalues of the Hessian are {sign}")

    is_small = scalar_operations(order) * len(room) < _MOST_WORK
    found = by_balls([_DIGITS] * is_small, decide)
    if found is None:
        return CriticalPoint("undecided", "the derivatives have no bounds within the limits")
    return None if found.kind == "regular" else found


def _signs(hessian: Any) -> Iterator[int]:
    """The signs of the eigenvalues, 0 where one is not certain.

    In the directions of the eigenvectors, which by Sylvester's law of inertia change no sign, they
    are those of Gershgorin's discs.
    """
    _, vectors = np.linalg.eigh(hessian.astype(float))
    turned = vectors.T @ hessian @ vectors
    for row, middle in zip(turned, turned.diagonal(), strict=True):
        radius = abs(row).sum() - abs(middle)
        yield int((middle - radius).ball > 0) - int((middle + radius).ball < 0)
