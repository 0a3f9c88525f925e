"""Functions that sympy does not have, as classes of it: their derivatives, and what computes them."""

from __future__ import annotations

from typing import Any


def by_mpmath(value: Any) -> dict[str, Any]:
    """What computes a function that sympy does not have: of a context of mpmath, and for sympy's own lambdify."""

    def of_numbers(*given: Any) -> Any:
        import mpmath

        return value(mpmath.mp, *given)

    return {"by_mpmath": staticmethod(value), "_imp_": staticmethod(of_numbers)}


def by_order(s: Any, name: str, reference: Any, factor: Any = 1, formula: Any = None) -> Any:
    """A function that sympy does not have, or has no limits of: of its order, which is one more in its derivative.

    factor   what the function of the next order is multiplied by there
    formula  what sympy has in its place but at some points: ``formula(x, n)``
    """

    def fdiff(self: Any, place: int) -> Any:
        return factor * self.func(self.args[0], int(self.args[1]) + 1)

    written = {"formula": formula and staticmethod(formula)}
    return type(name, (s.Function,), {"fdiff": fdiff, **written, **by_mpmath(lambda m, x, n: reference(m, x, int(n)))})


def in_sympy(name: str, reference: Any, slope: Any) -> Any:
    """A function that sympy does not have: its derivative by the last argument, and by parameters one order more."""

    def symbolic(s: Any, *arguments: Any, **static: int) -> Any:
        parameters = len(arguments) - 1

        def fdiff(self: Any, place: int) -> Any:
            values, orders = self.args[: parameters + 1], [int(n) for n in self.args[parameters + 1 :]]
            if place == parameters + 1:
                return slope(s, values, orders)
            orders[place - 1] += 1
            return self.func(*values, *orders)

        def value(m: Any, *given: Any) -> Any:
            return reference(m, *given[: parameters + 1], *[int(n) for n in given[parameters + 1 :]])

        made = type(name, (s.Function,), {"fdiff": fdiff, **by_mpmath(value)})
        return made(*arguments, *static.values())

    return symbolic
