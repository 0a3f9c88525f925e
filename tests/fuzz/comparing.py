"""One input computed in two ways: by the fast paths and by the plain one, alone and among others,
as a record and as a text.
"""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

from fuzz.trials import Ending, Trial, run

ROUNDING = 1e-9  # of the largest entry: sums of plans are in another order
_EVERY = 3  # one in so many trials of records is computed in another way, too


def differences(trial: Trial, ending: Ending, rng: Random) -> list[str]:
    """What differs from another way of computing the same."""
    if (
        not trial.records
        or trial.kind not in ("expressions", "alike", "calls", "programs")
        or rng.randrange(_EVERY)
    ):
        return []
    lines = [line for line in trial.stdin.split("\n") if line.strip()]
    results = [json.loads(line) for line in ending.out.split("\n") if line]
    if len(results) != len(lines):
        return []
    place = rng.randrange(len(lines))
    line, result = lines[place], results[place]
    way = rng.choice((_alone, _as_text, _plainly))
    found = way(trial, line)
    if found is None:
        return []
    return [
        f"{way.__name__.strip('_')}, it gives something else: {line[:400]}: {said}"
        for said in _unlike(result, found)
    ]


def _alone(trial: Trial, line: str) -> dict[str, Any] | None:
    """The record as the only one of its run."""
    return json.loads(run(trial.with_lines([line])).out)


def _as_text(trial: Trial, line: str) -> dict[str, Any] | None:
    """The record as a program, with its values as bindings of the command line: one query only."""
    data = json.loads(line)
    text, at = data["expr"], data.get("at", {})
    if (
        set(data) - {"expr", "at"}
        or any(mark in text for mark in "\n;=#@")
        or not all(_is_plain(value) for value in at.values())
    ):
        return None
    options = trial.arguments[: trial.arguments.index("-i")]
    bound = [f"{name}={json.dumps(value)}".replace('"', "") for name, value in at.items()]
    if options[0] != "eval" or any(text.startswith(word) for word in ("-", " ")):
        return None
    found = run(Trial("text", (*options, "--format", "jsonl", text, *bound))).out
    return json.loads(found) if found else None


def _plainly(trial: Trial, line: str) -> dict[str, Any] | None:
    """Node by node: `forward` and `gradient` over the graph, without plans and caches."""
    import numpy as np

    from gradcli.errors import GradcliError
    from gradcli.graph.nodes import forward, reachable
    from gradcli.language.run import Program, statements
    from gradcli.language.scope import Scope
    from gradcli.query.programs import gradient

    data = json.loads(line)
    if (
        set(data) - {"expr", "at"} or "rand" in data["expr"] or "assert" in data["expr"]
    ):  # whose result may be that of the record
        return None
    scope = Scope()
    for name, value in data.get("at", {}).items():
        scope.bind_value(name, np.array(value, float if not _has_booleans(value) else bool))
    program, root, queries = Program(scope), None, 0
    try:
        for statement in statements(data["expr"].splitlines(keepends=True)):
            if isinstance(statement, Exception):
                return None
            result = program.execute(statement)
            if result is not None:
                root, queries = result.value, queries + 1
        if root is None or root.kind != "float":
            return None
        if queries > 1:  # the record shows the first that fails
            return None
        values = forward([root], scope.values)
        leaves = {
            name: leaf
            for name, leaf in scope.leaves.items()
            if name in data.get("at", {}) and leaf in reachable([root])
        }
        found = gradient(scope, root, leaves, np.ones(root.shape)[()], values, reachable([root]))
    except (GradcliError, KeyError, AttributeError):
        return None
    grad = {name: np.asarray(slope).tolist() for name, slope in found.items()}
    return {"value": np.asarray(values[root]).tolist(), "grad": grad, "error": None}


def _unlike(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    codes = [(record.get("error") or {}).get("code") for record in (one, other)]
    if codes[0] != codes[1]:
        return [f"{codes[0]} and {codes[1]}"]
    if codes[0] is not None:
        return []
    found = (
        []
        if _close(one["value"], other["value"])
        else [f"value {str(one['value'])[:80]} and {str(other['value'])[:80]}"]
    )
    shared = (one.get("grad") or {}).keys() & (other.get("grad") or {}).keys()
    for name in sorted(shared):
        if not _close(one["grad"][name], other["grad"][name]):
            found.append(
                f"gradient of {name} {str(one['grad'][name])[:80]} and "
                f"{str(other['grad'][name])[:80]}"
            )
    return found


def _close(one: Any, other: Any) -> bool:
    left, right = _flat(one), _flat(other)
    if len(left) != len(right):
        return False
    most = max((abs(x) for x in left if math.isfinite(x)), default=0.0)
    return all(
        x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= ROUNDING * most
        for x, y in zip(left, right, strict=True)
    )


def _flat(value: Any) -> list[float]:
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in _flat(part)]
    return [] if value is None else [float(value)]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_plain(part) for part in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _has_booleans(value: Any) -> bool:
    return any(map(_has_booleans, value)) if isinstance(value, list) else isinstance(value, bool)
