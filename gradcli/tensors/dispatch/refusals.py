"""Calls that failed, as PyTorch refuses them: its type of error, its sentence, and what we say to do about it as a note."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, NoReturn, TypeVar, cast

from gradcli.errors import ArgumentError, GradcliError, TypeMismatchError, suggestion
from gradcli.tensors.core.user_warnings import warn, warn_once

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PARTS = {"torch": "", "torch.linalg": "linalg.", "torch.special": "special.", "torch.nn.functional": "F."}
_OF_KINDS = (ArgumentError, TypeMismatchError, TypeError, AttributeError, ValueError)


def raise_as_pytorch(
    error: Exception, name: str, where: str, arguments: Sequence[Any], keywords: Mapping[str, Any], owner: Any = None
) -> NoReturn:
    """Raise what PyTorch raises in the place of an error of a function, or of a method of the owner; the error itself where
    that is not known."""
    if isinstance(error, NotImplementedError):
        raise error  # what PyTorch says of dtypes, before it looks at anything else
    from gradcli.ops.refusals.telling import told

    said = told(
        _key(name, "Tensor" if owner is not None else where),
        arguments,
        keywords,
        owner,
        isinstance(error, _OF_KINDS),
        type(error) is not TypeError,
    )
    if said is None or (type(said) is type(error) and str(said) == str(error)):
        raise error
    if isinstance(error, GradcliError) and error.help:
        said.add_note(f"help: {error.help}")
    raise said from None


class Parser:
    """Refuses calls of a function whose arguments are of other types than PyTorch's takes; what fits for its types is known again."""

    __slots__ = ("fitting", "key")

    def __init__(self, key: str) -> None:
        self.key = key
        self.fitting: set[Any] = set()

    def check(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        kinds: Any = (*map(type, arguments), *keywords, *map(type, keywords.values()))
        if kinds in self.fitting:
            return
        lists = not _LISTS.isdisjoint(kinds)
        if lists:
            kinds = kinds, tuple([_kinds_in(a) for a in (*arguments, *keywords.values())])
            if kinds in self.fitting:
                return
        from gradcli.ops.refusals.handed import fits_whatever, refusal

        if fits_whatever(self.key, arguments, keywords):
            self.fitting.add(kinds)
            return
        error = refusal(self.key, arguments, keywords)
        if error is not None:
            if (words := _meant(self.key, keywords)) is not None:
                error.add_note(f"help: {words}")
            raise error


def _meant(key: str, keywords: Mapping[str, Any]) -> str | None:
    """What to do about a keyword that no form has, in words; None if there is none, or nothing is close to it."""
    from gradcli.ops.refusals.forms import forms

    known = {parameter.name for form in forms(key) for parameter in form.parameters}
    for word in keywords:
        if word not in known and (close := suggestion(word, sorted(known), 0.6)) is not None:
            return f"did you mean '{close}'?"
    return None


_LISTS = frozenset({tuple, list})


def _kinds_in(argument: Any) -> tuple[type, ...] | None:
    """The types in a list; of a long one, all that there are."""
    if not isinstance(argument, (tuple, list)):
        return None
    return tuple(map(type, argument)) if len(argument) < 9 else tuple(dict.fromkeys(map(type, argument)))


@cache
def parser(name: str, where: str = "torch") -> Parser:
    """The parser of a function of a part of PyTorch, or of tensors' methods."""
    return Parser(_key(name, where))


def _key(name: str, where: str) -> str:
    return f"Tensor.{name}" if where == "Tensor" else f"{_PARTS.get(where, '')}{name}"


def with_old_forms(function: _Function, name: str, where: str = "torch") -> _Function:
    """A function that also takes arguments in the order which they had once."""
    from gradcli.ops.refusals.old_forms import had_others, rearranged

    key, owned = _key(name, where), int(where == "Tensor")
    if not had_others(key) or where not in ("Tensor", "torch"):
        return function

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        found = rearranged(key, arguments[owned:]) if len(arguments) > 2 else None
        if found is None:
            return function(*arguments, **keywords)
        now, numbers, said = found
        warn_once(said)
        return function(*arguments[:owned], *now, **numbers, **keywords)

    return cast(_Function, run)


def _look(argument: Any) -> Any:
    """What warnings ask of an argument."""
    array = getattr(argument, "array", None)
    if array is not None:
        return array.shape, array.dtype
    if type(argument) is list:
        return tuple(map(_look, argument))
    return type(argument), argument if isinstance(argument, Hashable) else None


def with_warnings(function: _Function, name: str, where: str = "torch") -> _Function:
    """A function that warns as PyTorch does."""
    from gradcli.ops.refusals.warned import is_said_once, is_warned_of, warnings_of

    key, owned = _key(name, where), where == "Tensor"
    if not is_warned_of(key):
        return function

    silent: set[Any] = set()  # calls, by what is asked of their arguments, of which there is nothing to say

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        looks = (*map(_look, arguments), *keywords, *map(_look, keywords.values()))
        if looks not in silent:
            owner, given = (arguments[0], arguments[1:]) if owned else (None, arguments)
            said = warnings_of(key, given, keywords, owner)
            for text in said:
                (warn_once if is_said_once(text) else warn)(text)
            if not said and len(silent) < 1000:
                silent.add(looks)
        return function(*arguments, **keywords)

    return cast(_Function, run)


def refuse_first(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raise what PyTorch raises for values and shapes of a function that could be computed."""
    from gradcli.ops.refusals.telling import told

    if name.startswith("Tensor."):
        said = told(name, arguments[1:], keywords, arguments[0], parse=False)
    else:
        said = told(name, arguments, keywords, parse=False) or told(f"F.{name}", arguments, keywords, parse=False)
    if said is not None:
        raise said


def in_words(function: _Function, name: str = "", where: str = "torch") -> _Function:
    """A function, or a method, whose errors are PyTorch's."""
    name, owned = name or function.__name__, where == "Tensor"
    check = parser(name, where).check

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        try:
            if keywords or len(arguments) > owned:
                check(arguments[1:] if owned else arguments, keywords)
            return function(*arguments, **keywords)
        except Exception as error:
            if owned:
                raise_as_pytorch(error, name, where, arguments[1:], keywords, arguments[0])
            raise_as_pytorch(error, name, where, arguments, keywords)

    return cast(_Function, run)


def all_in_words(functions: Mapping[str, Callable[..., Any]], where: str = "torch") -> dict[str, Callable[..., Any]]:
    return {name: in_words(function, name, where) for name, function in functions.items()}
