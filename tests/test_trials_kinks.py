"""Kinks: ties of order statistics, jumps, filled points, and where formulas have them.

All wanted values are by hand.
"""

from __future__ import annotations

import numpy as np

import gradcli


def test_what_jumps_both_ways_does_not_jump():
    assert gradcli.evaluate("floor(x) - floor(x)", x=2.0).check.verdict == "agree"
    assert gradcli.evaluate("sum([floor(x), -floor(x)])", x=2.0).check.verdict == "agree"


def test_a_quantile_by_its_rank():
    smooth, bent = (
        gradcli.evaluate("quantile(x, q)", x=np.array(x), q=0.5)
        for x in ([0.5, 0.25, 0.75], [0.5, 0.25, 1.75])
    )
    assert smooth.grad["q"] == 0.5
    assert smooth.check.verdict == "agree"
    (kink,) = bent.check.variables["q"].kinks
    assert (kink.left, kink.right) == (0.5, 2.5)
    assert bent.check.verdict == "kink"
