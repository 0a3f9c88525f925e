"""The catalogue as data, read from the records.

`gradcli functions` prints it, and the manual's table is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, UnknownNameError, did_you_mean
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.calling.signatures import Signature, called_by
from gradcli.ops.pytorch import in_pytorch
from gradcli.ops.registry import composites, families, record_named, registry
from gradcli.ops.spec import REQUIRED, Composite, Op

Function = Op | Composite

# Values at which examples are evaluated: the first that give a finite result.
_VECTORS = ([0.5, 0.25, 0.75], [1.5, 2.5, 2.0], [2.0, 4.0, 3.0])
_MATRIX = [[2.0, 1.0], [1.0, 3.0]]
_WHOLE = {"index": [0, 1, 1], "n": 2, "k": 2}


@dataclass(eq=False)
class Example:
    """A call, the values it is made at, and what it gives."""

    expr: str
    at: dict[str, Any]
    value: Any
    grad: dict[str, Any]
    derivative: dict[str, str | None]


@dataclass(eq=False)
class Entry:
    """Everything that there is to say of one function."""

    name: str
    family: str
    signature: str
    doc: str
    aliases: list[str]
    derivative: dict[str, str]
    domain: str
    kinks: list[dict[str, str]]
    numpy: list[str]
    torch: list[str]
    example: Example | None = field(default=None)


def functions() -> list[tuple[str, Function]]:
    """Return every function with its family, by families and then in the order of their files."""
    records: list[Function] = [*registry().values(), *composites().values()]
    found = [(_family(record), record) for record in records if record.public]
    order = {_last(module.__name__): i for i, module in enumerate(families())}
    return sorted(found, key=lambda pair: order.get(pair[0], len(order)))


def _family(record: Function) -> str:
    """Return the file of a record.

    It is the file of the record's rules, else the first one that contains the record.
    """
    if isinstance(record, Op):
        rules = [record.vjp, record.shape, record.reference, *(record.partials or ())]
    else:
        rules = [getattr(record.definition, "func", record.definition)]
    known = {module.__name__: vars(module).values() for module in families()}
    holders = (name for name, values in known.items() if any(v is record for v in values))
    origins = [getattr(rule, "__module__", "") for rule in rules]
    return _last(next(name for name in (*origins, *holders) if name in known))


def _last(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rpartition(".")[2]


def summary(record: Function) -> str:
    """Return the first sentence of a record's description."""
    text = " ".join(record.doc.split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def search(words: Sequence[str]) -> list[tuple[str, Function]]:
    """Return the functions that have all words in their names, aliases or descriptions.

    Those with all words in a name come first.
    """
    wanted = [word.lower() for word in words]
    ranked: list[tuple[bool, str, Function]] = []
    for family, record in functions():
        names = " ".join((record.name, *record.aliases)).lower()
        if all(word in f"{names} {family} {record.doc}".lower() for word in wanted):
            ranked.append((not all(word in names for word in wanted), family, record))
    return [found[1:] for found in sorted(ranked, key=itemgetter(0))]


def function_names() -> list[str]:
    """Return the names of all functions, with their aliases."""
    return [name for _, record in functions() for name in (record.name, *record.aliases)]


def find_function(name: str) -> tuple[Function, str]:
    """Return the record that a name means, with or without a library's prefix.

    Raises UnknownNameError.
    """
    prefix, _, short = name.rpartition(".")
    library = TORCH if prefix.startswith(("torch", "F", "nn")) else NUMPY
    signature = lookup(short, library)
    if signature is None and short in registry():
        return registry()[short], short
    if signature is None:
        raise UnknownNameError(
            f"unknown function '{name}'",
            help=did_you_mean(short, function_names(), "gradcli functions lists all"),
        )
    try:
        return record_named(signature.target), short
    except KeyError:
        raise UnknownNameError(
            f"'{name}' makes values; there is nothing to differentiate"
        ) from None


def entry(record: Function) -> Entry:
    """Everything that is known of a function."""
    shown = _example(record)
    known = {} if shown is None else shown.derivative
    numpy, torch = _names(record, NUMPY), _names(record, TORCH)
    return Entry(
        name=record.name,
        family=_family(record),
        signature=_spelling(record)
        if record.public
        else (*[f"torch.{call}" for call in torch], *numpy, _spelling(record))[0],
        doc=" ".join(record.doc.split()),
        aliases=list(record.aliases),
        derivative={name: text for name, text in known.items() if text},
        domain=record.domain,
        kinks=[
            {"place": kink.place, "convention": kink.convention}
            | ({} if kink.jax is None else {"jax": kink.jax.words})
            for kink in record.kinks
        ],
        numpy=numpy,
        torch=torch,
        example=shown,
    )


def _spelling(record: Function) -> str:
    parts = (
        [f"*{record.operands[0]}"]
        if record.variadic
        else [f"{o}=None" if o in record.optional else o for o in record.operands]
    )
    parts += [
        key if value is REQUIRED else f"{key}={value!r}" for key, value in record.static.items()
    ]
    return f"{record.name}({', '.join(parts)})"


def _names(record: Function, library: str) -> list[str]:
    """Return how a library that has a function calls it, with the library's own parameters."""
    own = [name for name in (record.name, *record.aliases) if record.public]
    calls = {name: lookup(name, library) for name in (*called_by(record.name, library), *own)}
    prefixes = {name: _prefix(name, library) for name in calls}
    return sorted(
        f"{prefixes[name]}{_signature(name, found)}"
        for name, found in calls.items()
        if found is not None and prefixes[name] is not None
    )


def _prefix(name: str, library: str) -> str | None:
    """Return what stands before a name in a library, or None if it has no such function."""
    if library == TORCH:
        return "" if in_pytorch(name) else None
    modules = {"np.": np, "np.linalg.": np.linalg}
    return next((prefix for prefix, module in modules.items() if hasattr(module, name)), None)


def _signature(name: str, signature: Signature) -> str:
    return f"{name}({', '.join(p.name + ('...' if p.many else '') for p in signature.parameters if not p.ignored)})"


def _example(record: Function) -> Example | None:
    """Return the record's example, or a plain call, at values where its result is finite."""
    text = record.example or _call(record)
    if text is None:
        return None
    for shape in range(len(_VECTORS)):
        example = _evaluate(text, shape)
        if example is not None:
            return example
    return None


def _call(record: Function) -> str | None:
    if any(value is REQUIRED for value in record.static.values()) or record.variadic:
        return None
    return f"{record.name}({', '.join(o for o in record.operands if o not in record.optional)})"


def _evaluate(text: str, shape: int) -> Example | None:
    from gradcli.language.run import statements
    from gradcli.language.scope import Scope
    from gradcli.language.syntax import Query
    from gradcli.query.free_variables import names_needed
    from gradcli.query.interface import evaluate

    (statement,) = statements([text])
    if not isinstance(statement, Query):
        return None
    at: dict[str, Any] = {}
    for name in names_needed(statement, Scope()):
        at[name] = _WHOLE.get(name) or (
            _MATRIX if name.isupper() else np.roll(_VECTORS[shape], len(at)).tolist()
        )
    try:
        record = evaluate(text, at=at, check=False)
    except (GradcliError, ValueError):
        return None
    if not np.all(np.isfinite(np.asarray(record.value, float))):
        return None
    grad = {name: np.asarray(slope).tolist() for name, slope in (record.grad or {}).items()}
    return Example(text, at, np.asarray(record.value).tolist(), grad, dict(record.derivative or {}))
