"""Derivatives inside expressions: ``grad(y, x)`` and its kin, and ``f'(x)``."""

from __future__ import annotations

from typing import Any

from gradcli.errors import ArgumentError, ShapeError
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr
from gradcli.language.scope import Builder
from gradcli.language.tree import Call, Name
from gradcli.ops.text import Expansion, expanded

DERIVATIVES = {"grad": "vjp", "vjp": "vjp", "jvp": "jvp", "jacobian": "jacobian", "hessian": "hessian", "hvp": "hvp"}


def primed(result: Expr, parameter: Expr, primes: int) -> Expr:
    """``f'(x)``, ``f''(x)``, ...: entry by entry, of the shape of x. Raises ShapeError where f's result has another, or is no number."""
    for _ in range(primes):
        if result.shape not in (parameter.shape, ()):
            raise ShapeError("f' needs a function that works entry by entry", help="write jacobian(f(x), x)")
        result = transforms.derive("vjp", result, parameter, transforms.ones_like(result))
    return result


def derivative(builder: Builder, node: Call, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Expansion:
    """grad(y, x), grad(y, x, seed=v), vjp(y, x, v), jvp(y, x, v), jacobian(y, x), hessian(y, x), hvp(y, x, v).

    The shapes are those of `transforms`: of grad and vjp x's, of jvp y's, of jacobian y's axes and then x's; hessian and hvp need a y of
    one entry. Raises ArgumentError for other arguments, and where x is no name or has a constant value; ShapeError.
    """
    vector = keywords.pop("seed", None) if name in ("grad", "vjp") else keywords.pop("v", None)
    third = ", v" if name in ("vjp", "jvp", "hvp") else ""
    usage = "grad(y, x) or grad(y, x, seed=v)" if name == "grad" else f"{name}(y, x{third})"
    if len(arguments) == 3 and vector is None and name not in ("jacobian", "hessian"):
        vector = arguments.pop()
    if keywords or len(arguments) != 2 or (vector is None and name in ("vjp", "jvp", "hvp")):
        raise ArgumentError(f"wrong arguments for {name}", help=f"write {usage}")
    if not isinstance(node.arguments[1], Name):
        raise ArgumentError(f"the second argument of {name} must be a name", help=f"write {usage}, with x a bound name").at(
            node.arguments[1].span
        )
    y, x = (builder.value(a) for a in arguments)
    if x.is_constant:
        name = node.arguments[1].name
        raise ArgumentError(f"'{name}' is a constant; there is nothing to differentiate").at(node.arguments[1].span)
    seed = None if vector is None else builder.value(vector)
    return expanded(name, (y, x, seed), lambda: transforms.derive(DERIVATIVES[name], y, x, seed))
