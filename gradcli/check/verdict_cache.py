"""Verdicts remembered between runs.

A verdict follows from the graph, the values, what the engine computed, the claims, the versions of
the libraries and gradcli's own code: they are the key, so that an entry can never be out of date,
and is found by every installation of the same code. Entries are JSON in the user's cache folder,
never in the project under test, which could bring verdicts of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from gradcli.check.verdicts import Check, Verdict
from gradcli.data import read_back
from gradcli.graph.nodes import Expr, definition_order
from gradcli.graph.transforms import Derivation
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.storage import VERDICTS, content_key, digest_of, versions


def recall_or_make(asked: Any, make: Callable[[], Check]) -> Check:
    """Return the verdict on a gradient and on claims about it, which is kept for the next time."""
    key = key_of(asked)
    check = recall(key)
    if check is None:
        check = make()
        remember(key, check)
    return check


def key_of(asked: Any) -> str:
    """Return the key of the verdict on a gradient and on claims about it."""
    scope, record = asked.scope, asked.record
    formulas = [claim.formula for claim in asked.claims if claim.formula is not None]
    order = definition_order(asked.root, [*asked.wrt.values(), *formulas, *scope.masks])
    places, lines = lines_of(order, scope.values)
    leaves = [(places[node], node.name) for node in order if node.is_leaf]
    given = [
        (
            claim.of,
            claim.rtol,
            claim.atol,
            claim.around,
            places.get(claim.formula),
            content_key(claim.numbers),
        )
        for claim in asked.claims
    ]
    names = [(name, places[x]) for name, x in asked.wrt.items()]
    how = scope.precision, asked.options.convention, scope.in_passing, names, places[asked.root]
    found = content_key([record.value, record.seed, record.grad])
    return digest_of(versions(), lines, leaves, how, found, given)


def lines_of(
    order: Sequence[Expr], values: Mapping[Expr, Any]
) -> tuple[Mapping[Any, int], list[Hashable]]:
    """Return the places of nodes, and a line for each node.

    The line is an operation of nodes, given by their places, or a value.
    """
    places: dict[Any, int] = {node: i for i, node in enumerate(order)}

    def line(node: Expr) -> Hashable:
        if node.op is None:
            return content_key(values[node] if node.is_leaf else node.payload)
        static = ((name, _plain(value, places)) for name, value in sorted(node.static.items()))
        return node.op.name, tuple(places.get(o, -1) for o in node.operands), tuple(static)

    return places, list(map(line, order))


def _plain(value: Any, places: Mapping[Any, int]) -> Hashable:
    if isinstance(value, StaticArray):
        return value.key
    if isinstance(value, Derivation):
        return value.kind, places.get(value.y), places.get(value.x), places.get(value.vector)
    if isinstance(value, (tuple, list)):
        return tuple(_plain(part, places) for part in value)
    return repr(value)


def steps(key: Callable[[], Any], make: Callable[[], Any]) -> Any:
    """Return what is kept under a key, which is data as JSON has them, or make it, and keep it."""
    name = digest_of(versions(), key())
    content = VERDICTS.read(name)
    if content is not None:
        return json.loads(content)
    made = make()
    with suppress(TypeError):  # a function cannot be written as JSON
        VERDICTS.keep(name, json.dumps(made).encode())
    return made


def recall(key: str) -> Check | None:
    """Return the verdict of a key, if it is remembered and can be read."""
    content = VERDICTS.read(key)
    if content is None:
        return None
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        check: Check = read_back(Check, json.loads(content))
        return check
    return None


def remember(key: str, check: Check) -> None:
    """Keep a verdict, if there is room and permission; what depends on time limits is not kept."""
    if check.worst not in (Verdict.UNDETERMINED, Verdict.SKIPPED):
        with suppress(TypeError):  # a member is not plain data
            VERDICTS.keep(key, json.dumps(asdict(check)).encode())
