"""Where PyTorch multiplies zero by infinity: the note that its gradient is NaN there, and ours not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracles.traps import DATA, POINTS, entries, texts

import gradcli

RECORDED = json.loads(DATA.read_text("utf-8"))


@pytest.mark.parametrize("text", texts())
def test_a_note_stands_where_pytorch_has_nan_and_we_have_a_number(text: str) -> None:
    for point, in_torch in zip(POINTS, RECORDED[text], strict=True):
        record = gradcli.evaluate(text, at={"x": point}, check=False, formula=False)
        ours = np.isfinite(np.broadcast_to((record.grad or {}).get("x", 0.0), (3,)))
        lost = np.flatnonzero((np.array([*in_torch]) == "1") & ours)
        notes = [note for note in record.warnings if note.startswith("PyTorch gives nan")]
        others = f" and {lost.size - 1} more" if lost.size > 1 else ""
        wanted = [f"PyTorch gives nan for x[{lost[0]}]{others}: "] if lost.size else []
        assert [note[: len(wanted[0])] if wanted else note for note in notes] == wanted, point


def test_the_trap_is_named_with_its_node_and_the_repair() -> None:
    record = gradcli.evaluate("torch.where(x > 0, torch.sqrt(x), 0)", x=0.0, check=False)
    (note,) = [note for note in record.warnings if "PyTorch" in note]
    assert note == (
        "PyTorch gives nan for x: at 'torch.sqrt(x)' it multiplies zero by what is not finite. The "
        "usual repair masks the input as well, as in sqrt(where(x > 0, x, 1))"
    )
    repaired = "torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1)), 0)"
    assert not gradcli.evaluate(repaired, x=0.0, check=False).warnings


@pytest.mark.ci
def test_the_installed_pytorch_is_the_recorded_one() -> None:
    pytest.importorskip("torch")
    assert {text: [entries(text, point) for point in POINTS] for text in texts()} == RECORDED
