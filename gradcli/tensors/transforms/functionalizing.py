"""``torch.func.functionalize``: what it makes of a function gives what the function does, which is all that can be seen of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the same results, and the same new content of its arguments.

    PyTorch writes it for compilers, without operations in place; how something is computed here, no compiler reads.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: 'mutations' and "
            "'mutations_and_views'"
        )

    @functools.wraps(func)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        return func(*arguments, **keywords)

    return wrapped
