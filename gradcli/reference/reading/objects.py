"""Objects of classes of libraries: functions that keep arguments, as ``nn.MSELoss(reduction='sum')`` and ``Normal(m, s)`` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradcli.reference.algebra import Unsupported
from gradcli.reference.reading.calls import Calls
from gradcli.reference.reading.libraries import SCIPY, TORCH, Module
from gradcli.reference.reading.names import Line, class_of, line_of

_CALL = "__call__"


class Instance(NamedTuple):
    """An object: its class, and the arguments that it keeps."""

    of: Line
    library: str
    kept: Mapping[str, Any]


class Bound(NamedTuple):
    """A method of an object, before its brackets."""

    base: Instance
    name: str


def class_at(module: Module) -> tuple[Line, str] | None:
    """The class that a path of a library names."""
    part, _, name = module.path.rpartition(".")
    library = SCIPY if part.rpartition(".")[2] == "stats" else module.library
    found = class_of(name, library)
    return None if found is None else (found, library)


def bare_class(name: str) -> tuple[Line, str] | None:
    """The class that a name without a prefix means; a letter alone is a person's own."""
    library = TORCH if name[:1].isupper() else SCIPY
    found = class_of(name, library) if len(name) > 1 else None
    return None if found is None else (found, library)


def constructed(calls: Calls, of: Line, library: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Instance:
    kept = calls.bound(of, arguments, keywords)
    for name, count in of.defaults["repeated"].items():
        if name in kept and not isinstance(kept[name], (tuple, list)):
            kept[name] = (kept[name],) * count
    return Instance(of, library, kept)


def attribute_of(calls: Calls, base: Instance, name: str) -> Any:
    """A method of an object, or the value of a property."""
    return method_called(calls, Bound(base, name), (), {}) if name in base.of.defaults["properties"] else Bound(base, name)


def method_called(calls: Calls, method: Bound, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """What a method of an object gives, or the object itself under `CALL`."""
    of, library, kept = method.base
    name = of.defaults["methods"].get(method.name)
    line = None if name is None else line_of(name, library)
    if line is None:
        raise Unsupported(f"{of.name}.{method.name}")
    taken = {parameter.name for parameter in of.parameters}
    accepted = {parameter.name for parameter in line.parameters if not parameter.ignored}
    left = line._replace(
        parameters=tuple(p for p in line.parameters if p.name not in taken), defaults={**line.defaults, **of.defaults["defaults"]}
    )
    given = {**{key: value for key, value in kept.items() if key in accepted}, **calls.bound(left, arguments, keywords)}
    return calls.applied(left, given)


def itself_called(calls: Calls, base: Instance, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    return method_called(calls, Bound(base, _CALL), arguments, keywords)


def divergence(calls: Calls, arguments: Sequence[Any]) -> Any:
    """``kl_divergence(p, q)`` of two distributions."""
    if len(arguments) != 2 or not all(isinstance(a, Instance) for a in arguments):
        raise Unsupported("kl_divergence of what are no distributions")
    p, q = arguments
    line = line_of(f"{p.of.name.split()[-1]}.kl_{q.of.name.split()[-1]}", TORCH)
    if line is None:
        raise Unsupported("kl_divergence of these distributions")
    return calls.applied(line, {**p.kept, **{f"other_{key}": value for key, value in q.kept.items()}})
