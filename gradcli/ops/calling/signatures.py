"""How libraries call functions: parameters in their order, under their names, with their defaults.

Families say it in tables of a line for each signature, below the names of the libraries that it is
of::

    numpy scipy:
        median nanmedian(x, axis, -out, keepdims)
        svdvals = torch_svdvals(x|a|input, axis=-1)
    torch:
        pinverse = pinv(x, rtol|rcond!; hermitian=True)

What stands before a bracket is what a library calls a function, which ``=`` gives another name
here. Parameters stand in the library's order. ``x|input`` gives alternative spellings of our
parameter x, ``-out`` is accepted for the library's sake and ignored, ``*arrays`` takes one list,
``**arrays`` takes one list or all the remaining arguments, ``***arrays`` the remaining arguments
even if they are lists, ``shape+`` takes a tuple or all the remaining arguments. ``axis@y`` is an
axis if the argument is one and the parameter y otherwise; of two arguments, ``axis@y, y`` takes
them in either order; an operand in its place is one of whole numbers. ``axis?`` may be None, for
all entries along one axis, and an empty ``axis~`` is that. What follows ``*`` is given by keyword only. ``axis=-1`` has a default
of the library's own, ``axis!`` has none there; after a semicolon stand parameters that its function
fixes.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, SCIPY, TORCH
from gradcli.ops.spec import REQUIRED, Composite, Op


@dataclass(frozen=True, eq=False, repr=False)
class Parameter:
    """A parameter of a call, and the names that libraries have for it."""

    name: str
    spellings: tuple[str, ...]
    ignored: bool = False
    many: bool = False  # takes one list, or all remaining arguments
    each: bool = False  # takes all remaining arguments, even lists
    otherwise: str = ""  # the parameter that an argument is for if it is not an axis
    flattens: bool = False  # None means all entries of x along one axis
    all_if_empty: bool = False  # () means all axes
    by_name: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Signature:
    """Way in which one library calls one operation (or one of the composed functions of the
    language).
    """

    target: str
    parameters: tuple[Parameter, ...]
    defaults: tuple[tuple[str, Any], ...] = ()

    def take(
        self, arguments: Sequence[Any], is_list: Callable[[Any], bool]
    ) -> tuple[list[tuple[Parameter, Any]], list[Any]]:
        """Return the parameters with their positional arguments, and the arguments left over."""
        found: list[tuple[Parameter, Any]] = []
        left = list(arguments)
        for parameter in self.parameters:
            if not left or parameter.by_name:
                break
            if parameter.many and (parameter.each or not is_list(left[0])):
                found.append((parameter, tuple(left)))
                left = []
            else:
                found.append((parameter, left.pop(0)))
        return found, left


_SYNONYMS = {
    "axis": ("axis", "dim"), "keepdims": ("keepdims", "keepdim"), "x": ("x", "input", "a"), "axes": ("axes", "dims", "dim"),
    "y": ("y", "other"), "input": ("input", "x"),
}
_TABLES: dict[str, dict[str, tuple[str, str]]] = {NUMPY: {}, TORCH: {}, MATH: {}, SCIPY: {}, JAX: {}}


@cache
def signature(target: str, text: str) -> Signature:
    """Return the signature of a function whose parameters are written as in a table."""
    listed, _, fixed = text.replace(" ", "").partition(";")
    words = listed.split(",") if listed else []
    last = words.index("*") if "*" in words else len(words)  # parameters by position end here
    defaults = [
        (name, literal_eval(value))
        for name, value in (word.split("=") for word in fixed.split(",") if fixed)
    ]
    parameters = []
    for place, written in enumerate(words):
        if place == last:
            continue
        start, _, default = written.partition("=")
        word, _, otherwise = start.rstrip("!").partition("@")
        names = tuple(word.lstrip("-*").rstrip("+?~").split("|"))
        spellings = names + tuple(s for s in _SYNONYMS.get(names[0], ()) if s not in names)
        many = word.endswith("+") or word.startswith("**")
        each = word.startswith("***")
        flattens = word.endswith("?")
        all_if_empty = word.endswith("~")
        parameters.append(
            Parameter(
                names[0],
                spellings,
                word.startswith("-"),
                many,
                each,
                otherwise,
                flattens,
                all_if_empty,
                place > last,
            )
        )
        if default or start.endswith("!"):
            defaults.append((names[0], literal_eval(default) if default else REQUIRED))
    return Signature(target, tuple(parameters), tuple(defaults))


def rows(table: str) -> Iterable[str]:
    """Return the lines of a table that say something."""
    return filter(None, map(str.strip, table.split("\n")))


def declare(table: str) -> None:
    """Declare the names and signatures of functions in libraries that differ from their records.

    Each is declared once, as imports come in any order.
    """
    libraries: list[str] = []
    for line in rows(table):
        if line.endswith(":"):
            libraries = line[:-1].split()
            continue
        head, _, parameters = line[:-1].partition("(")
        names, _, target = head.partition("=")
        for library, name in product(libraries, names.split()):
            assert name not in _TABLES[library], line
            _TABLES[library][name] = target.strip() or name, parameters


def declared_signature(name: str, library: str) -> Signature | None:
    """Return what was declared for a name; PyTorch, SciPy, JAX and math fall back to NumPy's."""
    found = _TABLES[library].get(name) or _TABLES[NUMPY].get(name)
    return None if found is None else signature(*found)


def declared_elsewhere(name: str) -> Signature | None:
    """Return what any library calls by a name that NumPy has not: SciPy first, then PyTorch."""
    return declared_signature(name, SCIPY) or declared_signature(name, TORCH)


def declared_names() -> set[str]:
    return {name for table in _TABLES.values() for name in table}


def declared_parts(library: str) -> set[str]:
    """Return the parts of a library, such as linalg or norm, for which names were declared.

    A part stands before the dot of a declared name; the library's arrays are no part.
    """
    return {name.partition(".")[0] for name in _TABLES[library] if "." in name} - {
        "Tensor",
        "ndarray",
    }


def called_by(target: str, library: str) -> list[str]:
    """Return the names under which a library was declared to call a function."""
    return [
        name for name, found in {**_TABLES[NUMPY], **_TABLES[library]}.items() if found[0] == target
    ]


@cache
def own_signature(record: Op | Composite) -> Signature:
    """A function's signature as its record has it: operands, then static parameters."""
    operands = (f"**{record.operands[0]}",) if record.variadic else record.operands
    if record.rest:
        operands = (*operands, f"**{record.rest}")
    return signature(record.name, ",".join((*operands, *record.static)))
