"""Values of the program as multi-precision numbers, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, constant_value
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.constants import Constant

Array = np.ndarray


def exact_array(m: Any, value: Any, kind: str) -> Array:
    """Binary floats as multi-precision numbers, exactly; booleans and indices as they are."""
    array = np.asarray(value)
    out = np.empty(array.size, dtype=object)
    make: Any = {"bool": bool, "int": int}.get(kind) or (lambda v: m.mpf(float(v)))
    out[:] = [make(v) for v in array.ravel()]
    return out.reshape(array.shape)


def constant_array(m: Any, node: Expr, precision: str) -> Array:
    """A constant node: pi and its like to full precision, literals as the binary numbers that the engine saw."""
    if isinstance(node.payload, Constant):
        out = np.empty((), dtype=object)
        out[()] = node.payload.reference(m)
        return out
    return exact_array(m, constant_value(node.payload, numpy_dtype("float", precision), node.kind), node.kind)
