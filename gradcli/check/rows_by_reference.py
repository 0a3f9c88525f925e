"""Sums of a Jacobian's rows before the references: those of whole arrays first, which are quick, and those of multi-precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.check.checked_function import CheckedFunction
from gradcli.check.judge import Judge
from gradcli.check.large import decide_large
from gradcli.errors import LimitError
from gradcli.language.scope import Scope
from gradcli.ops.extended import LONG_DOUBLE, WIDER
from gradcli.reference import extended
from gradcli.reference.algebra import Unsupported
from gradcli.reference.budget import Undecided
from gradcli.reference.inner_derivatives import hold_derivatives
from gradcli.reference.stand_ins import StandIns
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace

_LAST = 8  # units of an entry
_GENEROUS = 4  # times what rounding explains is what the reference says of its own
_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_OPEN = (Verdict.UNDETERMINED, Verdict.SKIPPED, Verdict.UNDEFINED)


def judge_of(
    function: CheckedFunction, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]
) -> tuple[Judge, Scope, dict[str, Any]]:
    """Who decides about a sum of rows, and what stands in whose scope."""
    scope = Scope(precision="float32" if y.array.dtype == np.float32 else "float64")
    scope.graph = trace.graph
    scope.in_passing = True  # nobody asks for a proof by sympy, nor how a wrong rule could be mended
    for i, name in zip(function.chosen, function.names, strict=True):
        scope.values[trace.leaves[name]] = function.arguments[i].array[()]
        scope.names[name] = trace.leaves[name]
    gradients = dict(zip(function.names, slopes, strict=True))
    return Judge(scope, trace.node_of(y), dict(trace.leaves), weights[()], gradients), scope, gradients


def by_reference(function: CheckedFunction, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]) -> str | None:
    """What is wrong according to the references ("" if nothing); None if they cannot decide.

    Whole arrays in long double are asked first: what agrees with them, within what rounding explains, is right. What does not is asked
    for in multi-precision.
    """
    judge, scope, gradients = judge_of(function, trace, y, weights, slopes)
    if _agrees(judge):
        return ""
    from gradcli.check.crosscheck import cross_check

    record = Record("", value=y.array[()], seed=weights[()], grad={name: part[()] for name, part in gradients.items()})
    check = cross_check(scope, judge.root, judge.wrt, record, None)
    if check.verdict in _OPEN:
        return None
    for i, name in zip(function.chosen, function.names, strict=True):
        part = check.variables[name]
        if part.verdict is Verdict.MISMATCH and part.worst is not None:
            worst = part.worst
            return f"input {i}, entry {list(worst.index)}: {worst.engine!r} where the derivative is {worst.reference!r} (exactly)"
    return ""


def _agrees(judge: Judge) -> bool:
    """Whether gradients are plainly those of the reference on whole arrays."""
    try:
        held = StandIns()
        hold_derivatives(judge.root, judge.leaves, judge.precision, held)
        known = extended.reference(judge.root, list(judge.wrt.values()), judge.leaves, judge.seed, judge.precision, held)
        if _is_same(judge, known):
            return True
        (_, found), settled = decide_large(judge, None, known)
    except (Unsupported, Undecided, LimitError, ArithmeticError, ValueError, TypeError, IndexError):
        return False
    return settled and all(part.verdict is Verdict.AGREE for part in found.values())


def _is_same(judge: Judge, known: extended.Reference) -> bool:
    """Whether gradients are the reference's to the last digits, of themselves or of the terms that they are sums of: so are no wrong ones,
    however far rounding might take right ones."""
    if known.held.directions or known.held.narrow or not WIDER:
        return False
    for gradient, right, error in zip(judge.gradients, known.slopes, known.errors, strict=True):
        unit = float(np.finfo(gradient.dtype).eps)
        if not np.all(np.abs(gradient - right) <= _LAST * unit * np.abs(right) + unit / _UNIT * error / _GENEROUS):
            return False
    return True
