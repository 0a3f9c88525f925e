"""Calling functions of the catalogue by a library's name on tensors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, UnreadArgumentError, suggestion
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling import binding
from gradcli.ops.calling.meanings import CALLED_OTHERWISE, lookup, names
from gradcli.ops.calling.prefixes import SCIPY, TORCH
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.pytorch import node_name
from gradcli.ops.registry import named, public_names
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor, cast
from gradcli.tensors.core.dtypes import float32, is_half
from gradcli.tensors.core.in_place import check_places, check_writable, update
from gradcli.tensors.core.levels import Batched, NotBatchedError, batched_in, levels_of, moves, one_by_one
from gradcli.tensors.core.modes import state, warn
from gradcli.tensors.core.node import next_index
from gradcli.tensors.core.subscripts import one_of_several
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply, region_of
from gradcli.tensors.dispatch.call_arguments import HOST, NUMPY_HOST, SCIPY_HOST
from gradcli.tensors.dispatch.checked_calls import also_value_error, check_same_dtype
from gradcli.tensors.dispatch.forms import Form, Steps
from gradcli.tensors.dispatch.pytorch_types import check_of, check_taken, is_of_numbers, no_tensor, settle, takes_dtype

# -- Results of several tensors with names: ``torch.return_types.max(values=..., indices=...)`` ----


@cache
def _type(name: str, fields: tuple[str, ...]) -> Any:
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # the fields are known when it runs

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{field}={getattr(self, field)!r}" for field in fields)
        return f"torch.return_types.{name}(\n{parts})"

    return type(name, (base,), {"__repr__": __repr__, "__slots__": ()})


def named_results(name: str, fields: tuple[str, ...], parts: tuple[Any, ...]) -> Any:
    """The parts under their names."""
    return _type(name.removeprefix("Tensor.").replace(".", "_"), fields)(*parts)


# -- Functions of floats of 16 bits that are made of operations: these compute in float32, and the
# results alone are rounded.


def in_float32(record: Composite, operands: list[Any], apply: Callable[[list[Any]], Any]) -> Any:
    """Return what a function gives of operands in float32, in the dtype that they had; None where it is to compute with them as they are.

    It is where a result shows an operand's memory: such functions move entries, and round nothing.
    """
    if record.torch.memory not in ("", "own"):
        return None
    given: list[tuple[Tensor, Tensor]] = []

    def wide(operand: Any) -> Any:
        if isinstance(operand, list):
            return [wide(part) for part in operand]
        if not isinstance(operand, Tensor) or not is_half(operand.array.dtype):
            return operand
        given.append((operand, cast(operand, float32.numpy)))
        return given[-1][1]

    result = apply([wide(operand) for operand in operands])
    kind = given[0][0].array.dtype
    parts = result if isinstance(result, tuple) else (result,)
    if any(np.may_share_memory(part.array, x.array) for part in parts if isinstance(part, Tensor) for _, x in given):
        return None
    rounded = tuple([_rounded(part, kind) for part in parts])
    return rounded if isinstance(result, tuple) else rounded[0]


def _rounded(part: Any, kind: np.dtype[Any]) -> Any:
    if not isinstance(part, Tensor) or part.dtype is not float32:
        return part
    result = cast(part, kind)
    if result.node is not None and part.node is not None:
        result.node.label = part.node.label
    return result


@cache
def known(name: str, library: str = TORCH) -> tuple[Op | Composite, Signature] | None:
    """The record and the signature of a library's function; None if there is none."""
    found = lookup(name, library)
    if found is None or found.target in CALLED_OTHERWISE:
        return None
    try:
        return named(found.target), found
    except KeyError:
        return None  # of the language alone


FORMS: dict[tuple[Any, ...], Form | Literal[False]] = {}  # False where entries, too, decide what a call applies
_MOST_FORMS = 4096
_CONSTANTS = frozenset({int, bool, str, type(None)})


@cache
def caller(name: str, library: str = TORCH, qualname: str = "") -> Callable[..., Any]:
    """A function of a library, applied to tensors. Raises AttributeError if there is none.

    Arguments are bound once for all calls of one form: with tensors of these dtypes and shapes, and with these constants.
    """
    found = known(name, library)
    if found is None:
        raise AttributeError(missing(name))
    record = found[0]
    check = check_of(name) if library == TORCH else None

    def run(*arguments: Any, **keywords: Any) -> Any:
        if not state.usual:
            return call(name, library, arguments, keywords)
        key: list[Any] = [run, *keywords]
        tensors: list[Any] = []
        for argument in (*arguments, *keywords.values()) if keywords else arguments:
            kind = type(argument)
            if kind is Tensor:
                key += (argument.array.dtype, argument.array.shape)
                tensors.append(argument)
            elif kind in _CONSTANTS or (kind is float and argument):  # 0.0 equals -0.0
                key += (kind, argument)
            elif not _read_parts(kind, argument, key, tensors):
                return call(name, library, arguments, keywords)
        form = FORMS.get(tuple(key))
        if form is None:
            return _call_and_keep(record, name, library, arguments, keywords, tensors, tuple(key))
        if not form:
            return call(name, library, arguments, keywords)
        if check is not None and (refused := check(arguments, keywords)) is not None:
            raise refused
        try:
            return form(tensors)
        except (ArgumentError, ShapeError) as error:
            raise also_value_error(error) from None

    run.__name__, run.__qualname__, run.__doc__ = name.rpartition(".")[2], qualname or name, record.doc
    return run


def _read_parts(kind: type, argument: Any, key: list[Any], tensors: list[Any]) -> bool:
    """Add a tuple of whole numbers or a list of tensors to the form of a call; return whether it is one."""
    if kind is tuple and all(type(part) is int for part in argument):
        key += (kind, argument)
        return True
    if (kind is not tuple and kind is not list) or not all(type(part) is Tensor for part in argument):
        return False
    key += (kind, *[(part.array.dtype, part.array.shape) for part in argument])
    tensors += argument
    return True


def _call_and_keep(
    record: Op | Composite, name: str, library: str, arguments: Any, keywords: Any, tensors: list[Any], key: tuple[Any, ...]
) -> Any:
    """A call whose form is kept for those that follow."""
    steps = Steps(tensors)
    before = state.change(recorder=steps)
    try:
        result = call(name, library, arguments, keywords)
    finally:
        state.change(**before)
    if len(FORMS) >= _MOST_FORMS:
        FORMS.clear()
    FORMS[key] = steps.form(record, result) or False
    return result


def call(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A function of a library applied to tensors."""
    if state.batch_levels and levels_of(batched_in((arguments, list(keywords.values())))):
        try:
            return _settled(name, library, arguments, dict(keywords))
        except NotBatchedError:  # its parameters are taken of a tensor's entries
            return one_by_one(lambda *given, **named: call(name, library, given, named), arguments, keywords)
    return _settled(name, library, arguments, keywords)


def _settled(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The same for arguments that are not taken apart: dtypes are settled first where a function has its own ones."""
    check = check_of(name) if library == TORCH else None
    error = None if check is None else check(arguments, keywords)
    if error is not None:
        raise error
    if library == TORCH and arguments:
        if keywords.get("dtype") is None:  # in which it is computed
            check_taken(name, arguments)
        settled = settle(name, arguments, keywords)
        if settled is not None:
            result = _called(name, library, settled.arguments, settled.keywords)
            return result if settled.kind is None else _of_dtype(result, settled.kind)
    return _called(name, library, arguments, keywords)


def _of_dtype(result: Any, kind: dtypes.dtype) -> Any:
    """Floats of a result, or of several, as the whole numbers that they are; places stay what they are."""
    if isinstance(result, tuple):
        return type(result)([_of_dtype(part, kind) if part.array.dtype.kind == "f" else part for part in result])
    return result.to(kind)


def _called(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The same for arguments whose dtypes are settled."""
    found = known(name, library)
    if found is None:
        raise AttributeError(missing(name))
    record, signature = found
    if arguments and isinstance(arguments[0], Tensor) and not arguments[0].array.ndim and library == TORCH:
        arguments = (arguments[0], *map(_only_axis, arguments[1:]))
        keywords = {key: _only_axis(value) for key, value in keywords.items()}
    out = kind = None
    if "out" in keywords or "dtype" in keywords:
        keywords = dict(keywords)  # the caller's are read if this fails
        out, kind = keywords.pop("out", None), keywords.pop("dtype", None)
    if ":alike" in record.signature and library == TORCH:
        check_same_dtype(arguments)
    if keywords.get("inplace") is True and arguments:
        return update(arguments[0], name, arguments[1:], {k: v for k, v in keywords.items() if k != "inplace"})
    host = HOST if library == TORCH else SCIPY_HOST if library == SCIPY else NUMPY_HOST
    if out is not None and not isinstance(out, Tensor):
        raise UnreadArgumentError(f"{name} does not support out={type(out).__name__}", help="leave it out, and give the result a name")
    if kind is not None:
        if library == TORCH and not takes_dtype(name):
            raise TypeError(f"{name.rpartition('.')[2]}() got an unexpected keyword argument 'dtype'")
        kind = kind if isinstance(kind, dtypes.dtype) else dtypes.of_numpy(dtypes.as_numpy(kind))
        arguments = _of_kind(host, record, name, arguments, kind)
        found_there = _called(name, library, arguments, keywords if out is None else {**keywords, "out": out})
        return found_there.to(kind) if isinstance(found_there, Tensor) else found_there
    try:
        given = binding.bind(host, name, signature, arguments, keywords)
        record = binding.chosen(host, record, given)
        operands, static = binding.prepared(host, record, name, signature, given)
        if host is HOST and operands and not is_of_numbers(name) and not any(isinstance(o, (Tensor, list)) for o in operands):
            raise no_tensor(name, record.operands[0], arguments[0] if arguments else None)
        start = next_index()
        result: Any = region_of(record, operands, static)
        if result is None:
            result = _applied(host, record, name, signature, operands, static)
    except (ArgumentError, ShapeError) as error:
        raise also_value_error(error) from None
    given_tensors = (*arguments, *keywords.values())
    if isinstance(result, tuple):
        if out is not None:
            raise UnreadArgumentError(f"{name} does not support out= for several results", help="leave it out, and give the results names")
        result = tuple(_own(record, given_tensors, _as_result(part)) for part in result)
        aside = [word.partition(":")[1:] for word in record.results] or [("", "")] * len(result)
        result = tuple(_aside(kind, part) if colon else part for (colon, kind), part in zip(aside, result, strict=False))
        for place, part in enumerate(result):
            _relabel(record, part, start)
            if record.torch.memory == "parts" and isinstance(part, Tensor):
                one_of_several(part, place)
        names = record.result_names if isinstance(record, Composite) else ()
        return named_results(name, names, result) if len(names) == len(result) else result
    result = _own(record, given_tensors, _as_result(result))
    _relabel(record, result, start)
    return result if out is None else _written(name, out, result)


def _own(record: Op | Composite, arguments: tuple[Any, ...], result: Any) -> Any:
    """A result, which may be one of several, in memory of its own where PyTorch has it so."""
    if isinstance(result, Batched):
        return result
    if record.torch.shares and isinstance(record, Composite) and arguments and result is arguments[0]:
        result = apply(reshape, [result], {"shape": result.array.shape})
    if isinstance(result, Tensor) and result._view is not None and not any(_shows(result, argument) for argument in arguments):
        result._view = None  # of something that was made on the way
    if not isinstance(result, Tensor):
        return result
    if record.torch.memory == "own":
        if any(isinstance(a, Tensor) and np.may_share_memory(result.array, a.array) for a in arguments):
            result = apply(clone, [result], {})
        result._view = None
    return result


def _aside(kind: str, part: Any) -> Any:
    """One of several results, outside of the graph: what LAPACK or the format of floats says in whole numbers."""
    bare = part.detach() if isinstance(part, Tensor) else part
    return bare.to(getattr(dtypes, kind)) if kind and isinstance(bare, Tensor) else bare


def _shows(result: Tensor, argument: Any) -> bool:
    """Return whether a view is one of an argument, or of a tensor in a list."""
    if isinstance(argument, (list, tuple)):
        return any(_shows(result, part) for part in argument)
    return isinstance(argument, Tensor) and (result._base is argument or result._base is argument._base)


def _applied(host: Any, record: Op | Composite, name: str, signature: Signature, operands: list[Any], static: dict[str, Any]) -> Any:
    """A record applied; constants in the body of one made of operations are floats of the dtype that it computes with.

    What NumPy and SciPy make of whole numbers, and of Python's alone, are doubles.
    """
    if isinstance(record, Op) and host is HOST:
        return binding.applied(host, record, name, signature, operands, static)
    common = _float_among(operands)
    if common is not None and is_half(common) and not isinstance(record, Op):
        result = in_float32(record, operands, lambda wide: _applied(host, record, name, signature, wide, static))
        if result is not None:
            return result
    before = dtypes.set_constants(common)
    if common is None:  # inside of another function, the floats that it computes with
        dtypes.set_constants(before or (dtypes.get_default_dtype() if host is HOST else dtypes.float64).numpy)
    try:
        return binding.applied(host, record, name, signature, operands, static)
    finally:
        dtypes.set_constants(before)


def _only_axis(argument: Any) -> Any:
    """PyTorch takes the one axis that a number might have in a tuple, too."""
    return 0 if isinstance(argument, tuple) and argument in ((0,), (-1,)) else argument


def _float_among(operands: list[Any]) -> np.dtype[Any] | None:
    """The dtype of the floats that a function computes with."""
    common: np.dtype[Any] | None = None
    for operand in operands:
        kind = operand.array.dtype if isinstance(operand, Tensor) else _float_among(operand) if isinstance(operand, list) else None
        if kind is not None and kind is not common and kind.kind in dtypes.FLOATS:
            common = kind if common is None else dtypes.joined(common, kind)
    return common


def _of_kind(host: Any, record: Op | Composite, name: str, arguments: tuple[Any, ...], kind: Any) -> tuple[Any, ...]:
    """The arguments with what is computed with in another dtype."""
    if not arguments:
        raise UnreadArgumentError(f"{name} does not support dtype without an argument by position")
    first, *rest = arguments
    if record.variadic and isinstance(first, (list, tuple)):
        return ([as_tensor(host.value(part)).to(kind) for part in first], *rest)
    if host is not HOST:  # a ufunc computes in the dtype
        return tuple([as_tensor(host.value(a)).to(kind) if isinstance(a, (Tensor, np.ndarray)) else a for a in arguments])
    return (as_tensor(host.value(first)).to(kind), *rest)


def _relabel(record: Op | Composite, result: Any, start: int) -> None:
    """Give the last node of a function that is made of operations the function's name."""
    if isinstance(record, Composite) and isinstance(result, Tensor) and result.node is not None and result.node.index > start:
        result.node.label = node_name(record)


def _as_result(part: Any) -> Any:
    return part if isinstance(part, (Tensor, tuple)) else Tensor(np.asarray(part))


def _written(name: str, out: Tensor, result: Tensor) -> Tensor:
    if result.requires_grad or out.requires_grad:
        raise RuntimeError(
            f"{name.rpartition('.')[2]}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if not dtypes.can_cast(result.array.dtype, out.array.dtype):
        raise RuntimeError(f"result type {result.dtype.in_messages} can't be cast to the desired output type {out.dtype.in_messages}")
    if moves(result) or moves(out):
        raise RuntimeError("an out= function does not support forward AD: one of the arguments has a forward gradient")
    check_writable(out)
    if state.before_writing is not None:
        state.before_writing(out)
    if out.array.shape == result.array.shape:
        check_places(out)
        out.array[...] = result.array  # whose memory others may show, too
    else:
        if out.array.size:
            warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out.array.shape)}, which does not match the required output shape {list(result.array.shape)}. This behavior is "
                "deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements."
            )
        out.array = np.array(result.array, out.array.dtype)
    out._version_counter[0] += 1
    return out


def missing(name: str, where: str = "torch") -> str:
    """Return what to say of a name that PyTorch may have and gradcli does not."""
    close = suggestion(name, [*public_names(), *names()])
    hint = f"did you mean '{close}'?" if close else "`gradcli functions` lists what it has"
    return f"gradcli has no {where}.{name}: {hint}"
