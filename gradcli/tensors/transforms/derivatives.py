"""``torch.func``: gradients, Jacobians, and products with Jacobians, of functions.

They are in both modes and of any order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.ops.spec import Op, as_tuple
from gradcli.tensors.core.backward import grad as tape_gradient
from gradcli.tensors.core.levels import Batched, physical, spread
from gradcli.tensors.core.modes import Mode, Transforming, enable_grad, state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.vectorizing import Spec, flatten, map_ends, move_axis, vmap

# -- What a transformation makes of a function's arguments: inputs of their own, which derivatives
# are taken by.


Argnums = int | tuple[int, ...]


def places_of(argnums: Any, arguments: Sequence[Any]) -> tuple[int, ...]:
    """Return the places of the arguments that a derivative is taken by."""
    places = as_tuple(argnums)
    if not places or not all(type(place) is int for place in places):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums!r}")
    for place in places:
        if not -len(arguments) <= place < len(arguments):
            raise RuntimeError(f"Got argnum={place}, but only {len(arguments)} positional inputs")
    found = tuple([place % len(arguments) for place in places])
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def select_arguments(argnums: Argnums, arguments: Sequence[Any]) -> Any:
    """Return the arguments that a derivative is taken by, as one tree."""
    places = places_of(argnums, arguments)
    return (
        arguments[places[0]]
        if isinstance(argnums, int)
        else tuple(arguments[place] for place in places)
    )


def replace_arguments(argnums: Argnums, arguments: Sequence[Any], tree: Any) -> tuple[Any, ...]:
    """All arguments, with these in the place of those that a derivative is taken by."""
    found = list(arguments)
    for place, part in zip(
        places_of(argnums, arguments), (tree,) if isinstance(argnums, int) else tree, strict=True
    ):
        found[place] = part
    return tuple(found)


def of_some(
    func: Callable[..., Any], argnums: Argnums, arguments: Sequence[Any], keywords: dict[str, Any]
) -> Callable[..., Any]:
    """Return the function of the chosen arguments alone."""

    def run(*tree: Any) -> Any:
        return func(
            *replace_arguments(argnums, arguments, tree[0] if isinstance(argnums, int) else tree),
            **keywords,
        )

    run.__dict__["given"] = tensors_in((arguments, keywords))  # other tensors that it may write to
    return run


def tensors_in(tree: Any) -> list[Tensor]:
    return [part for part in flatten(tree)[0] if isinstance(part, Tensor)]


def inputs(tree: Any) -> list[Tensor]:
    """Return the tensors of a tree.

    In each of them, every example of every batch has entries of its own.
    """
    ends, _ = flatten(tree)
    for x in ends:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return [spread(x, state.batch_levels) if state.batch_levels else x for x in ends]


def fresh(x: Tensor) -> Tensor:
    """Return the same entries as an input of their own, which requires grad.

    It is in the graph that x is in, if x is in one.
    """
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients. This one is {x.dtype}"
        )
    if isinstance(x, Batched):
        return Batched(fresh(x.physical), x.levels)
    if x.requires_grad and state.recording:
        return _alias(x)
    leaf = Tensor(x.array, True)
    leaf._version_counter = x._version_counter
    return leaf


class Own:
    """The inputs that a transformation has made, to tell what else a result depends on."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self.nodes: set[Node] = {x.gradient_node() for x in tensors}

    def are_all(self, results: Iterable[Any]) -> bool:
        """Return whether results lead to no other tensor that requires grad."""
        roots = [
            result.gradient_node()
            for result in results
            if isinstance(result, Tensor) and result.requires_grad
        ]
        return not any(
            node.op is None and node.variable._requires_grad and node not in self.nodes
            for node in reachable(roots)
        )

    def release(self, x: Any) -> Any:
        """Return a result as it is outside of the transformation.

        It has no graph if that would lead nowhere but to the transformation's inputs.
        """
        leads_elsewhere = (
            not isinstance(x, Tensor)
            or not x.requires_grad
            or not (x.gradient_node() in self.nodes or self.are_all([x]))
        )
        return x if leads_elsewhere else x.detach()


def _alias(x: Tensor) -> Tensor:
    """Return the same entries, in the graph, as a tensor that may be written to.

    The tensor itself keeps its place in the graph.
    """
    alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
    alias._view = None
    return alias


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the gradient, as a function, of a function whose result is one number.

    It is taken with respect to the arguments at ``argnums``.
    """
    with_value = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        gradient, value = with_value(*arguments, **keywords)
        return (gradient, value[1]) if has_aux else gradient

    return run


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the gradient and the value of ``func``.

    With ``has_aux``, the value is what ``func`` returns: (value, aux).
    """

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        tree = select_arguments(argnums, arguments)
        spec = flatten(tree)[1]
        outside = state.recording
        xs = [fresh(x) for x in inputs(tree)]
        with enable_grad(), Transforming([*xs, *tensors_in((arguments, keywords))]):
            output = func(*replace_arguments(argnums, arguments, spec.unflatten(xs)), **keywords)
            output, aux = and_aux(output, has_aux, "grad_and_value(f)(*args)")
            _check_number(output)
            own = Own(xs)
            keep = outside and not own.are_all([output])
            found = _products([output], xs, None, keep)
        value = own.release(output)
        aux = map_ends(own.release, aux)
        gradients = spec.unflatten([own.release(part) for part in found])
        return gradients, ((value, aux) if has_aux else value)

    return run


def and_aux(output: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for part in flatten(output[1])[0]:
        if not isinstance(part, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(part)}")
    return output


def _check_number(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
        )
    if output.ndim:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {output.ndim} dims. Maybe you wanted "
            "to use the vjp or jacrev APIs instead?"
        )


def pull_back(
    ys: Sequence[Tensor], xs: Sequence[Tensor], vs: Sequence[Any] | None, keep: bool,
    retain: bool | None = None,
) -> Sequence[Tensor | None]:  # fmt: skip
    """Return vector-Jacobian products, None where nothing depends on an input."""
    moving = [i for i, y in enumerate(ys) if y.requires_grad]
    if not moving:
        return (None,) * len(xs)
    seeds = None if vs is None else [vs[i] for i in moving]
    return tape_gradient(
        [ys[i] for i in moving], xs, seeds, retain, create_graph=keep, allow_unused=True
    )


def _products(ys: list[Any], xs: list[Tensor], *how: Any) -> list[Tensor]:
    """Return the same with zeros where nothing depends on an input."""
    found = pull_back(ys, xs, *how)
    return [_still(x) if part is None else part for part, x in zip(found, xs, strict=True)]


def _still(x: Tensor) -> Tensor:
    return Tensor(np.zeros(x.shape, x.dtype.numpy))


def tensors_of(output: Any, where: str) -> tuple[list[Tensor], Spec]:
    """Return the tensors that a function returns.

    There must be some, and nothing else.
    """
    ys, spec = flatten(output)
    if not ys or output is None:
        raise RuntimeError(
            f"{where}: Expected f to be a function that has non-empty output (got output = "
            f"{output})"
        )
    for y in ys:
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"{where}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(y)}"
            )
    return ys, spec


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return a function's value, and the function that pulls cotangents back to the primals.

    The result is (value, function[, aux]). The second function takes cotangents of the value to
    those of the primals.
    """
    return _pulling(func, primals, has_aux, "vjp(f, *primals)")


def _pulling(func: Callable[..., Any], primals: Any, has_aux: bool, where: str) -> Any:
    spec = flatten(primals)[1]
    with enable_grad():
        xs = [fresh(x) for x in inputs(primals)]
    with enable_grad(), Transforming([*xs, *getattr(func, "given", ())]):
        output, aux = and_aux(func(*spec.unflatten(xs)), has_aux, where)
        ys, structure = tensors_of(output, where)
    own = Own(xs)
    connected = not own.are_all(ys)
    outside = own.release if state.recording else lambda y: y.detach()

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vs, given = flatten(cotangents)
        if given != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                "outputs to the function."
            )
        keep = (
            create_graph
            if create_graph is not None
            else state.recording and (connected or not own.are_all(vs))
        )
        return spec.unflatten([own.release(part) for part in _products(ys, xs, vs, keep, True)])

    value = structure.unflatten([outside(y) for y in ys])
    return (value, pull, map_ends(outside, aux)) if has_aux else (value, pull)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the Jacobian as a function, rows first.

    It is `vmap` of the vector-Jacobian product over all unit vectors.
    """
    return _jacobian(func, argnums, has_aux, forward=False)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the Jacobian, columns first.

    It is `vmap` of the Jacobian-vector product over all unit vectors. The function runs once.
    """
    return _jacobian(func, argnums, has_aux, forward=True)


def _jacobian(
    func: Callable[..., Any], argnums: Argnums, has_aux: bool, *, forward: bool
) -> Callable[..., Any]:
    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        tree = select_arguments(argnums, arguments)
        single = isinstance(argnums, int)
        alone = of_some(func, argnums, arguments, keywords)
        parts = (tree,) if single else tree
        xs, spec = flatten(tree)
        if forward:
            value, push, aux = _linearize(alone, parts, has_aux)
        else:
            value, pull, *aux = vjp(alone, *parts, has_aux=has_aux)
        ys, structure = flatten(value)
        seeds, starts = units(xs if forward else ys)
        if not starts[-1]:
            found = [
                Tensor(np.zeros((0, *end.shape), end.dtype.numpy))
                for end in (ys if forward else xs)
            ]
        elif forward:
            columns = vmap(lambda tangents: push((tangents,) if single else tangents))(
                spec.unflatten(seeds)
            )
            found = [move_axis(column, 0, -1) for column in flatten(columns)[0]]
        else:
            found = flatten(vmap(pull)(structure.unflatten(seeds)))[0]
        pieces = [slice(start, stop) for start, stop in itertools.pairwise(starts)]

        def block(row: int, column: int) -> Any:
            part = found[row][..., pieces[column]] if forward else found[column][pieces[row]]
            return reshape(part, shape=(*ys[row].shape, *xs[column].shape))

        blocks = [
            spec.unflatten([block(row, column) for column in range(len(xs))])
            for row in range(len(ys))
        ]
        jacobian = structure.unflatten(blocks)
        return (jacobian, *aux) if has_aux else jacobian

    return run


def units(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
    """Return all unit vectors of several tensors, along a first axis, and their starts.

    The starts are where each tensor's unit vectors begin; the last one is the number of all unit
    vectors.
    """
    starts = [0, *itertools.accumulate(math.prod(x.shape) for x in tensors)]
    parts = np.split(np.eye(starts[-1]), starts[1:-1], axis=1)
    return [
        Tensor(part.reshape(starts[-1], *x.shape).astype(x.dtype.numpy))
        for part, x in zip(parts, tensors, strict=True)
    ], starts


# -- Forward mode: u -> u J is linear, with the transposed Jacobian as its own, so that J t is its
# derivative by u in the direction t.


_JVP = "jvp(f, primals, tangents)"


def _pushing(pull: Callable[..., Any], value: Any) -> Callable[..., Any]:
    """Return the function that takes tangents of a value's inputs to those of the value.

    ``pull`` gives the products u J of cotangents u of the value. The inputs are what J is the
    derivative by.
    """
    _, pushed = vjp(Mode(pushing=True)(pull), map_ends(_still, value))

    def push(tangents: Any) -> Any:
        (found,) = pushed(tangents)
        # Whether a gradient is also taken with respect to something else.
        followed = any(x.requires_grad for x in flatten((value, tangents))[0])
        return found if followed else map_ends(lambda part: part.detach(), found)

    return push


def _linearize(
    func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Callable[..., Any], list[Any]]:
    """Return a function's value, the function that pushes tangents, and what else it returns.

    The second function takes tangents of the primals to those of the value.
    """
    of_aliases = functools.wraps(func)(
        lambda *inputs: func(*map_ends(_alias, inputs))
    )  # aliases, as the function may write to its inputs
    with Mode(forward=True):
        value, pull, *aux = _pulling(of_aliases, primals, has_aux, _JVP)
    return value, _pushing(pull, value), aux


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """Return a function's value, and its Jacobian times the tangents.

    The result is (value, product[, aux]).
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    value, move, *aux = _moving(func, primals, has_aux)
    return (value, move(*tangents), *aux)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return a function's value, and the function that pushes tangents.

    The second function takes tangents of the primals to those of the value. ``func`` runs once.
    """
    value, move = _moving(func, primals, False)
    return value, move


def _moving(func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> tuple[Any, ...]:
    ends, spec = flatten(primals)
    value, push, aux = _linearize(func, primals, has_aux)

    def move(*tangents: Any) -> Any:
        ts, given = flatten(tangents)
        if given != spec:
            raise RuntimeError("Expected the tangents to have the same argspec as the primals")
        for x, t in zip(ends, ts, strict=True):
            check_tangent(x, t)
        return push(tangents)

    return value, move, *aux


def check_tangent(primal: Tensor, tangent: Any) -> None:
    """Raise unless a tangent is one of a tensor."""
    if not isinstance(tangent, Tensor) or (tangent.shape, tangent.dtype) != (
        primal.shape,
        primal.dtype,
    ):
        found = (
            f"{tangent.shape} and {tangent.dtype}" if isinstance(tangent, Tensor) else type(tangent)
        )
        raise RuntimeError(
            f"a tangent of {found} is none of the primal, which has {primal.shape} and "
            f"{primal.dtype}"
        )


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return the second derivatives, as a function.

    It is the Jacobian in forward mode of the Jacobian in reverse mode.
    """
    return jacfwd(jacrev(func, argnums), argnums)


# -- ``torch.autograd.forward_ad``: tensors that move, inside of a dual level.


class _DualLevel(Mode):
    """Dual level, of which no more than one may be under way.

    It has the tensors that were made to move, and their tangents, by their nodes.
    """

    def __init__(self) -> None:
        super().__init__(forward=True, recording=True)
        self.moving: dict[Any, tuple[Tensor, Tensor]] = {}


_entered: list[_DualLevel] = []  # at most one, as in PyTorch


class UnpackedDualTensor(NamedTuple):
    """A tensor as it is, and how it moves: None if it does not."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """From here on, `make_dual` makes tensors that move."""
    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _entered.append(_DualLevel())
    _entered[-1].__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the dual level: nothing moves any more."""
    if not _entered or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created."
        )
    _entered.pop().__exit__()


class dual_level:
    """A dual level for the time of a ``with`` block."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return the same entries, moving by a tangent; differentiable by both."""
    if not _entered or level not in (None, 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    check_tangent(tensor, tangent)
    if _moves(tensor) or _moves(tangent):
        raise RuntimeError(
            "Making a dual Tensor of Tensors that already have a forward gradient at the same "
            "level 0 is not supported."
        )
    dual = _apart(tensor)
    _entered[-1].moving[physical(dual).node] = dual, tangent
    return _alias(dual)  # aliases, as the function may write to its inputs


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return what a tensor is and how it moves at the dual level."""
    if not _entered or not _moves(tensor):
        return UnpackedDualTensor(tensor, None)
    duals, tangents = zip(*_entered[-1].moving.values(), strict=True)
    primal = Own(()).release(tensor)
    push = _pushing(lambda u: tuple(_products([tensor], duals, [u], True, True)), primal)
    return UnpackedDualTensor(_apart(primal) if primal.requires_grad else primal, push(tangents))


def _apart(x: Tensor) -> Tensor:
    """Return the same entries, in the graph except for products of which tangents are made."""
    with enable_grad():
        leaf = fresh(x)
        alias = _alias(leaf)
    leaf._requires_grad = x.requires_grad
    physical(alias).node.op = _APART
    return alias


_APART = Op(
    "apart", "x", "the same entries", forward=np.copy, reference=np.copy, kind="structural",
    vjp=lambda cotangent, *_, **__: None if state.pushing else cotangent,
)  # fmt: skip


def _moves(x: Tensor) -> bool:
    """Return whether a tensor depends on one that was made to move."""
    nodes = [x.gradient_node()] if x.requires_grad else []
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        if node in _entered[-1].moving:
            return True
        if node.op is not _APART:
            nodes += (
                further := {operand for operand in node.operands if operand is not None} - seen
            )
            seen |= further
    return False
