"""Distances of two vectors, and of the rows of matrices, as scipy.spatial.distance has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.errors import ShapeError, UnreadArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language import calls
from gradcli.language.builder import Builder
from gradcli.ops.arrays.shapes import reshape
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.elementwise.arithmetic import abs_, square
from gradcli.ops.elementwise.exponential import sqrt
from gradcli.ops.reductions.sums import max_, sum_


def _distance(of: Callable[[Expr, Expr], Any]) -> Callable[..., Any]:
    def distance(builder: Builder, u: Any, v: Any) -> Any:
        a, b = builder.value(u), builder.value(v)
        if a.ndim != 1 or b.ndim != 1:
            raise ShapeError("distances here are of two vectors", help="write scipy.spatial.distance.cdist(x, y) for all rows")
        if a.shape != b.shape:
            raise ShapeError(f"a distance of vectors of {a.shape[0]} and {b.shape[0]} entries")
        return of(a, b)

    return distance


def minkowski(builder: Builder, u: Any, v: Any, p: Any = 2) -> Any:
    """The norm of order p of the difference."""
    return _distance(lambda a, b: calls.result_of(calls.call(builder, "norm", NUMPY, [a - b, p], {})))(builder, u, v)


def _cosine(a: Expr, b: Expr) -> Any:
    return 1 - sum_(a * b) / sqrt(sum_(square(a)) * sum_(square(b)))


def _correlation(a: Expr, b: Expr) -> Any:
    n = a.shape[0]
    return _cosine(a - sum_(a) / n, b - sum_(b) / n)


def cdist(builder: Builder, XA: Any, XB: Any, metric: Any = "euclidean") -> Any:
    """The distances of each row from each, Euclidean ones or their squares."""
    kind = builder.static(metric, "a metric")
    if kind not in ("euclidean", "sqeuclidean", "cityblock", "chebyshev"):
        raise UnreadArgumentError(f"cdist does not support metric={kind!r}", help="leave it out, which is 'euclidean'")
    a, b = builder.value(XA), builder.value(XB)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(f"cdist takes two matrices with rows of one length, not shapes {a.shape} and {b.shape}")
    if kind == "euclidean":
        return calls.result_of(calls.call(builder, "cdist", TORCH, [a, b], {}))
    apart = reshape(a, shape=(a.shape[0], 1, a.shape[1])) - b
    if kind == "chebyshev":
        return max_(abs_(apart), axis=2)
    return sum_(square(apart) if kind == "sqeuclidean" else abs_(apart), axis=2)


def pdist(builder: Builder, X: Any, metric: Any = "euclidean") -> Any:
    """The Euclidean distances of the rows from each other, each pair once."""
    kind = builder.static(metric, "a metric")
    if kind != "euclidean":
        raise UnreadArgumentError(f"pdist does not support metric={kind!r}", help="leave it out, which is 'euclidean'")
    return calls.result_of(calls.call(builder, "pdist", TORCH, [X], {}))


_TWO = "u, v"
DISTANCES: dict[str, tuple[str, Callable[..., Any]]] = {
    "euclidean": (_TWO, _distance(lambda a, b: sqrt(sum_(square(a - b))))),
    "sqeuclidean": (_TWO, _distance(lambda a, b: sum_(square(a - b)))),
    "cityblock": (_TWO, _distance(lambda a, b: sum_(abs_(a - b)))),
    "chebyshev": (_TWO, _distance(lambda a, b: max_(abs_(a - b)))),
    "cosine": (_TWO, _distance(_cosine)),
    "correlation": (_TWO, _distance(_correlation)),
    "braycurtis": (_TWO, _distance(lambda a, b: sum_(abs_(a - b)) / sum_(abs_(a + b)))),
    "canberra": (_TWO, _distance(lambda a, b: sum_(abs_(a - b) / (abs_(a) + abs_(b))))),
    "minkowski": ("u, v, p", minkowski),
    "cdist": ("XA, XB, metric", cdist),
    "pdist": ("X, metric", pdist),
}
