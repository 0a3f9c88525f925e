"""The forms in which PyTorch's functions take arguments; calls that fit none of them are refused.

``forms.txt`` has a line for each form, as PyTorch's schemas have it: types and names, ``=`` where there
is a default, ``?`` where None is taken. Functions written in Python there (``def``) have no types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from gradcli.errors import suggestion

# Functions in which a number is taken for a tensor.
_NUMBERS_ARE_TENSORS = frozenset({
    "add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide", "rsub",
    "copy",
})  # fmt: skip
# NumPy's words, which PyTorch takes, too.
_ALSO = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
# A tensor of which no number can be read.
_ANY_TENSOR: Any = type(
    "Tensor",
    (),
    {"requires_grad": True, "array": SimpleNamespace(ndim=1, dtype=SimpleNamespace(kind="f"))},
)()


class Parameter(NamedTuple):
    """A parameter of a form; the type is empty where PyTorch has none, in Python."""

    name: str
    type: str
    none: bool
    optional: bool
    by_name: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The keywords that may give it."""
        return (self.name, *(_ALSO.get(self.name, ()) if self.type else ()))


class Form(NamedTuple):
    """One way to call a function."""

    name: str
    parameters: tuple[Parameter, ...]
    open: bool  # whether it takes any number of arguments

    @property
    def by_position(self) -> list[Parameter]:
        return [p for p in self.parameters if not p.by_name]

    @property
    def fewest(self) -> int:
        return sum(not p.optional for p in self.parameters)

    def in_place(self) -> Form:
        """The same of the function that writes into its first tensor."""
        kept = tuple(p for p in self.parameters if p.name != "out")
        return self._replace(name=f"{self.name}_", parameters=kept)


@cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "forms.txt").read_text("utf-8").split("\n"):
        found.setdefault(line.partition("(")[0].partition("=")[0], []).append(line)
    return found


@cache
def forms(key: str) -> tuple[Form, ...]:
    """The forms of a function: of ``torch`` by its name, else as "linalg.inv", "F.relu", "Tensor.sum"."""
    lines = _lines().get(key)
    if lines is None and key.endswith("_"):
        return tuple(form.in_place() for form in forms(key[:-1]))
    return tuple(map(_form, lines or ()))


def _form(line: str) -> Form:
    head, _, rest = line.partition("(")
    key, _, name = head.partition("=")
    parameters, by_name, several = [], False, False
    for part in filter(None, rest[:-1].split(", ")):
        if part.startswith("*"):
            several = several or part != "*"
            by_name = True
            continue
        kind, _, word = part.rpartition(" ")
        word, optional, _ = word.partition("=")
        none = kind.endswith("?") or word == "out"
        parameters.append(Parameter(word, kind.rstrip("?"), none, bool(optional), by_name))
    return Form(name.removeprefix("def ") or key.rpartition(".")[2], tuple(parameters), several)


def misfit(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError | None:
    """The error for arguments that a function does not take; None where they fit, or it has no forms."""
    found = forms(key)
    if not found or found[0].open:
        return None
    errors = [_refused(form, arguments, keywords) for form in found]
    if None in errors:
        return None
    known = {word for form in found for parameter in form.parameters for word in parameter.words}
    for word in keywords:
        if word not in known:
            close = suggestion(word, sorted(known), 0.6)
            hint = "" if close is None else f"; did you mean '{close}'?"
            return TypeError(f"{found[0].name}() got an unexpected keyword argument '{word}'{hint}")
    given = len(arguments) + len(keywords)
    near = (
        error
        for form, error in zip(found, errors, strict=True)
        if form.fewest <= given and len(arguments) <= len(form.by_position)
    )
    return next(near, errors[0])


def any_tensors(value: Any) -> Any:
    """The same with tensors of which nothing is known in the place of those that there are."""
    if isinstance(value, (list, tuple)):
        return [any_tensors(part) for part in value]
    return _ANY_TENSOR if _is_tensor(value) else value


def _refused(form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError | None:
    """The error of one form."""
    name, places = form.name, form.by_position
    sizes = len(places) == 1 and places[0].type.startswith("int[]")
    if sizes and arguments and not isinstance(arguments[0], (list, tuple)) and arguments[0] is not None:
        arguments = (arguments,)  # they may be given one by one
    if len(arguments) > len(places):
        return TypeError(f"{name}() takes at most {len(places)} arguments by position, not {len(arguments)}")
    left = dict(keywords)
    for place, parameter in enumerate(form.parameters):
        if place < len(arguments) and not parameter.by_name:
            value = arguments[place]
        else:
            word = next((word for word in parameter.words if word in left), None)
            if word is None:
                if parameter.optional:
                    continue
                return TypeError(f"{name}() misses its argument '{parameter.name}'")
            value = left.pop(word)
        if not (value is None and parameter.none) and not _fits(form, parameter, value):
            wanted = parameter.type.replace("[]", "s").partition("[")[0]
            return TypeError(
                f"{name}(): argument '{parameter.name}' must be {wanted}, not {type(value).__name__}"
            )
    for word in left:
        return TypeError(f"{name}() got the argument '{word}' twice, or with others that it does not fit")
    return None


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "array")


def _is_int(value: Any) -> bool:
    if _is_tensor(value):
        return not value.array.ndim and value.array.dtype.kind in "iu"
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, int, float, complex)):
        return True
    return not _is_tensor(value) and hasattr(value, "__float__")


def _fits(form: Form, parameter: Parameter, value: Any) -> bool:
    kind = parameter.type
    if kind == "Tensor":
        if parameter.name == "out" and isinstance(value, (tuple, list)):
            return True  # for each of several results
        return _is_tensor(value) or (form.name.rstrip("_") in _NUMBERS_ARE_TENSORS and _is_number(value))
    if kind in ("Number", "float"):
        if _is_tensor(value):
            return not value.array.ndim and not value.requires_grad
        return _is_number(value)
    if kind == "int":
        return _is_int(value)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "Tensor[]":
        return isinstance(value, (list, tuple)) and all(map(_is_tensor, value))
    if kind.startswith(("int[", "float[")):
        fits = _is_int if kind.startswith("int") else _is_number
        if isinstance(value, (list, tuple)):
            return all(map(fits, value))
        return "[]" not in kind and fits(value)
    if kind in ("str", "name"):
        return isinstance(value, str)
    if kind == "Device":
        return isinstance(value, str) or type(value) is int or type(value).__name__ == "device"
    if kind in ("memory_format", "layout"):
        return isinstance(value, str)
    if kind == "dtype":
        return type(value).__name__ == kind or value in (float, int, bool)
    return kind != "Generator" or type(value).__name__ == kind
