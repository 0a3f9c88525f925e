"""Programs are read as a person means them: their values by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from recorded import over

import gradcli


@over("reading", "programs", "program", "wanted")
def test_programs_are_read(program: str, wanted: Any) -> None:
    seed = {"seed": np.ones_like(wanted)} if np.ndim(wanted) else {}
    record = gradcli.evaluate(program, check=False, **seed)
    np.testing.assert_allclose(record.value, wanted, rtol=1e-14, atol=1e-14)
