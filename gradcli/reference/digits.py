"""Value and gradient to any number of digits, from the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape

_TRIES = 6


def to_digits(scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, digits: int) -> dict[str, Any]:
    """The value and the gradients as nested lists of decimal strings of that many right digits.

    The precision is doubled until the digits stay. Raises EvaluationError where the reference has no value.
    """
    import mpmath

    m = mpmath.MPContext()
    leaves = {node: scope.values[node] for node in definition_order(root, list(wrt.values())) if node.is_leaf}
    before: dict[str, Any] | None = None
    m.dps = digits + 20
    for _ in range(_TRIES):
        try:
            tape = ReferenceTape(m, leaves, scope.precision)
            y = tape.run(root, list(wrt.values()))
            slopes = tape.slopes(y, exact_array(m, seed, "float"), list(wrt.values()))
        except (Unsupported, ArithmeticError, ValueError) as error:
            raise EvaluationError(f"the reference has no value: {error}") from None
        now = {"value": _written(m, Algebra.map(plain, y), digits)}
        now |= {name: _written(m, slope, digits) for name, slope in zip(wrt, slopes, strict=True)}
        if now == before:
            return now
        before = now
        m.dps = 2 * m.dps
    raise EvaluationError(f"the reference does not settle to {digits} digits")


def _written(m: Any, array: np.ndarray, digits: int) -> Any:
    text = Algebra.map(lambda v: str(v) if isinstance(v, bool) else m.nstr(v, digits), array)
    return text.tolist()
