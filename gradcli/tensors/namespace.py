"""PyTorch's top-level names: what ``import gradcli as torch`` offers, each made when it is first asked for."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from gradcli.tensors import creation, display, dtypes, functions, generator, modes
from gradcli.tensors.host import known, missing
from gradcli.tensors.tensor import Tensor

_PUBLIC = {
    creation: (
        "tensor", "as_tensor", "from_numpy", "zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full", "full_like", "eye",
        "arange", "linspace", "logspace", "rand", "randn", "rand_like", "randn_like", "randint", "randperm", "normal",
    ),
    modes: (
        "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    ),
    generator: ("Generator", "manual_seed", "initial_seed", "seed", "default_generator"),
    display: ("set_printoptions", "get_printoptions", "printoptions"),
    dtypes: ("dtype", "Size", "set_default_dtype", "get_default_dtype"),
}  # fmt: skip
NAMES: dict[str, Any] = {
    **{name: getattr(module, name) for module, names in _PUBLIC.items() for name in names},
    **dtypes.NAMES, **functions.OWN, "Tensor": Tensor, "device": creation.device, "where": functions.where,
    "asarray": creation.as_tensor, "scalar_tensor": creation.tensor,
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "strided": "torch.strided",
    "cuda": SimpleNamespace(is_available=lambda: False, device_count=lambda: 0),
}  # fmt: skip


def resolve(name: str, where: str = "torch") -> Any:
    """The value of a name of PyTorch's. Raises AttributeError, by name, for what gradcli does not have."""
    if name in NAMES:
        return NAMES[name]
    if name.startswith("_"):
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    if name.endswith("_") and known(name[:-1]) is not None:
        return lambda x, *arguments, **keywords: getattr(x, name)(*arguments, **keywords)
    return functions.function(name, where)


__all__ = ["NAMES", "missing", "resolve"]
