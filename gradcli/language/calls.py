"""Calling functions: arguments by position and name, as the library whose spelling is used takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gradcli.errors import ArgumentError, AxisError, UnreadArgumentError
from gradcli.language import builtin_functions, objects
from gradcli.language.builder import Builder
from gradcli.language.callables import IDENTITIES, exists
from gradcli.language.names import Function, Indices, Results
from gradcli.language.tree import Attribute, Call, Node
from gradcli.ops.calling import binding
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, TORCH, DType
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.registry import named
from gradcli.ops.spec import Op
from gradcli.ops.text import Expansion, calls_in, expanded

_UFUNC_KEYWORDS = frozenset({"out", "where", "casting", "order", "dtype", "subok"})
_ROWS = (tuple, list, Indices)


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
    if name == "kl_divergence":
        return _divergence(builder, arguments, keywords)
    if library == MATH and name in ("max", "min"):
        library = NUMPY
    if name == "where" and len(arguments) == 1 and not keywords:
        from gradcli.language.index_makers import nonzero

        return expanded(name, arguments, lambda: nonzero(builder, arguments[0]))
    found = lookup(name, library)
    if found is None:
        raise ArgumentError(f"'{name}' is no function of {library}")
    if library in (NUMPY, JAX) and not _UFUNC_KEYWORDS.isdisjoint(keywords):
        found = _as_ufunc(found)
    return _applied(builder, name, found, binding.bind(builder, name, found, arguments, keywords))


def _applied(builder: Builder, name: str, found: Signature, given: Mapping[str, Any]) -> Any:
    composition = builtin_functions.FUNCTIONS.get(found.target)
    if composition is not None:
        return expanded(found.target, given, lambda: _built_in(builder, composition, given))
    record = binding.chosen(builder, named(found.target), given)
    if any(type(argument) in _ROWS for argument in given.values()):
        given = {name: _rows(argument) if name in record.operands else argument for name, argument in given.items()}
    operands, static = binding.prepared(builder, record, name, found, given)
    if isinstance(record, Op):
        return builder.call_op(record, operands, static)
    (made,) = calls_in(lambda: binding.applied(builder, record, name, found, operands, static))
    if isinstance(made.result, tuple) and len(made.result) == len(record.results):
        made.result = Results.of(made.result, record.results)
    return made


def _rows(argument: Any) -> Any:
    """Tuples as lists, which are arrays."""
    return [_rows(part) for part in argument] if type(argument) in (tuple, list, Indices) else argument


def _as_ufunc(found: Signature) -> Signature:
    """A function entry by entry with the keywords that NumPy has for all of them."""
    record = None if found.target in builtin_functions.FUNCTIONS else named(found.target)
    if not isinstance(record, Op) or not record.elementwise or record.result != "float":
        return found
    known = {spelling for parameter in found.parameters for spelling in parameter.spellings}
    more = signature(found.target, "-out, -everywhere|where, -casting, -memory_order|order, -dtype, -subok").parameters
    parameters = (*found.parameters, *(p for p in more if known.isdisjoint(p.spellings)))
    return Signature(found.target, parameters, found.defaults)


def result_of(made: Any) -> Any:
    """What a call gave, without how it was expanded."""
    return made.result if isinstance(made, Expansion) else made


def call_object(builder: Builder, base: objects.Instance, method: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """A method of an object, or the object itself, called; what it gives and raises as `call`."""
    return _applied(builder, *objects.prepared(builder, base, method, arguments, keywords))


def _divergence(builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    pair = binding.bind(builder, "kl_divergence", signature("kl_divergence", "p, q"), arguments, keywords)
    return _applied(builder, *objects.divergence(pair.get("p"), pair.get("q")))


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


def size(builder: Builder, base: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.size()``, which is the shape, and ``x.size(0)``, which is an extent. Raises ShapeError for an axis that there is none of."""
    given = binding.bind(builder, "size", signature("size", "axis|dim"), arguments, keywords)
    extents = builder.value(base).shape
    if given.get("axis") is None:
        return Indices(builder.graph.constant(n) for n in extents)
    place = builder.integer(given["axis"], "an axis")
    if not -len(extents) <= place < len(extents):
        raise AxisError(place, len(extents))
    return builder.graph.constant(extents[place])


def conversion(builder: Builder, dtype: DType, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``np.float64(2.)``: a number, or an array of them, as one of a dtype."""
    from gradcli.language.conversions import converted, known_number

    if keywords or len(arguments) != 1:
        raise ArgumentError(f"{dtype.name} takes one number", help=f"write np.{dtype.name}(2)")
    given = known_number(arguments[0]) if isinstance(arguments[0], str) else arguments[0]
    return converted(builder, given, dtype, f"{dtype.name}()")


def is_pair(node: Call, nodes: list[Node]) -> bool:
    """Whether ``.values`` or ``.indices`` follows a call."""
    after = nodes[node.place + 1] if node.place + 1 < len(nodes) else None
    return isinstance(after, Attribute) and after.base is node and after.name in ("values", "indices")


def of_a_pair(builder: Builder, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.max(1)`` where ``.values`` or ``.indices`` follows, which PyTorch's results have; what it gives and raises as `call`."""
    name = f"Tensor.{function.name}" if exists(f"Tensor.{function.name}", TORCH) else function.name
    given = arguments if function.base is None else [function.base, *arguments]
    return call(builder, name, TORCH, given, keywords)


def call_method(builder: Builder, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.name(...)`` as the library of a method has it: the function of that name with x as its first argument; as `call`."""
    name, base = function.name, function.base
    if isinstance(base, objects.Instance):
        return call_object(builder, base, name, arguments, keywords)
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
