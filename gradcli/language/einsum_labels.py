"""einsum with lists of labels in the place of letters: ``np.einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

from __future__ import annotations

from typing import Any

from gradcli.errors import ArgumentError
from gradcli.language.scope import Builder

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def labelled(builder: Builder, arguments: list[Any]) -> tuple[str, list[Any]]:
    """einsum's subscripts and operands of ``a, [0, 1], b, [1, 2], [0, 2]``. Raises ArgumentError for labels that are no whole numbers."""
    operands, lists = list(arguments[: len(arguments) // 2 * 2 : 2]), list(arguments[1::2])
    output = arguments[-1] if len(arguments) % 2 else None
    text = ",".join(_labels(builder, labels) for labels in lists)
    return (text if output is None else f"{text}->{_labels(builder, output)}"), operands


def _labels(builder: Builder, labels: Any) -> str:
    if not isinstance(labels, (list, tuple)):
        raise ArgumentError("einsum's labels are lists of whole numbers", help="write einsum('ij,jk->ik', a, b)")
    text = []
    for label in labels:
        number = None if label is ... else builder.integer(label, "a label of einsum")
        if number is not None and not 0 <= number < len(_LETTERS):
            raise ArgumentError(f"a label of einsum is from 0 to {len(_LETTERS) - 1}, not {number}")
        text.append("..." if number is None else _LETTERS[number])
    return "".join(text)
