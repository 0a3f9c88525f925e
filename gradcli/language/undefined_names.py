"""What to say of a name that has no value, or is no function, where one is wanted."""

from __future__ import annotations

from gradcli.errors import AmbiguousError, GradcliError, MissingValueError, UnknownNameError, suggestion
from gradcli.language import callables
from gradcli.language.names import FreeVariable
from gradcli.language.scope import Scope

_LONGEST = 40  # characters of a name that may be two names written together


def missing_value(scope: Scope, variable: FreeVariable) -> GradcliError:
    """The error of a name used where it needs a value."""
    name = variable.name
    if name in scope.failed:
        line = scope.failed[name]
        cause = scope.causes.get(line, line)
        why = "its binding" if cause == line else "it depends on the binding"
        error = MissingValueError(
            f"'{name}' has no value: {why} on line {cause}{' has an error' if cause == line else ', which has an error'}"
        )
        error.follows = cause
        return error
    if name in scope.functions or callables.is_function(name):
        return MissingValueError(f"'{name}' is a function here; it has no value", help=f"write {name}(x), or give it a value: {name}=...")
    for i in range(1, len(name) if len(name) <= _LONGEST else 0):
        left, right = name[:i], name[i:]
        if left in scope.names and right in scope.names:
            return AmbiguousError(f"'{name}' has two readings", help=f"write {left}*{right} for the product, or give {name} a value")
        if callables.is_function(left) and right in scope.names:
            return MissingValueError(f"no value for '{name}'", help=f"write {left}({right})")
    close = suggestion(name, list(scope.names))
    return MissingValueError(f"no value for '{name}'", help=f"did you mean '{close}'?" if close else f"give it one: {name}=...")


def unknown_function(scope: Scope, name: str) -> GradcliError:
    """The error of calling a name that is no function."""
    close = suggestion(name, [*scope.functions, *callables.all_names()])
    return UnknownNameError(f"unknown function '{name}'", help=f"did you mean '{close}'?" if close else None)
