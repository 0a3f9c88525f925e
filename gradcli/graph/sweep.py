"""The backward sweep: the one place where adjoints are seeded, accumulated and un-broadcast.

It is written against a small protocol: a node has ``op``, ``operands``, ``static`` and ``shape``,
and a table gives each node's value. With a table of arrays the sweep computes numbers; with
``itself`` as the table it builds the graph of the gradient; with multi-precision values the judge
runs the same rules without rounding; the nodes behind eager tensors are swept by the same function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, ShapeError
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise.arithmetic import chain, is_finite, mul
from gradcli.ops.elementwise.logic import Pieces, where
from gradcli.ops.reductions.sums import sum_to
from gradcli.ops.spec import Carrier
from gradcli.ops.structure import detach, output

_Array, _Double = np.ndarray, np.float64


def itself(node: Any) -> Any:
    """Return the node itself, as the table of values that makes the sweep build graphs."""
    return node


def varied_nodes(order: Iterable[Any], wrt: Iterable[Any]) -> set[Any]:
    """Return the nodes through which a derivative flows to one of ``wrt``.

    The order is topological.
    """
    needed = set(wrt)
    for node in order:
        op = node.op
        if (
            op is None
            or node in needed
            or (op.partials is None and op.vjp is None and op is not output)
        ):
            continue
        if not needed.isdisjoint(node.operands):
            needed.add(node)
    return needed


def grad_nodes(order: Iterable[Expr], targets: set[Expr]) -> set[Expr]:
    """Return the nodes that require a gradient, as PyTorch has it.

    A node does if one of its operands does, also where the derivative is always zero.
    """
    found = set(targets)
    for node in order:
        if (
            node.op is not None
            and node.op is not detach
            and node.kind == "float"
            and not found.isdisjoint(node.operands)
        ):
            found.add(node)
    return found


def useful_nodes(order: Sequence[Any]) -> set[Any]:
    """Return the nodes from which a derivative flows to the last one."""
    found: set[Any] = {order[-1]}
    for node in reversed(order):
        op = node.op
        if op is None or op is detach or node not in found:
            continue
        if op.partials is not None:
            for operand, partial in zip(node.operands, op.partials, strict=False):
                if partial is not None and operand is not None:
                    found.add(operand)
        elif op.vjp is not None or op is output:
            found.update(operand for operand in node.operands if operand is not None)
    return found


def backward(
    order: Sequence[Any],
    seeds: Mapping[Any, Any],
    wrt: Iterable[Any],
    value_of: Callable[[Any], Any],
    *,
    bare: bool = False,
) -> dict[Any, Any]:
    """Return the adjoint of every node of ``wrt`` that a seeded node depends on.

    order     the nodes, each after its operands
    seeds     cotangents of outputs, each of its output's shape
    value_of  the table of values
    bare      zero times infinity is NaN; else a zero cotangent contributes nothing
    """
    targets = set(wrt)
    needed = varied_nodes(order, targets)
    found: dict[Any, Any] = {}
    times = scale if bare else scale_guarded

    def pull(node: Any, cotangent: Any) -> Sequence[Any]:
        if node in targets:
            found[node] = cotangent
        return pull_back(node, needed, cotangent, value_of, times)

    adjoints = {node: seed for node, seed in seeds.items() if node in needed}
    groups = alike(order, needed) if all(hasattr(seed, "join") for seed in seeds.values()) else {}
    made: dict[Any, Sequence[Any]] = {}  # contributions computed before their nodes' turn

    def pull_alike(node: Any, cotangent: Any) -> Sequence[Any]:
        if node in targets or len(groups[node]) == 1:
            return pull(node, cotangent)
        if node not in made:
            nodes = [node, *[x for x in groups[node] if x in adjoints]]
            columns = zip(*[(x, *x.operands) for x in nodes], strict=True)
            values = [join_values(column, value_of) for column in columns]
            wanted = tuple(map(needed.__contains__, node.operands))
            whole = cotangent.join([cotangent, *map(adjoints.get, nodes[1:])])
            parts = contributions(node, wanted, whole, values, times)
            rows = [[None] * len(nodes) if part is None else part.split() for part in parts]
            made.update(zip(nodes, zip(*rows, strict=True), strict=True))
        return made.pop(node)

    sweep([*groups] or order, adjoints, pull_alike if groups else pull)
    return found


_MANY = 300  # from this many single numbers on, computing similar nodes together is faster


def alike(order: Sequence[Any], needed: Any = frozenset()) -> dict[Any, list[Any]]:
    """Return nodes with the groups of those that are computed alike.

    Each node comes after its operands. There are no groups where there are few nodes, or not only
    single numbers.

    needed  those to which derivatives flow
    """
    if len(order) < _MANY or any(node.shape or None in node.operands for node in order):
        return {}
    depths: dict[Any, int] = {}
    groups: dict[Any, list[Any]] = {}
    for node in order:
        depths[node] = 1 + max(map(depths.__getitem__, node.operands), default=0)
    for node in sorted(order, key=depths.__getitem__):
        same = node.op is not None and node.op.partials is not None and not node.static
        key = [o if o.is_constant else (o.kind, o in needed) for o in node.operands]
        groups.setdefault((depths[node], node.op if same else node, *key), []).append(node)
    return {x: group for group in groups.values() for x in group}


def join_values(nodes: Sequence[Any], value_of: Callable[[Any], Any]) -> Any:
    """Return the values of nodes as one array, or of the constant that all of them are."""
    values = [*map(value_of, nodes)]
    return values[0] if nodes[0].is_constant else values[0].join(values)


def sweep(
    order: Sequence[Any],
    adjoints: dict[Any, Any],
    pull: Callable[[Any, Any], Sequence[Any]],
    cast: Callable[[Any, Any], Any] | None = None,
) -> None:
    """Carry adjoints backwards.

    The cotangent that a node passes back to an operand is summed to the operand's shape, and added
    to the operand's adjoint.

    pull  takes a node and its adjoint, which is complete, and gives what is passed back to each
          operand: None, or nothing at all, for none
    cast  gives what is passed back the dtype of the operand that it is for
    """
    pop, earlier_of = adjoints.pop, adjoints.get
    for node in reversed(order):
        cotangent = pop(node, None)
        if cotangent is None:
            continue
        operands = node.operands
        for place, part in enumerate(pull(node, cotangent)):
            if part is None:
                continue
            operand = operands[place]
            fitting = part if part.shape == operand.shape else sum_to(part, shape=operand.shape)
            if cast is not None and fitting.dtype is not operand.dtype:
                fitting = cast(fitting, operand)
            earlier = earlier_of(operand)
            adjoints[operand] = fitting if earlier is None else earlier + fitting


def gradients(
    order: Sequence[Any],
    seeds: Mapping[Any, Any],
    wrt: Sequence[Any],
    value_of: Callable[[Any], Any],
    decided: list[Any] | None = None,
) -> dict[Any, Any]:
    """Return what `backward` gives, with zero times infinity decided for each variable.

    decided  takes the variables of which some entries were NaN before
    """
    found = backward(order, seeds, wrt, value_of, bare=True)
    if has_nan(found):
        from gradcli.graph.indeterminate import decide

        decide(found, order, seeds, wrt, value_of, backward, [] if decided is None else decided)
    return found


def vjps_at(
    root: Expr,
    seed: Any,
    wrt: Sequence[Expr],
    values: Mapping[Expr, Any],
    order: Sequence[Expr] | None = None,
    decided: list[Expr] | None = None,
) -> dict[Expr, Any]:
    """Return the vector-Jacobian products of a node by those that it depends on, in floats.

    Raises EvaluationError.
    """
    try:
        with np.errstate(all="ignore"):
            order = order or reachable([root])
            return gradients(order, {root: seed}, wrt, values.__getitem__, decided)
    except (ValueError, ArithmeticError) as error:
        raise EvaluationError(f"the gradient has no value: {error}") from None


def has_nan(value: Any) -> bool:
    """Return whether an array has a NaN, or one of several that stand together or by names."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    if value is None:
        return False
    array = value.array if hasattr(value, "array") else np.asarray(value)
    if array.dtype == object:
        return any(v != v for v in array.ravel())
    return bool(array.size and (largest := array.max()) != largest)


def plus(x: Any, y: Any) -> Any:
    """Return a sum of terms, each None where there is none."""
    return y if x is None else x if y is None else x + y


class Parts(tuple[Any, ...]):
    """The cotangents of an operation's results, None for those that have none yet."""

    shape: Any
    dtype: Any = None

    @classmethod
    def like(cls, whole: Any, parts: Iterable[Any]) -> Parts:
        """Cotangents of the results of a node, or in the place of others."""
        made = cls(parts)
        made.shape = whole.shape
        made.dtype = getattr(whole, "dtype", None)
        return made

    @classmethod
    def of(cls, node: Any, place: int, cotangent: Any) -> Parts:
        return cls.like(node, [cotangent if i == place else None for i in range(node.op.outputs)])

    def __add__(self, other: Any) -> Parts:
        return self.like(self, map(plus, self, other))


def is_zero(cotangent: Any) -> bool:
    """Return whether all entries are zero."""
    if isinstance(cotangent, tuple):
        return all(part is None or is_zero(part) for part in cotangent)
    if isinstance(cotangent, Carrier):
        return cotangent.is_zero()
    # The first entry usually decides.
    return not (cotangent.size and cotangent.item(0)) and not cotangent.any()


def pull_back(
    node: Any,
    needed: set[Any],
    cotangent: Any,
    value_of: Callable[[Any], Any],
    times: Callable[[Any, Any], Any],
) -> Sequence[Any]:
    """Return the contributions of a node to its operands that are needed, from a table of values.

    They are None for other operands, and none at all if none is needed.
    """
    wanted = tuple(map(needed.__contains__, node.operands))
    if True not in wanted:
        return ()
    values = [value_of(node), *[None if x is None else value_of(x) for x in node.operands]]
    return contributions(node, wanted, cotangent, values, times)


def contributions(
    node: Any,
    wanted: tuple[bool, ...],
    cotangent: Any,
    values: Sequence[Any],
    times: Callable[[Any, Any], Any],
) -> Sequence[Any]:
    """Return what one node passes back to each operand, before summing to the operand's shape.

    A zero cotangent passes nothing back, whatever the rule would multiply it with; but for numbers
    that IEEE multiplies.

    values  its own and its operands'
    times   cotangent times partial
    """
    op, static = node.op, node.static
    if op.partials is not None:
        found: list[Any] = [None] * len(wanted)
        for place, partial in enumerate(op.partials):
            if partial is not None and wanted[place]:
                if type(partial) is Pieces:
                    found[place] = partial.flowing(times, cotangent, values, static)
                else:
                    found[place] = times(
                        cotangent, partial(*values, **static) if static else partial(*values)
                    )
        return found
    if op is output:
        return (Parts.of(node.operands[0], static["place"], cotangent),)
    if (
        not op.always
        and (times is not scale or isinstance(cotangent, Carrier))
        and is_zero(cotangent)
    ):
        return ()
    parts: Sequence[Any] = op.pull(wanted, cotangent, *values, **static)
    return parts


def scale(cotangent: Any, partial: Any) -> Any:
    """Multiply a cotangent by a partial as IEEE has it, in the cotangent's precision."""
    kind = type(partial)
    if kind is int and (partial == 1 or partial == -1):
        return cotangent if partial == 1 else -cotangent
    if isinstance(cotangent, Carrier) or isinstance(partial, Carrier):
        return mul(cotangent, partial)
    if kind is float or kind is int:
        return cotangent * cotangent.dtype.type(partial)
    if partial.dtype is cotangent.dtype:
        return cotangent * partial
    return np.multiply(cotangent, partial, dtype=cotangent.dtype, casting="same_kind")


def scale_guarded(cotangent: Any, partial: Any) -> Any:
    """Multiply a cotangent by a partial, where a zero cotangent gives zero.

    The partials 1 and -1 of sums and differences need no product.
    """
    kind = type(partial)
    if kind is _Array:
        if type(cotangent) is _Array and partial.dtype is cotangent.dtype:
            product = cotangent * partial
            if is_finite(product):  # `chain` would find the same
                return product
    elif kind is int or kind is float:
        if kind is int and (partial == 1 or partial == -1):
            return cotangent if partial == 1 else -cotangent
        if partial == 0:
            return where(
                True, 0.0 if isinstance(cotangent, Carrier) else cotangent.dtype.type(0), cotangent
            )
        if math.isfinite(partial) and not isinstance(cotangent, Carrier):
            return cotangent * float(partial)
    elif kind is _Double and type(cotangent) is _Double:
        product = cotangent * partial
        if math.isfinite(product):
            return product
    elif kind is Expr and partial.is_constant:
        zeros = np.equal(partial.payload, 0)  # a zero in a constant stays zero
        if zeros.any():
            return where(bool(zeros) if zeros.ndim == 0 else zeros, 0.0, chain(cotangent, partial))
    return chain(cotangent, partial)


# -- The gradient as a graph: the sweep with `itself` as the table, so that it nests to any order -----


def vjp(y: Expr, wrt: Sequence[Expr], seed: Expr) -> list[Expr]:
    """Return the vector-Jacobian products of y with a seed of its shape.

    They are zeros where y does not depend on a variable.
    """
    if seed.shape != y.shape:
        raise ShapeError(
            f"the seed has the shape {seed.shape}, the output {y.shape}; they must be the same"
        )
    found = backward(reachable([y]), {y: seed}, wrt, itself)
    return [found[x] if x in found else zeros_like(x) for x in wrt]


def slopes_of(root: Expr, wrt: Mapping[str, Expr], seed: Expr | None = None) -> dict[str, Expr]:
    """Return the vector-Jacobian products of a node as nodes, by name.

    The seed is ones, if there is no other.
    """
    found = vjp(root, list(wrt.values()), ones_like(root) if seed is None else seed)
    return dict(zip(wrt, found, strict=True))


def grad(y: Expr, x: Expr, seed: Expr | None = None) -> Expr:
    """Return the vector-Jacobian product of y with a seed.

    Without a seed it is that with ones, which is the gradient of the sum.
    """
    if seed is None:
        seed = ones_like(y)
    return vjp(y, [x], seed)[0]


def fill_like(node: Expr, value: float) -> Expr:
    """Return a number in the shape of a node."""
    constant = node.graph.constant(value)
    return broadcast_to(constant, shape=node.shape) if node.shape else constant


def zeros_like(node: Expr) -> Expr:
    return fill_like(node, 0.0)


def ones_like(node: Expr) -> Expr:
    return fill_like(node, 1.0)
