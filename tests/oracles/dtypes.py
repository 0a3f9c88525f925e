"""Which dtypes results have, and which values where whole numbers meet:

``python -m oracles.dtypes`` in tests/ asks PyTorch.

Needs PyTorch; the tests need what is recorded (data/dtypes.json.gz).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

from recorded import DATA, write

RECORDED = "dtypes.json"

DTYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
LETTERS = dict(
    zip(DTYPES, "ubsilthgfd", strict=True)
)  # a result's dtype in a table; ! where PyTorch raises an error
NUMBERS = (True, 3, 2.5)

# Texts of two operands of any dtype and category (tensors, tensors without axes, Python's numbers), of
# one tensor (the dtype, and the entries where they are whole numbers), and of numbers alone.
_TEXTS = [line.split(": ", 1) for line in (DATA / "dtypes.txt").read_text("utf-8").splitlines()]
PAIRS, ALONE, NONE = (
    [text for kind, text in _TEXTS if kind == wanted] for wanted in ("pairs", "alone", "none")
)


def operands(torch: Any) -> list[Any]:
    """Tensors, tensors without axes and numbers."""
    kinds = [getattr(torch, name) for name in DTYPES]
    return [
        *(torch.tensor([3, 2]).to(d) for d in kinds),
        *(torch.tensor(3).to(d) for d in kinds),
        *NUMBERS,
    ]


def found(torch: Any, text: str, **names: Any) -> Any:
    """What an expression gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, {"torch": torch, "F": torch.nn.functional, **names})


def letter(torch: Any, text: str, x: Any, y: Any) -> str:
    """The dtype of the result as a letter, ! for an error, # for what has no dtype."""
    try:
        result = found(torch, text, x=x, y=y)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        IndexError,
        ZeroDivisionError,
        OverflowError,
        AttributeError,
    ):
        return "!"
    kind = str(getattr(result, "dtype", result)).removeprefix("torch.")
    return LETTERS.get(kind, "#")


def rows(torch: Any, text: str) -> list[str]:
    """A row for each left operand, with a letter for each right operand; numbers on the left meet
    tensors only.
    """
    several = operands(torch)
    return [
        "".join(
            letter(torch, text, x, y)
            for y in (several if hasattr(x, "dtype") else several[: 2 * len(DTYPES)])
        )
        for x in several
    ]


def answers(torch: Any, text: str) -> Iterator[Any]:
    """For each dtype, the dtype and the entries of the result, or the kind of error."""
    for name in DTYPES:
        x = torch.tensor([3, 0, 2, 1]).to(getattr(torch, name))
        yield answer(torch, text, x=x)


def answer(torch: Any, text: str, **names: Any) -> Any:
    try:
        result = found(torch, text, **names)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        AttributeError,
    ) as error:
        kinds = (
            AttributeError,
            IndexError,
            NotImplementedError,
            TypeError,
            ValueError,
            OverflowError,
            RuntimeError,
        )
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    if not hasattr(result, "dtype"):
        return repr(result)
    entries = result.detach().reshape(-1).tolist()
    if result.dtype.is_floating_point:
        entries = [
            repr(entry) if entry != entry or abs(entry) == float("inf") else float(f"{entry:.3g}")
            for entry in entries
        ]
    return [str(result.dtype).removeprefix("torch."), entries]


def main() -> None:
    import torch

    tables = {text: rows(torch, text) for text in PAIRS}
    alone = {text: list(answers(torch, text)) for text in ALONE}
    none = {text: answer(torch, text) for text in NONE}
    write(
        RECORDED,
        "{\n" + ",\n".join(f"{json.dumps(k)}: {{\n" + ",\n".join(f"{json.dumps(t)}: "
        f"{json.dumps(v)}" for t, v in part.items()) + "\n}"
                           for k, part in (("pairs", tables), ("alone", alone), ("none", none))) + "\n}\n"
    )  # fmt: skip


if __name__ == "__main__":
    main()
