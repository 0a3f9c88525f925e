"""The arrays that calls are made with, under the names that their texts use.

``U`` goes over the line from -inf to inf, ``X Y Z`` over pairs and triples; V W are vectors, M N
matrices of both signs, Q R P probabilities, S symmetric and positive definite, A neither, T of
three axes, C tall, D with NaNs, O with ties, H a batch of matrices like S, I an image; K J L are
whole numbers, B G masks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SIZES = [
    1e-300,
    1e-8,
    0.001,
    0.2,
    0.5,
    0.7,
    0.9,
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    7.25,
    20.0,
    30.5,
    710.5,
    1e100,
]
_PAIRS = [
    (0.7, 1.3), (-0.7, 2.0), (2.0, 0.5), (-2.0, -2.0), (3.0, 3.0), (3.5, -2.0), (-3.5, 2.0), (7.25, 0.5), (-7.25, -0.5), (0.0, 0.0),
    (0.0, 2.0), (1.0, 0.0), (-1.0, -1.5), (0.5, 0.5), (0.5, -0.5), (1e-8, 2.0), (-1e-8, 3.0), (1e100, 0.5), (30.0, 40.0), (-30.0, 1.5),
    (2.5, 2.5), (5.0, 3.0), (100.0, -1.0), (0.2, 0.7), (np.inf, 2.0), (np.nan, 1.0), (1.5, np.nan),
]  # fmt: skip

_TABLE: dict[str, Any] = {
    "U": [-np.inf, *[-x for x in reversed(_SIZES)], 0.0, *_SIZES, np.inf, np.nan],
    "X": [x for x, _ in _PAIRS],
    "Y": [y for _, y in _PAIRS],
    "Z": [0.3, 0.0, 1.0, -0.5, 2.0, 0.7, 0.25, -1.5, 0.9] * 3,
    "V": [0.7, -0.2, 0.45],
    "W": [0.3, -0.9, 0.6],
    "Q": [0.2, 0.65, 0.9],
    "R": [0.35, 0.1, 0.8],
    "M": [[0.5, -1.25, 2.75], [-0.875, 1.5, 0.375]],
    "N": [[1.4, 0.8, -0.6], [-0.3, -2.6, 0.9]],
    "P": [[0.15, 0.6, 0.35], [0.8, 0.45, 0.7]],
    "S": [[2.0, 0.5, -0.25], [0.5, 3.0, 0.125], [-0.25, 0.125, 4.0]],
    "A": [[0.5, 2.0, -1.0], [1.5, -0.75, 0.25], [-2.0, 1.0, 3.0]],
    "T": (np.arange(24).reshape(2, 3, 4) * 7 % 24 - 11.25) / 8,
    "C": [[0.6, -0.4], [1.1, 0.9], [-0.7, 0.3]],
    "D": [[0.5, np.nan, -1.5], [np.nan, 2.0, 0.25]],
    "O": [2.0, -1.0, 2.0, 0.5, -1.0, 2.0],
    "H": [
        [[2.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 3.0]],
        [[1.5, -0.5, 0.5], [-0.5, 2.5, 0.0], [0.5, 0.0, 1.25]],
    ],
    "I": (np.arange(32).reshape(1, 2, 4, 4) * 13 % 32 - 14.75) / 16,
    "K": [0, 2, 1],
    "J": [[0, 1, 0], [1, 1, 0]],
    "L": [2, 0],
    "B": [[True, False, True], [False, True, True]],
    "G": [True, False, True],
}
VALUES: dict[str, np.ndarray] = {name: np.array(value) for name, value in _TABLE.items()}

VALUES.update({name: VALUES[name].astype(np.int64) for name in "KJL"})
