"""Functions of the catalogue under NumPy's names on tensors, beside arrays, lists and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.spec import Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST
from gradcli.tensors.dispatch.library_calls import call, known

# What NumPy computes in doubles, where PyTorch keeps whole numbers, or refuses them.
_IN_DOUBLES = frozenset({"average", "corrcoef", "cov", "fabs", "float_power", "modf", "rint"})


def called(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], function: Any) -> Any:
    """A function of NumPy's, by its name or by that in a part of it. Raises TypeError, by name, for what there is not."""
    found = known(name, NUMPY)
    if found is None:
        module = getattr(function, "__module__", None) or "numpy"
        raise TypeError(f"gradcli has no {module}.{function.__name__} on tensors; tensor.detach().numpy() is the array")
    record = found[0]
    if name in _IN_DOUBLES:
        arguments = tuple([_float(a) for a in arguments])
        keywords = {key: value if key == "out" else _float(value) for key, value in keywords.items()}
    if isinstance(record, Op) and record.torch.refuses is not None and not record.facts.integral:
        arguments = tuple([_float(a) for a in arguments])
        if keywords.get("dtype") is not None and np.dtype(keywords["dtype"]).kind not in dtypes.FLOATS:
            raise UnreadArgumentError(f"{name} of tensors does not support dtype={keywords['dtype']}", help="give a dtype of floats")
    keywords = {k: v for k, v in keywords.items() if v is not np._NoValue and not (k == "where" and v is True)}
    if isinstance(keywords.get("dtype"), str):
        keywords["dtype"] = np.dtype(keywords["dtype"])
    out = keywords.get("out")
    if isinstance(out, np.ndarray):
        result = called(name, arguments, {k: v for k, v in keywords.items() if k != "out"}, function)
        if not isinstance(result, Tensor) or result.requires_grad:
            raise RuntimeError(
                "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
            )
        out[...] = result.array
        return out
    return call(name, NUMPY, tuple([_strong(a) for a in arguments]), {k: _strong(v) for k, v in keywords.items()})


def by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    """A function of NumPy's by its name alone."""
    return called(name, arguments, keywords, getattr(np, name))


def refuse(name: str, **given: Any) -> None:
    """Refuse, by name, keywords that would change what is computed."""
    for keyword, value in given.items():
        if value is not None and value is not np._NoValue:
            raise UnreadArgumentError(f"{name} of tensors does not support {keyword}={value!r}", help="leave it out")


def tensor_of(argument: Any) -> Any:
    """A tensor of an array, a number, or nested lists, whose gradients pass."""
    return as_tensor(NUMPY_HOST.value(argument))


def plain(argument: Any) -> Any:
    """Arrays in the place of tensors, also in lists and tuples."""
    if isinstance(argument, Tensor):
        return argument.array
    return type(argument)(map(plain, argument)) if type(argument) in (list, tuple) else argument


def _strong(argument: Any) -> Any:
    return as_tensor(argument) if isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub" else argument


def _float(argument: Any) -> Any:
    """NumPy's means of whole numbers are floats."""
    whole = isinstance(argument, Tensor) and argument.array.dtype.kind in "iub"
    return argument.to(dtypes.float64) if whole else argument
