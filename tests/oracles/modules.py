"""How PyTorch's classes of torch.nn that are functions are made:

``python -m oracles.modules`` in tests/ asks it and writes that.

What is written, ``modules.txt``, has a line for each class: its constructor as Python has it.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from gradcli.ops.calling.meanings import Class, class_of
from gradcli.ops.calling.prefixes import TORCH

WRITTEN = Path(__file__).parent / "modules.txt"


def lines(torch: Any) -> list[str]:
    found = []
    for name in sorted(n for n in dir(torch.nn) if isinstance(class_of(n, TORCH), Class)):
        cls = getattr(torch.nn, name)
        plain = cls.__init__ is torch.nn.Module.__init__
        parameters = [
            p
            for p in inspect.signature(cls).parameters.values()
            if p.name not in ("device", "dtype") and not plain
        ]
        if name == "Identity":
            found.append("Identity(*args, **kwargs)")
            continue
        written = ", ".join(
            p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters
        )
        found.append(f"{name}({written})")
    return found


def main() -> None:
    import torch

    WRITTEN.write_text("\n".join(lines(torch)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
