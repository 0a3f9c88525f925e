"""Calling functions: arguments by position and name, as the library whose spelling is used takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gradcli.errors import ArgumentError, UnreadArgumentError
from gradcli.language import builtin_functions
from gradcli.language.builder import Builder
from gradcli.language.callables import IDENTITIES, exists
from gradcli.language.names import Function, Results
from gradcli.ops.calling import binding
from gradcli.ops.calling.dialects import lookup
from gradcli.ops.calling.prefixes import MATH, NUMPY, TORCH
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.expansions import calls_in, expanded
from gradcli.ops.registry import named
from gradcli.ops.spec import Op


def call(builder: Builder, name: str, library: str, arguments: list[Any], keywords: dict[str, Any], bare: bool = False) -> Any:
    """A function of a library applied to lowered arguments: its result, or the `Expansion` of one that is made of operations.

    ``bare`` is a name without a prefix, for which max and min take several values, too. Raises ArgumentError for arguments that the
    library's function does not take, ShapeError and TypeMismatchError for those that it cannot take.
    """
    name = builtin_functions.ALIASES.get(name, name)
    if bare and name in ("max", "min") and len(arguments) > 1:
        if keywords:
            raise ArgumentError(f"{name} of several values takes no {next(iter(keywords))!r}", help=f"write {name}([x, y], axis=0)")
        of_several = builtin_functions.maximum_of if name == "max" else builtin_functions.minimum_of
        return expanded(name, arguments, lambda: of_several(builder, *arguments))
    if library == MATH and name in ("max", "min"):
        library = NUMPY
    found = lookup(name, library)
    if found is None:
        raise ArgumentError(f"'{name}' is no function of {library}")
    given = binding.bind(builder, name, found, arguments, keywords)
    composition = builtin_functions.FUNCTIONS.get(found.target)
    if composition is not None:
        return expanded(found.target, (arguments, keywords), lambda: _built_in(builder, composition, given))
    record = binding.chosen(builder, named(found.target), given)
    operands, static = binding.prepared(builder, record, name, found, given)
    if isinstance(record, Op):
        return builder.call_op(record, operands, static)
    (made,) = calls_in(lambda: binding.applied(builder, record, name, found, operands, static))
    if isinstance(made.result, tuple) and len(made.result) == len(record.results):
        made.result = Results.of(made.result, record.results)
    return made


def _built_in(builder: Builder, composition: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(composition).bind(builder, **given)
    except TypeError as error:
        raise ArgumentError(f"wrong arguments for {composition.__name__}: {error}") from None
    return composition(builder, **given)


def _unchanged(builder: Builder, name: str, base: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """What a method that changes no entry gives: the value itself."""
    if name == "requires_grad_":
        given = binding.bind(builder, name, signature(name, "requires_grad"), arguments, keywords)
        if builder.literal("requires_grad", given.get("requires_grad", True)) is not True:
            raise UnreadArgumentError("requires_grad_ does not support requires_grad=False", help="write detach(x), or --freeze the name")
    else:
        binding.bind(builder, name, signature(name, "-force, -memory_format"), arguments, keywords)
    return base


def call_method(builder: Builder, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.name(...)`` as the library of a method has it: the function of that name with x as its first argument; as `call`."""
    name, base = function.name, function.base
    if name in IDENTITIES:
        return _unchanged(builder, name, base, arguments, keywords)
    if name == "dim":
        binding.bind(builder, name, Signature(name, ()), arguments, keywords)
        return builder.graph.constant(builder.value(base).ndim)
    library = function.library
    own = f"Tensor.{name}" if library == TORCH else f"ndarray.{name}"
    found = next(
        (n, lib) for n, lib in ((own, library), (name, library), (name, NUMPY), (f"Tensor.{name}", TORCH), (name, TORCH)) if exists(n, lib)
    )
    return call(builder, *found, [base, *arguments], keywords)
