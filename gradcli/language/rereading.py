"""Expressions whose meaning depends on what names stand for: they are read again when that is known.

``x(x + 1)`` is a call, and a product where x is a value; ``d/dx(x^2)`` is a derivative, and a quotient where d or dx has a meaning.
"""

from __future__ import annotations

from collections.abc import Container

from gradcli.language.callables import is_function
from gradcli.language.names import Function, Module
from gradcli.language.scope import Scope
from gradcli.language.statements import read_again
from gradcli.language.tree import Expression
from gradcli.ops.calling.textbook import is_own
from gradcli.ops.constants import NAMED

_MOST = 16  # readings of one expression that are kept


def as_read(expression: Expression, scope: Scope, own: Container[str] = ()) -> Expression:
    """The expression as it is read where names have the meanings that they have now. ``own`` are those of a function's parameters.

    Raises AmbiguousError where it then has two readings.
    """
    if expression.source is None:
        return expression
    values = [name for name in expression.called if _is_value(name, scope, own)]
    for name in expression.differentials:
        if name in own or name in scope.names or name in scope.functions:
            values.append(name)
    for name in expression.called:
        if is_own(name) and name not in own and (name in scope.functions or name in scope.objects or name in scope.imported):
            values.append(f"{name}()")  # which is called, as a function of the program's own
    if not values:
        return expression
    key = frozenset(values)
    if expression.readings is None or len(expression.readings) >= _MOST:
        expression.readings = {}
    found = expression.readings.get(key)
    if found is None:
        found = expression.readings[key] = read_again(expression, key)
    return found


def _is_value(name: str, scope: Scope, own: Container[str]) -> bool:
    if name in own:
        return not is_function(name)
    if name in scope.functions or name in scope.objects or isinstance(scope.imported.get(name), (Function, Module)):
        return False
    return (name in scope.names or name in NAMED) and not is_function(name)
