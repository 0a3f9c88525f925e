"""Calling operations: arguments by position and name, as the library whose spelling is used takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from gradcli.errors import ArgumentError, suggestion
from gradcli.language import composed
from gradcli.language.parameters import static_parameters
from gradcli.ops.dialects import Signature, lookup, names
from gradcli.ops.prefixes import MATH, NUMPY, TORCH, DType
from gradcli.ops.spec import Op, find, public_names

if TYPE_CHECKING:
    from gradcli.language.lowering import Lowering
    from gradcli.language.names import Function

_DERIVATIVES = ("grad", "vjp", "jvp", "jacobian", "hessian", "hvp")
_TORCH_ONLY = frozenset({"t", "clone", "contiguous", "unsqueeze"})
_VARIADIC_METHODS = {"reshape": "shape", "view": "shape", "permute": "axes", "transpose": "axes", "expand": "shape"}
METHODS = frozenset({*_VARIADIC_METHODS, "dim", "requires_grad_", "numpy", "cpu", "tolist", "detach"})
_IDENTITIES = frozenset({"requires_grad_", "numpy", "cpu", "tolist"})


@cache
def exists(name: str, library: str) -> bool:
    """Whether a library's prefix (or, for NumPy, no prefix) makes this name a function."""
    return name in composed.FUNCTIONS or name in composed.ALIASES or lookup(name, library) is not None


@cache
def all_names() -> list[str]:
    """Every name that a program can call, for suggestions."""
    return sorted({*public_names(), *names(), *composed.FUNCTIONS, *_DERIVATIVES})


def known(name: str) -> bool:
    return exists(name, NUMPY) or exists(name, TORCH) or name in _DERIVATIVES


def suggested(name: str) -> str | None:
    close = suggestion(name, all_names())
    return f"did you mean '{close}'?" if close else None


def call(low: Lowering, name: str, library: str, arguments: list[Any], keywords: dict[str, Any], bare: bool = False) -> Any:
    """A function of a library applied to lowered arguments."""
    name = composed.ALIASES.get(name, name)
    if bare and name in ("max", "min") and len(arguments) > 1:
        if keywords:
            raise ArgumentError(f"{name} of several values takes no {next(iter(keywords))!r}", help=f"write {name}([x, y], axis=0)")
        return (composed.maximum_of if name == "max" else composed.minimum_of)(low, *arguments)
    if library == MATH and name in ("max", "min"):
        library = NUMPY
    signature = lookup(name, library)
    if signature is None:
        return _composed(low, name, arguments, keywords)
    given = _bind(name, signature, arguments, keywords)
    composition = composed.ADAPTED.get(signature.target) or composed.FUNCTIONS.get(signature.target)
    if composition is not None:
        return _run(low, composition, given)
    return _operation(low, find(signature.target), name, signature, given)


def _composed(low: Lowering, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    keywords = {k: v for k, v in keywords.items() if k not in ("dtype", "requires_grad", "device", "generator")}
    if name in composed.TAKES_SHAPE and "size" in keywords:
        keywords["shape"] = keywords.pop("size")
    if name in composed.TAKES_SHAPE and "shape" in keywords:
        arguments = [*arguments, keywords.pop("shape")]
    keywords = {"axis" if k == "dim" else "x" if k in ("input", "a") else k: v for k, v in keywords.items()}
    arguments = [a for a in arguments if not isinstance(a, DType)]
    try:
        bound = inspect.signature(composed.FUNCTIONS[name]).bind(low, *arguments, **keywords)
    except TypeError as error:
        raise ArgumentError(f"wrong arguments for {name}: {error}") from None
    return composed.FUNCTIONS[name](*bound.args, **bound.kwargs)


def _run(low: Lowering, composition: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(composition).bind(low, **given)
    except TypeError as error:
        raise ArgumentError(f"wrong arguments: {error}") from None
    return composition(low, **given)


def _bind(name: str, signature: Signature, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the parameter names of our own records."""
    parameters = signature.parameters
    given: dict[str, Any] = {}
    if len(arguments) > len(parameters):
        shown = ", ".join(p.name.lstrip("*") for p in parameters if not p.ignored)
        raise ArgumentError(f"{name} takes at most {len(parameters)} arguments, not {len(arguments)}", help=f"{name}({shown})")
    for parameter, argument in zip(parameters, arguments, strict=False):
        if not parameter.ignored:
            given[parameter.name.lstrip("*")] = argument
        elif argument is not None and not isinstance(argument, DType):
            raise ArgumentError(f"{name}: the argument {parameter.name!r} is not read here")
    for keyword, argument in keywords.items():
        for parameter in parameters:
            if keyword in parameter.spellings or keyword == parameter.name.lstrip("*"):
                break
        else:
            shown = ", ".join(p.name.lstrip("*") for p in parameters if not p.ignored)
            close = suggestion(keyword, [s for p in parameters for s in p.spellings], cutoff=0.7)
            raise ArgumentError(
                f"{name} has no argument {keyword!r}", help=f"did you mean {close!r}?" if close else f"it has {shown}"
            )
        if parameter.ignored:
            continue
        key = parameter.name.lstrip("*")
        if key in given:
            raise ArgumentError(f"{name}: the argument {keyword!r} is given twice")
        given[key] = argument
    return given


def _operation(low: Lowering, op: Op, name: str, signature: Signature, given: dict[str, Any]) -> Any:
    operands: list[Any] = []
    if op.variadic:
        items = given.pop(op.operands[0], None)
        if isinstance(items, (list, tuple)):
            operands = [low.value(item) for item in items]
        elif items is not None:
            array = low.value(items)
            count = array.shape[0] if array.shape else 0
            operands = [low.graph.apply(find("getitem"), [array], {"index": (i,)}) for i in range(count)]
        if not operands:
            raise ArgumentError(f"{name} needs a list of at least one array", help=f"write {name}([x, y])")
    else:
        for operand in op.operands:
            if operand not in given:
                if operand not in op.optional:
                    raise ArgumentError(f"{name} needs the argument {operand!r}", help=f"{name}({', '.join(op.operands)})")
                operands.append(None)
                continue
            value = given.pop(operand)
            operands.append(None if value is None and operand in op.optional else low.value(value))
    given = {key: low.static(value) for key, value in given.items()}
    if op.name == "concatenate" and given.get("axis", 0) is None:
        operands, given = [composed.ravel(low, operand) for operand in operands], {}
    return low.call_op(op, operands, static_parameters(op, operands, {**dict(signature.defaults), **given}))


def call_method(low: Lowering, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.name(...)``: the function of that name with x as its first argument."""
    name, base = function.name, function.base
    if name in _IDENTITIES:
        return base
    if name == "dim":
        return low.graph.constant(low.value(base).ndim)
    if name in _VARIADIC_METHODS and arguments:
        node = low.value(base)
        torch_swap = name == "transpose" and len(arguments) == 2 and (node.ndim != 2 or keywords)
        if not torch_swap:
            parts = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else tuple(arguments)
            arguments = [tuple(parts)]
            if name == "expand":
                arguments = [_expanded(low, node, arguments[0])]
        else:
            return call(low, "swapaxes", NUMPY, [base, *arguments], keywords)
        target = {"view": "reshape", "permute": "transpose", "expand": "broadcast_to"}.get(name, name)
        return call(low, target, NUMPY, [base, *arguments], keywords)
    if name == "argmax" and "dim" in keywords:
        return call(low, name, TORCH, [base, *arguments], keywords)
    return call(low, name, function.library, [base, *arguments], keywords)


def _expanded(low: Lowering, node: Any, extents: tuple[Any, ...]) -> tuple[int, ...]:
    sizes = [low.integer(e) for e in extents]
    lead = len(sizes) - node.ndim
    return tuple(node.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(sizes))
