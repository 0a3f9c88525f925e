"""How PyTorch's classes of torch.nn that are functions are made and shown: ``python -m oracles.modules`` in tests/ asks it and writes that.

The package has what is written, ``tensors/torch/modules.txt``: a line for each class, its constructor as Python has it, and after ``->``
what stands between the brackets of an object's text.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import gradcli
from gradcli.ops.calling.classes import Class, class_of
from gradcli.ops.calling.prefixes import TORCH

WRITTEN = Path(gradcli.__file__).parent / "tensors" / "torch" / "modules.txt"
_RANDOM = ("AlphaDropout", "FeatureAlphaDropout")
_SAMPLES = {"padding": 2, "unflattened_size": (2, 3), "output_size": 3, "dim": 1, "value": 3.5, "threshold": 0.25}


def shown(made: Any, names: list[str]) -> str:
    """What an object says of itself, with its attributes in braces."""
    text: str = made.extra_repr()
    for name in names:
        value = getattr(made, name, None)
        text = re.sub(rf"\b{name}={re.escape(repr(value))}(?=$|,)", f"{name}={{{name}!r}}", text)
        text = re.sub(rf"\b{name}={re.escape(str(value))}(?=$|,)", f"{name}={{{name}}}", text)
    first = next((n for n in names if text.startswith(str(getattr(made, n, None))) and "=" not in text.split(",")[0]), None)
    return text if first is None else text.replace(str(getattr(made, first)), f"{{{first}}}", 1)


def lines(torch: Any) -> list[str]:
    found = []
    for name in sorted(n for n in dir(torch.nn) if isinstance(class_of(n, TORCH), Class) or n in _RANDOM):
        cls = getattr(torch.nn, name)
        plain = cls.__init__ is torch.nn.Module.__init__
        parameters = [p for p in inspect.signature(cls).parameters.values() if p.name not in ("device", "dtype") and not plain]
        if name == "Identity":
            found.append("Identity(*args, **kwargs) -> ")
            continue
        given = {p.name: _SAMPLES.get(p.name, 2) for p in parameters if p.default is p.empty}
        if "scale_factor" in [p.name for p in parameters]:
            given["scale_factor"] = 2.0
        made, names = cls(**given), [p.name for p in parameters]
        text = shown(made, names)
        if "inplace" in names and "inplace" not in text:
            text += "{inplace}"  # where it is true
        written = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)
        found.append(f"{name}({written}) -> {text}")
    return found


def main() -> None:
    import torch

    WRITTEN.write_text("\n".join(lines(torch)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
