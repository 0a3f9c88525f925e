"""What other libraries make of the examples of `gradcli functions`:

``python -m witness.examples`` in tests/ records it.

Recording needs PyTorch; the tests need what is recorded (data/examples.json). A value is NumPy's,
SciPy's, PyTorch's or mpmath's, a gradient PyTorch's where it has the function, and else made of
differences of the values; `source` says which.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from witness import WORDS
from witness.numpy_values import AsArrays, Unusable, gradients, value_of

DATA = Path(__file__).parent.parent / "data" / "examples.json"


class Known(NamedTuple):
    """What others say of an example, and who."""

    value: Any
    grad: dict[str, Any]
    source: str


def recorded() -> dict[str, Known]:
    """By the example's text and its values."""
    return {key: Known(**entry) for key, entry in json.loads(DATA.read_text()).items()}


def key_of(text: str, at: Mapping[str, Any]) -> str:
    return f"{text} at {', '.join(f'{name}={json.dumps(value)}' for name, value in at.items())}"


# Where a name is NumPy's and SciPy's, it is NumPy's; where it is neither's, PyTorch or mpmath are
# asked.
_MODULES = (special, linalg, np.linalg)
SCIPY = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if callable(value) and not hasattr(np, name)
}
_OF_PYTORCH = frozenset({"kl_div"})  # bare, whatever SciPy has under the name
_MPMATH = WORDS["mpmath"]


def _index_put(x: Any, index: Any, values: Any) -> Any:
    found = np.array(x)
    found[index] = values
    return found


# What neither library has, or refuses to call like this, in NumPy's words.
_WRITTEN: dict[str, Callable[..., Any]] = {
    "take_along": lambda x, index: np.take_along_axis(x, index, 0),
    "sum_to_size": np.sum,
    "index_put": _index_put,
    "linear": lambda x, w, b: x @ w + b,
    "bernoulli_nll": lambda p, target: -np.log(np.where(target == 1, p, 1 - p)),
    "soft_margin_loss": lambda x, target: np.mean(np.log1p(np.exp(-target * x))),
    "cross_entropy": lambda x, label: np.log(np.sum(np.exp(x))) - x[label],
}
# Where PyTorch's gradient is not that of its own values, and why.
_WITHOUT_GRADIENT = {
    "hardsigmoid(x)": "PyTorch has 1/6 in single precision",
}


def by_numpy(text: str, at: Mapping[str, Any]) -> Known:
    values = {
        name: np.asarray(value, float)[()] if name not in _WHOLE else np.asarray(value)
        for name, value in at.items()
    }
    if any(name in text for name in _OF_PYTORCH):
        raise Unusable("another function of this name is meant")
    given = {**SCIPY, **_WRITTEN, **values}
    value = value_of(text, given)
    moved = {name: array for name, array in values.items() if name not in _WHOLE}
    seed = np.ones(value.shape)
    slopes = gradients(text, moved, seed, {k: v for k, v in given.items() if k not in moved})
    return Known(
        value.tolist(),
        {name: slope.tolist() for name, slope in slopes.items()},
        "NumPy and SciPy, differences",
    )


_WHOLE = frozenset({"index", "mask"})


class _Pytorch(AsArrays):
    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        node.arg = {"axis": "dim", "keepdims": "keepdim"}.get(node.arg or "", node.arg)
        return node


def by_pytorch(text: str, at: Mapping[str, Any]) -> Known:
    try:
        return _by_pytorch(text, at, integers=True)
    except RuntimeError:  # numbers without a dot where it wants floats
        return _by_pytorch(text, at, integers=False)


def _by_pytorch(text: str, at: Mapping[str, Any], integers: bool) -> Known:
    import torch

    def array(*items: Any) -> Any:
        found = [
            item if isinstance(item, torch.Tensor) else torch.tensor(np.asarray(item))
            for item in items
        ]
        whole = integers and not any(item.is_floating_point() for item in found)
        return torch.stack([item if whole else item.to(torch.float64) for item in found])

    functional = torch.nn.functional
    found: dict[str, Any] = {}
    for module in (torch.Tensor, torch.linalg, torch.special, torch, functional):
        found.update(
            {
                name: getattr(module, name)
                for name in dir(module)
                if name[0] != "_" and callable(getattr(module, name))
            }
        )
    leaves = {
        name: torch.tensor(
            np.asarray(value), dtype={"index": torch.int64, "mask": torch.bool}[name]
        )
        if name in _WHOLE
        else torch.tensor(np.asarray(value, float), requires_grad=True)
        for name, value in at.items()
    }
    names = {
        **found,
        "torch": torch,
        "F": functional,
        "math": math,
        "pi": math.pi,
        "e": math.e,
        "_array": array,
        **leaves,
    }
    tree = ast.fix_missing_locations(_Pytorch().visit(ast.parse(text, mode="eval")))
    result = eval(compile(tree, "<example>", "eval"), names)
    if not isinstance(result, torch.Tensor):
        raise Unusable("no tensor")
    moved = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    slopes: dict[str, Any] = {}
    if result.requires_grad and text not in _WITHOUT_GRADIENT:
        made = torch.autograd.grad(result.sum(), list(moved.values()), allow_unused=True)
        slopes = {
            name: (torch.zeros_like(leaf) if s is None else s).tolist()
            for (name, leaf), s in zip(moved.items(), made, strict=True)
        }
    return Known(result.detach().double().tolist(), slopes, f"PyTorch {torch.__version__}")


def by_mpmath(text: str, at: Mapping[str, Any]) -> Known:
    """A call of one of mpmath's functions, entry by entry, and its derivatives."""
    import mpmath

    call = ast.parse(text, mode="eval").body
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.func.id not in _MPMATH
    ):
        raise Unusable("not mpmath's")
    function = getattr(mpmath, _MPMATH[call.func.id])
    operands = [ast.unparse(argument) for argument in call.args]
    columns = np.broadcast_arrays(
        *[np.asarray(at[o] if o in at else float(o), float) for o in operands]
    )
    apply: Callable[..., Any] = np.vectorize(
        lambda *entries: float(function(*map(mpmath.mpf, entries))), otypes=[float]
    )
    slopes = {}
    with mpmath.workdps(30):
        for i, operand in enumerate(operands):
            if operand in at:
                order = tuple(int(i == k) for k in range(len(operands)))
                slope = np.vectorize(
                    lambda *entries, order=order: float(mpmath.diff(function, entries, order)),
                    otypes=[float],
                )
                slopes[operand] = _summed(slope(*columns), np.shape(at[operand])).tolist()
    return Known(apply(*columns).tolist(), slopes, f"mpmath {mpmath.__version__}")


def _summed(slope: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return slope if slope.shape == shape else np.asarray(slope.sum()).reshape(shape)


WAYS = {"NumPy": by_numpy, "PyTorch": by_pytorch, "mpmath": by_mpmath}


def known(text: str, at: Mapping[str, Any]) -> Known | None:
    """What the libraries say; where two of them have a value, it is the same one.

    PyTorch's gradient is the best.
    """
    found: dict[str, Known] = {}
    for name, way in WAYS.items():
        try:
            found[name] = way(text, at)
        except Exception as error:  # whatever a library says of what it does not have
            print(f"  {name} has no {text}: {type(error).__name__} {str(error)[:80]}")
    if (
        "NumPy" in found
        and "PyTorch" in found
        and not _same(found["NumPy"].value, found["PyTorch"].value)
    ):
        del found["PyTorch"]  # another function of this name
    return found.get("PyTorch") or found.get("NumPy") or found.get("mpmath")


def _same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-10, atol=1e-12)


def record() -> None:
    from gradcli.query import catalogue

    found = {}
    for _, function in catalogue.functions():
        example = catalogue.entry(function).example
        if example is not None and (said := known(example.expr, example.at)) is not None:
            found[key_of(example.expr, example.at)] = said._asdict()
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in found.items())
    DATA.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    record()
