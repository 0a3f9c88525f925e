"""Arguments of NumPy's functions, and values of their keywords: for every function that NumPy hands
to other libraries' arrays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from text_tables import read_table

ARRAYS = {
    "x": np.array([[1.4, -2.2, 3.1], [4.3, 0.6, -5.7]]),
    "y": np.array([[0.7, 1.1, -0.4], [2.0, -1.3, 0.9]]),
    "p": np.array([[0.2, 0.35, 0.52], [0.6, 0.15, 0.8]]),
    "q": np.array([[0.3, 0.25, 0.4], [0.7, 0.9, 0.45]]),
    "s": np.array([[4.0, 1.0], [1.0, 3.0]]),
    "v": np.array([0.5, 2.0, 3.5]),
    "w": np.array([1.0, 2.0, 3.0]),
    "c": np.array(2.5),
}
OTHERS = {
    "m": ARRAYS["x"] > 0,
    "i": np.array([[0, 2, 1], [1, 0, 2]]),
    "k": np.array([0, 1, 0]),
    "np": np,
    "inf": np.inf,
}

_DATA = Path(__file__).parent / "data"
ARGUMENTS, KEYWORDS = (
    read_table(_DATA / f"numpy_{name}.txt") for name in ("arguments", "keywords")
)
