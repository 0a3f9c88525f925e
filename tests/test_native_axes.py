"""Native programs of several axes give what NumPy gives: arrays against themselves, and sums of
what other sums wait for.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import thinned
from recorded import LISTS

import gradcli
from gradcli.plans.native.compiler import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="there is no compiler")

X = np.random.default_rng(26).standard_normal((230, 20))
PROGRAMS = LISTS["native programs of several axes"]


@pytest.mark.parametrize("text", thinned(PROGRAMS))
def test_programs(text: str) -> None:
    value, gradients = gradcli.value_and_grad(text, backend="native")(x=X)
    expected, slopes = gradcli.value_and_grad(text, backend="numpy")(x=X)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(
        gradients["x"], slopes["x"], rtol=1e-11, atol=1e-13 * np.abs(slopes["x"]).max()
    )
