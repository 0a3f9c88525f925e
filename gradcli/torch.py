"""PyTorch's names: ``import gradcli.torch as torch``."""

from importlib import import_module
from typing import Any

from gradcli.tensors.torch.namespace import names, resolve

_MODULES = {"autograd", "func", "linalg", "nn", "special", "testing"}


def __getattr__(name: str) -> Any:
    return import_module(f"gradcli.{name}") if name in _MODULES else resolve(name)


def __dir__() -> list[str]:
    return sorted(names() | _MODULES)
