"""gradcli: the gradient calculator for the terminal and for CI.

>>> import gradcli
>>> record = gradcli.evaluate("3*a**3 - b**2", a=[2, 3], b=[6, 4], seed=[1, 1])
>>> record.grad["a"]
array([36., 81.])
>>> record.derivative["a"]
'9*a**2'

Formulas need no values:

>>> gradcli.differentiate("x^2*y", order=2).derivative["x"]
{'x': '2*y', 'y': '2*x'}

The tensors of PyTorch's tutorials are here, too, under PyTorch's names:

>>> import gradcli as torch
>>> a = torch.tensor([2., 3.], requires_grad=True)
>>> Q = 3*a**3
>>> Q.sum().backward()
>>> a.grad
tensor([36., 81.])
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gradcli.api import differentiate, evaluate, explain, parse
    from gradcli.errors import GradcliError

__all__ = ["GradcliError", "differentiate", "evaluate", "explain", "parse"]

_SUBMODULES = frozenset({"api", "autograd", "errors", "func", "linalg", "nn", "special"})


def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for: the API, so that the command line looks after signals before it imports anything,
    and PyTorch's names."""
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"gradcli.{name}")
    if name in __all__:
        from gradcli import api, errors

        found = globals()[name] = getattr(errors if name == "GradcliError" else api, name)
        return found
    if name == "__version__":
        from importlib.metadata import version

        return version("gradcli")
    if name in ("value_and_grad", "compile"):
        from gradcli.query import compiled

        return getattr(compiled, name)
    if name.startswith("__"):
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    from gradcli.tensors.torch.namespace import resolve

    found = globals()[name] = resolve(name)  # the next time, Python finds it by itself
    return found
