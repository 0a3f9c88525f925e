"""Objects: what a library's class makes and keeps arguments for its functions, and names that are bound to these and to functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradcli.errors import ArgumentError, TypeMismatchError, UnknownNameError, suggestion
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.names import FreeVariable, Function, Indices, Module, Results, Thing
from gradcli.language.things import Range
from gradcli.language.undefined_names import missing_value
from gradcli.ops.calling import binding
from gradcli.ops.calling.meanings import CALL, Class, Refused, class_of
from gradcli.ops.calling.prefixes import SCIPY, TORCH, DType, library_of
from gradcli.ops.calling.signatures import Signature, declared

# Methods that no object has here, and what is said of them.
_DRAWN = frozenset({"sample", "rsample", "sample_n", "rvs", "random_state"})


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """An object of a class: the arguments that it keeps, by the names of our own parameters."""

    of: Class
    kept: Mapping[str, Any]

    @property
    def words(self) -> str:
        """What it is, in the words of a message."""
        return f"{self.of.name}(...), which is no number,"


def is_object(result: Any) -> bool:
    """Whether a result is bound to a name as it is: an object, a library, or a function of one."""
    kinds = (Instance, Module, Thing, Range, Indices, Results, DType, str)
    return isinstance(result, kinds) or (isinstance(result, Function) and result.base is None)


def is_several(result: Any, mentions: bool) -> bool:
    """Whether a result is a tuple to which a name may be bound: of values made of names, or of whole numbers, such as a shape.

    A tuple of other numbers is none: they would be values that nothing is differentiated by.
    """
    if not isinstance(result, tuple) or not result or isinstance(result, DType):
        return False
    return mentions or all(isinstance(part, Expr) and part.is_constant and type(part.payload) is int for part in result)


def values_in(result: Any) -> list[Expr]:
    """The values that something bound to a name is made of."""
    found, pending = [], [result]
    while pending:
        part = pending.pop()
        if isinstance(part, Expr):
            found.append(part)
        elif isinstance(part, (tuple, list)):
            pending += part
        elif isinstance(part, Instance):
            pending += part.kept.values()
        elif isinstance(part, Thing):
            pending += part.parts
    return found


def is_class(path: str, name: str) -> bool:
    """Whether a name in a part of a library is a class's: gamma in scipy.stats, MSELoss in torch.nn."""
    home = SCIPY if path.rpartition(".")[2] == "stats" else TORCH if library_of(path) == TORCH and name[:1].isupper() else ""
    return isinstance(class_of(name, home), Class) if home else False


def class_at(path: str) -> Class | None:
    """The class that a path of a library names, None where it names none."""
    part, _, name = path.rpartition(".")
    home = SCIPY if part.rpartition(".")[2] == "stats" else library_of(path)
    known = class_of(name, home)
    return known if isinstance(known, Class) else None


def refuse(name: str, library: str) -> None:
    """Raise TypeMismatchError for a class whose objects are not taken."""
    known = class_of(name, library)
    if isinstance(known, Refused):
        raise TypeMismatchError(known.why, help=known.help)


def bare(name: str) -> Class | None:
    """The class that a name without a prefix means, as after an import: Normal, norm; a letter alone (SciPy's f and t) is a person's own.

    Raises TypeMismatchError as `refuse`.
    """
    if len(name) == 1:
        return None
    library = TORCH if name[:1].isupper() else SCIPY
    refuse(name, library)
    known = class_of(name, library)
    return known if isinstance(known, Class) else None


def constructed(builder: Builder, of: Class, arguments: list[Any], keywords: dict[str, Any]) -> Instance:
    """An object of a class. Raises ArgumentError for arguments that its constructor does not take, MissingValueError for missing values."""
    kept = binding.bind(builder, of.name, of.constructor, arguments, keywords)
    for argument in kept.values():
        if isinstance(argument, FreeVariable):
            raise missing_value(builder.scope, argument)
    for name, count in of.repeated.items():
        if name in kept and not isinstance(kept[name], (tuple, list)):
            kept[name] = (kept[name],) * count
    return Instance(of, kept)


def attribute(builder: Builder, base: Instance, name: str) -> Any:
    """``object.name``: the value of a property, or a method. Raises UnknownNameError."""
    of = base.of
    if name in of.methods:
        return Function(name, of.library, base)
    if name in _DRAWN:
        raise UnknownNameError(
            f"{of.name}.{name} draws at random, which has no derivative here",
            help="give the numbers that were drawn a name: eps=[0.3, -1.2]",
        )
    close = suggestion(name, [*of.methods])
    known = ", ".join(method for method in of.methods if method != CALL)
    raise UnknownNameError(
        f"{of.name} has no '{name}' here", help=f"did you mean '{close}'?" if close else f"it has {known}" if known else None
    )


def prepared(
    builder: Builder, base: Instance, method: str, arguments: list[Any], keywords: dict[str, Any]
) -> tuple[str, Signature, dict[str, Any]]:
    """What an object's method is called in messages, its function, and all arguments of that. Raises ArgumentError for others."""
    function = base.of.function(method)
    if function is None:
        first = next(iter(base.of.methods))
        raise TypeMismatchError(f"a {base.of.name} cannot be called", help=f"write {base.of.name}(...).{first}(x)")
    name = base.of.name if method == CALL else method
    given = binding.bind(builder, name, function, arguments, keywords)
    accepted = base.of.accepts(method)
    return name, function, {**{name: value for name, value in base.kept.items() if name in accepted}, **given}


def divergence(p: Any, q: Any) -> tuple[str, Signature, dict[str, Any]]:
    """The function that the divergence of two distributions is, and its arguments. Raises ArgumentError for pairs that have none."""
    if not isinstance(p, Instance) or not isinstance(q, Instance):
        raise ArgumentError("kl_divergence needs two distributions", help="write kl_divergence(Normal(2, 3), Normal(0, 1))")
    function = declared(f"{p.of.name}.kl_{q.of.name}", TORCH)
    if function is None:
        raise ArgumentError(f"kl_divergence of a {p.of.name} and a {q.of.name} is not supported")
    return "kl_divergence", function, {**p.kept, **{f"other_{key}": value for key, value in q.kept.items()}}
