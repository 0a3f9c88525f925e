"""What a function of the project reaches: the functions that it calls, and the numbers that it
reads, from its code.
"""

from __future__ import annotations

import dis
import functools
import math
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.ops.constants import Constant
from gradcli.ops.spec import Composite, Op
from gradcli.ops.writing import Witness

HOME = "gradcli."
TRIVIAL = frozenset({0.0, 1.0, -1.0, 2.0, -2.0, 0.5})  # numbers that stand in any formula


class Reached:
    """The code, the numbers, the records and the functions of NumPy that functions reach.

    code     by its name: functions of the project, nested ones included
    numbers  constants of modules that are not trivial, by their names
    records  operations and composites that are called, by name
    numpy    functions of NumPy and SciPy, by name
    """

    def __init__(self) -> None:
        self.code: dict[types.CodeType, str] = {}
        self.numbers: dict[tuple[str, str], str] = {}
        self.records: set[str] = set()
        self.numpy: set[str] = set()


def _library(value: Any) -> bool:
    """Whether something is a function of NumPy or SciPy."""
    module = str(getattr(value, "__module__", None)).split(".")[0]
    return isinstance(value, np.ufunc) or (
        module in ("numpy", "scipy") and callable(value) and hasattr(value, "__name__")
    )


def _is_number(value: Any) -> bool:
    """Whether something is a number (or several) that not every formula has."""
    if isinstance(value, (tuple, list)):
        return bool(value) and all(isinstance(v, (int, float)) for v in value)
    if isinstance(value, (Constant, np.ndarray, np.number)):
        return True
    return (
        type(value) in (int, float)
        and value == value
        and value not in TRIVIAL
        and abs(value) != math.inf
    )


def _named(function: types.FunctionType, code: types.CodeType) -> Iterator[tuple[str, Any]]:
    """What the names in a function's code stand for: globals, attributes of modules, and what is
    imported inside.
    """
    modules: dict[str, Any] = {}
    last: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            last = function.__globals__.get(step.argval)
            yield step.argval, last
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(
            last, (types.ModuleType, type)
        ):
            last = getattr(last, step.argval, None)
            yield step.argval, last
        elif step.opname == "IMPORT_NAME":
            modules["from"] = last = __import__(step.argval, fromlist=["*"])
        elif step.opname == "IMPORT_FROM":
            yield step.argval, getattr(modules["from"], step.argval, None)
        elif step.opname not in ("PUSH_NULL", "CACHE", "RESUME", "PRECALL", "NOP"):
            last = None


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _nested(value)


def reached(*starts: Any, into_records: bool) -> Reached:
    """Everything that is reached from functions; the bodies of composites and the rules of
    operations only if asked to.
    """
    found = Reached()
    todo: list[Any] = [start for start in starts if start is not None]
    seen: set[int] = set()
    kept: list[Any] = []  # so that no identity is given twice
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        if isinstance(value, (Op, Composite)):
            found.records.add(value.name)
            if into_records and isinstance(value, Composite):
                todo.append(value.definition)
        elif isinstance(value, Witness):
            todo.append(value.function)
        elif isinstance(value, types.FunctionType):
            todo += _inside(value, found)
        elif isinstance(value, (types.MethodType, functools.partial)):
            todo += [
                getattr(value, "__func__", None),
                *getattr(value, "args", ()),
                getattr(value, "func", None),
            ]
        elif _library(value):
            found.numpy.add(value.__name__)
        elif hasattr(value, "__wrapped__"):
            todo.append(value.__wrapped__)
        elif isinstance(value, (tuple, list, set, frozenset)):
            todo += [
                v for v in value if callable(v) or isinstance(v, (Op, Composite, tuple, list, dict))
            ]
        elif isinstance(value, Mapping):
            todo += [
                v
                for v in value.values()
                if callable(v) or isinstance(v, (Op, Composite, tuple, list, dict))
            ]
    return found


def _inside(function: types.FunctionType, found: Reached) -> Iterable[Any]:
    if not (function.__module__ or "").startswith((HOME, "test_")):
        return []
    more: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            more.append(cell.cell_contents)
        except ValueError:  # not yet filled
            continue
    more += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for code in _nested(function.__code__):
        found.code[code] = f"{function.__module__.removeprefix(HOME)}.{code.co_qualname}"
        for name, value in _named(function, code):
            if _is_number(value):
                found.numbers[name, repr(value)] = name
            more.append(value)
    return more
