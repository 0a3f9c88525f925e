"""Functions of tensors whose arguments are looked at before anything is computed, as PyTorch's parser does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from gradcli.tensors.dispatch.refusals import in_words


def refuse_misfit(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raise for arguments that fit none of the forms of PyTorch's function of this key."""
    from gradcli.ops.refusals.forms import misfit  # a table of PyTorch's, which calls that fail read, too

    error = misfit(key, arguments, keywords)
    if error is not None:
        raise error


def parsed(function: Callable[..., Any], name: str, where: str = "torch", key: str = "") -> Callable[..., Any]:
    """A function, or a method (`where` is then "Tensor"), that refuses arguments which fit none of the forms of that name."""
    part = key.rpartition(".")[0]
    spoken = in_words(function, name, {"F": "torch.nn.functional", "special": "torch.special"}.get(part, where))
    key = key or (f"Tensor.{name}" if where == "Tensor" else name)
    owned = where == "Tensor"

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        refuse_misfit(key, arguments[owned:], keywords)
        return spoken(*arguments, **keywords)

    return run


def all_parsed(functions: dict[str, Callable[..., Any]], where: str = "torch") -> dict[str, Callable[..., Any]]:
    return {name: parsed(function, name, where) for name, function in functions.items()}
