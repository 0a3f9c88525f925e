"""Records as JSON-ready dictionaries (schema 1), the contract that scripts rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.inert import well_formed
from gradcli.report.json_text import encoded, number, plain_data
from gradcli.report.records import Asserted, Failure, Record

if TYPE_CHECKING:
    from gradcli.report.verdicts import Check, Claim, OneSided, VariableCheck, Worst

SCHEMA = 1


def numbers(array: Any) -> Any:
    """An array as nested lists of shortest round-trip floats."""
    if array is None:
        return None
    if type(array) is np.float64:
        return number(float(array))
    array = np.asarray(array)
    if array.dtype == np.float32:
        # the shortest decimal that reads back as the same float32
        array = np.array([float(str(v)) for v in array.ravel()], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return plain_data(array.tolist())
    return array.tolist()


def as_dict(record: Record) -> dict[str, Any]:
    """The whole record, in the order in which it is documented."""
    value = numbers(record.value)
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "id": plain_data(record.id),
        **({} if record.meta is None else {"meta": plain_data(record.meta)}),
        "source": {"file": record.file, "line": record.line, "column": record.column},
        "expr": well_formed(record.expr),
        **({} if record.dialect is None else {"dialect": record.dialect}),
        **({} if record.read_as is None else {"read_as": well_formed(record.read_as)}),
        "value": value,
        "shape": None if record.value is None else list(record.shape),
        "dtype": record.dtype,
    }
    if record.mode == "assert":
        out["assert"] = None if record.asserted is None else _asserted(record.asserted)
    else:
        out["seed"] = numbers(record.seed)
        if record.mode == "hessian":
            blocks = record.hessian
            out["hessian"] = None if blocks is None else {a: {b: numbers(v) for b, v in row.items()} for a, row in blocks.items()}
        elif record.mode == "jvp":
            out["jvp"] = numbers(record.jvp)
        else:
            arrays = {"jacobian": record.jacobian, "hvp": record.hvp}.get(record.mode, record.grad)
            out[record.mode] = None if arrays is None else {name: numbers(v) for name, v in arrays.items()}
        out["derivative"] = record.derivative or None
        if record.latex:
            out["latex"] = record.latex
        if record.derivative_kind is not None:
            out["derivative_kind"] = record.derivative_kind
    if record.precise:
        out["precise"] = record.precise
        out["precise_certified"] = record.precise_certified
    if record.uncertainty is not None:
        from gradcli.report.uncertainty import uncertainty_dict

        out["uncertainty"] = uncertainty_dict(record.uncertainty, numbers)
    out["check"] = None if record.check is None else check_dict(record.check)
    out["warnings"] = record.warnings
    out["error"] = None if record.error is None else failure_dict(record.error)
    return out


def _asserted(asserted: Asserted) -> dict[str, Any]:
    return {
        "holds": asserted.holds,
        "relation": asserted.relation,
        "left": numbers(asserted.left),
        "right": numbers(asserted.right),
        "within": number(asserted.within),
        **({} if asserted.over is None else {"over": _box(asserted.over)}),
        "worst": _worst(asserted.worst) if asserted.left_open is None else {"box": _box(asserted.left_open)},
    }


def _box(box: dict[str, tuple[float, float]]) -> dict[str, list[float | str]]:
    return {name: [number(low), number(high)] for name, (low, high) in box.items()}


def failure_dict(failure: Failure) -> dict[str, Any]:
    """An error as records have it."""
    return {key: getattr(failure, key) for key in ("code", "message", "line", "column", "end_column", "help")}


def _worst(worst: Worst | None) -> dict[str, Any] | None:
    if worst is None:
        return None
    out: dict[str, Any] = {"index": list(worst.index), "engine": number(worst.engine), "reference": number(worst.reference)}
    return out if worst.at is None else {**out, "at": {name: number(value) for name, value in worst.at.items()}}


def _kink(kink: OneSided) -> dict[str, Any]:
    return {
        "index": list(kink.index), "left": number(kink.left), "right": number(kink.right), "chosen": number(kink.chosen),
        "convention": kink.convention, **({"jump": kink.jump} if kink.jump else {}),
    }  # fmt: skip


def _variable(check: VariableCheck) -> dict[str, Any]:
    out: dict[str, Any] = {"verdict": check.verdict.word, "decided_by": check.decided_by}
    if check.max_abs_error is not None:
        out["max_abs_error"] = number(check.max_abs_error)
    if check.max_rel_error is not None:
        out["max_rel_error"] = number(check.max_rel_error)
    if check.digits is not None:
        out["digits"] = check.digits
    if check.lost is not None:
        out["lost_bits"] = check.lost
    if check.bound is not None:
        out["bound"] = number(check.bound)
    if check.verdict.word != "skipped":
        out["certified"] = bool(check.certified)
    if check.enclosure is not None:
        out["enclosure"] = list(check.enclosure)
    if check.by_mpmath:
        out["by_mpmath"] = check.by_mpmath
    if check.entries is not None:
        out["entries"] = list(check.entries)
    if check.directions is not None:
        out["directions"] = check.directions
    if check.wrong:
        out["wrong"] = check.wrong
    if check.worst is not None:
        out["worst"] = _worst(check.worst)
    if check.kinks:
        out["kinks"] = [_kink(k) for k in check.kinks]
    if check.reason is not None:
        out["reason"] = check.reason
    return out


def _claim(claim: Claim) -> dict[str, Any]:
    out = {"of": claim.of, "kind": claim.kind, "verdict": claim.verdict.word, "worst": _worst(claim.worst)}
    said: dict[str, Any] = {"relation": claim.relation, "text": claim.text, "reason": claim.reason, "difference": claim.difference}
    said |= {"decided_by": claim.decided_by, "points": claim.points or None}
    return out | {key: text for key, text in said.items() if text is not None}


def check_dict(check: Check) -> dict[str, Any]:
    """A verdict as records have it."""
    out: dict[str, Any] = {
        "verdict": check.verdict.word,
        "variables": {name: _variable(v) for name, v in check.variables.items()},
    }
    if check.value is not None:
        out["value"] = _variable(check.value)
    if check.claims:
        out["claims"] = [_claim(c) for c in check.claims]
    if check.reason is not None:
        out["reason"] = check.reason
    if check.over is not None:
        out["over"] = _box(check.over)
    if check.repairs:
        out["repairs"] = check.repairs
    if check.rewrite is not None:
        out["rewrite"] = {"text": check.rewrite.text, "lost_bits": check.rewrite.lost, "left_bits": check.rewrite.left}
        if check.rewrite.where:
            out["rewrite"]["where"] = check.rewrite.where
    if check.departs is not None:
        departs = check.departs
        out["departs"] = {
            "node": departs.node, "made_by": departs.made_by, "index": list(departs.index), "engine": number(departs.engine),
            "reference": number(departs.reference), "place": None if departs.place is None else list(departs.place),
        }  # fmt: skip
    return out


def dumps(record: Record) -> str:
    """One line of JSON Lines."""
    return encoded(as_dict(record))
