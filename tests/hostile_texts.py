"""Texts that try to be more than text, and any others, for the tests of what is written."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from recorded import read_table

HOSTILE: dict[str, str] = read_table("hostile_texts.json")
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
