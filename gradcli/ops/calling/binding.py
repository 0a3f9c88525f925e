"""Binding of a call's arguments as its library does it.

Arguments by position and name become operands and static parameters. The host decides what the
arguments are (results of an expression, tensors), and also applies operations.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gradcli.errors import (
    ArgumentError,
    GradcliError,
    MistypedArgumentError,
    PlaceError,
    TypeMismatchError,
    UnreadArgumentError,
)
from gradcli.ops.arrays.shapes import StaticArray, getitem, vector_of
from gradcli.ops.calling.prefixes import DType
from gradcli.ops.calling.signatures import Parameter, Signature
from gradcli.ops.registry import general
from gradcli.ops.spec import REQUIRED, Composite, Op
from gradcli.texts import suggestion

# -- Parameters of libraries that are not read here, and the values of them that change neither
# value nor gradient.
#
# Whatever else is given for them is refused by name: nothing that somebody wrote is dropped.


# A parameter for which no value is listed may only be None, which means that it is left out.
_TABLE = """
    how memory is laid out, shared, or where it is
        copy subok implicit sparse_grad pin_memory requires_grad force non_blocking retain_graph create_graph allow_unused: flag
        overwrite_a overwrite_b overwrite_input check_finite: flag
        memory_format layout: anything
        device: 'cpu'
        memory_order: 'C' 'F' 'A' 'K'
    with which algorithm the same is computed; a sort of equal entries is stable in any case
        lapack_driver: 'gesdd' 'gesvd' 'gelsd' 'gelsy' 'gelss'
        kind: 'quicksort' 'mergesort' 'heapsort' 'stable'
        stable: flag
        optimize lwork _stacklevel compute_mode: anything
    between which dtypes numbers may move, where all have one
        casting: 'no' 'equiv' 'safe' 'same_kind' 'unsafe'
    what is so of indices, and what would become of those out of bounds, which are refused
        indices_are_sorted unique_indices: flag
        bounds_mode bounds_value: anything
    what a function does without being asked
        everywhere use_lower pivot traced size_average reduce unpack_data unpack_pivots: True
        inplace exact repetition return_rank pivoting promote_integers recompute_scale_factor hermitian: False
        allow_singular lower returned get_infos: False
        assume_a: 'gen' 'general'
        reflect_type: 'even'
        mode: 'raise'
"""
_HARMLESS = {
    name: values.split()
    for names, _, values in (line.partition(": ") for line in _TABLE.split("\n"))
    for name in (names.split() if values else ())
}

_HELP = {
    "everywhere": "write where(mask, {name}(x, y), x) for the entries of a mask",
    "out": "leave it out, and give the result a name: y = {name}(...)",
    "inplace": "leave it out: {name}(x) is the result, and x stays as it is",
    "dtype": "leave it out: everything is computed in one precision, which --dtype chooses",
    "device": "leave it out: everything is computed on the CPU",
    "exact": "leave it out: the result is a float",
    "traced": "write detach(x), or --freeze the name",
}


def is_harmless(parameter: str, given: Any) -> bool:
    """Return whether a parameter that is not read may be given this value."""
    values = _HARMLESS.get(parameter, [])
    if (
        given is None
        or "anything" in values
        or ("flag" in values and isinstance(given, (bool, int)))
    ):
        return True
    return repr(str(getattr(given, "type", given)) if parameter == "device" else given) in values


def help_for(name: str, parameter: str) -> str:
    """Return what to write instead of a value that would change something."""
    return _HELP.get(parameter, "leave it out").format(name=name)


# -- Static arguments of operations: axes, shapes, numbers and flags, checked where they are
# written.


_WHOLE = (
    "chunks count dim0 dim1 downscale_factor embed_dim_to_check groups ignored "
    "index k length num_classes num_groups "
    "num_heads padding_idx power start step stop upscale_factor"
)
_WHOLES = (
    "shift sizes sections repeats reps source destination pad dilation kernel_size "
    "normalized_shape output_padding size stride shape"
)
_QUANTITIES = (
    "alpha atol beta constant_values correction ddof eps maxnorm nan neginf norm_type p "
    "posinf rcond rtol scale threshold value"
)
_BY_KIND = {
    "whole": _WHOLE,
    "count": "n",
    "axis": "axis",
    "wholes": _WHOLES,
    "axes": "axes output_size",
    "number": _QUANTITIES,
    "numbers": "scale_factor",
    "constant": "a b c v",
    "flag": "align_corners unbiased",
    "text": "driver rounding_mode",
    "order": "ord",
    "any": "padding",
    "truths": "mask",
}
# The kind of value that a parameter takes, by its name. Other parameters take the kind of their
# defaults.
_KINDS = {name: kind for kind, names in _BY_KIND.items() for name in names.split()}
_OF_DEFAULTS = {bool: "flag", str: "text", float: "number", int: "whole"}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


_NUMBER = (lambda value: isinstance(value, (int, float)), "a number")
# For each kind, a test of values, and the words for what passes it.
_FITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "whole": (_whole, "a whole number"),
    "count": (lambda value: _whole(value) and value >= 0, "a whole number of at least 0"),
    "axis": (_whole, "a whole number"),
    "wholes": (_whole, "a whole number or a list of them"),
    "axes": (lambda value: value is None or _whole(value), "whole numbers"),
    "number": _NUMBER,
    "numbers": _NUMBER,
    "constant": _NUMBER,
    "flag": (lambda value: isinstance(value, int), "True or False"),
    "text": (lambda value: isinstance(value, str), "a string"),
    "order": (lambda value: value is None or isinstance(value, (int, float, str)), "a number"),
    "truths": (
        lambda value: isinstance(value, (int, float, StaticArray)),
        "an array of truth values",
    ),
    "any": (
        lambda value: (
            value is None
            or value is ...
            or isinstance(value, (int, float, str, StaticArray, np.ndarray))
        ),
        "a number",
    ),
}
_NESTED = {"axis", "wholes", "axes", "numbers", "truths", "any"}
_OF_TEXTS = {"text", "order", "any"}  # kinds that take a text, or refuse it in their own words


def parameter(record: Op | Composite, key: str, value: Any) -> Any:
    """Return a static argument in the form that the function's rules take.

    Raises ArgumentError, and TypeMismatchError for a text that does not fit.
    """
    value = _tuples(value)
    listed = getattr(record.definition, "__annotations__", {}).get(key, "")
    if listed.startswith("Literal["):
        return _check_listed(key, value, literal_eval(f"({listed[8:-1]},)"))
    if isinstance(value, np.ndarray):
        value = StaticArray(value) if key == "mask" else _flat(key, value)
    default, kind = record.static.get(key), kind_of(record, key)
    if kind == "whole" and isinstance(default, float):
        kind = "number"
    if isinstance(value, str) and kind not in _OF_TEXTS:
        raise TypeMismatchError(f"{key} must be a number, not the string {value!r}")
    if value is None and (
        default is None or (key == "axis" and record.variadic)
    ):  # arrays can be joined without an axis
        return None
    return _check(kind, key, (value,) if key == "shape" and not isinstance(value, tuple) else value)


def kind_of(record: Op | Composite, key: str) -> str:
    """Return the kind of value that a static parameter takes."""
    return _KINDS.get(key) or _OF_DEFAULTS.get(type(record.static.get(key)), "any")


def _check_listed(key: str, value: Any, known: tuple[Any, ...]) -> Any:
    """Return a value that is one of those that a definition's annotation lists."""
    if isinstance(value, np.ndarray) or value not in known:
        *others, last = map(repr, known)
        raise ArgumentError(f"{key} must be {', '.join(others)} or {last}, not {value!r}")
    return value


def _check(kind: str, key: str, value: Any) -> Any:
    if isinstance(value, tuple) and kind in _NESTED:
        return tuple(_check(kind, key, part) for part in value)
    fits, wanted = _FITS[kind]
    if not fits(value):
        raise (TypeMismatchError if kind == "text" else MistypedArgumentError)(
            f"{key} must be {wanted}, not {value!r}"
        )
    if isinstance(value, bool) and _FITS[kind] is _NUMBER:  # libraries take booleans for numbers
        return int(value)
    return (
        bool(value)
        if kind == "flag"
        else StaticArray(value)
        if isinstance(value, np.ndarray)
        else value
    )


def has_no_derivative(key: str) -> bool:
    """Return whether a static parameter is a number by which no derivative is known."""
    return _KINDS.get(key) == "constant"


def is_quantity(record: Op | Composite, key: str) -> bool:
    """Return whether a static parameter is a number that one could differentiate by.

    That is so if it would have a derivative as an operand: it is no axis, extent, flag or mask.
    """
    default = record.static.get(key)
    if isinstance(default, (bool, str)) and key != "ord":
        return False
    return isinstance(default, float) or _KINDS.get(key) in ("number", "order")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, (list, tuple)) else value


def _flat(key: str, array: np.ndarray) -> Any:
    if array.ndim > (2 if key == "pad_width" else 1):  # pad_width has a row for each axis
        raise MistypedArgumentError(f"{key} cannot be an array of {array.ndim} axes")
    return _tuples(array.tolist())


# A function, the name by which it was called, and its parameter that takes the argument.
Use = tuple[Op | Composite, str, str]


class Host(Protocol):
    """Carrier of values, which applies operations.

    It makes operands and static parameters of arguments.
    """

    def value(self, argument: Any) -> Any: ...
    def operand(self, argument: Any, of: Use) -> Any:
        """Return the value that stands for an operand."""

    def whole(self, argument: Any, of: Use | None = None) -> Any: ...
    def static(self, argument: Any, of: Use | None = None) -> Any: ...
    def literal(self, parameter: str, argument: Any) -> Any:
        """Return the argument of a parameter that is not read, as a plain value if it is one.

        None stands for the precision in use.
        """

    def varies(self, argument: Any) -> bool:
        """Return whether an argument in the place of a number has a derivative."""

    def is_axis(self, argument: Any) -> bool: ...
    def is_whole(self, argument: Any) -> bool: ...
    def call_op(self, op: Op, operands: list[Any], static: dict[str, Any]) -> Any: ...


def bind(
    host: Host,
    name: str,
    signature: Signature,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments by the parameter names of our own records."""
    given: dict[str, Any] = {}
    taken, left = signature.take(arguments, lambda argument: isinstance(argument, (list, tuple)))
    if left:
        count = sum(not parameter.by_name for parameter in signature.parameters)
        most = "1 argument" if count == 1 else f"{count} arguments"
        where = " by position" if count < len(signature.parameters) else ""
        raise MistypedArgumentError(
            f"{name} takes at most {most}{where}, not {len(arguments)}", help=usage(name, signature)
        )
    for parameter, argument in taken:
        if parameter.ignored:
            _refuse_unless_harmless(host, name, parameter.name, parameter.name, argument)
        else:
            given[parameter.name] = argument
    for keyword, argument in keywords.items():
        parameter = _parameter_of(name, signature, keyword)
        if parameter.ignored:
            _refuse_unless_harmless(host, name, parameter.name, keyword, argument)
            continue
        if parameter.name in given:
            raise MistypedArgumentError(f"{name}: the argument {keyword!r} is given twice")
        given[parameter.name] = argument
    for parameter in signature.parameters:
        found = given.get(parameter.name, REQUIRED)
        if parameter.flattens and found is None:
            given["x"] = vector_of(host.value(given["x"]))
            del given[parameter.name]
        elif parameter.all_if_empty and isinstance(found, (list, tuple)) and not found:
            given[parameter.name] = None
    return given


def _refuse_unless_harmless(
    host: Host, name: str, parameter: str, written: str, argument: Any
) -> None:
    """Nothing that was written is dropped: what is not read may only say what holds anyway."""
    literal = host.literal(parameter, argument)
    if is_harmless(parameter, literal):
        return
    plain = literal is None or isinstance(literal, (bool, int, float, str))
    said = (
        f"{written}={literal.name}"
        if isinstance(literal, DType)
        else f"{written}={literal!r}"
        if plain
        else written
    )
    raise UnreadArgumentError(f"{name} does not support {said}", help=help_for(name, parameter))


def usage(name: str, signature: Signature) -> str:
    return f"{name}({', '.join(p.name for p in signature.parameters if not p.ignored)})"


def _parameter_of(name: str, signature: Signature, keyword: str) -> Parameter:
    taking = [parameter for parameter in signature.parameters if keyword in parameter.spellings]
    for parameter in taking:
        # gamma.logpdf(x, a=2): NumPy also calls an array 'a', but here it is the shape.
        if parameter.name == keyword:
            return parameter
    if taking:
        return taking[0]
    close = suggestion(keyword, [s for p in signature.parameters for s in p.spellings], cutoff=0.7)
    known = ", ".join(p.name for p in signature.parameters if not p.ignored)
    raise UnreadArgumentError(
        f"{name} has no argument {keyword!r}",
        help=f"did you mean {close!r}?" if close else f"it has {known}",
    )


def choose_record(host: Host, record: Op | Composite, given: Mapping[str, Any]) -> Op | Composite:
    """Return the operation, or its general function if the arguments are more than it takes.

    That function is made of operations.
    """
    if isinstance(record, Composite):
        return record
    more = given.keys() - {*record.operands, *record.static, record.rest}
    return (
        general(record)
        if more or any(host.varies(given[key]) for key in record.numbers if key in given)
        else record
    )


def prepare(
    host: Host, record: Op | Composite, name: str, signature: Signature, given: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the operands and the static parameters that bound arguments become."""
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
        if default is REQUIRED and (
            given_there is REQUIRED or (given_there is None and key in record.static)
        ):
            raise missing(name, key, signature)
    operands = (
        _variadic(host, record, name, rest)
        if record.variadic
        else _operands(host, record, name, rest)
    )
    varying = {
        key: rest.pop(key) for key in record.numbers if key in rest and host.varies(rest[key])
    }
    fixed = {key: host.static(value, (record, name, key)) for key, value in rest.items()}
    static = static_parameters(record, fixed)
    static.update((key, _varying(host, name, key, value)) for key, value in varying.items())
    for key, value in static.items():
        if value is REQUIRED:
            raise missing(name, key, signature)
    return operands, static


def static_parameters(record: Op | Composite, given: Mapping[str, Any]) -> dict[str, Any]:
    """All static parameters of a call, the given ones checked."""
    return {**record.static, **{key: parameter(record, key, value) for key, value in given.items()}}


def missing(name: str, key: str, signature: Signature) -> MistypedArgumentError:
    """Return the error for an argument without which a function cannot be called."""
    return MistypedArgumentError(f"{name} needs the argument {key!r}", help=usage(name, signature))


def _varying(host: Host, name: str, key: str, value: Any) -> Any:
    """Return what has a derivative in the place of a number: a number, too."""
    operand = host.value(_as_lists(value))
    if operand.shape:
        raise ArgumentError(
            f"{name}: {key} must be a number, not an array of shape {tuple(operand.shape)}"
        )
    return operand


def _as_lists(value: Any) -> Any:
    """Tuples of numbers as lists, which are arrays."""
    return [_as_lists(part) for part in value] if isinstance(value, (list, tuple)) else value


def apply(
    host: Host,
    record: Op | Composite,
    name: str,
    signature: Signature,
    operands: list[Any],
    static: dict[str, Any],
) -> Any:
    """Apply a function to operands and static parameters."""
    if isinstance(record, Op):
        return host.call_op(record, operands, static)
    try:
        return record(*operands, **static)
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        if isinstance(error, GradcliError):
            raise
        mistyped = MistypedArgumentError if isinstance(error, TypeError) else ArgumentError
        kind = PlaceError if isinstance(error, IndexError) else mistyped
        raise kind(
            f"{name}: {str(error) or type(error).__name__}", help=usage(name, signature)
        ) from None


def _operands(host: Host, record: Op | Composite, name: str, rest: dict[str, Any]) -> list[Any]:
    operands: list[Any] = []
    for operand in record.operands:
        value = rest.pop(operand, None)
        if value is None:
            if operand not in record.optional:
                raise MistypedArgumentError(
                    f"{name} needs the argument {operand!r}",
                    help=f"{name}({', '.join(record.operands)})",
                )
            operands.append(None)
        elif operand in record.lists:
            operands.append(_listed_arrays(host, value, (record, name, operand)))
        else:
            operands.append(
                (host.whole if operand in record.indices else host.operand)(
                    value, (record, name, operand)
                )
            )
    if record.rest:
        more = rest.pop(record.rest, None)
        of = (record, name, record.rest)
        operands += [
            host.operand(item, of)
            for item in (
                more if isinstance(more, (list, tuple)) else () if more is None else (more,)
            )
        ]
    return operands


def _listed_arrays(host: Host, items: Any, of: Use) -> list[Any]:
    """Return the arrays of a list, or the rows of an array."""
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
