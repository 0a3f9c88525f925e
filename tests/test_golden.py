"""A sample of the goldens is answered as recorded; ``python -m golden compare`` in tests/ asks all
of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden.__main__ import recorded
from golden.answers import ask, difference
from recorded import LISTS

SAMPLE = [(kind, question, was) for kind, question, was in recorded()[::40]]


@pytest.mark.parametrize(
    ("kind", "question", "was"),
    SAMPLE,
    ids=[f"{place} {kind}" for place, (kind, *_) in enumerate(SAMPLE)],
)
def test_an_answer_is_the_recorded_one(
    kind: str, question: dict[str, Any], was: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = difference(was, json.loads(json.dumps(ask(question))))
    assert found is None, f"{question}: {found}; `python -m golden record` takes in what is meant"


@pytest.mark.parametrize(("was", "now", "place"), LISTS["differences of answers"])
def test_a_difference_is_seen(was: Any, now: Any, place: str | None) -> None:
    assert difference(was, now) == place
