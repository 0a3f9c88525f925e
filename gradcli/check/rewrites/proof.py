"""That a way to write a function equals it: value and derivatives enclosed in balls, at the point and at others around it.

Where FLINT is missing, plain multi-precision takes the place of balls, which shows as much and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, reachable
from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import Undecidable, context, has_flint
from gradcli.reference.exact_values import exact_array
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape

if TYPE_CHECKING:
    from gradcli.check.judge import Judge

_DIGITS = (100, 400, 1500)
_EXACT, _SERIES = 2.0**-100, 2.0**-56  # how near two ways must be, relative to what they are
_AROUND = (0, 1, -1)  # the point itself and others, in steps
_STEP, _TINY = 2.0**-30, 2.0**-40  # relative to a number, and of zero
_WITHOUT_VALUE = (Unsupported, GradcliError, ArithmeticError, ValueError, AttributeError, TypeError, LookupError)


def proved(judge: Judge, root: Expr, way: Expr, *, series: bool = False) -> bool:
    """Whether a way equals a function, with all derivatives asked for, where it was evaluated and around; a series nearly so.

    Points outside of the function's domain tell nothing; that at which it is evaluated, or another, must tell something.
    """
    told = False
    for step in _AROUND:
        enough = _SERIES if series else _EXACT
        nearness = _nearness(judge, root, way, step, enough)
        if nearness is None:
            continue
        if nearness > enough:
            return False
        told = True
    return told


def _nearness(judge: Judge, root: Expr, way: Expr, step: int, enough: float) -> float | None:
    """How far a way may be from a function at a point, relative to it; None where the function has no finite value or derivative."""
    for m in _contexts():
        try:
            with m.working() if hasattr(m, "working") else m.workdps(m.dps):
                one, other = (_enclosures(m, judge, node, step) for node in (root, way))
                if any(x.shape != y.shape for x, y in zip(one, other, strict=True)):
                    return np.inf
                pairs = [(x, y) for xs, ys in zip(one, other, strict=True) for x, y in zip(xs.ravel(), ys.ravel(), strict=True)]
                defined = [(x, y) for x, y in pairs if m.isfinite(x)]
                if not defined:
                    return None
                nearness = max(_apart(m, x, y) for x, y in defined)
        except Undecidable:
            continue
        except _WITHOUT_VALUE:
            return np.inf
        if nearness <= enough:
            return nearness
    return np.inf


def _contexts() -> Iterator[Any]:
    """Contexts of more and more digits: balls, if FLINT is there."""
    if has_flint():
        from gradcli.reference.balls import Balls

        yield from map(Balls, _DIGITS)
        return
    for digits in _DIGITS:
        m = context()
        m.dps = digits
        yield m


def _enclosures(m: Any, judge: Judge, root: Expr, step: int) -> list[np.ndarray]:
    """The value of a function and its derivatives."""
    wrt = list(judge.wrt.values())
    leaves: dict[Expr, Any] = {}
    for place, leaf in enumerate(sorted({*judge.leaves, *wrt, *(n for n in reachable([root]) if n.is_leaf)}, key=lambda n: n.index)):
        leaves[leaf] = _moved(m, leaf, judge.scope.values, step, place)
    tape = ReferenceTape(m, leaves, judge.precision)
    y = tape.run(root, wrt)
    value = np.asarray(y, dtype=object)
    plain_value = np.empty(value.size, dtype=object)
    plain_value[:] = [plain(v) for v in value.ravel()]
    return [plain_value.reshape(value.shape), *tape.slopes(y, exact_array(m, judge.seed, "float"), wrt)]


def _moved(m: Any, leaf: Expr, values: Mapping[Expr, Any], step: int, place: int) -> Any:
    """A leaf's value, or one beside it; whole numbers and truths stay."""
    exact = exact_array(m, values[leaf], leaf.kind)
    if not step or leaf.kind != "float":
        return exact
    share = step * (1 + place % 3) * (-1) ** place  # so that names move apart
    moved = np.empty(exact.size, dtype=object)
    moved[:] = [x * (1 + m.mpf(share * _STEP)) if x != 0 else m.mpf(share * _TINY) for x in exact.ravel()]
    return moved.reshape(exact.shape)


def _apart(m: Any, x: Any, y: Any) -> float:
    """The most by which two numbers may differ, relative to the first."""
    if isinstance(x, bool) or isinstance(y, bool):
        return 0.0 if x == y else np.inf
    if not m.isfinite(y):
        return float(np.inf)
    if not hasattr(x, "ball"):
        return 0.0 if x == y else float(abs(x - y) / max(abs(x), abs(y)))
    off, size = abs(x.ball - y.ball), abs(x.ball)
    if bool(off == 0) or (bool(off.abs_upper() < 2.0**-1200) and not bool(size.abs_lower() > 2.0**-1100)):
        return 0.0
    if not bool(size > 0):
        return float(np.inf)
    return float((off / size).abs_upper())
