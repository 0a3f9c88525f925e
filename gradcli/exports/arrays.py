"""Exports to libraries of arrays in Python: NumPy (with SciPy), PyTorch and JAX, whose functions have nearly the same names."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.exports.library import called, functions
from gradcli.ops.spec import Op
from gradcli.ops.text import Exported

_PREFIX = re.compile(r"(?<![\w.])(np|special|linalg)\.")


@dataclass(frozen=True)
class ArrayTarget:
    """A library of arrays.

    field     gives its own field of an operation's texts
    prefixes  what stands in the place of NumPy's and SciPy's prefixes, which texts have by default
    made      a number, an array, and the dtype of its floats, as text
    before    lines at the beginning of the file, by what the code mentions
    """

    name: str
    field: Callable[[Any], Exported]
    prefixes: Mapping[str, str]
    array: str
    floats: str
    whole: str
    truth: str
    tensor: bool
    imports: tuple[tuple[str, str], ...]
    decorated: str = ""

    @property
    def reserved(self) -> set[str]:
        words = {*keyword.kwlist, *keyword.softkwlist, "value", *functions("arrays.py.txt"), *functions(f"{self.name}.py.txt"), "_tensor"}
        return words | {"np", "numpy", "special", "linalg", "torch", "jax", "jnp", "float", "range", "list", "tuple", "slice"}

    def template(self, op: Op, given: Sequence[bool], shapes: Sequence[Any], static: Mapping[str, Any]) -> str:
        """The text of an operation on operands by their places; empty if there is none."""
        own = self.field(op.text)
        form = self._form(op) if own is None else own
        if isinstance(form, Mapping):
            form = form.get(tuple(given), "")
        text = form if isinstance(form, str) else form(shapes, **static) if form is not None else ""
        found = _PREFIX.sub(lambda prefix: self.prefixes[prefix[1]], text)
        return found.replace("torch.array(", "torch.tensor(")

    @staticmethod
    def _form(op: Op) -> Exported:
        if op.text.numpy is not None:
            return op.text.numpy
        if isinstance(op.forward, np.ufunc):
            return f"np.{op.forward.__name__}({', '.join(f'{{{place}}}' for place in range(len(op.operands)))})"
        return ""

    def library(self, text: str) -> str:
        """The functions that a text calls."""
        own = {**functions("arrays.py.txt"), **functions(f"{self.name}.py.txt")}
        found = [own[name] for name in called(text, own)]
        return _PREFIX.sub(lambda prefix: self.prefixes[prefix[1]], "\n\n\n".join(found)) if found else ""

    def heading(self, text: str) -> list[str]:
        """The lines that import what a text mentions."""
        lines = [line for word, line in self.imports if re.search(word, text)]
        return list(dict.fromkeys(part for line in lines for part in line.split("\n")))


NUMPY = ArrayTarget(
    "numpy", attrgetter("numpy"), {"np": "np.", "special": "special.", "linalg": "linalg."}, "np.array({})", "np.{}",
    "np.int64", "np.bool_", False, (("", "import numpy as np"), (r"\bspecial\.", "from scipy import special"),
     (r"(?<!\.)linalg\.", "from scipy import linalg")),
    decorated='@np.errstate(all="ignore")',
)  # fmt: skip
TORCH = ArrayTarget(
    "torch", attrgetter("torch"), {"np": "torch.", "special": "torch.special.", "linalg": "torch.linalg."}, "torch.tensor({})", "torch.{}",
    "torch.int64", "torch.bool", True, ((r"\bnumpy\.", "import numpy"), ("", "import torch")),
)  # fmt: skip
JAX = ArrayTarget(
    "jax", attrgetter("jax"), {"np": "jnp.", "special": "jax.scipy.special.", "linalg": "jax.scipy.linalg."}, "jnp.array({})", "jnp.{}",
    "jnp.int64", "jnp.bool_", False,
    (("", "import jax"), ("", "import jax.numpy as jnp"), (r"jax\.scipy\.special", "import jax.scipy.special"),
     (r"jax\.scipy\.linalg", "import jax.scipy.linalg")),
)  # fmt: skip
