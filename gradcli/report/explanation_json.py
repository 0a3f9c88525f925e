"""Explanations as JSON-ready dictionaries (schema 1), the contract that scripts and pages rely on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from gradcli.inert import well_formed
from gradcli.report.dictionaries import SCHEMA, check_dict, failure_dict, numbers
from gradcli.report.explanation import Contribution, ExplainedGradient, ExplainedNode, Explanation, Step, Why
from gradcli.report.json_text import number, plain_data
from gradcli.report.uncertainty import uncertainty_dict

LARGEST = 1_000  # entries of an array that is written out; of a larger one there is a summary
_EXACT = 1 << 53  # whole numbers up to which every reader of JSON has them exactly


def as_dict(explanation: Explanation) -> dict[str, Any]:
    """The whole explanation, in the order in which it is documented."""
    record = explanation.record
    program = explanation.source.text if explanation.source is not None else record.expr
    return {
        "schema": SCHEMA,
        "id": plain_data(record.id),
        **({} if record.meta is None else {"meta": plain_data(record.meta)}),
        "source": {"file": record.file, "line": record.line, "column": record.column},
        "expr": well_formed(record.expr),
        **({} if program == record.expr else {"program": well_formed(program)}),
        **({} if record.dialect is None else {"dialect": record.dialect}),
        **({} if record.read_as is None else {"read_as": well_formed(record.read_as)}),
        **({} if record.asserted is None else {"assert": {"holds": record.asserted.holds}}),
        "value": summary(record.value),
        "dtype": record.dtype,
        "seed": summary(record.seed),
        **({} if record.uncertainty is None else {"uncertainty": uncertainty_dict(record.uncertainty, numbers)}),
        "result": explanation.result or None,
        "nodes": [_node(node) for node in explanation.nodes],
        "backward": [_contribution(each) for each in explanation.backward],
        "gradients": {name: _gradient(each) for name, each in explanation.gradients.items()},
        **({"steps": {name: [_step(step) for step in steps] for name, steps in explanation.steps.items()}} if explanation.steps else {}),
        **_stories(explanation.why),
        "check": None if record.check is None else check_dict(record.check),
        "warnings": record.warnings,
        "error": None if record.error is None else failure_dict(record.error),
    }  # fmt: skip


def _stories(found: list[Why]) -> dict[str, Any]:
    """A story, or a list of several."""
    return {} if not found else {"why": _why(found[0]) if len(found) == 1 else [_why(each) for each in found]}


def summary(value: Any, most: int = LARGEST) -> Any:
    """Numbers, or what is to be said of many: shape, range, norm, and how many are not finite."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return [summary(part, most) for part in value]
    array = np.asarray(value)
    if array.size <= most:
        return numbers(array)
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    with np.errstate(all="ignore"):
        ends = [number(float(finite.min())), number(float(finite.max()))] if finite.size else [None, None]
        norm = number(float(np.linalg.norm(finite.astype(float).ravel())))
    return {"shape": list(array.shape), "min": ends[0], "max": ends[1], "norm": norm, "nonfinite": int(array.size - finite.size)}


def _node(node: ExplainedNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "op": node.op,
        "name": node.name,
        "text": None if node.text is None else well_formed(node.text),
        "span": None if node.span is None else list(node.span),
        "operands": list(node.operands),
        "shape": list(node.shape),
        "dtype": node.kind,
        "value": summary(node.value),
        "adjoint": summary(node.adjoint),
        "grad_fn": node.grad_fn,
        "saved": list(node.saved),
        **({} if node.function is None else {"function": node.function}),
        **({} if node.inside is None else {"inside": node.inside}),
        **({} if node.call is None else {"call": list(node.call)}),
        **({} if node.statement is None else {"statement": node.statement}),
    }


def _contribution(each: Contribution) -> dict[str, Any]:
    return {
        "node": each.node,
        "operand": each.operand,
        "place": each.place,
        "partial": each.partial,
        "rule": each.rule,
        "local": summary(each.local),
        "contribution": summary(each.passed),
        **({} if each.summed is None else {"summed": each.summed}),
    }


def _gradient(gradient: ExplainedGradient) -> dict[str, Any]:
    left_out = gradient.left_out
    return {
        "value": summary(gradient.value),
        "paths": [{"nodes": list(path.nodes), "contribution": summary(path.contribution)} for path in gradient.paths],
        "paths_left_out": left_out if left_out < _EXACT else f"{Decimal(left_out):f}",
        "rest": summary(gradient.rest),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "rule": step.rule,
        "formula": step.formula,
        **({} if step.of is None else {"of": step.of}),
        **({} if step.latex is None else {"latex": step.latex}),
    }


def _why(why: Why) -> dict[str, Any]:
    return {
        "of": why.of, "kind": why.kind, "node": why.node, "operand": why.operand, "index": list(why.index), "repair": why.repair,
        "text": why.text,
    }  # fmt: skip
