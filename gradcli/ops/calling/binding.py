"""Calling a function as a library takes it: arguments by position and name become operands and static parameters.

What the arguments are (results of an expression, tensors) is the host's business, who also applies operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gradcli.errors import ArgumentError, GradcliError, MistypedArgumentError, PlaceError, UnreadArgumentError, suggestion
from gradcli.ops.arrays.shapes import getitem, reshape
from gradcli.ops.calling.harmless import help_for, is_harmless
from gradcli.ops.calling.parameters import static_parameters, takes_tables
from gradcli.ops.calling.prefixes import DType
from gradcli.ops.calling.signatures import Parameter, Signature
from gradcli.ops.spec import REQUIRED, Composite, Op

Use = tuple[Op | Composite, str, str]  # a function, what it is called here, and its parameter that takes an argument


class Host(Protocol):
    """Who carries values: makes operands and static parameters of arguments, and applies operations."""

    def value(self, argument: Any) -> Any: ...
    def operand(self, argument: Any, of: Use) -> Any:
        """The value that stands for an operand."""

    def whole(self, argument: Any, of: Use | None = None) -> Any: ...
    def static(self, argument: Any, of: Use | None = None) -> Any: ...
    def literal(self, parameter: str, argument: Any) -> Any:
        """What was written for a parameter that is not read, as a plain value where it is one; None for the precision in use."""

    def varies(self, argument: Any) -> bool:
        """Whether an argument in the place of a number has a derivative."""

    def is_axis(self, argument: Any) -> bool: ...
    def is_whole(self, argument: Any) -> bool: ...
    def call_op(self, op: Op, operands: list[Any], static: dict[str, Any]) -> Any: ...


class VaryingParameterError(TypeError):
    """Raised by a host for a parameter that is no operand, and has a derivative that would be lost."""


def bind(host: Host, name: str, signature: Signature, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by the parameter names of our own records."""
    given: dict[str, Any] = {}
    left = list(arguments)
    by_position = [parameter for parameter in signature.parameters if not parameter.by_name]
    for parameter in by_position:
        if not left:
            break
        if parameter.many and (parameter.each or not isinstance(left[0], (list, tuple))):
            argument: Any = tuple(left)
            left = []
        else:
            argument = left.pop(0)
        if parameter.ignored:
            _refuse_unless_harmless(host, name, parameter.name, parameter.name, argument)
        else:
            given[parameter.name] = argument
    if left:
        most = "1 argument" if len(by_position) == 1 else f"{len(by_position)} arguments"
        where = " by position" if len(by_position) < len(signature.parameters) else ""
        raise MistypedArgumentError(f"{name} takes at most {most}{where}, not {len(arguments)}", help=usage(name, signature))
    for keyword, argument in keywords.items():
        parameter = _spelled(name, signature, keyword)
        if parameter.ignored:
            _refuse_unless_harmless(host, name, parameter.name, keyword, argument)
            continue
        if parameter.name in given:
            raise MistypedArgumentError(f"{name}: the argument {keyword!r} is given twice")
        given[parameter.name] = argument
    for parameter in signature.parameters:
        if parameter.flattens and parameter.name in given and given[parameter.name] is None:
            given["x"] = reshape(host.value(given["x"]), shape=(-1,))
            del given[parameter.name]
    return given


def _refuse_unless_harmless(host: Host, name: str, parameter: str, written: str, argument: Any) -> None:
    """Nothing that was written is dropped: what is not read may only say what holds anyway."""
    literal = host.literal(parameter, argument)
    if is_harmless(parameter, literal):
        return
    plain = literal is None or isinstance(literal, (bool, int, float, str))
    said = f"{written}={literal.name}" if isinstance(literal, DType) else f"{written}={literal!r}" if plain else written
    raise UnreadArgumentError(f"{name} does not support {said}", help=help_for(name, parameter))


def usage(name: str, signature: Signature) -> str:
    return f"{name}({', '.join(p.name for p in signature.parameters if not p.ignored)})"


def _spelled(name: str, signature: Signature, keyword: str) -> Parameter:
    taking = [parameter for parameter in signature.parameters if keyword in parameter.spellings]
    for parameter in taking:
        if parameter.name == keyword:  # gamma.logpdf(x, a=2): an array is x, and 'a' to NumPy, but here it is the shape
            return parameter
    if taking:
        return taking[0]
    close = suggestion(keyword, [s for p in signature.parameters for s in p.spellings], cutoff=0.7)
    known = ", ".join(p.name for p in signature.parameters if not p.ignored)
    raise UnreadArgumentError(f"{name} has no argument {keyword!r}", help=f"did you mean {close!r}?" if close else f"it has {known}")


def call(host: Host, record: Op | Composite, name: str, signature: Signature, given: Mapping[str, Any]) -> Any:
    """A function applied to bound arguments. Raises ArgumentError for missing or unusable ones."""
    record = chosen(host, record, given)
    return applied(host, record, name, signature, *prepared(host, record, name, signature, given))


def chosen(host: Host, record: Op | Composite, given: Mapping[str, Any]) -> Op | Composite:
    """The operation, or what it is more widely where these arguments are more than it takes."""
    wider = record.wider if isinstance(record, Op) else None
    if wider is None:
        return record
    for name, argument in given.items():
        more = (name in wider.optional and name not in record.operands) or (name in wider.static and name not in record.static)
        if more and argument is not None:
            return wider
        if name in wider.scalars and host.varies(argument):
            return wider
    return record


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
    for key, default in signature.defaults:
        given_there = rest.get(key, REQUIRED)
        if default is REQUIRED and (given_there is REQUIRED or (given_there is None and key in record.static)):
            raise missing(name, key, signature)
    operands = _variadic(host, record, name, rest) if record.variadic else _operands(host, record, name, rest)
    scalars = record.scalars if isinstance(record, Composite) else frozenset()
    varying = {key: rest.pop(key) for key in scalars if key in rest and host.varies(rest[key])}
    fixed = {key: _said(signature, key, _static(host, value, (record, name, key))) for key, value in rest.items()}
    static = static_parameters(record, operands, fixed)
    static.update((key, _varying(host, name, key, value)) for key, value in varying.items())
    for key, value in static.items():
        if value is REQUIRED:
            raise missing(name, key, signature)
    return operands, static


def missing(name: str, key: str, signature: Signature) -> MistypedArgumentError:
    """Return the error for an argument without which a function cannot be called."""
    return MistypedArgumentError(f"{name} needs the argument {key!r}", help=usage(name, signature))


def _varying(host: Host, name: str, key: str, value: Any) -> Any:
    """What has a derivative in the place of a number: a number, too, unless the parameter has one for each axis."""
    operand = host.value(_listed(value))
    if operand.shape and not takes_tables(key):
        raise ArgumentError(f"{name}: {key} must be a number, not an array of shape {tuple(operand.shape)}")
    return operand


def _listed(value: Any) -> Any:
    """Tuples of numbers as lists, which are arrays."""
    return [_listed(part) for part in value] if isinstance(value, (list, tuple)) else value


def _said(signature: Signature, key: str, value: Any) -> Any:
    """What a library's value of a parameter is here."""
    table = signature.values.get(key) if signature.values else None
    return value if table is None or not isinstance(value, (bool, int, str)) else table.get(value, value)


def _static(host: Host, value: Any, of: Use) -> Any:
    try:
        return host.static(value, of)
    except VaryingParameterError:
        _, name, key = of
        raise TypeError(f"{name}(): argument '{key}' must be Number, not Tensor: it requires grad, which would be lost here") from None


def applied(host: Host, record: Op | Composite, name: str, signature: Signature, operands: list[Any], static: dict[str, Any]) -> Any:
    """A function of operands and static parameters."""
    if isinstance(record, Op):
        return host.call_op(record, operands, static)
    try:
        return record(*operands, **static)
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, GradcliError):
            raise
        mistyped = MistypedArgumentError if isinstance(error, TypeError) else ArgumentError
        kind = PlaceError if isinstance(error, IndexError) else mistyped
        raise kind(f"{name}: {str(error) or type(error).__name__}", help=usage(name, signature)) from None


def _operands(host: Host, record: Op | Composite, name: str, rest: dict[str, Any]) -> list[Any]:
    operands: list[Any] = []
    for operand in record.operands:
        value = rest.pop(operand, None)
        if value is None:
            if operand not in record.optional:
                raise MistypedArgumentError(f"{name} needs the argument {operand!r}", help=f"{name}({', '.join(record.operands)})")
            operands.append(None)
        elif isinstance(record, Composite) and operand in record.lists:
            operands.append(_listed_arrays(host, value, (record, name, operand)))
        else:
            operands.append((host.whole if operand in record.indices else host.operand)(value, (record, name, operand)))
    if isinstance(record, Composite) and record.rest:
        more = rest.pop(record.rest, None)
        of = (record, name, record.rest)
        operands += [host.operand(item, of) for item in (more if isinstance(more, (list, tuple)) else () if more is None else (more,))]
    return operands


def _listed_arrays(host: Host, items: Any, of: Use) -> list[Any]:
    """The arrays of a list, or the rows of an array."""
    if isinstance(items, (list, tuple)):
        return [host.operand(item, of) for item in items]
    if items is None:
        return []
    array = host.value(items)
    return [getitem(array, index=(i,)) for i in range(array.shape[0] if array.shape else 0)]


def _variadic(host: Host, record: Op | Composite, name: str, rest: dict[str, Any]) -> list[Any]:
    listed = rest.pop(record.operands[0], None)
    operands = _listed_arrays(host, listed, (record, name, record.operands[0]))
    if not operands:
        kind = ArgumentError if isinstance(listed, (list, tuple)) else MistypedArgumentError
        raise kind(f"{name} needs a list of at least one array", help=f"write {name}([x, y])")
    return operands
