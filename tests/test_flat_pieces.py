"""A slope that is zero on a whole piece stays zero under every function with an infinite slope, whatever way it is computed.

What is flat, and what has an infinite slope, is found in the catalogue: by values beside the point that are the same to the bit, and by
slopes that are infinite where values are finite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError
from gradcli.ops.registry import composites, registry

POINTS = np.array([-7.3, -4.1, -2.4, -0.35, 0.2, 0.65, 1.3, 2.4, 7.3])
BESIDE = (1.0, 1 - 1e-9, 1 + 1e-9, 1 - 1e-3, 1 + 1e-3)  # of what is flat, the values are the same
FURTHER = [  # of flat functions, those that no call of one or two numbers shows
    ("max([{0}, 9])", -2.4), ("sort([{0}, 9])[1]", -2.4), ("topk([{0}, 9], 1)[0][0]", -2.4), ("median([{0}, 2, 9])", -2.4),
    ("cummax([9, {0}], 0)[0][1]", -2.4), ("norm([{0}, 9], inf)", -2.4), ("amin([{0}, -9])", -2.4), ("quantile([{0}, 2, 9], 0.5)", -2.4),
    ("interp({0}, [0, 1], [2, 3])", -2.4), ("leaky_relu({0}, 0)", -2.4), ("elu({0}, 0)", -2.4), ("threshold({0}, 0, 3)", -2.4),
    ("0*{0}", 0.65), ("{0}**0", 0.65), ("where({0} > 0, {0}, 3)", -2.4), ("[{0}, 4][1]", 0.65), ("F.one_hot(1, 3)[1] + 0*{0}", 0.65),
    ("multi_margin_loss([{0}, 9], 1)", -2.4), ("hinge_embedding_loss([{0}], [-1])", 2.4), ("prod([relu({0}), {0}])", -2.4),
    ("max_pool1d([[{0}, 9]], 2)[0, 0]", -2.4), ("stats.uniform.cdf({0})", -2.4), ("stats.triang.cdf({0}, 0.5)", 2.4), ("relu({0})*{0}", -2.4),
    ("dot([relu({0})], [{0}])", -2.4), ("relu({0})*sin({0})", -2.4), ("sum(relu([{0}, {0}]))", -2.4), ("relu({0})/({0})", -2.4),
    ("std([relu({0}), 0])", -2.4), ("var([relu({0}), 0])", -2.4), ("hypot(relu({0}), 0)", -2.4), ("exp(relu({0}))", -2.4),
    ("matmul([[relu({0})]], [[{0}]])[0, 0]", -2.4), ("logsumexp([relu({0})])", -2.4), ("mean(clip([{0}, 9], 0, 1))", -2.4),
    ("scatter_reduce([0.], 0, [0], [relu({0})], 'amax')[0]", -2.4), ("cumprod([relu({0}), {0}], 0)[1]", -2.4),
]  # fmt: skip
STEEP = [  # what has an infinite slope beside functions of one number, and where
    ("({0})**0.5", 0.0), ("({0})**(1/3)", 0.0), ("sqrt(3*({0}))", 0.0), ("sqrt(({0})**2)", 0.0), ("sqrt(sum([{0}, {0}]))", 0.0),
    ("sqrt(({0})*y)", 0.0), ("norm([{0}, 0])", 0.0), ("std([{0}, 0])", 0.0), ("hypot({0}, 0)", 0.0), ("log(1 + sqrt({0}))", 0.0),
    ("sqrt(abs({0}))", 0.0), ("sqrt(1 - ({0}))", 1.0), ("sum(sqrt([{0}, 4]))", 0.0), ("sqrt(({0}) + relu(x - 99))", 0.0),
    ("sqrt(tanh({0}))", 0.0), ("sqrt(prod([{0}, 2]))", 0.0), ("xlogy({0}, {0})", 0.0), ("cbrt(({0})/7)", 0.0),
]  # fmt: skip


def _calls() -> Iterator[str]:
    """The functions of the catalogue, each as one of x."""
    for record in (*registry().values(), *composites().values()):
        if not record.public or record.name in ("detach", "expand_as"):
            continue
        count = len(record.operands)
        if count == 1:
            yield f"{record.name}({{0}})"
        elif count == 2:
            yield from (f"{record.name}({{0}}, 1.5)", f"{record.name}(1.5, {{0}})")
        elif count == 3:
            yield f"{record.name}({{0}}, 0.5, 1.5)"


def _values(text: str, x: np.ndarray) -> Any:
    try:
        found = gradcli.evaluate(text.format("x"), at={"x": x}, seed=np.ones(x.shape), check=False, formula=False, wrt="x")
    except (GradcliError, ArithmeticError):
        return None
    return found if np.shape(found.value) == x.shape and found.dtype == "float64" else None
