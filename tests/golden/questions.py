"""Questions of every kind, drawn from the tests' own tables and the samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import test_language_errors as errors
from cases import EVERY
from test_textbook import AT
from textbook_refusals import REFUSED
from textbook_texts import READ
from witness.lines import LINES
from witness.programs import values_of

Question = dict[str, Any]  # "argv" and perhaps "stdin", or "python"

_SAMPLES = Path(__file__).parent.parent.parent / "samples"
_RANGES = {"x": "0.5..2", "y": "-1..1", "t": "0..3", "a": "1..2"}


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist()


def _records() -> list[dict[str, Any]]:
    """Programs with values for their names, each once."""
    found = [
        {"expr": case.text, "at": {k: _plain(v) for k, v in case.values.items()}} for case in EVERY
    ]
    values = {name: _plain(value) for name, value in values_of(3).items()}
    for text in LINES:
        found.append(
            {"expr": text, "at": {name: value for name, value in values.items() if name in text}}
        )
    for text in READ:
        found.append(
            {"expr": text, "at": {name: value for name, value in AT.items() if name in text}}
        )
    for path in sorted(_SAMPLES.glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    seen: dict[str, dict[str, Any]] = {}
    for record in found:
        if len(json.dumps(record)) < 1500:
            seen.setdefault(record["expr"], record)
    return list(seen.values())


def _some(records: list[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    return Random(seed).sample(records, min(count, len(records)))


def _bindings(record: dict[str, Any]) -> list[str]:
    return [f"{name}={json.dumps(value)}" for name, value in record["at"].items()]


def questions() -> dict[str, list[Question]]:
    """All questions by their kind."""
    records = [record for record in _records() if "at" in record]
    scalar = [
        r
        for r in records
        if all(np.ndim(v) == 0 for v in r["at"].values()) and "\n" not in r["expr"]
    ]
    line = [record for record in records if "\n" not in record["expr"]]
    one = [r for r in scalar if len(r["at"]) == 1]
    seeded = ["--format", "json"]
    return {
        "eval": [
            {
                "argv": ["eval", "-i", "jsonl", "-", "--format", "jsonl", "--formula"],
                "stdin": json.dumps(record),
            }
            for record in _some(records, 1000, 1)
        ],
        "text": [{"argv": ["eval", r["expr"], *_bindings(r)]} for r in _some(line, 100, 2)],
        "check": [
            {
                "argv": ["check", "-i", "jsonl", "-", "--format", "jsonl"],
                "stdin": json.dumps(record),
            }
            for record in _some(records, 300, 3)
        ],
        "diff": [{"argv": ["diff", r["expr"], *seeded]} for r in _some(scalar, 200, 4)],
        "explain": [
            {"argv": ["explain", r["expr"], *_bindings(r), *seeded]} for r in _some(line, 150, 5)
        ],
        "why": [
            {"argv": ["explain", r["expr"], *_bindings(r), "--why", next(iter(r["at"]))]}
            for r in _some(one, 60, 6)
        ],
        "steps": [{"argv": ["explain", r["expr"], "--steps"]} for r in _some(one, 60, 7)],
        "bound": [
            {"argv": ["bound", r["expr"], f"{next(iter(r['at']))}=0.5..2", *seeded]}
            for r in _some(one, 100, 8)
        ],
        "plot": [
            {"argv": ["plot", r["expr"], f"{next(iter(r['at']))}=0.5..2", "--format", "json"]}
            for r in _some(one, 40, 9)
        ],
        "export": [
            {"argv": ["export", r["expr"], *_bindings(r), "--to", target]}
            for target in ("numpy", "torch", "jax", "c", "javascript", "sympy", "latex")
            for r in _some(line, 30, 10)
        ],
        "hessian": [
            {"argv": ["eval", r["expr"], *_bindings(r), "--hessian", *seeded]}
            for r in _some(scalar, 60, 11)
        ],
        "mistakes": list(_mistakes()),
        "python": list(_calls(records)),
    }


def _mistakes() -> Iterator[Question]:
    bindings = [f"{name}={json.dumps(value)}" for name, value in errors.BINDINGS.items()]
    tables = (errors.TWO_READINGS, errors.SYNTAX, errors.NAMES, errors.ARGUMENTS, errors.SHAPES)
    for row in (row for table in tables for row in table):
        yield {"argv": ["eval", row.values[0], *bindings, "--no-check"]}
    names = [f"{name}={value}" for name, value in AT.items()]
    for text in REFUSED:
        yield {"argv": ["eval", text, *names, "--no-check"]}
        yield {"argv": ["diff", text]}


def _calls(records: list[dict[str, Any]]) -> Iterator[Question]:
    forms = (
        "gradcli.value_and_grad({text})(**{at})",
        "gradcli.evaluate({text}, at={at}).grad",
        "str(gradcli.evaluate({text}, at={at}).check.verdict)",
        "gradcli.differentiate({text})",
        "gradcli.parse({text})",
    )
    for place, record in enumerate(_some(records, 200, 12)):
        yield {
            "python": forms[place % len(forms)].format(
                text=repr(record["expr"]), at=repr(record["at"])
            )
        }
