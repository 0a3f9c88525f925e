"""The judge on balls: the reference and the rules enclosed, with more digits until nothing is open.

Where both enclosures are narrow and overlap, the derivative is proved; where they are disjoint, so is the mistake. What balls leave
to others: kinks, values that are not finite, functions of which FLINT has no bounds. Those are decided in plain multi-precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.comparison import Comparison
from gradcli.check.passes import Pass, Passes, are_finite
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.deadline import in_time
from gradcli.reference.enclosures import Undecidable, has_flint
from gradcli.reference.inner_kinks import has_inner
from gradcli.reference.kinks import active_kinks

if TYPE_CHECKING:
    from gradcli.reference.ball import Ball
    from gradcli.reference.balls import Balls
    from gradcli.report.verdicts import VariableCheck

_AT_ONCE = 1024  # entries between two looks at the time
_SHARE = 4  # how many times as fast as plain multi-precision numbers balls are, at least
_WITHOUT_BALLS = (Unsupported, AttributeError, TypeError, ValueError, ArithmeticError, LookupError)


class Enclosed(NamedTuple):
    """What enclosures have decided: every entry of the gradients, and of the value at last."""

    comparisons: list[Comparison]
    source: str
    enclosures: list[np.ndarray]  # in balls
    by_mpmath: tuple[str, ...]  # the functions that FLINT lacks: with any of them, nothing is proved

    def mark(self, checks: Sequence[VariableCheck | None]) -> None:
        """Write into verdicts whether they are proved, and the enclosure of the worst entry of each."""
        from gradcli.reference.ball import ends, width

        for check, balls in zip(checks, self.enclosures, strict=True):
            if check is None:
                continue
            check.certified, check.by_mpmath = not self.by_mpmath, list(self.by_mpmath)
            check.within = width([ball for ball in np.ravel(balls) if not isinstance(ball, bool)])
            if check.worst is not None:
                worst: Any = balls[check.worst.index]
                check.enclosure = None if isinstance(worst, bool) else ends(worst)


def enclosed(passes: Passes, m: Any, computed: Computed, digits: Sequence[int]) -> Enclosed | None:
    """The verdict by balls; None where they leave something open. ``m`` is a context of mpmath, for what is compared afterwards."""
    if not has_flint() or not all(np.isfinite(value).all() for value in passes.own_leaves.values()):
        return None  # a limit is no value that could be proved
    from gradcli.reference.balls import Balls

    judge = passes.judge
    balls = Balls()
    for m.dps in digits:
        if not judge.budget.allows(judge.size // _SHARE):
            return None
        judge.budget.spend(judge.size // _SHARE)
        balls.dps = m.dps
        try:
            with balls.working():
                found = _pass(passes, balls, m, computed)
        except (Undecidable, _TooWide):
            continue
        except _WITHOUT_BALLS:
            return None
        return found
    return None


class _TooWide(Exception):
    """Enclosures that leave an entry open."""


def _pass(passes: Passes, balls: Balls, m: Any, computed: Computed) -> Enclosed | None:
    """One precision's enclosures; None where kinks or values that are not finite leave it to others. Raises _TooWide."""
    found = passes.at(balls, probing=False)
    if not _is_regular(found, passes):
        return None
    source, reference = _with_symbolic(passes, balls, m, found.reference)
    rows = zip(
        [*reference, found.value], [*found.engine, found.engine_value], [*computed.gradients, computed.value],
        [*computed.bounds, computed.value_bound], strict=True,
    )  # fmt: skip
    comparisons = [_compared(m, *row) for row in rows]
    if any(comparison.open or comparison.unsettled for comparison in comparisons):
        raise _TooWide
    return Enclosed(comparisons, source, [*reference, found.value], tuple(sorted(balls.uncertified)))


class Computed(NamedTuple):
    """What the engine computed, and how far rounding may have taken it."""

    value: np.ndarray
    value_bound: np.ndarray
    gradients: list[np.ndarray]
    bounds: list[np.ndarray]


def _is_regular(found: Pass, passes: Passes) -> bool:
    """Whether everything is finite, and no kink is near."""
    tape = found.run.tape
    balls = tape.m
    if not are_finite(balls, [found.engine_value, *found.engine]):  # the reference is, or the pass has ended
        return False
    inner = tape.scalars.events and has_inner(passes.judge.root)
    return not inner and not any(active_kinks(tape, list(passes.nodes)).values())


def _with_symbolic(passes: Passes, balls: Balls, m: Any, composed: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
    """The enclosures by sympy's derivative, narrowed by the composed ones which must overlap them; else these alone."""
    if (found := passes.symbolic(balls, m)) is not None:
        pairs = list(zip(map(np.ravel, found), map(np.ravel, composed), strict=True))
        if all(balls.isfinite(x) and x.ball.overlaps(y.ball) for xs, ys in pairs for x, y in zip(xs, ys, strict=True)):
            return "symbolic", [_narrower(x, y) for x, y in zip(found, composed, strict=True)]
    return "composed", composed


def _narrower(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from gradcli.reference.ball import made

    out = np.empty(x.size, dtype=object)
    out[:] = [made(a.ball.intersection(b.ball)) for a, b in zip(np.ravel(x), np.ravel(y), strict=True)]
    return out.reshape(x.shape)


def _compared(m: Any, right: np.ndarray, rules: np.ndarray, floats: np.ndarray, bound: np.ndarray) -> Comparison:
    radii = [_radius(m, x) + _radius(m, y) for x, y in in_time(zip(np.ravel(right), np.ravel(rules), strict=True), _AT_ONCE)]
    reference, engine = (Algebra.map(lambda x: _midpoint(m, x), array) for array in (right, rules))
    return Comparison(m, reference, engine, floats, bound, None, radii=radii)


def _midpoint(m: Any, x: Ball | bool) -> Any:
    return x if isinstance(x, bool) else _exact(m, x.ball.mid())


def _radius(m: Any, x: Ball | bool) -> Any:
    return m.zero if isinstance(x, bool) else _exact(m, x.ball.rad())


def _exact(m: Any, x: Any) -> Any:
    mantissa, exponent = x.man_exp()
    return m.ldexp(int(mantissa), int(exponent))
