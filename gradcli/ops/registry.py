"""Every operation and composite by its names.

Records are made here, and everything else finds them here.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from inspect import CO_VARARGS
from types import MappingProxyType, ModuleType
from typing import Any, TypeAlias

from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import declare
from gradcli.ops.counting import nodes_for, room_for
from gradcli.ops.facts import SAME, Choice, Function, Kink, noted_kink
from gradcli.ops.spec import REQUIRED, Composite, Kind, Op, fields_of
from gradcli.ops.text import FORM, IN_HEADERS
from gradcli.ops.writing import (
    OfSciPy,
    Shape,
    axes_of,
    need_axes,
    one_axis,
    shape_by_example,
    witness,
)

__all__ = [  # what records are written with, defined here or imported
    "OPERATORS",
    "REQUIRED",
    "SAME",
    "Alike",
    "Arrays",
    "Choice",
    "Composite",
    "Function",
    "Index",
    "Kink",
    "Number",
    "OfSciPy",
    "Op",
    "Shape",
    "Stated",
    "axes_of",
    "composite",
    "composites",
    "declare",
    "elementwise",
    "families",
    "find",
    "flat",
    "function",
    "general",
    "is_number",
    "load",
    "need_axes",
    "nodes_for",
    "noted_kink",
    "one_axis",
    "piecewise",
    "public_names",
    "record_named",
    "registry",
    "room_for",
    "shape_by_example",
    "signature_of",
    "structural",
    "witness",
]  # fmt: skip

ROOMS = (
    "elementwise",
    "reductions",
    "arrays",
    "linalg",
    "nn",
    "special",
    "stats",
)  # in the order of the documentation

LIBRARIES = {NUMPY, TORCH, SCIPY, JAX, MATH}

_REGISTRY: dict[str, Op] = {}
_COMPOSITES: dict[str, Composite] = {}
_BY_NAME: dict[str, Op | Composite] = {}
OPERATORS: dict[str, Op] = {}  # operators of the language between two operands


def register(record: Any) -> Any:
    """Add an operation or a composite under its name and aliases.

    Each name belongs to one of them; a second registration raises ValueError.
    """
    for name in (record.name, *record.aliases):
        if name in _BY_NAME:
            raise ValueError(f"{name!r} is already {_BY_NAME[name]}")
        _BY_NAME[name] = record
    if isinstance(record, Op):
        _REGISTRY[record.name] = record
        if record.sign and record.public and len(record.operands) == 2:
            OPERATORS[record.sign] = record
    else:
        _COMPOSITES[record.name] = record
    return record


@cache
def families() -> tuple[ModuleType, ...]:
    """Every file of operations, found in the rooms' folders; importing one fills the registry."""
    import pkgutil

    found = []
    for room in ROOMS:
        package = import_module(f"gradcli.ops.{room}")
        found += [
            import_module(f"{package.__name__}.{module.name}")
            for module in pkgutil.iter_modules(package.__path__)
        ]
    return (*found, import_module("gradcli.ops.structure"))


def load() -> None:
    """Import every family; expressions of arithmetic alone never need most of them."""
    families()


def registry() -> Mapping[str, Op]:
    """Every operation by its name."""
    load()
    return MappingProxyType(_REGISTRY)


def composites() -> Mapping[str, Composite]:
    """Every composite by its name."""
    load()
    return MappingProxyType(_COMPOSITES)


def find(name: str) -> Op:
    """Return the operation with that name or alias; raise KeyError if there is none."""
    record = record_named(name)
    if not isinstance(record, Op):
        raise KeyError(name)
    return record


def record_named(name: str) -> Op | Composite:
    """Return the operation or composite with that name or alias.

    Raises KeyError if there is none.
    """
    if name not in _BY_NAME:
        load()
    return _BY_NAME[name]


@cache
def general(op: Op) -> Composite:
    """The function made of operations that an operation is where a call gives more than it takes:
    NumPy's form of it, or its definition.
    """
    found = _COMPOSITES.get(f"numpy_{op.name}")
    if found is None:
        assert op.definition is not None, op
        found = Composite(op.name, op.signature, op.about, op.static, definition=op.definition)
    return found


def _by_name(record: Any) -> tuple[Function, tuple[str]]:
    return record_named, (record.name,)


for _record in (Op, Composite):
    # Other processes and copies find a record by its name.
    copyreg.pickle(_record, _by_name)


def public_names() -> list[str]:
    """All names under which a program may call an operation."""
    load()
    return [name for name, op in _BY_NAME.items() if op.public]


# What parameters of a definition are, besides arrays: see `Record.signature`.
Alike: TypeAlias = Any
Index: TypeAlias = Any
Arrays: TypeAlias = Any
Number: TypeAlias = Any
Stated: TypeAlias = Any
KINDS = {"Alike", "Arrays", "Index", "Number", "Stated"}


def composite(names: str, signature: str, body: Function, *, doc: str, **record: Any) -> Composite:
    """Register a function made of operations."""
    fields = {"public": not FORM.match(names), **record}
    found: Composite = register(
        Composite(names, signature, doc, definition=body, **fields_of(fields))
    )
    return found


def signature_of(body: Function) -> str:
    """Return the signature of a definition.

    It follows from the parameters, their kinds, and which of them have defaults.
    """
    code, kinds = body.__code__, body.__annotations__
    count = code.co_argcount
    needed = count - len(body.__defaults__ or ())
    words: list[str] = []
    marked: list[str] = []
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    for place, name in enumerate(names):
        word = name + (f":{kinds[name].lower()}" if kinds.get(name) in KINDS else "")
        if place < count:
            words.append(word if place < needed else f"{word}?")
        elif ":" in word:
            marked.append(word)
    if code.co_flags & CO_VARARGS:
        words.append(f"*{code.co_varnames[len(names)]}")
    return " ".join(words + marked)


def function(
    names: str = "",
    vjp: Function | tuple[Function | None, ...] | None = None,
    partials: Sequence[Function | None] | None = None,
    **record: Any,
) -> Callable[[Function], Any]:
    """Register a function by its definition, which this decorates.

    Its positional parameters are the operands, which may be left out if their default is None, and ``*more`` any number of them;
    those that are more than arrays say so by `Index`, `Arrays` or `Alike`. Those by keyword only are the static parameters, required
    if they have no default, a `Number` where they are one of the formula, and `Stated` where they have to be written. The docstring
    is its documentation, with an example after ``>>>``.

    names    its names in the language, where there are more than that of the definition (without an underscore at the end)
    vjp      a derivative of its own. Then it is one node of graphs, which the judge opens; its forward pass is the definition by default.
             So is a function with a forward pass of its own that has no derivative
    partials the same of a function that works entry by entry: one for each operand. With a forward pass of its own, loops call that.
             So does one of a kind that it says, whatever its derivative is
    record   other fields of `Composite`, or of `Op`, if it is a node; else for each library that calls it otherwise, by its name, the
             signature there
    """

    def define(body: Function) -> Any:
        code = body.__code__
        defaults = body.__kwdefaults__ or {}
        about = (
            f"{body.__doc__ or ''} >>> {record.pop('example')}"
            if "example" in record
            else body.__doc__ or ""
        )
        keys = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        called = names or body.__name__.rstrip("_")
        signature = signature_of(body)
        is_node = vjp is not None or partials is not None or "forward" in record
        for library in () if is_node else LIBRARIES & record.keys():
            declare(f"{library}:\n{called.split()[0]}({record.pop(library)})")
        fields: dict[str, Any] = {
            "static": MappingProxyType({key: defaults.get(key, REQUIRED) for key in keys}),
            "public": not FORM.match(called),
            **record,
        }
        if partials is not None or "kind" in record:
            own: dict[str, Any] = (
                {"definition": body} if "forward" in record else {"definition": body, "parts": body}
            )
            entries = {"forward": body, **fields, **own}
            return elementwise(
                called,
                signature,
                entries.pop("forward"),
                partial(_of_entries, body),
                *(partials or ()),
                doc=about,
                vjp=vjp,
                **entries,
            )
        if is_node:
            own = {
                "reference": partial(_open_body, body),
                "definition": body,
                "kind": "structural",
                "vjp": vjp,
                "forward": body,
            }
            # LAPACK is faster than loops.
            parts = {} if "axes" in record or "core_dims" in record else {"parts": body}
            return register(Op(called, signature, about, **fields_of({**own, **parts, **fields})))
        return register(Composite(called, signature, about, definition=body, **fields_of(fields)))

    return define


def _open_body(body: Function, m: Any, *operands: Any, **static: Any) -> Any:
    """Return what the definition of a function is in a domain of numbers."""
    return m.open_body(body, operands, static)


def _of_entries(body: Function, m: Any, *operands: Any, **static: Any) -> Any:
    """Return what the definition of a function of entries is of numbers of a context."""
    entry = import_module(
        "gradcli.ops.operands"
    ).Entry  # imported late: its operators are operations, which are made here
    return body(*[None if x is None else entry(m, x) for x in operands], **static).value


def _of_context(function: Any) -> Any:
    """Return a function of a context, or the context's own of that name."""
    return partial(_call_in_context, function) if isinstance(function, str) else function


def _call_in_context(name: str, m: Any, *operands: Any, **static: Any) -> Any:
    """Return what the function of a context that has this name makes of operands."""
    return getattr(m, name)(*operands, **static)


def is_number(parameter: Any) -> bool:
    """Return whether a parameter is a number.

    A value with a derivative may stand in its place, and no body branches on such a value.
    """
    return isinstance(parameter, (int, float))


def elementwise(
    names: str,
    signature: str,
    forward: Function,
    reference: Function | str,
    *partials: Function | None,
    doc: str,
    kind: Kind = "smooth",
    **record: Any,
) -> Op:
    """Register an operation that works entry by entry, with one partial for each operand.

    A smooth operation commonly needs all operands, and is right to 4 units in the last place; a
    flat one rounds nothing. Its reference may be the name of mpmath's function, ``symbolic`` that
    of sympy's, and its forward pass `OfSciPy`, for SciPy's function of its own name.
    """
    record = {
        **(
            {"saves": signature, "ulps": 4}
            if kind == "smooth"
            else {"ulps": 0}
            if kind == "flat"
            else {}
        ),
        **record,
    }
    name = names.split(maxsplit=1)[0]
    if name in IN_HEADERS:
        places = [f"{{{place}}}" for place in range(len(signature.split()))]
        record = {"c": f"g_{name}({', '.join(places)})", **record}
    own: dict[str, Any] = {
        "forward": OfSciPy(name) if forward is OfSciPy else forward,
        "reference": _of_context(reference),
        "symbolic": _of_context(record.pop("symbolic", None)),
        "kind": kind,
        "partials": partials or None,
    }
    op: Op = register(Op(names, signature, doc, **own, **fields_of(record)))
    return op


piecewise, flat = partial(elementwise, kind="piecewise"), partial(elementwise, kind="flat")


def structural(
    names: str,
    signature: str,
    forward: Function,
    reference: Function | str,
    *,
    doc: str,
    **record: Any,
) -> Op:
    """Register any other operation, with its VJP. Its reference may be the name of a witness."""
    if isinstance(reference, str):
        reference = witness(reference)
    own: dict[str, Any] = {"forward": forward, "reference": reference, "kind": "structural"}
    op: Op = register(Op(names, signature, doc, **own, **fields_of(record)))
    return op
