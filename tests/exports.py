"""Every scalar record and every case, exported, run, and held against the engine's numbers."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError, UnsupportedInTargetError
from gradcli.exports.python import target_of
from gradcli.exports.subject import Subject
from gradcli.graph.nodes import Graph, forward, reachable
from gradcli.graph.sweep import gradients, ones_like, vjp
from gradcli.ops import registry
from gradcli.options import Options
from gradcli.query.exporting import subjects
from gradcli.query.programs import Programs, Script
from gradcli.texts import text_lines

TARGETS = ("numpy", "torch", "jax", "c", "javascript", "sympy")
ONE = (
    -30.0,
    -3.0,
    -1.5,
    -1.0,
    -0.7,
    -0.5,
    -0.3,
    -1e-3,
    0.0,
    1e-8,
    1e-3,
    0.3,
    0.5,
    0.7,
    1.0,
    1.5,
    2.0,
    3.0,
    6.0,
    30.0,
    100.0,
    800.0,
    -800.0,
)
SEVERAL = {2: (-2.0, -0.5, 0.0, 0.5, 1.0, 3.5), 3: (-1.0, 0.0, 0.5, 2.0)}
SKIPPED = {
    "threshold",
    "take_along",
    "argsort",
    "sort",
    "msort",
    "take",
}  # whose parameters have no defaults, or that want arrays


class Trial(NamedTuple):
    """A function to export, and points to call it at."""

    name: str
    subject: Subject
    points: list[dict[str, Any]]


Result = tuple[Any, dict[str, Any]]


def scalar_records() -> Iterator[Trial]:
    """Every public function of numbers with a number as its result."""
    for record in [*registry.registry().values(), *registry.composites().values()]:
        if not record.public or record.variadic or record.name in SKIPPED:
            continue
        names = [name for name in record.operands if name not in record.optional]
        graph = Graph()
        leaves = [graph.leaf(name, ()) for name in names]
        try:
            node = record(*leaves)
            found = (
                vjp(node, leaves, ones_like(node))
                if node.kind == "float" and node.op.outputs == 1
                else []
            )
        except (
            GradcliError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            LookupError,
            AssertionError,
        ):
            continue  # what needs arrays, or parameters
        if node.shape != () or node.op.outputs != 1:
            continue
        made = zip(names, found, strict=True) if found else ()
        subject = Subject(
            record.name,
            node,
            dict(made),
            dict(zip(names, leaves, strict=True)),
        )
        values = [ONE] if len(names) == 1 else [SEVERAL.get(len(names), (0.5, 2.0))] * len(names)
        points = [
            dict(zip(names, point, strict=True))
            for point in itertools.islice(itertools.product(*values), 100)
        ]
        yield Trial(f"record_{record.name}", subject, points)


def cases() -> Iterator[Trial]:
    """The tests' table of cases: programs on arrays."""
    from cases import EVERY

    for number, case in enumerate(EVERY):
        yield from program(f"case_{number}", case.text, case.values)


def program(name: str, text: str, values: Mapping[str, Any]) -> Iterator[Trial]:
    """A program at one point."""
    bound = {
        key: np.asarray(value, float)
        if np.asarray(value).dtype.kind in "fiu"
        else np.asarray(value)
        for key, value in values.items()
    }
    made = Programs(values=dict(bound)).fresh()
    *_, export = subjects(Script(made, text_lines(text)), Options())
    if export.error is not None:
        raise export.error
    subject = export.subject
    taken = {key: np.array(value) for key, value in bound.items() if key in subject.parameters}
    yield Trial(name, subject, [taken])


def wanted(trial: Trial, point: Mapping[str, Any]) -> Result | None:
    """The engine's value and gradients; None where not all of them are finite, or there is no
    value.
    """
    subject = trial.subject
    order = reachable([subject.value])
    values = {leaf: np.asarray(point[name])[()] for name, leaf in subject.parameters.items()}
    with np.errstate(all="ignore"):
        try:
            table = forward([subject.value], values)
        except GradcliError:
            return None
        value, found = table[subject.value], {}
        if subject.gradients:
            leaves = {n: x for n, x in subject.parameters.items() if n in subject.gradients}
            seed = np.ones(subject.value.shape)[()]
            given = gradients(
                order, {subject.value: seed}, list(leaves.values()), table.__getitem__
            )
            found = {name: given.get(leaf, np.zeros(leaf.shape)) for name, leaf in leaves.items()}
    return (value, found) if all(np.isfinite(x).all() for x in (value, *found.values())) else None


def off(got: Any, right: Any) -> float:
    """How far numbers are off, relative to the largest of the array or to 1."""
    if isinstance(got, str):
        return math.inf
    got, right = np.asarray(got, float), np.asarray(right, float)
    if got.shape != right.shape:
        return math.inf
    if not right.size:
        return 0.0
    apart = np.abs(got - right).max() / max(1.0, np.abs(right).max())
    return math.inf if math.isnan(apart) else float(apart)


# -- running what was exported
# -----------------------------------------------------------------------------------------


def run(target: str, trials: Sequence[Trial]) -> list[list[Result]]:
    """The results of functions at their points: one file of them all is made, and run."""
    for trial in trials:
        trial.subject.function = trial.name
    text = target_of(target).file([trial.subject for trial in trials])
    return {"c": run_c, "javascript": run_javascript}.get(target, run_python)(text, trials)


def run_python(text: str, trials: Sequence[Trial]) -> list[list[Result]]:
    namespace: dict[str, Any] = {}
    exec(compile(text, "<export>", "exec"), namespace)
    found = []
    for trial in trials:
        function = namespace[trial.name]
        plain = getattr(function, "__wrapped__", function)
        keywords = plain.__code__.co_varnames[: plain.__code__.co_kwonlyargcount]
        names = list(trial.subject.parameters)
        renamed = dict(zip(names, keywords, strict=True)) if len(keywords) == len(names) else {}
        found.append(
            [
                _called(function, {renamed[name]: value for name, value in point.items()}, trial)
                for point in trial.points
            ]
        )
    return found


def _called(function: Any, values: Mapping[str, Any], trial: Trial) -> Result:
    try:
        result: Result = function(**values)
    except Exception as error:
        return f"{type(error).__name__}: {error}", dict.fromkeys(trial.subject.gradients, math.nan)
    return result


def run_c(text: str, trials: Sequence[Trial]) -> list[list[Result]]:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "f.c"), Path(folder, "f.so")
        source.write_text(text, "utf-8")
        flags = [
            "-std=c99",
            "-O1",
            "-ffp-contract=off",
            "-Wall",
            "-Werror",
            "-Wno-unused",
            "-shared",
            "-fPIC",
        ]
        subprocess.run(
            [compiler() or "cc", *flags, "-o", str(library), str(source), "-lm"],
            check=True,
            capture_output=True,
            text=True,
        )
        loaded = ctypes.CDLL(str(library))
        return [
            [_call_c(getattr(loaded, trial.name), trial, point) for point in trial.points]
            for trial in trials
        ]


def _call_c(function: Any, trial: Trial, point: Mapping[str, Any]) -> Result:
    function.restype = ctypes.c_double
    pointer = ctypes.POINTER(ctypes.c_double)
    subject = trial.subject
    given = [np.ascontiguousarray(point[name], float) for name in sorted(subject.parameters)]
    found = {name: np.zeros(subject.gradients[name].shape) for name in sorted(subject.gradients)}
    value = function(*[array.ctypes.data_as(pointer) for array in (*given, *found.values())])
    return value, found


def run_javascript(text: str, trials: Sequence[Trial]) -> list[list[Result]]:
    calls = [
        [
            trial.name,
            [{name: np.asarray(x, float).tolist() for name, x in p.items()} for p in trial.points],
        ]
        for trial in trials
    ]
    runner = (
        "import * as m from './f.mjs';\nimport fs from 'node:fs';\n"
        "const plain = (key, x) => typeof x === 'number' && !Number.isFinite(x) ? String(x) : x;\n"
        "const calls = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));\n"
        "console.log(JSON.stringify(calls.map(([name, points]) => points.map((point) => "
        "m[name](point))), plain));\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f.mjs").write_text(text, "utf-8")
        Path(folder, "run.mjs").write_text(runner, "utf-8")
        Path(folder, "calls.json").write_text(json.dumps(calls), "utf-8")
        command = [
            shutil.which("node") or "node",
            str(Path(folder, "run.mjs")),
            str(Path(folder, "calls.json")),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return [
        [(_numbers(r["value"]), {k: _numbers(v) for k, v in r["grad"].items()}) for r in results]
        for results in json.loads(done.stdout)
    ]


def _numbers(found: Any) -> Any:
    if isinstance(found, list):
        return [_numbers(entry) for entry in found]
    return float(found.replace("Infinity", "inf")) if isinstance(found, str) else float(found)


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


# -- the table
# ----------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What became of trials: those that agree, what others are off by, and the reasons of those
    that are refused.
    """

    agree: list[str]
    wrong: dict[str, str]
    refused: dict[str, str]


def held(target: str, trials: Sequence[Trial], tolerance: float = 1e-12) -> Outcome:
    """Trials as a target computes them, against the engine."""
    outcome = Outcome([], {}, {})
    taken = []
    for trial in trials:
        try:
            text = target_of(target).file([trial.subject])
            if target not in ("c", "javascript"):
                compile(text, trial.name, "exec")
        except UnsupportedInTargetError as error:
            outcome.refused[trial.name] = error.message
        except Exception as error:
            outcome.wrong[trial.name] = f"{trial.subject.text!r}: {type(error).__name__}: {error}"
        else:
            right = [wanted(trial, point) for point in trial.points]
            points = [
                point
                for point, result in zip(trial.points, right, strict=True)
                if result is not None
            ]
            if points:
                taken.append(
                    (
                        trial._replace(points=points),
                        [result for result in right if result is not None],
                    )
                )
    results = run(target, [trial for trial, _ in taken])
    for (trial, right), found in zip(taken, results, strict=True):
        worst, where = 0.0, ""
        for point, one, other in zip(trial.points, right, found, strict=True):
            value = np.sum(one[0]) if target == "c" else one[0]
            parts = {
                "value": (other[0], value),
                **{name: (other[1][name], one[1][name]) for name in one[1]},
            }
            for name, (got, wants) in parts.items():
                if (apart := off(got, wants)) > worst:
                    worst, where = apart, f"{name} is {got}, not {wants}, at {point}"
        if worst <= tolerance:
            outcome.agree.append(trial.name)
        else:
            outcome.wrong[trial.name] = f"{trial.subject.text!r}: {where}"
    return outcome
