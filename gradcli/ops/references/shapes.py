"""References of functions that move entries: NumPy's own on arrays of scalars where it has them, loops where it has not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.references import of
from gradcli.ops.references.elementary import each
from gradcli.ops.references.entries import Array, array, entries, total, whole


def objects(x: Any) -> Array:
    return np.asarray(x, dtype=object)


def indices(x: Any) -> Array:
    """Indices as NumPy takes them."""
    return np.array(whole(x), dtype=np.int64).reshape(np.shape(x))


def truths(mask: Any) -> Array:
    return np.array([bool(v) for v in entries(mask)], dtype=bool).reshape(np.shape(mask))


@of("flatten")
def flatten(m: Any, x: Any, start_dim: int, end_dim: int) -> Any:
    shape = list(np.shape(x)) or [1]
    first, last = start_dim % len(shape), end_dim % len(shape)
    return objects(x).reshape(*shape[:first], -1, *shape[last + 1 :])


@of("ravel")
def ravel(m: Any, x: Any) -> Any:
    return objects(x).ravel()


@of("t")
def t(m: Any, x: Any) -> Any:
    return objects(x).T


@of("squeeze")
def squeeze(m: Any, x: Any, axis: Any) -> Any:
    return np.squeeze(objects(x), axis)


@of("torch_squeeze")
def torch_squeeze(m: Any, x: Any, axis: Any) -> Any:
    """The axes that are named, all of them by default, as far as they have one entry."""
    ndim = np.ndim(x)
    named = range(ndim) if axis is None else [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))] if ndim else []
    return objects(x).reshape([n for a, n in enumerate(np.shape(x)) if n != 1 or a not in named])


@of("expand_dims")
def expand_dims(m: Any, x: Any, axis: Any) -> Any:
    return np.expand_dims(objects(x), axis)


for _name, _raise in (("atleast_1d", np.atleast_1d), ("atleast_2d", np.atleast_2d), ("atleast_3d", np.atleast_3d)):

    @of(_name)
    def raised(m: Any, *arrays: Any, function: Any = _raise) -> Any:
        return function(objects(arrays[0])) if len(arrays) == 1 else tuple(function(objects(x)) for x in arrays)


@of("expand")
def expand(m: Any, x: Any, shape: Any) -> Any:
    lead = len(shape) - np.ndim(x)
    return np.broadcast_to(objects(x), [np.shape(x)[i - lead] if n == -1 else n for i, n in enumerate(shape)])


@of("expand_as")
def expand_as(m: Any, x: Any, y: Any) -> Any:
    return np.broadcast_to(objects(x), np.shape(y))


@of("view_as")
def view_as(m: Any, x: Any, y: Any) -> Any:
    return objects(x).reshape(np.shape(y))


@of("broadcast_tensors")
def broadcast_tensors(m: Any, *arrays: Any) -> Any:
    return tuple(np.broadcast_arrays(*map(objects, arrays)))


@of("unflatten")
def unflatten(m: Any, x: Any, axis: int, shape: Any) -> Any:
    old = list(np.shape(x)) or [1]
    place = axis % len(old)
    n, known = old[place], 1
    for k in shape:
        known = known * (k if k != -1 else 1)
    return objects(x).reshape(old[:place] + [n // known if k == -1 else k for k in shape] + old[place + 1 :])


@of("numpy_reshape")
def numpy_reshape(m: Any, x: Any, shape: Any, order: str) -> Any:
    return np.reshape(objects(x), shape, order="F" if order == "F" else "C")


@of("numpy_ravel")
def numpy_ravel(m: Any, x: Any, order: str) -> Any:
    return np.ravel(objects(x), order="F" if order == "F" else "C")


@of("movedim")
def movedim(m: Any, x: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(objects(x), source, destination)


@of("rollaxis")
def rollaxis(m: Any, x: Any, axis: int, start: int) -> Any:
    return np.rollaxis(objects(x), axis, start)


@of("swapdims")
def swapdims(m: Any, x: Any, dim0: int, dim1: int) -> Any:
    return np.swapaxes(objects(x), dim0, dim1) if np.ndim(x) else x


@of("matrix_transpose")
def matrix_transpose(m: Any, x: Any) -> Any:
    return np.swapaxes(objects(x), -1, -2)


@of("fill")
def fill(m: Any, x: Any, value: Any) -> Any:
    return array([entries(value)[0]] * np.size(x), np.shape(x))


@of("rot90")
def rot90(m: Any, x: Any, k: int, axes: Any) -> Any:
    return np.rot90(objects(x), k, axes)


@of("torch_flip")
def torch_flip(m: Any, x: Any, axis: Any) -> Any:
    return np.flip(objects(x), axis) if np.ndim(x) else x


@of("fliplr")
def fliplr(m: Any, x: Any) -> Any:
    return objects(x)[:, ::-1]


@of("flipud")
def flipud(m: Any, x: Any) -> Any:
    return objects(x)[::-1]


@of("diagonal")
def diagonal(m: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return np.diagonal(objects(x), offset, axis1, axis2)


@of("diag_embed")
def diag_embed(m: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    values = objects(x)
    n = values.shape[-1] + abs(offset)
    out = np.full((*values.shape[:-1], n, n), m.zero, dtype=object)
    for i in range(values.shape[-1]):
        out[..., i - min(offset, 0), i + max(offset, 0)] = values[..., i]
    return np.moveaxis(out, (-2, -1), (axis1, axis2))


@of("diag")
def diag(m: Any, x: Any, k: int) -> Any:
    return diag_embed(m, x, k, 0, 1) if np.ndim(x) == 1 else np.diagonal(objects(x), k)


@of("diagflat")
def diagflat(m: Any, x: Any, k: int) -> Any:
    return diag_embed(m, objects(x).ravel(), k, 0, 1)


@of("tile")
def tile(m: Any, x: Any, reps: Any) -> Any:
    return np.tile(objects(x), reps)


@of("torch_repeat")
def torch_repeat(m: Any, x: Any, repeats: Any) -> Any:
    return np.tile(objects(x), repeats)


@of("repeat_interleave")
def repeat_interleave(m: Any, x: Any, repeats: Any, axis: int | None, output_size: Any) -> Any:
    return np.repeat(objects(x), repeats, axis if np.ndim(x) else None)


@of("meshgrid")
def meshgrid(m: Any, *arrays: Any, indexing: str, sparse: bool) -> Any:
    return tuple(np.meshgrid(*map(objects, arrays), indexing=indexing, sparse=sparse))  # type: ignore[call-overload]


@of("cartesian_prod")
def cartesian_prod(m: Any, *arrays: Any) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    found = [v for row in itertools.product(*map(entries, arrays)) for v in row]
    return array(found, (-1, len(arrays)))


@of("combinations")
def combinations(m: Any, x: Any, r: int, with_replacement: bool) -> Any:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(entries(x), r))
    return array([v for row in rows for v in row], (len(rows), r) if r else (0,))


@of("tensor_unfold")
def tensor_unfold(m: Any, x: Any, axis: int, length: int, step: int) -> Any:
    values = np.atleast_1d(objects(x))
    if not np.ndim(x):
        return values[:length]
    rows = np.moveaxis(values, axis, -1)
    windows = [rows[..., start : start + length] for start in range(0, rows.shape[-1] - length + 1, step)]
    return np.moveaxis(np.stack(windows, axis=-2), -2, axis if axis >= 0 else axis - 1)


@of("index_select")
def index_select(m: Any, x: Any, index: Any, axis: int) -> Any:
    return np.take(objects(x), indices(index).ravel(), axis) if np.ndim(x) else x


@of("take")
def take(m: Any, x: Any, index: Any, axis: int | None, mode: str) -> Any:
    return np.take(objects(x), indices(index), axis, mode=mode)  # type: ignore[call-overload]


@of("gather")
def gather(m: Any, x: Any, index: Any, axis: int) -> Any:
    values, places = np.atleast_1d(objects(x)), np.atleast_1d(indices(index))
    found = []
    for at in np.ndindex(places.shape):
        source = list(at)
        source[axis] = places[at]
        found.append(values[tuple(source)])
    return array(found, np.shape(index))


@of("take_along_dim")
def take_along_dim(m: Any, x: Any, index: Any, axis: int | None) -> Any:
    if not np.ndim(x):
        return x
    return np.take_along_axis(objects(x), indices(index) if axis is not None else indices(index).ravel(), axis)


def _chosen(mask: Any) -> Array:
    return np.asarray(mask).astype(bool)


@of("masked_select")
def masked_select(m: Any, x: Any, mask: Any) -> Any:
    values, chosen = np.broadcast_arrays(objects(x), _chosen(mask))
    return values[chosen]


@of("compress")
def compress(m: Any, x: Any, mask: Any, axis: int | None) -> Any:
    return np.compress(_chosen(mask), objects(x), axis)


@of("extract")
def extract(m: Any, x: Any, mask: Any) -> Any:
    return array([v for v, kept in zip(entries(x), _chosen(mask).ravel(), strict=False) if kept], (-1,))


@of("delete")
def delete(m: Any, x: Any, where: Any, axis: int | None) -> Any:
    return np.delete(objects(x), np.asarray(where), axis)


@of("insert")
def insert(m: Any, x: Any, y: Any, where: Any, axis: int | None) -> Any:
    return np.insert(objects(x), np.asarray(where), objects(y), axis)


@of("resize")
def resize(m: Any, x: Any, shape: Any) -> Any:
    return np.resize(objects(x), shape)


@of("joined")
def joined(m: Any, *arrays: Any, axis: int | None) -> Any:
    parts = [objects(x) for x in arrays if axis is None or np.shape(x) != (0,) or all(np.ndim(y) == 1 for y in arrays)]
    return np.concatenate(parts, axis)


for _name, _join in (("hstack", np.hstack), ("vstack", np.vstack), ("dstack", np.dstack), ("column_stack", np.column_stack)):

    @of(_name)
    def stacked(m: Any, *arrays: Any, join: Any = _join) -> Any:
        return join([objects(x) for x in arrays])


@of("block_diag")
def block_diag(m: Any, *arrays: Any) -> Any:
    blocks = [np.atleast_2d(objects(x)) for x in arrays]
    out = np.full(np.sum([b.shape for b in blocks], axis=0), m.zero, dtype=object)
    row = column = 0
    for block in blocks:
        out[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return out


@of("append")
def append(m: Any, x: Any, y: Any, axis: int | None) -> Any:
    return np.append(objects(x), objects(y), axis)


def put_along(x: Any, index: Any, source: Any, axis: int) -> tuple[Array, dict[tuple[int, ...], list[Any]]]:
    """The entries of x, and what an index along an axis puts to each of their places, in order."""
    values, places = np.atleast_1d(objects(x)), np.atleast_1d(indices(index))
    given = np.broadcast_to(objects(source), places.shape) if not np.ndim(source) else objects(source)
    put: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(places.shape):
        target = list(at)
        target[axis] = int(places[at]) % values.shape[axis]
        put.setdefault(tuple(target), []).append(given[at])
    return values.copy(), put


def rows_put(x: Any, index: Any, source: Any, axis: int) -> tuple[Array, dict[tuple[int, ...], list[Any]]]:
    """The same where the index is that of whole rows along the axis."""
    values = np.atleast_1d(objects(x))
    given = np.moveaxis(np.atleast_1d(objects(source)), axis, 0)
    put: dict[tuple[int, ...], list[Any]] = {}
    for row, place in zip(given, whole(index), strict=True):
        for rest in np.ndindex(np.shape(row)):
            target = list(rest)
            target.insert(axis % values.ndim, place % values.shape[axis])
            put.setdefault(tuple(target), []).append(np.asarray(row, dtype=object)[rest])
    return values.copy(), put


def _settled(m: Any, x: Any, values: Array, put: dict[tuple[int, ...], list[Any]], how: Any, include_self: bool = True) -> Any:
    for at, given in put.items():
        values[at] = how([values[at], *given] if include_self else given)
    return values.reshape(np.shape(x))


def _product(m: Any, row: list[Any]) -> Any:
    found = row[0]
    for v in row[1:]:
        found = found * v
    return found


def _combined(m: Any, reduce: str) -> Any:
    return {
        "sum": lambda row: total(m, row), "prod": lambda row: _product(m, row), "mean": lambda row: total(m, row) / len(row),
        "amin": lambda row: m.extreme("min", row), "amax": lambda row: m.extreme("max", row),
    }[reduce]  # fmt: skip


@of("scatter")
def scatter(m: Any, x: Any, index: Any, source: Any, axis: int, reduce: Any) -> Any:
    how = (lambda row: row[-1]) if reduce is None else _combined(m, {"add": "sum", "multiply": "prod"}[reduce])
    return _settled(m, x, *put_along(x, index, source, axis), how)


@of("torch_scatter_add")
def torch_scatter_add(m: Any, x: Any, index: Any, source: Any, axis: int) -> Any:
    return _settled(m, x, *put_along(x, index, source, axis), _combined(m, "sum"))


@of("scatter_reduce")
def scatter_reduce(m: Any, x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool) -> Any:
    return _settled(m, x, *put_along(x, index, source, axis), _combined(m, reduce), include_self)


@of("index_add")
def index_add(m: Any, x: Any, index: Any, source: Any, axis: int, alpha: Any) -> Any:
    return _settled(m, x, *rows_put(x, index, each(lambda v: alpha * v, source), axis), _combined(m, "sum"))


@of("index_copy")
def index_copy(m: Any, x: Any, index: Any, source: Any, axis: int) -> Any:
    return _settled(m, x, *rows_put(x, index, source, axis), lambda row: row[-1])


@of("index_reduce")
def index_reduce(m: Any, x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool) -> Any:
    return _settled(m, x, *rows_put(x, index, source, axis), _combined(m, reduce), include_self)


@of("index_fill")
def index_fill(m: Any, x: Any, index: Any, value: Any, axis: int) -> Any:
    values = np.atleast_1d(objects(x)).copy()
    for place in whole(index):
        values[(slice(None),) * (axis % values.ndim) + (place,)] = entries(value)[0]
    return values.reshape(np.shape(x))


@of("put")
def put(m: Any, x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat = entries(x)
    for place, v in zip(whole(index), entries(source), strict=True):
        flat[place] = flat[place] + v if accumulate else v
    return array(flat, np.shape(x))


def _literal(part: Any) -> Any:
    """An index as NumPy takes it: lists of numbers are arrays."""
    if isinstance(part, (tuple, list)):
        return np.array(part)
    return np.asarray(part.array) if hasattr(part, "array") else part


@of("index_put")
def index_put(m: Any, x: Any, values: Any, indices: Any, accumulate: bool) -> Any:
    parts = tuple(_literal(part) for part in (indices if isinstance(indices, tuple) else (indices,)))
    out = objects(x).copy()
    places = np.arange(out.size).reshape(out.shape)[parts]
    flat = out.reshape(-1)
    for place, v in zip(places.ravel(), np.broadcast_to(objects(values), places.shape).ravel(), strict=True):
        flat[place] = flat[place] + v if accumulate else v
    return flat.reshape(np.shape(x))


@of("torch_where")
def torch_where(m: Any, condition: Any, x: Any, y: Any) -> Any:
    if all(isinstance(v, (bool, np.bool_)) for v in entries(x)) and not all(isinstance(v, (bool, np.bool_)) for v in entries(condition)):
        condition, x = x, condition
    return each(lambda c, v, w: v if c else w, condition, x, y)


@of("numpy_select")
def numpy_select(m: Any, conditions: Any, choices: Any, default: Any) -> Any:
    n = len(conditions)

    def first(*row: Any) -> Any:
        return next((row[n + i] for i in range(n) if row[i]), m.zero if row[-1] is None else row[-1])

    return each(first, *conditions, *choices, default)


@of("masked_fill")
def masked_fill(m: Any, x: Any, mask: Any, value: Any) -> Any:
    return each(lambda v, holds: entries(value)[0] if holds else v, x, mask)


@of("masked_scatter")
def masked_scatter(m: Any, x: Any, mask: Any, source: Any) -> Any:
    supply = iter(entries(source))
    return each(lambda v, holds: next(supply) if holds else v, x, mask)


@of("select_scatter")
def select_scatter(m: Any, x: Any, source: Any, axis: int, index: int) -> Any:
    out = objects(x).copy()
    np.moveaxis(out, axis, 0)[index] = objects(source)
    return out


@of("slice_scatter")
def slice_scatter(m: Any, x: Any, source: Any, axis: int, start: Any, stop: Any, step: int) -> Any:
    out = objects(x).copy()
    np.moveaxis(out, axis, 0)[start:stop:step] = np.moveaxis(objects(source), axis, 0)
    return out


@of("diagonal_scatter")
def diagonal_scatter(m: Any, x: Any, source: Any, offset: int, axis1: int, axis2: int) -> Any:
    out = objects(x).copy()
    moved, given = np.moveaxis(out, (axis1, axis2), (-2, -1)), objects(source)
    for i in range(given.shape[-1]):
        moved[..., i - min(offset, 0), i + max(offset, 0)] = given[..., i]
    return out


def _cuts(x: Any, sizes: Sequence[int], axis: int) -> tuple[Array, ...]:
    rows = np.moveaxis(objects(x), axis, 0)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(np.moveaxis(rows[start : start + n], 0, axis) for start, n in zip(starts, sizes, strict=True))


@of("split")
def split(m: Any, x: Any, sections: Any, axis: int) -> Any:
    return tuple(np.split(objects(x), sections, axis))


@of("tensor_split")
def tensor_split(m: Any, x: Any, sections: Any, axis: int) -> Any:
    return tuple(np.array_split(objects(x), sections, axis))


@of("torch_split")
def torch_split(m: Any, x: Any, sizes: Any, axis: int) -> Any:
    n = np.shape(x)[axis]
    return _cuts(x, sizes if isinstance(sizes, tuple) else [min(sizes, n - i) for i in range(0, n, sizes)], axis)


@of("split_with_sizes")
def split_with_sizes(m: Any, x: Any, sizes: Any, axis: int) -> Any:
    return _cuts(x, sizes if isinstance(sizes, tuple) else (sizes,), axis)


@of("chunk")
def chunk(m: Any, x: Any, chunks: int, axis: int) -> Any:
    n = np.shape(x)[axis]
    size = (n + chunks - 1) // chunks
    return _cuts(x, [min(size, n - i) for i in range(0, n, size)] if n else [0] * chunks, axis)


@of("unbind")
def unbind(m: Any, x: Any, axis: int) -> Any:
    return tuple(np.moveaxis(objects(x), axis, 0))


@of("select")
def select(m: Any, x: Any, axis: int, index: int) -> Any:
    return np.moveaxis(objects(x), axis, 0)[index]


@of("narrow")
def narrow(m: Any, x: Any, axis: int, start: int, length: int) -> Any:
    first = start + np.shape(x)[axis] if start < 0 else start
    return np.moveaxis(np.moveaxis(objects(x), axis, 0)[first : first + length], 0, axis)


for _name, _split in (("hsplit", np.hsplit), ("vsplit", np.vsplit), ("dsplit", np.dsplit)):

    @of(_name)
    def apart(m: Any, x: Any, sections: Any, function: Any = _split) -> Any:
        return tuple(function(objects(x), sections))
