"""The forms in which PyTorch's functions take arguments: ``python -m oracles.forms`` in tests/ asks PyTorch and writes them.

Needs PyTorch, and gradcli beside it; the package has what is written (ops/calling/forms.txt).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradcli
from gradcli.tensors.torch.catalogue_functions import function_names

WRITTEN = Path(gradcli.__file__).parent / "ops" / "calling" / "forms.txt"
_MODULES = {"": "torch", "linalg.": "torch.linalg", "special.": "torch.special", "F.": "torch.nn.functional"}
_SAME = {"SymInt": "int", "ScalarType": "dtype", "Scalar": "Number", "Dimname": "name", "Layout": "layout", "MemoryFormat": "memory_format"}
_OWN = (
    "all", "any", "allclose", "arange", "bernoulli", "bincount", "broadcast_shapes", "bucketize",
    "can_cast", "count_nonzero", "empty", "empty_like", "equal", "eye", "full", "full_like",
    "is_complex", "is_floating_point", "isclose", "isin", "linspace", "logspace", "multinomial",
    "nonzero", "normal", "numel", "ones", "ones_like", "poisson", "promote_types", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "result_type",
    "scalar_tensor", "searchsorted", "tril_indices", "triu_indices", "unique", "where", "zeros",
    "zeros_like", "argwhere", "as_strided", "clone", "einsum",
    "logical_not", "bitwise_not", "dropout", "alpha_dropout", "feature_dropout",
    "feature_alpha_dropout", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "matrix_rank", "get_device", "is_signed",
    "embedding_bag",
)  # fmt: skip


def typed(text: str) -> str:
    """A type as forms write it: what PyTorch's messages call it, with a question mark where it may be None."""
    text = re.sub(r"\([a-z][^)]*\)", "", text)
    word, rest = re.match(r"(\w+)(.*)", text).groups()  # type: ignore[union-attr]
    return _SAME.get(word, word) + re.sub(r"\[\]\?\[", "[", rest)


def form(schema: Any, method: bool) -> str | None:
    """One form; None of those that write into a given tensor, which the others take as out."""
    inside = re.sub(r"\([a-z] -> \*\)", "", str(schema).partition("(")[2].rpartition(") ->")[0])
    if "!" in (inside.partition(",")[2] if schema.name.endswith("_") else inside) or re.search("complex|Dict", inside):
        return None
    if re.search(r"(?<!Tensor) [ab]\b", inside) or not re.search("Tensor|Scalar", inside):
        return None  # a function of TorchScript's
    if schema.overload_name == "Scalar" and schema.name[6:].rstrip("_") in ("add", "sub", "mul", "div"):
        return None  # numbers are tensors there
    parts = []
    for part in re.split(r",\s*(?![^\[]*\])", inside):
        if part == "*":
            parts.append("*")
            continue
        kind, _, name = part.strip().partition(" ")
        name, equals, _ = name.partition("=")
        if name == "self":
            if method:
                continue
            name = "input"
        parts.append(f"{typed(kind)} {name}{equals}")
    return ", ".join(p for p in parts if p)


def written(key: str, function: Any, name: str, torch: Any) -> Iterator[str]:
    """The lines of a function: one for each of its forms."""
    if inspect.isfunction(function):
        function = getattr(torch.nn.functional, f"_{name}", function) if "pool" in name else function  # of two, the usual one
        parts = []
        for p in inspect.signature(function).parameters.values():
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
                parts.append("*")
            parts.append(f"{star}{p.name}{'' if p.default is p.empty or star else '='}")
        yield f"{key}=def {name}({', '.join(parts)})"
        return
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    method = key.startswith("Tensor.")
    outs = any("!" in str(s) for s in schemas) and not method
    for schema in schemas:
        text = form(schema, method)
        if text is not None and not (method and "self" not in str(schema)):
            more = ("Tensor out=" if "*" in text else "*, Tensor out=") if outs else ""
            if "layout? layout=" in text and name != "to":
                text += ", bool requires_grad="
            yield f"{key}{'' if name == key.rpartition('.')[2] else f'={name}'}({', '.join(filter(None, (text, more)))})"


def lines(torch: Any) -> list[str]:
    found: list[str] = []
    names = sorted(name for name in {*function_names(), *_OWN})
    for prefix, path in _MODULES.items():
        module = eval(path, {"torch": torch})
        for name in names:
            function = getattr(module, name, None)
            if callable(function) and not inspect.isclass(function) and not inspect.ismodule(function):
                found += written(f"{prefix}{name}", function, getattr(function, "__name__", name), torch)
    for name in sorted({*names, *(n for n in dir(torch.Tensor) if hasattr(gradcli.Tensor, n))}):
        method = getattr(torch.Tensor, name, None)
        if name in _IN_PYTHON:
            found += [line.replace("(self, ", "(") for line in written(f"Tensor.{name}", method, name, torch)]
        if type(method).__name__ == "method_descriptor" and not (name.endswith("_") and hasattr(torch.Tensor, name[:-1])):
            found += written(f"Tensor.{name}", method, name, torch)
    return found


# What PyTorch has no schema or no signature of.
_BESIDE = (
    "tensor(object data, *, dtype? dtype=, Device? device=, bool requires_grad=, bool pin_memory=)",
    "as_tensor(object data, *, dtype? dtype=, Device? device=)",
    "asarray(object obj, *, dtype? dtype=, Device? device=, bool? copy=, bool requires_grad=)",
    "unique=def unique(input, bool sorted=, bool return_inverse=, bool return_counts=, dim=)",
    "Tensor.unique=def unique(bool sorted=, bool return_inverse=, bool return_counts=, dim=)",
    "Tensor.new_tensor(object data, *, dtype? dtype=, Device? device=, bool requires_grad=, bool pin_memory=)",
    "lu=def lu(A, bool pivot=, get_infos=, out=)",
    "Tensor.to(Device? device=, dtype? dtype=, bool non_blocking=, bool copy=, *, memory_format? memory_format=)",
    "Tensor.to(dtype dtype, bool non_blocking=, bool copy=, *, memory_format? memory_format=)",
    "Tensor.to(Tensor tensor, bool non_blocking=, bool copy=, *, memory_format? memory_format=)",
    "Tensor.copy_(Tensor other, bool non_blocking=)",
    "Tensor.is_contiguous(*, memory_format memory_format=)",
)
_IN_PYTHON = ("norm", "split", "unflatten")  # methods


def main() -> None:
    import torch

    beside = {line.partition("(")[0].partition("=")[0] for line in _BESIDE}
    found = [line for line in lines(torch) if line.partition("(")[0].partition("=")[0] not in beside]
    WRITTEN.write_text("\n".join([*_BESIDE, *dict.fromkeys(found)]) + "\n")


if __name__ == "__main__":
    main()
