"""Cases of moving, splitting, joining and addressing entries."""

from __future__ import annotations

import numpy as np

from cases.case import Case, largest, smallest, some

X, V, CUBE = {"x": some(2, 3)}, {"x": some(4)}, {"x": some(2, 3, 4)}
TWO = {"x": some(2, 3), "y": some(2, 3)}
VECTORS = {"x": some(2), "y": some(3)}
ZEROS = np.array([2.0, 0.0, -1.5, 0.0])
DOUBLED = {"x": some(2, 3), "y": some(2, 2)}
SENT = {"x": some(3, 2), "y": some(2, 2)}  # along axis 0, by [[0, 2], [0, 1]]
WINDOWS = np.array([[0, 1, 2], [2, 3, 4]])


def put(x, place, y):
    out = x.copy()
    out[place] = y
    return out


def added(x, place, y):
    out = x.copy()
    np.add.at(out, place, y)
    return out


def groups(reduce, x, y, own=True):
    """x[i, j] with the entries of y that are sent to it by [[0, 2], [0, 1]] along axis 0."""
    out = x.copy()
    for i, j in np.ndindex(x.shape):
        sent = [y[k, j] for k, to in enumerate(([0, 2], [0, 1])) if to[j] == i]
        out[i, j] = reduce(np.array([x[i, j], *sent] if own or not sent else sent))
    return out


def embedded(x, rows, columns, axes=(0, 1, 2)):
    out = np.zeros((*x.shape[:-1], 4, 4), x.dtype)
    out[..., rows, columns] = x
    return out.transpose(axes)


def blocks(x, y):
    out = np.zeros((len(x) + len(y), x.shape[1] + y.shape[1]), complex)
    out[: len(x), : x.shape[1]], out[len(x) :, x.shape[1] :] = x, y
    return out


INDEX = "[[0, 2], [0, 1]]"
REDUCTIONS = {"amax": largest, "amin": smallest, "mean": np.mean, "prod": np.prod, "sum": np.sum}
CASES = [
    Case("roll(x, 1)", lambda x: np.roll(x, 1), X, "flattened"),
    Case("roll(x, (1, -2), axis=(0, 1))", lambda x: np.roll(x, (1, -2), (0, 1)), X),
    *[Case(f"rot90(x, {k}, (2, 0))", lambda x, k=k: np.rot90(x, k, (2, 0)), CUBE) for k in range(-1, 3)],
    Case("torch.flip(x, (0, -1))", lambda x: np.flip(x, (0, 2)), CUBE),
    Case("fliplr(x)*flipud(x)", lambda x: np.fliplr(x) * np.flipud(x), X),
    Case("tril(x, -1)", lambda x: np.tril(x, -1), {"x": some(2, 3, 3)}),
    Case("triu(x, 1)", lambda x: np.triu(x, 1), X),
    Case("triu(x)", np.triu, {"x": some(3)}, "a vector as every row"),
    Case("diag(x, -1)", lambda x: np.diag(x, -1), {"x": some(2)}),
    Case("diag(x, 1)", lambda x: np.diag(x, 1), X),
    Case("diagflat(x)", np.diagflat, {"x": some(2, 1)}),
    Case("diagonal(x, 1, 2, 0)", lambda x: np.diagonal(x, 1, 2, 0), CUBE),
    Case("torch.linalg.diagonal(x)", lambda x: np.diagonal(x, 0, 1, 2), CUBE),
    Case("diag_embed(x, 1)", lambda x: embedded(x, [0, 1, 2], [1, 2, 3]), X),
    Case("torch.diag_embed(x, -1, 2, 0)", lambda x: embedded(x, [1, 2, 3], [0, 1, 2], (2, 0, 1)), X),
    Case("atleast_3d(x)*atleast_2d(x)", lambda x: np.atleast_3d(x) * np.atleast_2d(x), {"x": some(2)}),
    Case("x.expand(2, -1, 3)", lambda x: np.broadcast_to(x, (2, 2, 3)), {"x": some(2, 1)}),
    Case("unflatten(x, -1, (2, -1))", lambda x: x.reshape(3, 2, 2), {"x": some(3, 4)}),
    Case("np.reshape(x, (3, 2), order='F')", lambda x: x.reshape(3, 2, order="F"), X),
    Case("ravel(x, 'F')", lambda x: x.ravel("F"), CUBE),
    Case("movedim(x, (0, 1), (-1, 0))", lambda x: np.moveaxis(x, (0, 1), (-1, 0)), CUBE),
    Case("torch.swapdims(x, 0, 2)", lambda x: np.swapaxes(x, 0, 2), CUBE),
    Case("adjoint(x)", lambda x: np.swapaxes(x, 1, 2), CUBE),
    Case("broadcast_tensors(x, y)[0]*y", lambda x, y: x * y, {"x": some(3), "y": some(2, 1)}),
    Case("fill(x, y)*y", lambda x, y: x * 0 + y * y, {"x": some(3), "y": some()}),
    Case("view_as(x, y)*y", lambda x, y: x.reshape(3, 2) * y, {"x": some(2, 3), "y": some(3, 2)}),
    Case("tile(x, (2, 1, 2))", lambda x: np.tile(x, (2, 1, 2)), X),
    Case("torch.clone(x).repeat(2, 3)", lambda x: np.tile(x, (2, 3)), X),
    Case("repeat(x, 2)", lambda x: np.repeat(x, 2), X, "flattened"),
    Case("repeat(x, [2, 0, 1], axis=1)", lambda x: np.repeat(x, [2, 0, 1], 1), X),
    Case("meshgrid(x, y)[0]*meshgrid(x, y)[1]", lambda x, y: x * y[:, None], VECTORS, "xy"),
    Case("torch.meshgrid(x, y)[0]", lambda x, y: x[:, None] + 0 * y, VECTORS, "ij"),
    Case("cartesian_prod(x, y)", lambda x, y: np.array([[a, b] for a in x for b in y]), VECTORS),
    Case("combinations(x, 3)", lambda x: x[[[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]], V),
    Case("combinations(x, with_replacement=True)", lambda x: x[[[0, 0], [0, 1], [1, 1]]], {"x": some(2)}),
    Case("x.unfold(0, 3, 2)", lambda x: np.moveaxis(x[WINDOWS], 1, 2), {"x": some(5, 2)}),
    *[Case(f"torch.split(x, 2)[{i}]", lambda x, i=i: x[2 * i : 2 * i + 2], {"x": some(3)}) for i in (0, 1)],
    Case("torch.split(x, [1, 3])[1]", lambda x: x[1:], V, "sizes"),
    Case("split(x, [1, 3])[1]", lambda x: x[1:3], V, "indices"),
    Case("chunk(x, 2, 2)[1]", lambda x: x[..., 2:], CUBE),
    Case("tensor_split(x, 3)[1]", lambda x: x[2:3], V),
    Case("hsplit(x, [1])[1]*dsplit(y, 2)[0][0]", lambda x, y: x[:, 1:] * y[0, :, :2], {"x": some(2, 3), "y": some(1, 2, 4)}),
    Case("vsplit(x, 2)[0]", lambda x: x[:1], X),
    Case("unbind(x, 1)[2]", lambda x: x[:, 2], X),
    Case("x.select(1, -1)*narrow(x, 1, 1, 1)[:, 0]", lambda x: x[:, 2] * x[:, 1], X),
    Case("hstack([x, y])", lambda x, y: np.hstack([x, y]), VECTORS),
    Case("vstack((x, y, x[0]))", lambda x, y: np.vstack((x, y, x[0])), TWO),
    Case("dstack((x, y))", lambda x, y: np.dstack((x, y)), TWO),
    Case("column_stack([x[:, 0], y])", lambda x, y: np.column_stack([x[:, 0], y]), TWO),
    Case("concatenate([x, y], axis=None)", lambda x, y: np.concatenate([x.ravel(), y]), {"x": some(2, 2), "y": some(2)}),
    Case("torch.cat([x, zeros(0), x])", lambda x: np.concatenate([x, x]), X, "empty vectors are "
    "left out"),
    Case("block_diag(x, y)", blocks, {"x": some(2, 1), "y": some(1, 3)}),
    Case("append(x, y)", lambda x, y: np.concatenate([x, y]), VECTORS),
    Case("take(x, [[5, 0], [-1, 5]])", lambda x: x.ravel()[[[5, 0], [5, 5]]], X),
    Case("gather(x, 1, [[0, 2, 0, 0]])", lambda x: x[:1, [0, 2, 0, 0]], X, "an index longer than "
    "the axis, and of fewer rows"),
    Case("index_select(x, 1, [2, 2, 0])", lambda x: x[:, [2, 2, 0]], CUBE),
    Case("take_along_dim(x, [[0], [2]], 1)", lambda x: x[[0, 1], [0, 2]][:, None], X),
    Case("take_along_axis(x, [[1, 0]], 0)", lambda x: x[[1, 0]].T, {"x": some(2, 1)}, "both "
    "broadcast"),
    Case("masked_select(x, [[True], [False]])", lambda x: x[0], X),
    Case("compress([False, True], x, axis=1)", lambda x: x[:, 1:2], X),
    Case("extract(x > 0, x)", lambda x: x[x.real > 0], X),
    Case("np.delete(x, [0, 2], 1)", lambda x: x[:, 1:2], X),
    Case("np.insert(x, [0, 1], y, axis=1)", lambda x, y: np.concatenate([y[:, :1], x[:, :1], y[:, 1:], x[:, 1:]], 1),
         DOUBLED),
    Case("scatter(x, 1, [[0, 2], [1, 0]], y)", lambda x, y: put(x, ([[0], [1]], [[0, 2], [1, 0]]), y[:, :2]), TWO),
    Case("scatter(x, 0, [[0, 0, 1]], 3)", lambda x: put(x, ([0, 0, 1], [0, 1, 2]), 3), X),
    Case("scatter(x, 0, [1, 1, 0], y)", lambda x, y: np.concatenate([y[2:], y[1:2], x[2:]]), {"x": some(4), "y": some(3)},
         "twice: the last"),
    Case(f"scatter_add(x, 0, {INDEX}, y)", lambda x, y: groups(np.sum, x, y), SENT),
    *[Case(f"scatter_reduce(x, 0, {INDEX}, y, '{name}', include_self={own})", lambda x, y, r=r, own=own: groups(r, x, y, own), SENT)
      for name, r in REDUCTIONS.items() for own in (True, False)],
    Case("scatter_reduce(x, 0, [0, 0, 1, 2], y, 'prod')", lambda x, y: x * np.array([y[0] * y[1], y[2], y[3]]),
         {"x": np.array([3.0, 0.0, 2.0]), "y": ZEROS}, "zeros"),
    Case("scatter_reduce(x, 1, [[0], [1]], y, 'prod')", lambda x, y: put(x, ([0, 1], [0, 1]), x[:2].diagonal() * y[:, 0]),
         {"x": some(3, 2), "y": some(2, 2)}, "an index of part of x"),
    Case("index_add(x, 1, [2, 2], y, alpha=3)", lambda x, y: added(x, (slice(None), [2, 2]), 3 * y), DOUBLED),
    Case("index_copy(x, 1, [2, 0], y)", lambda x, y: put(x, (slice(None), [2, 0]), y), DOUBLED),
    Case("index_fill(x, 1, [2, 2], y)", lambda x, y: put(x, (slice(None), 2), y), {"x": some(2, 3), "y": some()}),
    Case("index_reduce(x, 1, [1, 1], y, 'amax')", lambda x, y: put(x, (slice(None), 1), largest(np.c_[x[:, 1:2], y], 1)),
         DOUBLED),
    Case("index_reduce(x, 0, [1, 1], y, 'mean', include_self=False)", lambda x, y: np.stack([x[0], y.mean(0)]), TWO),
    Case("put(x, [-1, 0], y)", lambda x, y: put(x, ([1, 0], [2, 0]), y), {"x": some(2, 3), "y": some(2)}),
    Case("put(x, [5, 5], y, True)", lambda x, y: added(x, ([1, 1], [2, 2]), y), {"x": some(2, 3), "y": some(2)}),
    Case("select_scatter(x, y, 1, -1)", lambda x, y: put(x, (slice(None), 2), y), {"x": some(2, 3), "y": some(2)}),
    Case("slice_scatter(x, y, 1, 0, 10, 2)", lambda x, y: put(x, (slice(None), [0, 2]), y), DOUBLED),
    Case("diagonal_scatter(x, y, 1, 2, 0)", lambda x, y: put(x, ([1, 2, 3], slice(None), [0, 1, 2]), y.T),
         {"x": some(4, 2, 3), "y": some(2, 3)}),
    Case("index_put(x, ([0, 1], [2, 2]), y)", lambda x, y: put(x, ([0, 1], [2, 2]), y), {"x": some(2, 3), "y": some(2)}),
    Case("index_put(x, ([0, 0],), y, accumulate=True)", lambda x, y: added(x, [0, 0], y), {"x": some(2, 3), "y": some(3)}),
    Case("masked_fill(x, x > 0, y)*y", lambda x, y: np.where(x.real > 0, y, x) * y, {"x": some(2, 3), "y": some()}),
    Case("masked_scatter(x, y > 0, y)", lambda x, y: put(x, y.real > 0, y[: (y.real > 0).sum()]), {"x": some(5), "y": some(5)}),
    Case("x.where(y > 0, y)*torch.where(x > 0, x, y)", lambda x, y: np.where(y.real > 0, x, y) * np.where(x.real > 0, x, y), TWO),
    Case("np.select([x > 1, x > 0], [x*x, 3*x], 2.0)", lambda x: np.where(x.real > 1, x * x, np.where(x.real > 0, 3 * x, 2)), X),
    *[Case(f"pad(x, ((1, 2), (3, 0)), '{m}')", lambda x, m=m: np.pad(x, ((1, 2), (3, 0)), m), X)
      for m in ("edge", "reflect", "symmetric", "wrap")],
    Case("torch.nn.functional.pad(x, (1, -1, 2, 0), value=2)", lambda x: np.pad(x[:, :-1], ((2, 0), (1, 0)), constant_values=2), X),
    Case("torch.nn.functional.pad(x, (2, -1), 'reflect')", lambda x: np.pad(x, ((0, 0), (2, 0)), "reflect")[:, :-1], X),
    Case("torch.nn.functional.pad(x, (4, 1), 'replicate')", lambda x: np.pad(x, ((0, 0), (4, 1)), "edge"), X),
    Case("torch.nn.functional.pad(x, (2, -1), 'circular')", lambda x: np.pad(x[:, :-1], ((0, 0), (2, 0)), "wrap"), X, "cut, then wrapped"),
]  # fmt: skip
