"""Value and gradient to any number of digits, from the reference.

Each digit is certain where enclosures decide it; elsewhere it is one that stays as precision rises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.graph.nodes import Expr, definition_order
from gradcli.language.scope import Scope
from gradcli.reference import contexts
from gradcli.reference.algebra import NO_VALUE, Algebra
from gradcli.reference.contexts import Undecidable, has_flint
from gradcli.reference.kinks import active_kinks
from gradcli.reference.tape import reference_at

T = TypeVar("T")
NOTHING: Mapping[str, Any] = {}
_TRIES = 6
_GUARD = 20  # digits beyond those asked for


def context() -> Any:
    """Return a context of mpmath, for whose functions FLINT is asked first, where it is there."""
    if not has_flint():
        return contexts.context()
    from gradcli.reference.balls import answer

    return contexts.context(answer)


def by_balls(digits: Iterable[int], evaluate: Callable[[Any], T | None]) -> T | None:
    """Return the result in balls of the fewest digits that leave nothing open.

    It is None where nothing is found, or balls cannot tell. ``evaluate`` takes the context, and
    raises Undecidable where it takes more digits.
    """
    if not has_flint():
        return None
    from gradcli.reference.balls import Balls

    balls = Balls()
    for balls.dps in digits:
        try:
            with balls.working():
                return evaluate(balls)
        except Undecidable:
            continue
        except (*NO_VALUE, AttributeError, TypeError, LookupError, NotImplementedError):
            return None
    return None


def of_flint(m: Any, x: Any) -> Any:
    """Return an exact number of FLINT's as one of mpmath's ``m``."""
    return m.ldexp(*map(int, x.man_exp()))


class Digits(NamedTuple):
    """Value and gradients as nested lists of decimal strings, and whether every digit is proved."""

    numbers: dict[str, Any]
    certified: bool


def to_digits(
    scope: Scope,
    root: Expr,
    wrt: dict[str, Expr],
    seed: Any,
    digits: int,
    computed: Mapping[str, Any],
) -> Digits:
    """Return the value and the gradients to ``digits`` right digits.

    At kinks the gradient is the ``computed`` one, which is a choice.

    Right digits are those on which both ends of every enclosure agree; where FLINT does not decide,
    those that stay when the precision is doubled. Raises EvaluationError where the reference has no
    value.
    """
    nodes, m = list(wrt.values()), context()
    leaves = {node: scope.values[node] for node in definition_order(root, nodes) if node.is_leaf}

    def write(m: Any, number: Callable[[Any], str]) -> tuple[dict[str, Any], bool]:
        """Return the numbers in a context as text, and whether some are choices at kinks."""
        tape, value, slopes = reference_at(m, root, nodes, seed, leaves, scope.precision)
        kinks = active_kinks(tape, nodes)
        for (name, x), slope in zip(wrt.items(), slopes, strict=True):
            for i in kinks[x]:
                slope.reshape(-1)[i] = m.mpf(float(np.ravel(computed[name])[i]))
        found = {"value": value, **dict(zip(wrt, slopes, strict=True))}
        texts = {name: Algebra.map(number, array).tolist() for name, array in found.items()}
        return texts, any(kinks.values())

    def certain(x: Any) -> str:
        """Return a number's digits.

        Raises Undecidable where its enclosure leaves one of them open, and ValueError where it is
        not finite.
        """
        if not x.ball.is_finite():
            raise ValueError("not a finite number")
        low, high = (m.nstr(of_flint(m, end), digits) for end in (x.ball.lower(), x.ball.upper()))
        if low != high:
            raise Undecidable
        return str(low)

    def enclose(balls: Any) -> Digits | None:
        m.dps = balls.dps + _GUARD
        numbers, chosen = write(balls, certain)
        return None if balls.uncertified else Digits(numbers, not chosen)

    proved = by_balls(((digits + _GUARD) << attempt for attempt in range(_TRIES)), enclose)
    if proved is not None:
        return proved
    before = None
    for attempt in range(_TRIES):
        m.dps = (digits + _GUARD) << attempt
        try:
            now, _ = write(m, lambda x: str(m.nstr(x, digits)))
        except NO_VALUE as error:
            raise EvaluationError(f"the reference has no value: {error}") from None
        if now == before:
            return Digits(now, False)
        before = now
    raise EvaluationError(f"the reference does not settle to {digits} digits")
