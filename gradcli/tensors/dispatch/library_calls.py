"""Calling functions of the catalogue by a library's name on tensors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import AxisError, UnreadArgumentError, suggestion
from gradcli.ops.calling import binding
from gradcli.ops.calling.dialects import CALLED_OTHERWISE, lookup, names
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.recording import numbered
from gradcli.ops.registry import named, public_names
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import clone
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import Batched, NotBatchedError, batched_in, levels_of, one_by_one
from gradcli.tensors.core.casts import as_tensor
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.levels import moves
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import next_index
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.call_arguments import HOST, NUMPY_HOST, arrangement, rehearsal
from gradcli.tensors.dispatch.error_messages import check_same_dtype, in_range
from gradcli.tensors.dispatch.named_results import named_results


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


@cache
def direct(name: str, library: str, count: int) -> tuple[Op, dict[str, Any]] | None:
    """The operation that a function of so many tensors and nothing else is, if it is no more than one."""
    found = known(name, library)
    if found is None or not isinstance(found[0], Op) or found[0].outputs > 1 or found[0].torch.one_dtype or found[1].node:
        return None
    arranged = rehearsal(found[0], name, found[1], count)
    return None if arranged is None or not arranged.in_order else (found[0], arranged.static)


def call(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A function of a library applied to tensors."""
    if state.batch_levels and levels_of(batched_in((arguments, list(keywords.values())))):
        try:
            return _call(name, library, arguments, dict(keywords))
        except NotBatchedError:  # its parameters are taken of a tensor's entries
            return one_by_one(lambda *given, **named: call(name, library, given, named), arguments, keywords)
    return _call(name, library, arguments, keywords)


def _call(name: str, library: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if not keywords and all(isinstance(argument, Tensor) for argument in arguments):
        alone = direct(name, library, len(arguments))
        if alone is not None:
            return apply(alone[0], arguments, alone[1])
    found = known(name, library)
    if found is None:
        raise AttributeError(missing(name))
    record, signature = found
    out, kind = keywords.pop("out", None), keywords.pop("dtype", None)
    if record.torch.one_dtype and library == TORCH:
        check_same_dtype(arguments)
    if keywords.get("inplace") is True and arguments:
        return update(arguments[0], name, arguments[1:], {k: v for k, v in keywords.items() if k != "inplace"})
    host = HOST if library == TORCH else NUMPY_HOST
    if out is not None and (isinstance(out, tuple) or not isinstance(out, Tensor)):
        raise UnreadArgumentError(f"{name} does not support out={type(out).__name__}", help="leave it out, and give the result a name")
    if kind is not None:
        kind = kind if isinstance(kind, dtypes.dtype) else dtypes.of_numpy(dtypes.as_numpy(kind))
        arguments = _of_kind(host, record, name, arguments, kind)
    given: dict[str, Any] = {}
    try:
        arranged = arrangement(name, record, signature, arguments, keywords)
        if arranged is not None:
            operands, static = arranged.filled(arguments)
        else:
            given = binding.bind(host, name, signature, arguments, keywords)
            record = binding.chosen(host, record, given)
            operands, static = binding.prepared(host, record, name, signature, given)
        start = next_index()
        result = binding.applied(host, record, name, signature, operands, static)
    except AxisError as error:
        raise in_range(error) from None
    if isinstance(result, tuple):
        if out is not None:
            raise UnreadArgumentError(f"{name} does not support out= for several results", help="leave it out, and give the results names")
        result = tuple(_as_result(part) for part in result)
        for part in result:
            _relabel(record, given, part, start)
        return named_results(name, record.results, result) if isinstance(record, Composite) and record.results else result
    result = _as_result(result)
    if (
        record.torch.copied
        and not isinstance(result, Batched)
        and any(isinstance(a, Tensor) and np.may_share_memory(result.array, a.array) for a in arguments)
    ):
        result = apply(clone, [result], {})
    _relabel(record, given, result, start)
    if signature.node and library == TORCH and result.node is not None and result.node.index > start:
        result.node.label = numbered(signature.node)
    return result if out is None else _written(out, result)


def _of_kind(host: Any, record: Op | Composite, name: str, arguments: tuple[Any, ...], kind: Any) -> tuple[Any, ...]:
    """The arguments with what is computed with in another dtype."""
    if not arguments:
        raise UnreadArgumentError(f"{name} does not support dtype without an argument by position")
    first, *rest = arguments
    if record.variadic and isinstance(first, (list, tuple)):
        return ([as_tensor(host.value(part)).to(kind) for part in first], *rest)
    return (as_tensor(host.value(first)).to(kind), *rest)


def _relabel(record: Op | Composite, given: dict[str, Any], result: Any, start: int) -> None:
    """Give the last node of a composite the name of PyTorch's one node for it."""
    if not isinstance(record, Composite) or record.torch.backward is None or not isinstance(result, Tensor):
        return
    if result.node is not None and result.node.index > start:
        name = record.torch.backward
        label = name(given, dict(record.static)) if callable(name) else name
        result.node.label = numbered(label)


def _as_result(part: Any) -> Any:
    return part if isinstance(part, (Tensor, tuple)) else Tensor(np.asarray(part))


def _written(out: Tensor, result: Tensor) -> Tensor:
    if result.requires_grad or out.requires_grad:
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    if moves(result) or moves(out):
        raise RuntimeError("an out= function does not support forward AD: one of the arguments has a forward gradient")
    if state.before_writing is not None:
        state.before_writing(out)
    out.array = np.array(result.array, out.array.dtype)
    out._version_counter[0] += 1
    return out


def missing(name: str, where: str = "torch") -> str:
    """What to say of a name that PyTorch may have and gradcli does not."""
    close = suggestion(name, [*public_names(), *names()])
    hint = f"did you mean '{close}'?" if close else "`gradcli functions` lists what it has"
    return f"gradcli has no {where}.{name}: {hint}"
