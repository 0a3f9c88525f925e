"""Things a name can stand for besides a value, and what to say of a name that stands for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcli.errors import AmbiguousError, GradcliError, MissingValueError, UnknownNameError, suggestion
from gradcli.language.scope import Scope

_LONGEST = 40  # characters of a name that may be two names written together


@dataclass(frozen=True, eq=False, repr=False)
class Module:
    """A library prefix such as np or torch.nn.functional."""

    path: str


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function of a library, or (with a base) a method of a value."""

    name: str
    library: str
    base: Any = None


class Results(tuple[Any, ...]):
    """Several results of a function, which have names: ``torch.linalg.qr(A).R``."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, parts: tuple[Any, ...], names: tuple[str, ...]) -> Results:
        results = cls(parts)
        results.names = names
        return results


@dataclass(frozen=True, eq=False, repr=False)
class Unbound:
    """A name without a value."""

    name: str


def missing_value(scope: Scope, unbound: Unbound) -> GradcliError:
    """The error of a name used where it needs a value."""
    from gradcli.language import calls

    name = unbound.name
    if name in scope.failed:
        return MissingValueError(f"'{name}' has no value: its binding on line {scope.failed[name]} has an error")
    if name in scope.functions or calls.known(name):
        return MissingValueError(f"'{name}' is a function here; it has no value", help=f"write {name}(x), or give it a value: {name}=...")
    for i in range(1, len(name) if len(name) <= _LONGEST else 0):
        left, right = name[:i], name[i:]
        if left in scope.names and right in scope.names:
            return AmbiguousError(f"'{name}' has two readings", help=f"write {left}*{right} for the product, or give {name} a value")
        if calls.known(left) and right in scope.names:
            return MissingValueError(f"no value for '{name}'", help=f"write {left}({right})")
    close = suggestion(name, list(scope.names))
    return MissingValueError(f"no value for '{name}'", help=f"did you mean '{close}'?" if close else f"give it one: {name}=...")


def unknown_function(scope: Scope, name: str) -> GradcliError:
    """The error of calling a name that is no function."""
    from gradcli.language import calls

    close = suggestion(name, [*scope.functions, *calls.all_names()])
    return UnknownNameError(f"unknown function '{name}'", help=f"did you mean '{close}'?" if close else None)
