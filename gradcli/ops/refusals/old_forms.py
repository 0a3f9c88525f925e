"""Forms that functions of PyTorch's had once, which it still takes: numbers come before the tensors that are multiplied by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.refusals.forms import Form, Parameter, forms, refused

_PRODUCTS = ("addmm mat1 mat2", "addmv mat vec", "addr vec1 vec2", "addbmm batch1 batch2", "baddbmm batch1 batch2")
_OLD: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "sub"), ("input alpha other",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("input value tensor1 tensor2",)),
    **{name: (f"beta input alpha {rest}", f"beta input {rest}") for name, _, rest in (text.partition(" ") for text in _PRODUCTS)},
}
_NUMBERS = ("alpha", "beta", "value")


def had_others(key: str) -> bool:
    return key.removeprefix("Tensor.").rstrip("_") in _OLD


def rearranged(key: str, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any], str] | None:
    """Arguments of an old form as the function takes them now, and what is said of it; None if they are of none."""
    name = key.removeprefix("Tensor.")
    for words in _OLD[name.rstrip("_")]:
        names = [word for word in words.split() if word != "input" or not key.startswith("Tensor.")]
        form = Form(name, tuple(map(_parameter, names)), False, "")
        if len(names) != len(arguments) or refused(form, arguments, {}) is not None:
            continue
        given = dict(zip(names, arguments, strict=True))
        numbers = {word: given.pop(word) for word in _NUMBERS if word in given}
        (now,) = [found for found in forms(key) if "out_dtype" not in found.written()]
        end = ", *, Tensor out = None)" if "Tensor out" in now.written() else ")"
        said = f"{form.written()[:-1]}{end}\nConsider using one of the following signatures instead:\n\t{name}{now.written()}"
        return list(given.values()), numbers, f"This overload of {name} is deprecated:\n\t{name}{said}"
    return None


def _parameter(name: str) -> Parameter:
    return Parameter(name, "Number" if name in _NUMBERS else "Tensor", False, False, "", False)
