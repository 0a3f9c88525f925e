"""The arrays that calls are made with, under the names that their texts use: data/values.json.

``U`` goes over the line from -inf to inf, ``X Y Z`` over pairs and triples; V W are vectors, M N
matrices of both signs, Q R P probabilities, S symmetric and positive definite, A neither, T of
three axes, C tall, D with NaNs, O with ties, H a batch of matrices like S, I an image; K J L are
whole numbers, B G masks.
"""

from __future__ import annotations

import numpy as np
from recorded import read_table

VALUES: dict[str, np.ndarray] = {
    name: np.array(value) for name, value in read_table("values.json").items()
}
