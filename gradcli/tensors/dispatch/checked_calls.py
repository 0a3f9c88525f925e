"""Functions that refuse arguments of other names, numbers or types than PyTorch's take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PARTS = {"torch": "", "torch.linalg": "linalg.", "torch.special": "special.", "torch.nn.functional": "F."}
_LISTS = frozenset({tuple, list})


class Parser:
    """Refuses arguments that no form of a function takes; types that fitted are known again."""

    __slots__ = ("fitting", "key")

    def __init__(self, key: str) -> None:
        self.key = key
        self.fitting: set[Any] = set()

    def check(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        kinds: Any = (*map(type, arguments), *keywords, *map(type, keywords.values()))
        if kinds in self.fitting:
            return
        if not _LISTS.isdisjoint(kinds):
            kinds = kinds, tuple([_kinds_in(a) for a in (*arguments, *keywords.values())])
            if kinds in self.fitting:
                return
        from gradcli.ops.calling.forms import any_tensors, misfit

        unknown = {word: any_tensors(value) for word, value in keywords.items()}
        if misfit(self.key, any_tensors(arguments), unknown) is None:  # whichever tensors these are
            self.fitting.add(kinds)
            return
        error = misfit(self.key, arguments, keywords)
        if error is not None:
            raise error


def _kinds_in(argument: Any) -> tuple[type, ...] | None:
    """The types in a list; of a long one, all that there are."""
    if not isinstance(argument, (tuple, list)):
        return None
    return tuple(map(type, argument)) if len(argument) < 9 else tuple(dict.fromkeys(map(type, argument)))


@cache
def parser(name: str, where: str = "torch") -> Parser:
    """The parser of a function of a part of PyTorch, or of tensors' methods."""
    return Parser(f"Tensor.{name}" if where == "Tensor" else f"{_PARTS.get(where, '')}{name}")


def checked(function: _Function, name: str = "", where: str = "torch") -> _Function:
    """The function, or a method, with its arguments parsed as PyTorch does."""
    name, owned = name or function.__name__, where == "Tensor"
    check = parser(name, where).check

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if keywords or len(arguments) > owned:
            check(arguments[1:] if owned else arguments, keywords)
        return function(*arguments, **keywords)

    return cast(_Function, run)


def all_checked(functions: Mapping[str, Callable[..., Any]], where: str = "torch") -> dict[str, Callable[..., Any]]:
    return {name: checked(function, name, where) for name, function in functions.items()}
