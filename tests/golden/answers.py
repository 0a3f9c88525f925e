"""Answers: asking the program, and where two answers differ."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

import gradcli
from gradcli.cli.main import app
from gradcli.cli.process import run_guarded

# What is measured of an answer, not said by it.
_MEASURES = frozenset(
    {
        "max_abs_error",
        "max_rel_error",
        "digits",
        "enclosure",
        "bound",
        "worst",
        "lost_bits",
        "seconds",
        "elapsed",
    }
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MEASURED = re.compile(
    r"(?:, )?(?:certified: (?:exact|within 1e-?\d+)|to \d+ digits|with sympy's derivative)|≈? "
    r"?\d+ ulp"
)
_CLOSE = 1e-12  # of a number's size

Answer = Any


def ask(question: dict[str, Any]) -> Answer:
    """Return the exit code and the output of a command, or the text of a Python call's result."""
    if "python" in question:
        return _called(question["python"])
    given = io.TextIOWrapper(io.BytesIO(question.get("stdin", "").encode()), "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with ExitStack() as patches:
        for name, value in (
            ("stdin", given),
            ("stdout", out),
            ("stderr", err),
            ("argv", ["gradcli", *question["argv"]]),
        ):
            patches.enter_context(mock.patch.object(sys, name, value))
        patches.enter_context(mock.patch.dict("os.environ", {"NO_COLOR": "1", "COLUMNS": "100"}))
        code = run_guarded(app)
    printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))
    return [code, _data(printed), said]


def _called(text: str) -> Answer:
    with np.printoptions(floatmode="unique", threshold=10_000):
        try:
            return repr(eval(text, {"gradcli": gradcli, "np": np}))
        except gradcli.GradcliError as error:
            return f"{type(error).__name__}: {error}"


def _data(printed: str) -> Any:
    """The output as data without what is measured, where it is JSON."""
    if not printed.startswith(("{", "[")):
        return printed
    try:
        return [_said(json.loads(line)) for line in printed.splitlines()]
    except ValueError:
        pass
    try:
        return _said(json.loads(printed))
    except ValueError:
        return printed


def _said(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _said(value) for key, value in data.items() if key not in _MEASURES}
    return [_said(value) for value in data] if isinstance(data, list) else data


def difference(was: Answer, now: Answer, place: str = "") -> str | None:
    """Where two answers differ first, in words; None if nowhere."""
    if isinstance(was, dict) and isinstance(now, dict):
        if was.keys() != now.keys():
            return f"{place}: the fields are other ones: {sorted(was.keys() ^ now.keys())}"
        pairs = [(was[key], now[key], f"{place}.{key}") for key in was]
    elif isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            return f"{place}: {len(was)} entries became {len(now)}"
        pairs = [(a, b, f"{place}[{i}]") for i, (a, b) in enumerate(zip(was, now, strict=True))]
    elif isinstance(was, str) and isinstance(now, str):
        return None if _same_text(was, now) else f"{place}: {was!r} became {now!r}"
    elif _is_number(was) and _is_number(now):
        return None if _close(was, now) else f"{place}: {was!r} became {now!r}"
    else:
        return None if was == now else f"{place}: {was!r} became {now!r}"
    return next(
        (found for found in (difference(*pair) for pair in pairs) if found is not None), None
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _close(was: float, now: float) -> bool:
    return was == now or math.isclose(was, now, rel_tol=_CLOSE, abs_tol=1e-300)


def _same_text(was: str, now: str) -> bool:
    """The same words, with numbers as close as they are printed."""
    if was == now:
        return True
    was, now = _MEASURED.sub("", was), _MEASURED.sub("", now)
    numbers = [list(map(float, _NUMBER.findall(text))) for text in (was, now)]
    if _NUMBER.sub("#", was) != _NUMBER.sub("#", now) or len(numbers[0]) != len(numbers[1]):
        return False
    return all(map(_close, *numbers))
