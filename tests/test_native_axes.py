"""Native programs of several axes give what NumPy gives: arrays against themselves, and sums of
what other sums wait for.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import thinned

import gradcli
from gradcli.plans.native.compiler import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="there is no compiler")

X = np.random.default_rng(26).standard_normal((230, 20))
PROGRAMS = [
    # an array along two axes at once: its diagonal is another thing
    "y = sin(x)\nmean(exp(-sum((y[:,None,:] - y[None,:,:])**2, axis=2)/9))",
    "y = sin(x)\nmean(max(abs(y[:,None,:] - y), axis=2))",
    "y = sin(x[:,0])*x[:,1]\nsum(tanh(y[:,None] - y)*y)",
    # a gradient of all places, of which a few are not zero
    "sum(tanh(x[:,0])*x[:,1])",
    # what is made of parts
    "binary_cross_entropy_with_logits(x, abs(tanh(x[:,:1]*x)))",
    "mean(norm(x, axis=1)*norm(x[:,0])) + sum(norm(x, axis=0, keepdims=True))",
    # widths that vectors do not take apart, and results that are stored as another shape of them
    "sum(tanh(reshape(x, (460, 10)) @ x[0,:10])**2)",
    "sum(sqrt(1 + sum((x[:,None,:10] - x[:7,10:])**2, axis=2)))",
    # a total of what a loop along another axis has folded
    "mean(min((x - x[0])**2, axis=1)*sum(exp(x), axis=1))",
    "mean(max(x, axis=1)/(1 + max(abs(x), axis=1)))",
]


@pytest.mark.parametrize("text", thinned(PROGRAMS))
def test_programs(text: str) -> None:
    value, gradients = gradcli.value_and_grad(text, backend="native")(x=X)
    expected, slopes = gradcli.value_and_grad(text, backend="numpy")(x=X)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(
        gradients["x"], slopes["x"], rtol=1e-11, atol=1e-13 * np.abs(slopes["x"]).max()
    )
