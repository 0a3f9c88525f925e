"""Programs that reach an operation or a function: the cases of the tests, and the calls of the
oracles.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import numpy as np
from cases import EVERY as CASES
from helpers import lowered
from oracles.catalogue import calls_of, meant
from oracles.explicit import EXPLICIT
from oracles.families import DISCRETE, FAMILIES, LOC, SCALE, SHAPES, problem, text_of
from oracles.libraries import PLACES, has, spelled, used
from oracles.planting import touched
from oracles.values import VALUES

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import ones_like, vjp
from gradcli.ops.calling.prefixes import JAX, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import called_by
from gradcli.ops.spec import Composite, Op
from gradcli.query import catalogue
from planting.mistakes import Program
from planting.witnesses import texts_of

_MOST = 12
_FEW = 3  # programs, below which more are looked for


# What nothing else reaches, at values that show it.
_OTHERWISE = {
    "zeta_slope": Program("grad(hurwitz_zeta(x, q), x)", {"x": 2.5, "q": 0.7}),
    "machine_epsilon": Program("F.rms_norm(x, (3,))", {"x": np.array([1e-9, 2e-9, -3e-9])}),
}


@cache
def _cases() -> dict[str, list[Program]]:
    """The cases by the operations of their functions and gradients, the small ones first."""
    found: dict[str, list[Program]] = defaultdict(list)
    for case in sorted(CASES, key=lambda case: sum(map(np.size, case.values.values()))):
        scope, root = lowered(case.text, case.values)
        slopes = vjp(root, [scope.names[name] for name in case.values], ones_like(root))
        program = Program(case.text, case.values)
        for name in {node.op.name for node in reachable([root, *slopes]) if node.op is not None}:
            if len(found[name]) < _MOST:
                found[name] += [p for p in (program, of_second_order(program)) if p is not None]
    return found


@cache
def _texts() -> dict[str, list[Program]]:
    """The cases by the names that they call."""
    found: dict[str, list[Program]] = defaultdict(list)
    for case in CASES:
        for name in set(re.findall(r"(\w+)\(", case.text)):
            found[name].append(Program(case.text, case.values))
    return found


@cache
def reaching(record: Op | Composite, wide: bool) -> list[Program]:
    """Programs that run a record; where these are few, of any function that does, if it is to be
    looked for.
    """
    found = list(_cases()[record.name][:_MOST]) if isinstance(record, Op) else []
    if record.name in _OTHERWISE:
        found.append(_OTHERWISE[record.name])
    if (example := catalogue.entry(record).example) is not None:
        found.append(Program(example.expr, example.at))
    for name in (record.name, *record.aliases):
        found += [
            Program(case.text, {word: VALUES[word] for word in used(case.text)})
            for case in EXPLICIT.get(name, ())
        ]
        found += _texts()[name][:_MOST]
        found += calling(name)
    for library in (NUMPY, TORCH, SCIPY, JAX) if len(found) < _FEW else ():
        for name in called_by(record.name, library)[
            :_FEW
        ]:  # norm.logpdf, of which the record is norm_logpdf
            found += [
                program for program in calling(name.rpartition(".")[2]) if library in program.text
            ] or of_text(name)
    if wide and len(found) < _FEW:
        for name in touched()[record.name][:_MOST]:
            found += calling(name)
        found += [second for program in found if (second := of_second_order(program)) is not None]
    kept = {program.text: program for program in found}
    return sorted(kept.values(), key=_effort)[: 3 * _MOST]


def _effort(program: Program) -> tuple[bool, int, int]:
    """What is judged in no time comes first."""
    return "grad(" in program.text, sum(map(np.size, program.values.values())), len(program.text)


@cache
def calling(name: str) -> list[Program]:
    """The oracles' calls of a name, under each library's prefix."""
    found = []
    for place in PLACES:
        if has(place, name) and meant(place, name) is not None:
            for arguments in calls_of(name, place)[:3]:
                text = spelled(place, name, arguments)
                found.append(Program(text, {word: VALUES[word] for word in used(text)}))
    return found


@cache
def of_text(name: str) -> list[Program]:
    """The texts recorded of libraries, and the functions of SciPy's families, in which a name of a
    part of one stands.
    """
    return [
        _of_family(text)
        if text in FAMILIES
        else Program(text, {word: VALUES[word] for word in used(text)})
        for text in texts_of(name)[:4]
    ]


def _of_family(full: str) -> Program:
    name, function = FAMILIES[full]
    shapes = SHAPES[name][-1]
    given = problem(name, function, shapes)
    text, _ = text_of(name, function, len(shapes), name in DISCRETE, given.x is not None)
    values = {
        "m": 1.0 if name in DISCRETE else LOC,
        "s": SCALE,
        **{f"a{i}": a for i, a in enumerate(shapes)},
    }
    if given.x is not None:
        values["x"] = given.x[np.isfinite(given.x)]
    return Program(
        text, {word: value for word, value in values.items() if re.search(rf"\b{word}\b", text)}
    )


def of_second_order(program: Program) -> Program | None:
    """The squares of a program's slopes: what only gradients are made of has slopes here."""
    if "\n" in program.text or ";" in program.text or not program.values:
        return None
    word = next(iter(program.values))
    return Program(f"sum(grad(sum(({program.text})**2), {word})**2)", program.values)
