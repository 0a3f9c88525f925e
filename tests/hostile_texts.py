"""Texts that try to be more than text, and any others, for the tests of what is written."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from recorded import DATA

HOSTILE: dict[str, str] = json.loads((DATA / "hostile_texts.json").read_text("utf-8"))
TEXTS = st.lists(
    st.sampled_from(list(HOSTILE.values())) | st.text(st.characters(), max_size=6), max_size=3
).map("".join)
anything = settings(
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=list(HealthCheck),
)
