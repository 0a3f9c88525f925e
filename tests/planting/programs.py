"""Programs that reach an operation or a function: the cases of the tests, and the calls of the oracles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from cases import EVERY as CASES
from helpers import lowered
from oracles.catalogue import calls_of, meant
from oracles.explicit import EXPLICIT
from oracles.libraries import PLACES, has, spelled, used
from oracles.values import VALUES

from gradcli.graph import transforms
from gradcli.graph.nodes import reachable
from gradcli.ops.spec import Composite, Op
from gradcli.query import catalogue
from planting.mistakes import Program

_MOST = 12


@cache
def _cases() -> dict[str, list[Program]]:
    """The cases by the operations of their functions and gradients, the small ones first."""
    found: dict[str, list[Program]] = defaultdict(list)
    for case in sorted(CASES, key=lambda case: sum(map(np.size, case.values.values()))):
        scope, root = lowered(case.text, case.values)
        slopes = transforms.vjp(root, [scope.names[name] for name in case.values], transforms.ones_like(root))
        for name in {node.op.name for node in reachable([root, *slopes]) if node.op is not None}:
            found[name].append(Program(case.text, case.values))
            if (
                "\n" not in case.text and ";" not in case.text and len(found[name]) < _MOST
            ):  # what only gradients are made of has slopes here
                word = next(iter(case.values))
                found[name].append(Program(f"sum(grad(sum(({case.text})**2), {word})**2)", case.values))
    return found


@cache
def _texts() -> dict[str, list[Program]]:
    """The cases by the names that they call."""
    found: dict[str, list[Program]] = defaultdict(list)
    for case in CASES:
        for name in set(re.findall(r"(\w+)\(", case.text)):
            found[name].append(Program(case.text, case.values))
    return found


def reaching(record: Op | Composite) -> list[Program]:
    """Programs that run a record."""
    found = list(_cases()[record.name][:_MOST]) if isinstance(record, Op) else []
    if (example := catalogue.entry(record).example) is not None:
        found.append(Program(example.expr, example.at))
    for name in (record.name, *record.aliases):
        found += [Program(case.text, {word: VALUES[word] for word in used(case.text)}) for case in EXPLICIT.get(name, ())]
        found += _texts()[name][:_MOST]
        found += calling(name)
    kept: dict[Any, Program] = {program.text: program for program in reversed(found)}
    return list(reversed(kept.values()))[: 3 * _MOST]


def calling(name: str) -> Iterator[Program]:
    """The oracles' calls of a name, under each library's prefix."""
    for place in PLACES:
        if has(place, name) and meant(place, name) is not None:
            for arguments in calls_of(name, place)[:3]:
                text = spelled(place, name, arguments)
                yield Program(text, {word: VALUES[word] for word in used(text)})
