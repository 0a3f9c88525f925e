"""What PyTorch prints of calls of functions that are about tensors:

``python -m oracles.pytorch_names`` in tests/ asks it and writes that.

Each line of ``data/pytorch_names.json`` has statements and an expression, with ``;`` between them,
run with the seed 0, and what PyTorch printed of the expression, or the type of the error; of a line
that is new an empty text.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"
WRITTEN = DATA / "pytorch_names.json"


def recorded() -> dict[str, str]:
    found: dict[str, str] = json.loads(WRITTEN.read_text("utf-8"))
    return found


def printed(line: str, torch: Any, functional: Any) -> str:
    """The text of a line's expression; of an error the names of Python's types that it is of, and
    an exclamation mark.
    """
    *statements, expression = line.split(";")
    names = {"torch": torch, "F": functional, "nan": float("nan"), "inf": float("inf")}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(part.strip() for part in statements), names)
            return repr(eval(expression.strip(), names))
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
            return f"{' '.join(kinds)}!"


def main() -> None:
    import torch

    found = {line: printed(line, torch, torch.nn.functional) for line in recorded()}
    found = {
        line: f"{text.split()[0]}!" if text.endswith("Exception BaseException object!") else text
        for line, text in found.items()
    }
    WRITTEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
