"""What PyTorch says of indices: of their dtypes, shapes, and of places that there are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.refusals.calls import Call, Said, inexpandable, out_of_range, refuses, unbroadcastable

_WHOLE = ("Long", "Int")
_LONG = ("Long",)

# What is said of an index of another dtype, by the function; and which ones it takes.
_DTYPES: dict[str, tuple[tuple[str, ...], str]] = {
    "gather": (_WHOLE, "gather(): Expected dtype int32/int64 for index"),
    **{f"scatter{more}": (_WHOLE, f"scatter{more}(): Expected dtype int32/int64 for index") for more in ("", "_add", "_reduce")},
    "index_select": (_WHOLE, "index_select(): Expected dtype int32 or int64 for index"),
    "index_add": (_WHOLE, "index_add_(): Expected dtype int32/int64 for index but got: {}"),
    "index_copy": (_LONG, "index_copy_(): Expected a long tensor for index, but got {}"),
    "take": (_LONG, "take(): Expected a long tensor for index, but got {}"),
    "put": (_LONG, "put_(): Expected a long tensor for index, but got {}"),
}


@refuses(*_DTYPES)
def dtype_of_index(c: Call) -> Said:
    taken, said = _DTYPES[c.name.rstrip("_")]
    return None if c.kind("index") in taken else said.format(c.kind("index"))


@refuses("index_fill")
def filled(c: Call) -> Said:
    if c.kind("index") != "Long":
        return IndexError("index_fill_(): Expected dtype int64 for index.")
    if c.has("value") and c.rank("value"):
        return f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {c.rank('value')} dimension(s)."
    n = c.shape()[c["dim"]] if c.rank() else 1
    return _outside(c["index"].array, n, lambda i: IndexError(f"index {i} is out of bounds for dimension {c['dim']} with size {n}"), low=-n)


def _outside(index: np.ndarray, n: int, error: Any, low: int = 0) -> Exception | None:
    """The error for the first index that is none of n."""
    wrong = index[(index < low) | (index >= n)].ravel()
    return error(int(wrong[0])) if wrong.size else None


def _no_larger(c: Call, src: str | None) -> Said:
    index, own, dim = c.shape("index"), c.shape(), c["dim"] % max(c.rank(), 1)
    fits = all(i <= n for axis, (i, n) in enumerate(zip(index, own, strict=True)) if axis != dim)
    if src is None:
        return None if fits else f"Expected index {index} to be no larger than self {own} apart from dimension {dim}"
    given = c.shape(src)
    if fits and all(i <= n for i, n in zip(index, given, strict=True)):
        return None
    return f"Expected index {index} to be no larger than self {own} apart from dimension {dim} and to be no larger size than src {given}"


@refuses("gather")
def gather(c: Call) -> Said:
    index, own, dim = c.shape("index"), c.shape(), c["dim"] % max(c.rank(), 1)
    if len(index) != len(own):
        return "Index tensor must have the same number of dimensions as input tensor"
    for axis, (i, n) in enumerate(zip(index, own, strict=True)):
        if axis != dim and i > n:
            fits = f"expected index {index} to be no larger than self {own} apart from dimension {dim}"
            return f"Size does not match at dimension {axis} {fits}"
    return _bounds(c, dim)


def _bounds(c: Call, dim: int) -> Said:
    n = c.shape()[dim]
    return _outside(
        c["index"].array, n, lambda i: RuntimeError(f"index {i} is out of bounds for dimension {dim} with size {n}"), low=0
    )


@refuses("scatter", "scatter_add", "scatter_reduce")
def scatter(c: Call) -> Said:
    src = "src" if c.has("src") else None
    if c.rank("index") != c.rank():
        return "Index tensor must have the same number of dimensions as self tensor"
    if src and c.rank("index") != c.rank(src):
        if c.rank(src) < c.rank():
            return out_of_range(c.rank(src), c.rank(src))
        return "Index tensor must have the same number of dimensions as src tensor"
    if src and c.kind() != c.kind(src):
        return "scatter(): Expected self.dtype to be equal to src.dtype"
    reduce = c["reduce"]
    if c.name == "scatter_reduce" and reduce not in ("sum", "prod", "mean", "amax", "amin"):
        return f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
    if c.name == "scatter" and reduce not in (None, "add", "multiply"):
        return "reduce argument must be either add or multiply."
    return _no_larger(c, src) or _bounds(c, c["dim"] % max(c.rank(), 1))


@refuses("index_select")
def index_select(c: Call) -> Said:
    if c.rank("index") > 1:
        return IndexError("index_select(): Index is supposed to be a vector")
    return _outside(c["index"].array, c.shape()[c["dim"]], lambda i: IndexError("index out of range in self"))


@refuses("index_add", "index_copy")
def index_add(c: Call) -> Said:
    name, dim = f"{c.name.rstrip('_')}_", c["dim"]
    if c.rank("index") > 1:
        what = f", but got dim: {c.rank('index')} with type: {c.kind('index')} and size: {c.shape('index')}" if name == "index_add_" else ""
        return IndexError(f"{name}(): Index is supposed to be a vector{what}")
    taken, n = c["index"].array.size, c.shape("source")[dim]
    others = [c.shape(s)[:dim] + c.shape(s)[dim:][1:] for s in ("input", "source")]
    if name == "index_copy_":
        if others[0] != others[1]:
            return (
                f"index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {others[0]} at dimension "
                f"{dim} and source slice shape: {others[1]} at dimension 0."
            )
        if taken != n:
            return IndexError(f"index_copy_(): Number of indices ({taken}) should be equal to source.size(dim) ({n})")
        size = c.shape()[dim]
        said = f"is out of bounds for dimension {dim} with size {size}"
        return _outside(c["index"].array, size, lambda i: IndexError(f"index_copy_(): index {i} {said}"))
    if taken != n:
        return f"index_add_(): Number of indices ({taken}) should be equal to source.size(dim): ({n}), for dim: {dim}"
    if others[0] != others[1]:
        shapes = f"self.shape = {c.shape()} source.shape = {c.shape('source')}"
        return f"source tensor shape must match self tensor shape, excluding the specified dimension. Got {shapes}"
    return _bounds(c, dim)


@refuses("index_put")
def index_put(c: Call) -> Said:
    indices = [i.array for i in c["indices"]]
    for axis, index in enumerate(indices):
        n = c.shape()[axis]
        where = f"is out of bounds for dimension {axis} with size {n}"
        error = _outside(index, n, lambda i, where=where: IndexError(f"index {i} {where}"), -n)
        if error is not None:
            return error
    result = [*np.broadcast_shapes(*(i.shape for i in indices)), *c.shape()[len(indices) :]]
    values = c.shape("values")
    return None if inexpandable(values, result) is None else (
        f"shape mismatch: value tensor of shape {values} cannot be broadcast to indexing result of shape {result}"
    )


@refuses("take", "put")
def take(c: Call) -> Said:
    n = int(np.prod(c.shape()))
    if c.name.startswith("put") and c["index"].array.size != c["source"].array.size:
        counts = f"source.numel() = {c['source'].array.size}, index.numel() = {c['index'].array.size}"
        return IndexError(f"put_(): Expected source and index to have the same number of elements, but got {counts}")
    said = f"on a tensor of {n} elements."
    return _outside(c["index"].array, n, lambda i: IndexError(f"out of range: tried to access index {i} {said}"), low=-n)


@refuses("take_along_dim")
def take_along(c: Call) -> Said:
    if c.kind("indices") != "Long":
        return f"torch.take_along_dim(): dtype of indices should be Long but got {c.kind('indices')}"
    if c["dim"] is not None and c.rank() != c.rank("indices"):
        ranks = f"{c.rank()} dimensions for input, and {c.rank('indices')} dimensions for indices"
        return f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {ranks}"
    return None


@refuses("select_scatter", "slice_scatter", "diagonal_scatter")
def written_part(c: Call) -> Said:
    if c.name == "select_scatter":
        n = c.shape()[c["dim"]]
        if not -n <= c["index"] < n:
            where = f"out of range for tensor of size {c.shape()} at dimension {c['dim'] % c.rank()}"
            return IndexError(f"select(): index {c['index']} {where}")
        part = c.shape()[: c["dim"] % c.rank()] + c.shape()[c["dim"] % c.rank() + 1 :]
    elif c.name == "slice_scatter":
        part = c.shape()
        dim = c.get("dim", 0)
        part[dim] = len(range(*slice(c["start"], c["end"], c.get("step", 1)).indices(part[dim])))
    else:
        part = list(np.empty(c.shape(), np.bool_).diagonal(c.get("offset", 0), c.get("dim1", 0), c.get("dim2", 1)).shape)
    given = c.shape("src")
    return None if given == part else f"expected src to have a size equal to the slice of self. src size = {given}, slice size = {part}"


@refuses("masked_select", "masked_fill", "masked_scatter")
def masked(c: Call) -> Said:
    if c.has("value") and c.rank("value"):
        return f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {c.rank('value')} dimension(s)."
    said = unbroadcastable(c.shape("mask"), c.shape()) if c.name != "masked_scatter" else None
    if said is None and c.has("source") and c["source"].array.size < int(np.broadcast_to(c["mask"].array, c.shape()).sum()):
        return "Number of elements of source < number of ones in mask"
    return said


@refuses("repeat_interleave")
def repeat_interleave(c: Call) -> Said:
    repeats, dim = c["repeats"], c["dim"]
    counts = repeats.array if hasattr(repeats, "array") else np.asarray(repeats)
    if np.any(counts < 0):
        return "Repeats must be non-negative"
    n = int(np.prod(c.shape())) if dim is None else c.shape()[dim]
    if counts.ndim == 1 and counts.size not in (1, n):
        sizes = f"repeats.size(0) = {counts.size} and input.size({dim or 0}) = {n}"
        return f"repeats must have the same size as input along dim, but got {sizes}"
    return None


@refuses("F.embedding")
def embedding(c: Call) -> Said:
    if c.rank("weight") != 2:
        return "'weight' must be 2-D"
    n = c.shape("weight")[0]
    padding = c["padding_idx"]
    if padding is not None and not -n <= padding < n:
        return AssertionError("Padding_idx must be within num_embeddings")
    if c.kind() not in _WHOLE:
        return (
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{c.kind()}Tensor instead (while checking arguments for embedding)"
        )
    return _outside(c["input"].array, n, lambda i: IndexError("index out of range in self"))


@refuses("F.one_hot")
def one_hot(c: Call) -> Said:
    array, classes = c["tensor"].array if c.has("tensor") else c["input"].array, c.get("num_classes", -1)
    if str((c["tensor"] if c.has("tensor") else c["input"]).dtype.in_messages) != "Long":
        return "one_hot is only applicable to index tensor of type LongTensor."
    if array.size and array.min() < 0:
        return "Class values must be non-negative."
    return "Class values must be smaller than num_classes." if classes >= 0 and array.size and array.max() >= classes else None


@refuses("searchsorted", "bucketize")
def buckets(c: Call) -> Said:
    if c.name == "bucketize" and c.rank("boundaries") != 1:
        return f"boundaries tensor must be 1 dimension, but got dim({c.rank('boundaries')})"
    return None
