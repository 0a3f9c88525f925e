"""Records the keywords of the libraries' own signatures, and what PyTorch makes of the calls:

``python -m keywords.record`` in tests/.

Needs NumPy, SciPy and PyTorch; the tests need what is recorded (data/keywords.json.gz) and the first
two.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
from recorded import write

from gradcli.errors import GradcliError
from gradcli.language import calls as language
from gradcli.language.calls import exists, is_method
from gradcli.ops.calling.prefixes import canonical, owner
from keywords.calls import VALUES, call_of, candidates, plain, run, templates

TARGET = "keywords.json"
_UFUNC = ("out", "where", "casting", "order", "dtype", "subok")
_HIDDEN = {
    "pad": ("constant_values", "reflect_type", "stat_length", "end_values")
}  # behind **kwargs
_NO_KEYWORD = frozenset(
    {"self", "args", "kwargs", "arrays", "operands", "tensors", "shape_", "mod"}
)


def keywords_of(function: Any, name: str) -> list[str]:
    """The names that a function's parameters have, as its signature or its documentation says."""
    found: list[str] = []
    if isinstance(function, np.ufunc):
        found += _UFUNC
    with contextlib.suppress(ValueError, TypeError):
        parameters = inspect.signature(function).parameters.values()
        found += [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for listed in re.findall(
        rf"^(?:\.\. (?:function|method):: )?{name}\((.*?)\) ?(?:->|$)",
        function.__doc__ or "",
        re.MULTILINE,
    ):
        found += [
            part.split("=")[0].split(":")[0].strip(" *[]")
            for part in listed.replace("[", "").split(",")
        ]
    found += _HIDDEN.get(name, ())
    return sorted(
        {
            word
            for word in found
            if word.isidentifier() and word not in _NO_KEYWORD and not word.startswith("__")
        }
    )


def signatures(torch: Any) -> dict[str, dict[str, list[str]]]:
    modules: dict[str, Any] = {
        "np": np, "np.linalg": np.linalg, "scipy.special": scipy.special, "scipy.linalg": scipy.linalg, "torch": torch,
        "F": torch.nn.functional, "torch.linalg": torch.linalg, "torch.special": torch.special, "ndarray": np.ndarray,
        "Tensor": torch.Tensor,
    }  # fmt: skip
    found: dict[str, dict[str, list[str]]] = {}
    for prefix, module in modules.items():
        found[prefix] = {}
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if (
                name.startswith("_")
                or not callable(function)
                or isinstance(function, (type, ModuleType))
            ):
                continue
            if (
                is_method(name)
                if prefix in ("ndarray", "Tensor")
                else exists(name, owner(canonical(prefix)))
            ):
                words = keywords_of(function, name)
                if words:
                    found[prefix][name] = words
    return found


def recorded(torch: Any, known: dict[str, dict[str, list[str]]]) -> dict[str, Any]:
    """What PyTorch makes of calls that gradcli takes."""
    env = {"torch": torch, "F": torch.nn.functional, "inf": float("inf")}

    def value(text: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(
                eval(text, {**env, **{name: torch.tensor(array) for name, array in VALUES.items()}})
            )

    found: dict[str, Any] = {}
    for prefix in ("torch", "F", "torch.linalg", "torch.special", "Tensor"):
        shown = "" if prefix == "Tensor" else prefix
        for name, words in known[prefix].items():
            if name in ("rand", "randn"):
                continue
            fitting = []
            for arguments in templates(name):
                text = call_of(shown, name, arguments)
                with contextlib.suppress(Exception):
                    wanted = value(text)
                    run(text)
                    found[text] = wanted
                    fitting.append(arguments)
                    if len(fitting) == 2:
                        break
            for arguments in fitting:
                for word in words:
                    for given in candidates(word, "torch"):
                        text = call_of(shown, name, arguments, word, given)
                        try:
                            run(text)
                        except GradcliError:
                            continue
                        with contextlib.suppress(Exception):
                            found[text] = value(text)
    return found


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def main() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    known = signatures(torch)
    values = rounded(recorded(torch, known))
    versions = {"numpy": np.__version__, "scipy": scipy.__version__, "torch": torch.__version__}
    lines = [f'"versions": {json.dumps(versions)}']
    for title, table in (("signatures", known), ("torch", values)):
        rows = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(part, separators=(',', ':'))}"
            for key, part in table.items()
        )
        lines.append(f'"{title}": {{\n{rows}\n}}')
    write(TARGET, "{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    assert language
    main()
