"""Products, distances, windows and attention at ties, at zero and on infinite inputs: as PyTorch,
whose numbers these are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError

INF, NAN = math.inf, math.nan

# program, x, value, gradient of the sum
EDGES: list[tuple[str, Any, Any, Any]] = [
    ("cdist(x, [[1, 2]])", [[1, 2], [4, 6]], [[0], [5]], [[0, 0], [0.6, 0.8]]),
    ("cdist(x, [[1, 2]], p=1)", [[1, 2], [4, 2]], [[0], [3]], [[0, 0], [1, 0]]),
    ("cdist(x, [[1, 2]], p=0)", [[1, 2], [4, 2]], [[0], [1]], [[0, 0], [0, 0]]),
    ("cdist(x, [[1, 2]], p=0.5)", [[1, 2], [4, 2]], [[0], [3]], [[0, 0], [1, 0]]),
    ("pdist(x, p=inf)", [[1, 2], [1, 2], [4, 3]], [0, 3, 3], [[-1, 0], [-1, 0], [2, 0]]),
    ("dist(x, [1, 2])", [1, 2], 0, [0, 0]),
    ("dist(x, [0, 0])", [3e200, 4e200], 5e200, [0.6, 0.8]),
    ("torch.renorm(x, 2, 0, 1)", [[0, 0], [3, 4]], [[0, 0], [0.599999988, 0.799999984]],
     [[1, 1], [0.03200000271999987, -0.023999995040000194]]),
    ("torch.addmm(x, [[1, 2]], [[3], [4]], beta=0)", [[NAN]], [[11]], [[0]]),
    ("torch.cov(x)", [[1], [2]], [[NAN, NAN], [NAN, NAN]], [[NAN], [NAN]]),
    ("corrcoef(x)", [1, 2, 4], 1, [0, 0, 0]),
    ("diff(x, 5)", [1, 2, 4], [], [0, 0, 0]),
    ("trapezoid(x)", [1], 0, [0]),
    ("gradient(x)", [1, INF, 3, 4], [INF, 1, -INF, 1], [-1.5, 0.5, -0.5, 1.5]),
    ("F.max_pool1d(x, 3, 1, 1)", [[1, 1, 2, 2, 2, 0]], [[1, 2, 2, 2, 2, 2]], [[1, 0, 3, 1, 1, 0]]),
    ("F.max_pool1d(x, 2)", [[-INF, -INF, NAN, 1]], [[-INF, NAN]], [[1, 0, 1, 0]]),
    ("F.adaptive_avg_pool1d(x, 2)", [[1, 2, 3, INF]], [[1.5, INF]], [[0.5, 0.5, 0.5, 0.5]]),
    ("F.avg_pool1d(x, 2, 2, 1)", [[1, INF, 3]], [[0.5, INF]], [[0.5, 0.5, 0.5]]),
    ("F.conv1d(x, [[[1, 0]]], padding=1)", [[INF, 2, 3]], [[NAN, INF, 2, 3]], [[1, 1, 1]]),
    ("F.interpolate(x, 4, mode='linear')", [[[1, INF]]], [[[NAN, INF, INF, INF]]], [[[2, 2]]]),
    ("F.interpolate(x, scale_factor=2.3, mode='nearest-exact')", [[[1, 2, 4]]], [[[1, 1, 2, 2, 2, 4]]], [[[2, 3, 1]]]),
    ("F.grid_sample(x, [[[[1, 1], [3, 0]]]], align_corners=True)", [[[[1, 2], [3, 4]]]], [[[[4, 0]]]], [[[[0, 0], [0, 1]]]]),
    ("F.grid_sample([[[[1, 2], [3, 4]]]], x, align_corners=True, padding_mode='border')", [[[[1, 1], [3, 0], [-1, 0]]]],
     [[[[4, 3, 2]]]], [[[[0, 0], [0, 1], [0, 1]]]]),
    ("F.scaled_dot_product_attention(x, [[1], [2]], [[3], [5]], attn_mask=[[False, False], [True, "
    "False]])", [[1], [2]],
     [[0], [3]], [[0], [0]]),
    ("F.scaled_dot_product_attention(x, [[1e3], [2e3]], [[3], [5]])", [[1], [-1]], [[5], [3]], [[0], [0]]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "x", "value", "slope"), EDGES, ids=[f"{e[0]} at {e[1]}" for e in EDGES]
)
def test_values_and_gradients_at_the_edges(program: str, x: Any, value: Any, slope: Any) -> None:
    x = np.array(x, float)
    record = gradcli.evaluate(
        program, at={"x": x}, seed=np.ones(np.shape(value)), wrt=["x"], check=False
    )
    assert np.asarray(record.value) == pytest.approx(
        np.asarray(value, float), rel=1e-12, nan_ok=True
    )
    found = record.grad["x"]
    assert (np.zeros(x.shape) if found is None else np.asarray(found)) == pytest.approx(
        np.asarray(slope, float), rel=1e-9, nan_ok=True
    )


def test_equally_large_coordinates_share_the_gradient() -> None:
    record = gradcli.evaluate("cdist(x, [[0, 0]], p=inf)", at={"x": [[1.0, -1.0]]}, check=False)
    assert np.asarray(record.grad["x"]).tolist() == [[0.5, -0.5]]


def test_places_of_the_largest_entries() -> None:
    program = "F.max_pool2d(x, 2, return_indices=True)[1]"
    record = gradcli.evaluate(
        program, at={"x": [[[1.0, 3, 0, 9], [2, 3, 7, 1]]]}, seed=np.ones((1, 1, 2)), check=False
    )
    assert np.asarray(record.value).tolist() == [[[1, 3]]]


# program, bindings, the error's words
UNUSABLE: list[tuple[str, dict[str, tuple[int, ...]], str]] = [
    ("torch.mm(x, y)", {"x": (2, 3), "y": (3,)}, "needs arrays of 2 and 2 axes"),
    ("torch.dot(x, y)", {"x": (2, 2), "y": (2,)}, "needs arrays of 1 and 1 axes"),
    ("torch.addmm(z, x, y)", {"z": (3, 2, 2), "x": (2, 3), "y": (3, 2)}, "an array of shape"),
    ("tensordot(x, y, axes=1)", {"x": (2, 3), "y": (2, 3)}, "do not fit along 1"),
    ("tensordot(x, y, axes=[0, 1, 0])", {"x": (2, 3), "y": (2, 3)}, "axes must be a number or a "
    "pair"),
    ("cross(x, y)", {"x": (4,), "y": (4,)}, "vectors of 2 or 3 entries"),
    ("einsum(x, y)", {"x": (2, 3), "y": (3, 2)}, "einsum needs its subscripts as a string"),
    ("gradient(x, 1, 2, 3)", {"x": (3, 3)}, "3 spacings for 2 axes"),
    ("gradient(x, edge_order=2)", {"x": (2,)}, "at least 3 entries"),
    ("cdist(x, y)", {"x": (2, 3), "y": (2, 2)}, "rows of equally many coordinates"),
    ("cdist(x, y, p=-1)", {"x": (2, 3), "y": (2, 3)}, "p must be a number of at least 0"),
    ("torch.renorm(x, 2, 0, 1)", {"x": (3,)}, "at least 2 axes"),
    ("average(x, weights=y)", {"x": (2, 3), "y": (3,)}, "weights of shape (3,)"),
    ("convolve(x, y, 'other')", {"x": (3,), "y": (2,)}, "mode must be"),
    ("interp(x, y, y, period=1)", {"x": (3,), "y": (2,)}, "a period is not supported"),
    ("F.conv1d(x, w)", {"x": (1, 3, 5), "w": (2, 2, 2)}, "images of 3 channels do not fit filters "
    "for 2"),
    ("F.conv1d(x, w, stride=2, padding='same')", {"x": (1, 2, 5), "w": (2, 2, 2)}, "needs a "
    "stride of 1"),
    ("F.conv1d(x, w, groups=2)", {"x": (1, 2, 5), "w": (3, 1, 2)}, "3 channels do not fall into 2 "
    "groups"),
    ("F.conv2d(x, w)", {"x": (1, 2, 2, 2), "w": (1, 2, 3, 3)}, "no window of size (3, 3) fits "
    "into the axes (2, 2)"),
    ("F.conv_transpose1d(x, w, output_padding=1)", {"x": (1, 2, 5), "w": (2, 2, 2)}, "output_padding must be smaller"),
    ("F.max_pool1d(x, 2, padding=2)", {"x": (1, 6)}, "at most half of the kernel_size"),
    ("F.avg_pool2d(x, 3)", {"x": (1, 2, 2)}, "no window of size (3, 3) fits"),
    ("F.avg_pool2d(x, 2, divisor_override=0)", {"x": (1, 2, 2)}, "divisor_override must not be 0"),
    ("F.fold(x, (4, 5), 2)", {"x": (2, 8, 11)}, "does not hold 12 windows"),
    ("F.interpolate(x)", {"x": (1, 1, 3)}, "either size or scale_factor"),
    ("F.interpolate(x, 4, mode='bilinear')", {"x": (1, 1, 3)}, "does not take an array"),
    ("F.interpolate(x, 4, mode='cubic')", {"x": (1, 1, 3)}, "mode must be one of"),
    ("F.interpolate(x, 4, align_corners=True)", {"x": (1, 1, 3)}, "align_corners goes with"),
    ("F.pixel_shuffle(x, 2)", {"x": (3, 2, 2)}, "cannot reshape"),
    ("F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)", {"x": (2, 2)}, "dropout is random"),
    ("F.scaled_dot_product_attention(x, x, x, x, is_causal=True)", {"x": (2, 2)}, "attn_mask must "
    "be None"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "shapes", "words"), UNUSABLE, ids=[e[0] for e in UNUSABLE])
def test_unusable_arguments(program: str, shapes: dict[str, tuple[int, ...]], words: str) -> None:
    with pytest.raises(GradcliError) as error:
        gradcli.evaluate(
            program,
            at={name: np.ones(shape) for name, shape in shapes.items()},
            check=False,
            wrt=[],
        )
    assert words in error.value.message
