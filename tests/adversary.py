"""Random expressions at points that are hard: enclosures hold what as many digits give as it takes.

The numbers that they are held against are mpmath's,
at two precisions, the difference of which says how far they can be trusted.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np
from flint import arb
from helpers import lowered

from gradcli.graph.nodes import definition_order
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.ball import Ball, of_mpmath
from gradcli.reference.balls import Balls
from gradcli.reference.contexts import Undecidable
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, exact_array

DIGITS = 50
EXACT = ((80, 110), (700, 1000))  # digits: the first two do where hardly any are lost
_FAR = 200_000  # the binary exponent from which on mpmath's numbers count as zero or infinite
ONE = (
    "exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asinh", "sqrt", "cbrt", "log1p", "expm1", "erf", "erfc", "lgamma",
    "gamma", "digamma", "sigmoid", "softplus", "abs", "square", "reciprocal", "relu", "gelu", "floor", "sinc", "ndtr", "log_ndtr", "erfcx",
    "lambertw", "Si", "Ei", "i0", "k0", "ellipk", "exprel", "dawsn", "logit", "erfinv",
)  # fmt: skip
TWO = (
    "({} + {})", "({} - {})", "({} * {})", "({} / {})", "({})**2 - ({})**2", "maximum({}, {})", "hypot({}, {})", "atan2({}, {})",
    "logaddexp({}, {})",
)  # fmt: skip
_NAMES = ("x", "y")


class Trial(NamedTuple):
    text: str
    values: dict[str, float]
    outcome: str  # "holds", "outside", or why there was nothing to compare


def expression(rng: random.Random, depth: int) -> str:
    if not depth or rng.random() < 0.1:
        return rng.choice([*_NAMES, *_NAMES, rng.choice(("1", "2", "0.1", "1e-8", "pi"))])
    inner = [expression(rng, depth - 1) for _ in range(2)]
    if rng.random() < 0.5:
        return f"{rng.choice(ONE)}({inner[0]})"
    if rng.random() < 0.2:  # what cancels but for a small difference
        moved = re.sub(r"\bx\b", "(x + y*1e-12)", inner[0])
        return f"({inner[0]} - {moved})"
    return rng.choice(TWO).format(*inner)


def point(rng: random.Random) -> dict[str, float]:
    """Numbers of any size, near each other or near to whole ones, now and then."""
    x = rng.choice(
        (
            rng.uniform(-3, 3),
            rng.uniform(0, 1),
            rng.choice((1, -1)) * 2.0 ** rng.uniform(-60, 60),
            float(rng.randint(-3, 3)),
        )
    )
    y = rng.choice(
        (
            rng.uniform(-3, 3),
            x,
            float(np.nextafter(x, 9)),
            x * (1 + 1e-9),
            -x,
            round(x) + rng.choice((0, 1e-12, -1e-300)),
        )
    )
    return {"x": float(x), "y": float(y)}


def evaluated(m: Any, scope: Any, root: Any, wrt: Sequence[Any]) -> list[Any]:
    """The value and the gradient, entry by entry."""
    leaves = {node: scope.values[node] for node in definition_order(root, wrt) if node.is_leaf}
    tape = ReferenceTape(m, leaves, scope.precision)
    y = tape.run(root, wrt)
    parts = [
        Algebra.map(plain, y),
        *tape.slopes(y, exact_array(m, np.ones(root.shape), "float"), wrt),
    ]
    return [v for part in parts for v in np.ravel(part)]


def exactly(scope: Any, root: Any, wrt: Sequence[Any]) -> list[tuple[Any, Any]]:
    """mpmath's numbers, and how far they may be off."""
    told: list[tuple[Any, Any]] = []
    for both in EXACT:
        found = []
        for digits in both:
            m = mpmath.MPContext()
            m.dps = digits
            found.append(evaluated(m, scope, root, wrt))
        told = [
            (fine, abs(fine - rough) * 10 + abs(fine) * fine.context.mpf(10) ** -both[0])
            for rough, fine in zip(*found, strict=True)
        ]
        if all(
            error < abs(value) * value.context.mpf(10) ** (-DIGITS - 10) or value == 0 == error
            for value, error in told
        ):
            break
    return told


def holds(ball: Ball, value: Any, error: Any) -> bool | None:
    """Whether an enclosure holds a number; None where that number tells nothing."""
    m = value.context
    if (
        not m.isfinite(value)
        or not m.isfinite(error)
        or (value and abs(m.mag(value)) > _FAR)
        or not ball.ball.is_finite()
    ):
        return None
    if abs(ball.ball) < arb(2) ** -_FAR or error > abs(value) * m.mpf(10) ** -20:
        return None
    with Balls(EXACT[-1][-1]).working():
        return bool(ball.ball.overlaps(arb(of_mpmath(value._mpf_), of_mpmath(error._mpf_))))


def trial(rng: random.Random) -> Trial:
    text, values = expression(rng, rng.randint(2, 4)), point(rng)
    balls = Balls(DIGITS)
    try:
        scope, root = lowered(text, values)
        wrt = [scope.names[name] for name in values]
        with balls.working():
            found = evaluated(balls, scope, root, wrt)
    except (AssertionError, Undecidable, Unsupported) as error:
        return Trial(text, values, type(error).__name__)
    if balls.uncertified:
        return Trial(text, values, f"uncertified: {', '.join(sorted(balls.uncertified))}")
    if not isinstance(found[0], Ball) or not found[0].ball.is_finite():
        return Trial(text, values, "not finite")
    pairs = zip(found, exactly(scope, root, wrt), strict=True)
    told = [holds(ball, value, error) for ball, (value, error) in pairs if isinstance(ball, Ball)]
    outcome = "outside" if False in told else "holds" if True in told else "nothing to tell by"
    return Trial(text, values, outcome)


def trials(count: int, seed: int) -> list[Trial]:
    rng = random.Random(seed)
    return [trial(rng) for _ in range(count)]
