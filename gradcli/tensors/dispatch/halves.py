"""Functions of floats of 16 bits that are made of operations: these compute in float32, and the results alone are rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.spec import Composite
from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.dtypes import float32
from gradcli.tensors.core.halves import is_half
from gradcli.tensors.core.tensor import Tensor


def in_float32(record: Composite, operands: list[Any], apply: Callable[[list[Any]], Any]) -> Any:
    """What a function gives of operands in float32, in the dtype that they had; None where it is to compute with them as they are.

    It is where a result shows an operand's memory: such functions move entries, and round nothing.
    """
    if record.torch.shares or record.torch.region or record.torch.sealed or record.torch.format:
        return None
    given: list[tuple[Tensor, Tensor]] = []

    def wide(operand: Any) -> Any:
        if isinstance(operand, list):
            return [wide(part) for part in operand]
        if not isinstance(operand, Tensor) or not is_half(operand.array.dtype):
            return operand
        given.append((operand, cast(operand, float32.numpy)))
        return given[-1][1]

    result = apply([wide(operand) for operand in operands])
    kind = given[0][0].array.dtype
    parts = result if isinstance(result, tuple) else (result,)
    if any(np.may_share_memory(part.array, x.array) for part in parts if isinstance(part, Tensor) for _, x in given):
        return None
    rounded = tuple([_rounded(part, kind) for part in parts])
    return rounded if isinstance(result, tuple) else rounded[0]


def _rounded(part: Any, kind: np.dtype[Any]) -> Any:
    if not isinstance(part, Tensor) or part.dtype is not float32:
        return part
    result = cast(part, kind)
    if result.node is not None and part.node is not None:
        result.node.label = part.node.label
    return result
