"""Calls of the catalogue's functions on tensors, by a library's name.

Of calls that differ in their tensors only, what one applies is written down, and the others do the
same.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, AxisError, ShapeError, UnreadArgumentError
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.arrays.striding import as_strided
from gradcli.ops.calling import binding
from gradcli.ops.calling.meanings import CALLED_OTHERWISE, lookup, names
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.pytorch import node_name
from gradcli.ops.registry import public_names, record_named
from gradcli.ops.spec import Composite, Op, as_tuple
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import float32, is_half, set_constants
from gradcli.tensors.core.in_place import (
    one_of_several,
    update,
)
from gradcli.tensors.core.levels import Batched, NotBatchedError, levels_in, one_by_one
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import next_index
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import (
    also_value_error,
    apply,
    apply_unbatched,
    check_same_dtype,
    region_of,
)
from gradcli.tensors.dispatch.call_arguments import (
    FROM_0,
    HOST,
    NUMPY_HOST,
    OF_NUMBERS,
    argument_error,
    bare,
    check_indices,
    check_taken,
    in_dtype,
    settle,
    takes_dtype,
)
from gradcli.texts import suggestion

Form = Callable[[list[Any]], Any]  # what all calls of one form do with their tensors


class Step(NamedTuple):
    """Operation of a function.

    All values stand in one table: the tensors, constants, and what is made on the way.

    places  of its operands in the table
    view    whether the result shows the memory of the first operand
    label   of its node
    """

    op: Op
    places: tuple[int, ...]
    static: Mapping[str, Any]
    view: bool
    label: str


def _chain(steps: Sequence[Step], constants: list[Any], label: str, dtype: np.dtype[Any]) -> Form:
    """Apply one operation after the other, each a node.

    dtype  that of floats that say nothing else
    """
    (op, places, static, *_), *further = steps
    as_given = places == tuple(range(len(places)))  # the tensors, followed by constants
    views = all(step.view for step in steps)

    def alone(tensors: list[Any]) -> Any:
        values = tensors + constants
        result = apply_unbatched(
            op, values if as_given else [values[place] for place in places], static
        )
        if label and result.node is not None:
            result.node.label = label
        return result

    def together(tensors: list[Any]) -> Any:
        values = tensors + constants
        before = set_constants(dtype)
        try:
            for op, places, static, _, name in steps:
                values.append(
                    apply_unbatched(op, [values[place] for place in places], static, name)
                )
        finally:
            set_constants(before)
        result = values[-1]
        if not views:
            result._view = None  # a view of an intermediate result
        if label and result.node is not None:
            result.node.label = label
        return result

    return together if further else alone


class Steps:
    """Steps that one call applies to its tensors: a recorder, which is told of every operation.

    Functions branch on shapes, dtypes and parameters, never on entries, so that calls with other
    tensors apply the same.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        self._tensors = tensors
        self._constants: list[Any] = []
        self._places = {id(tensor): place for place, tensor in enumerate(tensors)}
        self._steps: list[Step] = []  # in these, the places of results count down from -1
        self._results: list[Tensor] = []
        self._complete = len(self._places) == len(tensors)

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """Note that an operation was applied."""
        places = tuple([self._place(operand) for operand in operands])
        regular = (
            op is not as_strided
            and isinstance(result, Tensor)
            and any(isinstance(o, Tensor) for o in operands)
        )
        if not regular or None in places or _reads(static) or _casts(op, operands, result):
            self._complete = False
            return
        self._results.append(result)
        self._places[id(result)] = -len(self._results)
        view = (
            isinstance(operands[0], Tensor)
            and result._version_counter is operands[0]._version_counter
        )
        arrays = [o.array if isinstance(o, Tensor) else o for o in operands]
        self._steps.append(Step(op, places, static, view, node_name(op, arrays, static)))

    def _place(self, operand: Any) -> Any:
        """Return where an operand is found again; None for a tensor that came from elsewhere."""
        if isinstance(operand, Tensor):
            return self._places.get(id(operand))
        self._constants.append(operand.item() if isinstance(operand, np.generic) else operand)
        return len(self._tensors) + len(self._constants) - 1

    def rename(self, tensor: Tensor, result: Tensor) -> None:
        """Note that a tensor was written to, which is more than an operation."""
        self._complete = False

    overwritten = rename

    def form(self, record: Op | Composite, result: Any) -> Form | None:
        """Return the form of the call that gave this result.

        It is None if anything but the call's tensors decided what was applied.
        """
        if not self._complete or not self._results or result is not self._results[-1]:
            return None
        # Results come after the tensors and constants.
        after = len(self._tensors) + len(self._constants) - 1
        steps = [
            step._replace(places=tuple([after - p if p < 0 else p for p in step.places]))
            for step in self._steps
        ]
        read = {place for step in steps for place in step.places}
        floats = {tensor.array.dtype for tensor in self._tensors if tensor.array.dtype.kind == "f"}
        if not read.issuperset(range(len(self._tensors))) or len(floats) != 1:
            return None
        return _chain(
            steps,
            self._constants,
            node_name(record) if isinstance(record, Composite) else "",
            floats.pop(),
        )


def _casts(op: Op, operands: Sequence[Any], result: Tensor) -> bool:
    """Return whether another dtype than that of the operation is meant."""
    kind = result.array.dtype
    return is_half(kind) or (op is clone and operands[0].array.dtype != kind)


def _reads(static: Mapping[str, Any]) -> bool:
    """Return whether entries of a tensor are among parameters."""
    return any(isinstance(part, Tensor) for value in static.values() for part in as_tuple(value))


# -- Results of several tensors with names: ``torch.return_types.max(values=..., indices=...)`` --


@cache
def _type(name: str, fields: tuple[str, ...]) -> Any:
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # the fields are known when it runs

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{field}={getattr(self, field)!r}" for field in fields)
        return f"torch.return_types.{name}(\n{parts})"

    return type(name, (base,), {"__repr__": __repr__, "__slots__": ()})


def named_results(name: str, fields: tuple[str, ...], parts: tuple[Any, ...]) -> Any:
    """Return the parts under their names."""
    return _type(name.removeprefix("Tensor.").replace(".", "_"), fields)(*parts)


# -- Calling functions of the catalogue by a library's name on tensors ---------------------------


@cache
def record_of(name: str, library: str = TORCH) -> tuple[Op | Composite, Signature] | None:
    """Return the record and the signature of a library's function; None if there is none."""
    found = lookup(name, library)
    if found is None or found.target in CALLED_OTHERWISE:
        return None
    try:
        return record_named(found.target), found
    except KeyError:
        return None  # it exists only in the language


# False if the operations of a call also depend on entries
FORMS: dict[tuple[Any, ...], Form | Literal[False]] = {}
_MOST_FORMS = 4096
_CONSTANTS = frozenset({int, bool, str, type(None)})


@cache
def caller(name: str, library: str = TORCH, qualname: str = "") -> Callable[..., Any]:
    """Return a function of a library, applied to tensors.

    Raises AttributeError if there is none.

    Arguments are bound once for all calls of one form: with tensors of these dtypes and shapes, and
    with these constants.
    """
    found = record_of(name, library)
    if found is None:
        raise AttributeError(missing(name))
    record = found[0]

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
        try:
            return form(tensors)
        except (ArgumentError, ShapeError) as error:
            raise also_value_error(error) from None

    run.__name__ = name.rpartition(".")[2]
    run.__qualname__ = qualname or name
    run.__doc__ = record.doc
    return run


def _read_parts(kind: type, argument: Any, key: list[Any], tensors: list[Any]) -> bool:
    """Add a tuple of whole numbers or a list of tensors to the form of a call.

    Returns whether the argument is one of these.
    """
    if kind is tuple and all(type(part) is int for part in argument):
        key += (kind, argument)
        return True
    if (kind is not tuple and kind is not list) or not all(
        type(part) is Tensor for part in argument
    ):
        return False
    key += (kind, *[(part.array.dtype, part.array.shape) for part in argument])
    tensors += argument
    return True


def _call_and_keep(
    record: Op | Composite,
    name: str,
    library: str,
    arguments: Any,
    keywords: Any,
    tensors: list[Any],
    key: tuple[Any, ...],
) -> Any:
    """Make a call, and keep its form for those that follow."""
    steps = Steps(tensors)
    with Mode(recorder=steps):
        result = call(name, library, arguments, keywords)
    if len(FORMS) >= _MOST_FORMS:
        FORMS.clear()
    reads_entries = bare(name) in FROM_0  # every call's indices are checked
    FORMS[key] = (not reads_entries and steps.form(record, result)) or False
    return result


def call(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Apply a function of a library to tensors."""
    try:
        return _call_with_dtypes(name, library, arguments, keywords)
    except NotBatchedError:  # its parameters depend on a tensor's entries
        if not levels_in(arguments, keywords):
            raise
        return one_by_one(
            lambda *given, **named: call(name, library, given, named), arguments, keywords
        )


def _call_with_dtypes(
    name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Apply a function to arguments that are not taken apart.

    Dtypes are settled first if the function has its own ones.
    """
    if library != TORCH:
        return _call(name, library, arguments, keywords)
    check_indices(name, arguments, keywords)
    if arguments and keywords.get("dtype") is None:  # otherwise it computes in that dtype
        check_taken(name, arguments)
    settled = settle(name, arguments, keywords) if arguments else None
    if settled is None:
        return _call(name, library, arguments, keywords)
    result = _call(name, library, settled.arguments, settled.keywords)
    if settled.kind is None:
        return result
    return (
        result.to(settled.kind) if isinstance(result, Tensor) else _floats_in(result, settled.kind)
    )


def _floats_in(result: Any, kind: dtypes.dtype) -> Any:
    """Floats of a result, or of several, in another dtype; places stay what they are."""
    if isinstance(result, tuple):
        return tuple([_floats_in(part, kind) for part in result])
    return (
        result.to(kind) if isinstance(result, Tensor) and result.dtype.is_floating_point else result
    )


def _call(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Apply a function to arguments whose dtypes are settled."""
    found = record_of(name, library)
    if found is None:
        raise AttributeError(missing(name))
    record, signature = found
    keywords = dict(keywords)  # a copy, as the caller's are read if this fails
    kind = keywords.pop("dtype", None)
    if keywords.pop("out", None) is not None:
        raise UnreadArgumentError(
            f"{name} does not support out=", help="leave it out, and give the result a name"
        )
    if ":alike" in record.signature and library == TORCH:
        check_same_dtype(arguments)
    if keywords.get("inplace") is True and arguments:
        del keywords["inplace"]
        return update(arguments[0], name, arguments[1:], keywords)
    if kind is not None:
        return _call_in_dtype(name, library, arguments, keywords, kind)
    host = HOST if library == TORCH else NUMPY_HOST
    try:
        given = binding.bind(host, name, signature, arguments, keywords)
        record = binding.choose_record(host, record, given)
        listed = given.get(record.operands[0]) if record.variadic else None
        if host is HOST and isinstance(listed, Tensor):
            raise argument_error(name, "arrays", listed, "tuple of Tensors")
        operands, static = binding.prepare(host, record, name, signature, given)
        tensors = [o for o in operands if isinstance(o, (Tensor, list))]
        if host is HOST and operands and name not in OF_NUMBERS and not tensors:
            raise argument_error(name, record.operands[0], arguments[0] if arguments else None)
        axis = static.get("axis")
        if (
            type(axis) is int
            and axis not in (0, -1)
            and isinstance(operands[0], Tensor)
            and not operands[0].ndim
        ):
            raise AxisError(axis, 0)  # a number counts as one axis of one entry
        start = next_index()
        result = region_of(record, operands, static)
        if result is None:
            result = _apply(host, record, name, signature, operands, static)
    except (ArgumentError, ShapeError) as error:
        raise also_value_error(error) from None
    given_tensors = (*arguments, *keywords.values())
    if not isinstance(result, tuple):
        return _own(record, given_tensors, result, start)
    return _call_named(name, record, [_own(record, given_tensors, part, start) for part in result])


def _call_in_dtype(
    name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any], kind: Any
) -> Any:
    """Apply a function to arguments that are cast to the dtype which the caller names."""
    if library == TORCH and not takes_dtype(name):
        raise TypeError(f"{name.rpartition('.')[2]}() got an unexpected keyword argument 'dtype'")
    kind = kind if isinstance(kind, dtypes.dtype) else dtypes.of_numpy(dtypes.as_numpy(kind))
    if not arguments:
        raise UnreadArgumentError(f"{name} does not support dtype without an argument by position")
    result = _call(name, library, in_dtype(arguments, kind), keywords)
    return result.to(kind) if isinstance(result, Tensor) else result


def _call_named(name: str, record: Op | Composite, parts: list[Any]) -> Any:
    """Return several results as PyTorch gives them: by names, and as parts of one memory."""
    for place, word in enumerate(record.results[: len(parts)]):
        _, colon, kind = word.partition(":")
        if colon:  # outside of the graph: whole numbers from LAPACK or the format of floats
            part = parts[place].detach()
            parts[place] = part.to(getattr(dtypes, kind)) if kind else part
    if record.memory == "parts":
        for place, part in enumerate(parts):
            one_of_several(part, place)
    names = record.result_names if isinstance(record, Composite) else ()
    return named_results(name, names, tuple(parts)) if len(names) == len(parts) else tuple(parts)


def _own(record: Op | Composite, arguments: tuple[Any, ...], result: Any, start: int) -> Any:
    """Return a result, or one of several, in its own memory where PyTorch has it so.

    The result of a function made of operations is under the function's name.

    start  nodes that were made since then are the function's
    """
    if isinstance(result, tuple):
        return result
    result = result if isinstance(result, Tensor) else Tensor(np.asarray(result))
    if not isinstance(result, Batched):
        if record.shares and isinstance(record, Composite) and arguments and result is arguments[0]:
            result = apply(reshape, [result], {"shape": result.array.shape})
        if result._view is not None and not _shows(result, arguments):
            result._view = None  # a view of an intermediate result
        if record.memory == "own":
            if any(
                isinstance(a, Tensor) and np.may_share_memory(result.array, a.array)
                for a in arguments
            ):
                result = apply(clone, [result], {})
            result._view = None
    if isinstance(record, Composite) and result.node is not None and result.node.index > start:
        result.node.label = node_name(record)
    return result


def _shows(result: Tensor, argument: Any) -> bool:
    """Return whether a view is one of an argument, or of a tensor in a list."""
    if isinstance(argument, (list, tuple)):
        return any(_shows(result, part) for part in argument)
    return isinstance(argument, Tensor) and (
        result is argument or result._base is argument or result._base is argument._base is not None
    )


def _apply(
    host: Any,
    record: Op | Composite,
    name: str,
    signature: Signature,
    operands: list[Any],
    static: dict[str, Any],
) -> Any:
    """Apply a record.

    Constants in the body of a function made of operations are floats of the dtype that it computes
    with. NumPy and SciPy make doubles of whole numbers, and of Python's numbers alone.
    """
    if isinstance(record, Op) and host is HOST:
        return binding.apply(host, record, name, signature, operands, static)
    common = _float_among(operands)
    if common is not None and is_half(common) and record.memory in ("", "own"):
        wide = in_dtype(operands, float32, is_half)
        result = _apply(host, record, name, signature, wide, static)
        if not any(_shows(part, wide) for part in as_tuple(result) if isinstance(part, Tensor)):
            return _floats_in(result, dtypes.of_numpy(common))  # no view, and so rounded
    before = set_constants(common)
    if common is None:  # the dtype of the calling function, if any
        set_constants(
            before or (dtypes.get_default_dtype() if host is HOST else dtypes.float64).numpy
        )
    try:
        return binding.apply(host, record, name, signature, operands, static)
    finally:
        set_constants(before)


def _float_among(operands: list[Any]) -> np.dtype[Any] | None:
    """Return the dtype of the floats that a function computes with."""
    common: np.dtype[Any] | None = None
    for operand in operands:
        kind = (
            operand.array.dtype
            if isinstance(operand, Tensor)
            else _float_among(operand)
            if isinstance(operand, list)
            else None
        )
        if kind is not None and kind is not common and kind.kind in dtypes.FLOATS:
            common = kind if common is None else dtypes.common_dtype(common, kind)
    return common


def missing(name: str, where: str = "torch") -> str:
    """Return what to say of a name that PyTorch may have and gradcli does not."""
    close = suggestion(name, [*public_names(), *names()])
    hint = f"did you mean '{close}'?" if close else "`gradcli functions` lists what it has"
    return f"gradcli has no {where}.{name}: {hint}"
