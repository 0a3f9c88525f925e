"""PyTorch's parser of arguments: the forms that a function has, and what is said of arguments that fit none of them.

``forms.txt`` has a line for each form, as PyTorch's schemas have it: types and names, ``=`` where there is a default, ``?`` where None is
taken. A function that is written in Python there (``def``) has Python's own words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

# PyTorch's functions that had other forms once: of those that they have, all are listed even where it is one.
_ONCE_OTHERWISE = frozenset({"add", "sub", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm"})
# Functions in which a number is taken for a tensor.
_NUMBERS_ARE_TENSORS = frozenset({
    "add", "sub", "mul", "div", "subtract", "multiply", "divide",
    "true_divide", "floor_divide", "rsub", "copy",
})  # fmt: skip
_SHOWN = {
    "Tensor[]": "tuple of Tensors", "float[]": "tuple of floats", "dtype": "torch.dtype", "Device": "torch.device",
    "layout": "torch.layout", "memory_format": "torch.memory_format", "Generator": "torch.Generator",
}  # fmt: skip
_ALSO = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}  # NumPy's words, which PyTorch takes


# A tensor of which no number can be read, and something that is taken everywhere.
ANY_TENSOR: Any = type("Tensor", (), {"requires_grad": True, "array": SimpleNamespace(ndim=1, dtype=SimpleNamespace(kind="f"))})()
ANYTHING: Any = object()


class Parameter(NamedTuple):
    """A parameter of a form; the type is empty where PyTorch has none, in Python."""

    name: str
    type: str
    none: bool
    optional: bool
    default: str
    by_name: bool

    @property
    def shown(self) -> str:
        return _SHOWN.get(self.type, "tuple of ints" if self.type.startswith("int[") else self.type)

    def written(self) -> str:
        end = f" = {self.default or 'None'}" if self.optional else ""
        return f"{self.shown} {self.name}{end}"

    def among(self, keywords: Mapping[str, Any]) -> str | None:
        """The keyword that gives it."""
        return next((word for word in (self.name, *_ALSO.get(self.name, ())) if word in keywords), None)


class Form(NamedTuple):
    """One way to call a function."""

    name: str
    parameters: tuple[Parameter, ...]
    in_python: bool
    rest: str  # the name of ``*args``

    @property
    def by_position(self) -> list[Parameter]:
        return [p for p in self.parameters if not p.by_name]

    @property
    def fewest(self) -> int:
        return sum(not p.optional for p in self.parameters)

    def in_place(self) -> Form:
        """The same of the function that writes into its first tensor."""
        return self._replace(name=f"{self.name}_", parameters=tuple(p for p in self.parameters if p.name != "out"))

    def written(self) -> str:
        parts = [p.written() for p in self.parameters]
        names = [p.by_name for p in self.parameters]
        if True in names:
            parts.insert(names.index(True), "*")
        return f"({', '.join(parts)})"


@cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "forms.txt").read_text("utf-8").split("\n"):
        found.setdefault(line.partition("(")[0].partition("=")[0], []).append(line)
    return found


@cache
def forms(key: str) -> tuple[Form, ...]:
    """The forms of a function, by its name under ``torch``; those of its parts and of methods as "linalg.inv", "F.relu", "Tensor.sum"."""
    lines = _lines().get(key)
    if lines is None and key.endswith("_"):
        return tuple(form.in_place() for form in forms(key[:-1]))
    return tuple(map(_form, lines or ()))


def _form(line: str) -> Form:
    head, _, rest = line.partition("(")
    key, _, name = head.partition("=")
    parameters, by_name, rest_name = [], False, ""
    for part in filter(None, rest[:-1].split(", ")):
        if part.startswith("*"):
            rest_name = rest_name or part.strip("*")
            by_name = True
            continue
        kind, _, word = part.rpartition(" ")
        word, optional, default = word.partition("=")
        parameters.append(Parameter(word, kind.rstrip("?"), kind.endswith("?") or word == "out", bool(optional), default, by_name))
    in_python = name.startswith("def ")
    return Form(name.removeprefix("def ") or key.rpartition(".")[2], tuple(parameters), in_python, rest_name)


def misfit(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """PyTorch's error for arguments that a function does not take; None where they fit, or it is not known."""
    found = forms(key)
    if not found:
        return None
    if found[0].in_python:
        return None if found[0].rest else _in_python(found[0], arguments, keywords)
    errors = [refused(form, arguments, keywords) for form in found]
    if None in errors:
        return None
    if len(found) == 1 and found[0].name.rstrip("_") not in _ONCE_OTHERWISE:
        return errors[0]
    given = len(arguments) + len(keywords)
    plausible = [error for form, error in zip(found, errors, strict=True) if form.fewest <= given <= len(form.parameters)]
    return plausible[0] if len(plausible) == 1 else TypeError(_no_form(found, arguments, keywords))


def any_tensors(value: Any) -> Any:
    """The same with tensors of which nothing is known in the place of those that there are."""
    if isinstance(value, (list, tuple)):
        return [any_tensors(part) for part in value]
    return ANY_TENSOR if _is_tensor(value) else value


def type_name(value: Any) -> str:
    """The type of a value as messages of C call it."""
    name = type(value).__name__
    return f"torch.{name}" if name in ("dtype", "device", "Size") else name


def _no_form(found: Sequence[Form], arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    kinds = [type_name(a) for a in arguments] + [f"{word}={type_name(value)}" for word, value in keywords.items()]
    if len(found) == 1 and len(arguments) > len(found[0].by_position):
        first = len(found[0].by_position)
        kinds = [kind if i < first else f"!{kind}!" for i, kind in enumerate(kinds)]
    got = ", ".join(kinds) + (", " if keywords and not arguments else "")
    said = f"{found[0].name}() received an invalid combination of arguments - got ({got}), but expected "
    if len(found) == 1:
        return said + found[0].written()
    return said + "one of:" + "".join(f"\n * {form.written()}" for form in found) + "\n"


def refused(form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """The error of one form."""
    name, places = form.name, form.by_position
    several = len(places) == 1 and places[0].type.startswith("int[]")  # sizes one by one
    if not form.parameters and (arguments or keywords):
        said = f"arguments ({len(arguments)} given)" if arguments else "keyword arguments"
        return TypeError(f"TensorBase.{name}() takes no {said}")
    if len(arguments) > len(places) and not several:
        least, most, n = form.fewest, len(places), len(arguments)
        takes = f"from {least} to {most} positional arguments" if least != most else f"{most} positional argument{'s' * (most > 1)}"
        return TypeError(f"{name}() takes {takes} but {n} {'were' if n > 1 else 'was'} given")
    left = dict(keywords)
    for place, parameter in enumerate(form.parameters):
        if place < len(arguments) and not parameter.by_name:
            value, where = arguments[place], f" (position {place + 1})"
        else:
            word = parameter.among(left)
            if word is None:
                if parameter.optional:
                    continue
                return _missing(form, arguments, keywords)
            value, where = left.pop(word), ""
        if (value is None and parameter.none) or _fits(form, parameter, value):
            continue
        if several and place == 0 and where and _is_int(value):
            error = _sizes(name, parameter.name, arguments)
            if error is not None:
                return error
            continue
        if parameter.type == "Tensor[]" and isinstance(value, (list, tuple)):
            i, part = next((i, part) for i, part in enumerate(value) if not _is_tensor(part))
            return TypeError(f"expected Tensor as element {i} in argument {place}, but got {type_name(part)}")
        said = f"{name}(): argument '{parameter.name}'{where} must be {parameter.shown}"
        wrong = next((i for i, part in enumerate(value) if not _is_int(part)), None) if _is_list_of_ints(parameter, value) else None
        end = f", not {type_name(value)}" if wrong is None else f", but found element of type {type_name(value[wrong])} at pos {wrong}"
        return TypeError(said + end)
    for word in left:
        known = any(word == p.name for p in form.parameters)
        return TypeError(f"{name}() got {'multiple values for' if known else 'an unexpected keyword'} argument '{word}'")
    return None


def _sizes(name: str, parameter: str, sizes: Sequence[Any]) -> Exception | None:
    for place, size in enumerate(sizes):
        if not _is_int(size):
            said = f'failed to unpack the object at pos {place + 1} with error "type must be tuple of ints,but got {type_name(size)}"'
            return TypeError(f"{name}(): argument '{parameter}' {said}")
    return None


def _missing(form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> TypeError:
    absent = [p.name for p in form.parameters[len(arguments) :] if not p.optional and p.among(keywords) is None]
    listed = ", ".join(f'"{name}"' for name in absent)
    return TypeError(f"{form.name}() missing {len(absent)} required positional argument{'s' * (len(absent) == 1)}: {listed}")


def _is_list_of_ints(parameter: Parameter, value: Any) -> bool:
    """Whether a list stands where one of whole numbers belongs."""
    return parameter.type.startswith("int[") and isinstance(value, (tuple, list))


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "array")


def _is_int(value: Any) -> bool:
    if _is_tensor(value):
        return not value.array.ndim and value.array.dtype.kind in "iu"
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex)) or (not _is_tensor(value) and hasattr(value, "__float__"))


def _fits(form: Form, parameter: Parameter, value: Any) -> bool:
    kind = parameter.type
    if value is ANYTHING:
        return True
    if kind == "Tensor":
        if parameter.name == "out" and isinstance(value, (tuple, list)):
            return True  # for each of several results
        return _is_tensor(value) or (form.name.rstrip("_") in _NUMBERS_ARE_TENSORS and _is_number(value))
    if kind == "Number" or kind == "float":
        return _is_number(value) or (_is_tensor(value) and not value.array.ndim and not value.requires_grad)
    if kind == "int":
        return _is_int(value)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "Tensor[]":
        return isinstance(value, (list, tuple)) and all(map(_is_tensor, value))
    if kind.startswith(("int[", "float[")):
        fits = _is_int if kind.startswith("int") else _is_number
        if isinstance(value, (list, tuple)):
            return all(map(fits, value[:1]))
        return kind[kind.index("[") + 1] != "]" and fits(value)
    if kind in ("str", "name"):
        return isinstance(value, str)
    if kind == "Device":
        return isinstance(value, str) or type(value) is int or type(value).__name__ == "device"
    if kind in ("memory_format", "layout"):
        return isinstance(value, str) or type(value).__name__ == kind
    return kind not in ("dtype", "Generator") or type(value).__name__ == kind or (kind == "dtype" and value in (float, int, bool))


def _in_python(form: Form, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """The error of a function that is written in Python, in Python's words."""
    name, places = form.name, form.by_position
    for word in keywords:
        parameter = next((p for p in form.parameters if p.name == word), None)
        if parameter is None:
            return TypeError(f"{name}() got an unexpected keyword argument '{word}'")
        if parameter in places[: len(arguments)]:
            return TypeError(f"{name}() got multiple values for argument '{word}'")
    if len(arguments) > len(places):
        least, most, n = sum(not p.optional for p in places), len(places), len(arguments)
        takes = f"from {least} to {most} positional arguments" if least != most else f"{most} positional argument{'s' * (most != 1)}"
        return TypeError(f"{name}() takes {takes} but {n} {'were' if n > 1 else 'was'} given")
    absent = [f"'{p.name}'" for p in places[len(arguments) :] if not p.optional and p.name not in keywords]
    if not absent:
        return None
    listed = absent[0] if len(absent) == 1 else " and ".join(absent) if len(absent) == 2 else f"{', '.join(absent[:-1])}, and {absent[-1]}"
    return TypeError(f"{name}() missing {len(absent)} required positional argument{'s' * (len(absent) > 1)}: {listed}")
