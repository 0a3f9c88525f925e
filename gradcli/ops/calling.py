"""Calling a function as a library takes it: arguments by position and name become operands and static parameters.

What the arguments are (results of an expression, tensors) is the host's business, who also applies operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gradcli.errors import ArgumentError, GradcliError, suggestion
from gradcli.ops.parameters import static_parameters
from gradcli.ops.prefixes import DType
from gradcli.ops.shapes import getitem
from gradcli.ops.signatures import Parameter, Signature
from gradcli.ops.spec import REQUIRED, Composite, Op

Use = tuple[Op | Composite, str, str]  # a function, what it is called here, and its parameter that takes an argument


class Host(Protocol):
    """Who carries values: makes operands and static parameters of arguments, and applies operations."""

    def value(self, argument: Any) -> Any: ...
    def whole(self, argument: Any, of: Use | None = None) -> Any: ...
    def static(self, argument: Any, of: Use | None = None) -> Any: ...
    def is_axis(self, argument: Any) -> bool: ...
    def is_whole(self, argument: Any) -> bool: ...
    def call_op(self, op: Op, operands: list[Any], static: dict[str, Any]) -> Any: ...


def bind(name: str, signature: Signature, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the parameter names of our own records."""
    given: dict[str, Any] = {}
    left = list(arguments)
    for parameter in signature.parameters:
        if not left:
            break
        if parameter.many and (parameter.each or not isinstance(left[0], (list, tuple))):
            argument: Any = tuple(left)
            left = []
        else:
            argument = left.pop(0)
        if not parameter.ignored:
            given[parameter.name] = argument
        elif argument is not None and not isinstance(argument, DType):
            raise ArgumentError(f"{name}: the argument {parameter.name!r} is not read here")
    if left:
        most = len(signature.parameters)
        raise ArgumentError(f"{name} takes at most {most} arguments, not {len(arguments)}", help=usage(name, signature))
    for keyword, argument in keywords.items():
        parameter = _spelled(name, signature, keyword)
        if parameter.ignored:
            continue
        if parameter.name in given:
            raise ArgumentError(f"{name}: the argument {keyword!r} is given twice")
        given[parameter.name] = argument
    return given


def usage(name: str, signature: Signature) -> str:
    return f"{name}({', '.join(p.name for p in signature.parameters if not p.ignored)})"


def _spelled(name: str, signature: Signature, keyword: str) -> Parameter:
    for parameter in signature.parameters:
        if keyword in parameter.spellings:
            return parameter
    close = suggestion(keyword, [s for p in signature.parameters for s in p.spellings], cutoff=0.7)
    known = ", ".join(p.name for p in signature.parameters if not p.ignored)
    raise ArgumentError(f"{name} has no argument {keyword!r}", help=f"did you mean {close!r}?" if close else f"it has {known}")


def call(host: Host, record: Op | Composite, name: str, signature: Signature, given: Mapping[str, Any]) -> Any:
    """A function applied to bound arguments. Raises ArgumentError for missing or unusable ones."""
    return applied(host, record, name, signature, *prepared(host, record, name, signature, given))


def prepared(
    host: Host, record: Op | Composite, name: str, signature: Signature, given: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The operands and the static parameters that bound arguments become."""
    rest = {**dict(signature.defaults), **given}
    for parameter in signature.parameters:
        fits = host.is_whole if parameter.name in record.operands else host.is_axis
        if parameter.otherwise and parameter.name in rest and not fits(rest[parameter.name]):
            displaced = rest.pop(parameter.otherwise, None)
            rest[parameter.otherwise] = rest.pop(parameter.name)
            if displaced is not None:
                rest[parameter.name] = displaced
    operands = _variadic(host, record, name, rest) if record.variadic else _operands(host, record, name, rest)
    static = static_parameters(record, operands, {key: host.static(value, (record, name, key)) for key, value in rest.items()})
    for key, value in static.items():
        if value is REQUIRED:
            raise ArgumentError(f"{name} needs the argument {key!r}", help=usage(name, signature))
    return operands, static


def applied(host: Host, record: Op | Composite, name: str, signature: Signature, operands: list[Any], static: dict[str, Any]) -> Any:
    """A function of operands and static parameters."""
    if isinstance(record, Op):
        return host.call_op(record, operands, static)
    try:
        return record(*operands, **static)
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, GradcliError):
            raise
        raise ArgumentError(f"{name}: {str(error) or type(error).__name__}", help=usage(name, signature)) from None


def _operands(host: Host, record: Op | Composite, name: str, rest: dict[str, Any]) -> list[Any]:
    operands: list[Any] = []
    for operand in record.operands:
        value = rest.pop(operand, None)
        if value is None:
            if operand not in record.optional:
                raise ArgumentError(f"{name} needs the argument {operand!r}", help=f"{name}({', '.join(record.operands)})")
            operands.append(None)
        else:
            operands.append(host.whole(value, (record, name, operand)) if operand in record.indices else host.value(value))
    if isinstance(record, Composite) and record.rest:
        more = rest.pop(record.rest, None)
        operands += [host.value(item) for item in (more if isinstance(more, (list, tuple)) else () if more is None else (more,))]
    return operands


def _variadic(host: Host, record: Op | Composite, name: str, rest: dict[str, Any]) -> list[Any]:
    items = rest.pop(record.operands[0], None)
    if isinstance(items, (list, tuple)):
        operands = [host.value(item) for item in items]
    elif items is not None:
        array = host.value(items)
        operands = [getitem(array, index=(i,)) for i in range(array.shape[0] if array.shape else 0)]
    else:
        operands = []
    if not operands:
        raise ArgumentError(f"{name} needs a list of at least one array", help=f"write {name}([x, y])")
    return operands
