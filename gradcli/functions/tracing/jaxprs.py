"""JAX's functions as the programs that JAX makes of them.

Each primitive is NumPy's function on traced arrays.

A ``jax.custom_vjp`` is its own function here. Its rules play no part, so that they can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.functions.places import Place, best_known_place, place_in
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.functions.tracing.passage import Passage
from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.spec import Op
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import caller, record_of
from gradcli.tensors.torch.namespace import function
from gradcli.texts import pairs, words


class Chosen(np.ndarray):
    """Whole numbers and truths that depend on the arguments.

    Choices by them are decided at the tested values.
    """


@dataclass(frozen=True, eq=False)
class JaxprRun:
    """One run of a JAX program.

    Traced arguments record the numbers that leave the trace, and where the code stands.

    custom  whether it is within a custom function, whose rules say what is held constant
    """

    passage: Passage
    custom: bool = False
    place: Callable[[], Place | None] = lambda: None

    def evaluate(self, program: Any, arguments: Sequence[Any]) -> list[Any]:
        """Return the results of a program at these arguments; it may have constants of its own."""
        jaxpr = getattr(program, "jaxpr", program)
        constants = getattr(program, "consts", ())
        literal = import_module("jax.extend.core").Literal
        values: dict[Any, Any] = {}

        def read(x: Any) -> Any:
            return np.asarray(x.val)[()] if isinstance(x, literal) else values[x]

        values.update(zip(jaxpr.constvars, map(np.asarray, constants), strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            self.passage.place = partial(_place, equation, self.place)
            operands = [read(x) for x in equation.invars]
            found = self._apply(equation, operands)
            if any(isinstance(x, (Traced, Chosen)) for x in operands):
                found = [x if isinstance(x, Traced) else np.asarray(x).view(Chosen) for x in found]
            values.update(zip(equation.outvars, found, strict=True))
        return [read(x) for x in jaxpr.outvars]

    def _apply(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """Return the results of a primitive."""
        name, parameters = equation.primitive.name, equation.params
        inner = next((parameters[key] for key in _INNER if key in parameters), None)
        if inner is not None and name in _CALLS:
            run = replace(
                self, custom=self.custom or name.startswith("custom"), place=self.passage.place
            )
            return run.evaluate(inner, operands)
        if name in _FLOWS:
            return _FLOWS[name](self, parameters, operands)
        if name == "stop_gradient":
            (x,) = operands
            free = self.custom or not isinstance(x, Traced) or not _is_declared(equation)
            return [x if free else Traced(self.passage.held_constant(x.tensor), self.passage)]
        if not any(isinstance(x, Traced) for x in operands):
            return self._outside(equation, operands)
        rule = partial(ASKING[name], equation.primitive) if name in ASKING else rule_of(name)
        try:
            if rule is None:
                raise Untraceable(f"no rule for {name}")
            found = rule(*operands, **parameters)
        except Untraceable:
            return self._outside(equation, operands)
        return found if equation.primitive.multiple_results else [found]

    def _outside(self, equation: Any, operands: list[Any]) -> list[Any]:
        """Run a primitive without a rule by JAX itself.

        Its operands leave the graph.
        """
        operands = [_plain(x) for x in operands]
        jax = import_module("jax")
        given = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
        found = equation.primitive.bind(*given, **equation.params)
        return [
            _plain(part) for part in (found if equation.primitive.multiple_results else [found])
        ]

    def branch(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """Run the branch of ``cond`` or ``switch`` that the index chooses.

        JAX limits the index to the branches that exist.
        """
        index, *rest = operands
        if isinstance(index, Chosen):
            self.passage.decide()
        branches = parameters["branches"]
        return self.evaluate(branches[min(max(int(index), 0), len(branches) - 1)], rest)

    def loop(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``while_loop``: as long as its condition is true."""
        conditions = parameters["cond_nconsts"]
        bodies = parameters["body_nconsts"]
        asked = operands[:conditions]
        done = operands[conditions : conditions + bodies]
        carried = list(operands[conditions + bodies :])
        condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
        while bool(self.evaluate(condition, [*asked, *carried])[0]):
            carried = self.evaluate(body, [*done, *carried])
        return carried

    def scan(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``scan``: its body for each row."""
        constants = parameters["num_consts"]
        carries = parameters["num_carry"]
        body = parameters["jaxpr"]
        fixed = operands[:constants]
        carried = list(operands[constants : constants + carries])
        rows = operands[constants + carries :]
        order = range(parameters["length"])
        given: list[list[Any]] = []
        for i in reversed(order) if parameters["reverse"] else order:
            found = self.evaluate(body, [*fixed, *carried, *(row[i] for row in rows)])
            carried = found[:carries]
            given.append(found[carries:])
        if parameters["reverse"]:
            given.reverse()
        return [*carried, *(np.stack(column) for column in zip(*given, strict=True))]

    def solve(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``custom_linear_solve``: as its own solver does, of what it keeps for that."""
        counts = parameters["const_lengths"]
        solve = parameters["jaxprs"].solve
        begin = counts.matvec + counts.vecmat
        kept = operands[begin : begin + counts.solve]
        right = operands[begin + counts.solve + counts.transpose_solve :]
        return self.evaluate(solve, [*kept, *right])


_FLOWS: dict[str, Callable[[JaxprRun, Any, Sequence[Any]], list[Any]]] = {
    "cond": JaxprRun.branch, "while": JaxprRun.loop, "scan": JaxprRun.scan,
    "linear_solve": JaxprRun.solve, "custom_linear_solve": JaxprRun.solve,
}  # fmt: skip


def _plain(x: Any) -> Any:
    """Convert to a NumPy array, but keep keys of random numbers, which are not arrays."""
    return x if str(getattr(x, "dtype", "")).startswith("key<") else np.asarray(x)


def _place(equation: Any, around: Callable[[], Place | None]) -> Place | None:
    """Return where the code stands that a primitive is from.

    A primitive within JAX's own functions has the place where these are called.
    """
    at = _frame(equation)
    traceback = equation.source_info.traceback
    if at is None:
        return around()
    codes, instructions = traceback.raw_frames()
    return place_in(codes[at], instructions[at], traceback.frames[at].line_num)


def _is_declared(equation: Any) -> bool:
    """Return whether the user's code asks for a constant.

    JAX's own functions also ask for constants, where their rules say what is differentiated. These
    do not count.
    """
    at = _frame(equation)
    return (
        at is not None
        and at > 0
        and equation.source_info.traceback.frames[at - 1].function_name == "stop_gradient"
    )


def _frame(equation: Any) -> int | None:
    """Return which frame of a primitive's traceback, innermost first, is theirs."""
    traceback = getattr(equation.source_info, "traceback", None)
    if traceback is None:
        return None
    codes, _ = traceback.raw_frames()
    number = best_known_place([code.co_filename for code in codes[::-1]])
    return None if number is None else len(codes) - 1 - number


_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_CALLS = words(
    "jit pjit closed_call core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr remat remat2 "
    "checkpoint"
)


# -- Primitives on traced arrays: a rule takes a primitive's operands, of which some are traced, and
# its parameters.
#
# A primitive that the catalogue has, as a function of ``jax.lax`` or entry by entry, is that. The
# other rules are functions of NumPy's and PyTorch's on traced arrays. What only moves entries is
# told by JAX itself, which is asked where it puts the numbers of places. Signs that mathematics
# leaves open are LAPACK's in both.


Rule = Callable[..., Any]


class Untraceable(TypeError):
    """Something that has no rule."""


def rule_of(name: str) -> Rule | None:
    """Return the rule of a primitive, if it has one."""
    if name in RULES:
        return RULES[name]
    own = RENAMED.get(name, name)
    if record_of(f"lax.{own}", JAX) is not None:
        return partial(_call, caller(f"lax.{own}", JAX))
    found = record_of(own, JAX)
    if found is None or not (isinstance(found[0], Op) and found[0].elementwise):
        return None
    return partial(_call, caller(own, JAX))


RENAMED = pairs("""
    add_any add, and logical_and, or logical_or, not logical_not, eq equal, ne not_equal, gt greater,
    ge greater_equal, lt less, lt_to less, le less_equal, le_to less_equal,
    regularized_incomplete_beta betainc
""")
_PLACED = ("accuracy", "sharding", "out_sharding")  # parameters that say nothing about numbers


def _call(function: Callable[..., Any], *operands: Any, **parameters: Any) -> Any:
    """Return what a function of the catalogue gives.

    Raises Untraceable for parameters that it has not.
    """
    given = {
        name: value
        for name, value in parameters.items()
        if name not in _PLACED and value is not None
    }
    try:
        return _on_tensors(function, *operands, **given)
    except UnreadArgumentError as error:
        raise Untraceable(error.message) from None


def _on_tensors(call: Callable[..., Any], *operands: Any, **static: Any) -> Any:
    """Return what a function of tensors makes of operands of which one at least is traced."""
    first = next(x for x in operands if isinstance(x, Traced))
    return first.trace_result(
        call(
            *(x.tensor if isinstance(x, Traced) else Tensor(np.array(x)) for x in operands),
            **static,
        )
    )


# -- Places of entries ---------------------------------------------------------------------------


def _take(entries: Any, places: np.ndarray) -> Any:
    """Entries by their places; not a number where the place is -1."""
    found = entries[np.maximum(places, 0)]
    return found if (places >= 0).all() else np.where(places >= 0, found, np.nan)


def _moving_rule(*sources: int) -> Rule:
    """Return the rule of a primitive that moves entries of these operands, or of all.

    Entries from outside of the operands are NaN.
    """

    def rule(primitive: Any, *operands: Any, **parameters: Any) -> Any:
        numbered = list(operands)
        count = 0
        moved = sources or range(len(operands))
        for i in moved:
            size = int(np.prod(np.shape(operands[i]), dtype=int))
            numbered[i] = count + np.arange(size).reshape(np.shape(operands[i]))
            count += size
        if "fill_value" in parameters:
            parameters["fill_value"] = -1
        entries = np.concatenate([np.ravel(operands[i]) for i in moved])
        found = [_take(entries, places) for places in _own(primitive, *numbered, **parameters)]
        return found if primitive.multiple_results else found[0]

    return rule


def _add_at(primitive: Any, x: Any, indices: Any, new: Any, **parameters: Any) -> Any:
    """Return an array with entries added to some of its own.

    The adjoints of numbered entries say which ones.
    """
    jax = import_module("jax")
    size = int(np.prod(np.shape(x), dtype=int))
    add = partial(primitive.bind, np.zeros(np.shape(x)), np.asarray(indices))
    _, pull = jax.vjp(lambda given: add(given, **parameters), np.zeros(np.shape(new)))
    (places,) = pull(1.0 + np.arange(size).reshape(np.shape(x)))  # 0 marks what is added nowhere
    index = Tensor(np.ravel(places).astype(int))
    scatter_add = function("scatter_add")
    found = _on_tensors(
        lambda entries, added: scatter_add(entries, 0, index, added),
        np.concatenate([np.zeros(1), np.ravel(x)]),
        np.ravel(new),
    )
    return np.reshape(found[1:], np.shape(x))


def _sort(*xs: Any, dimension: int, num_keys: int = 1, **_: Any) -> list[Any]:
    order = np.lexsort([np.asarray(x) for x in xs[:num_keys]][::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _top(x: Any, k: int, axis: int = -1, **_: Any) -> list[Any]:
    order = np.take(np.argsort(-np.asarray(x), axis=axis, kind="stable"), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


# -- Matrices ------------------------------------------------------------------------------------


def _dot(x: Any, y: Any, dimension_numbers: Any, **_: Any) -> Any:
    (left, right), (left_batch, right_batch) = dimension_numbers
    xs = list(range(np.ndim(x)))
    ys = [len(xs) + i for i in range(np.ndim(y))]
    for i, j in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        ys[j] = xs[i]
    shared = {xs[i] for i in (*left, *left_batch)}
    return np.einsum(
        x,
        xs,
        y,
        ys,
        [*(xs[i] for i in left_batch), *(label for label in (*xs, *ys) if label not in shared)],
    )


def _triangular_solve(
    a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any
) -> Any:
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    solve = function("solve_triangular", "torch.linalg")
    return _on_tensors(
        solve, a, b, upper=lower is transpose_a, left=left_side, unitriangular=unit_diagonal
    )


def _lu(primitive: Any, a: Any, **parameters: Any) -> list[Any]:
    _, *pivots = _own(primitive, a, **parameters)
    return [_on_tensors(function("lu_factor", "torch.linalg"), a)[0], *pivots]


def _eigh(a: Any, lower: bool = True, **_: Any) -> list[Any]:
    values, vectors = np.linalg.eigh(a, "L" if lower else "U")
    return [vectors, values]


def _svd(a: Any, compute_uv: bool, full_matrices: bool, **_: Any) -> list[Any]:
    if not compute_uv:
        return [np.linalg.svd(a, compute_uv=False)]
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    _refuse_bases(full_matrices and a.shape[-2] != a.shape[-1])
    return [s, u, vt]


def _qr(a: Any, full_matrices: bool, pivoting: bool = False, **_: Any) -> list[Any]:
    _refuse_bases(pivoting or (full_matrices and a.shape[-2] > a.shape[-1]))
    return list(np.linalg.qr(a))


def _refuse_bases(further: bool) -> None:
    if further:
        raise Untraceable("no rule for bases of a whole space, and columns in another order")


def _own(primitive: Any, *operands: Any, **parameters: Any) -> list[np.ndarray]:
    """JAX's own results."""
    found = primitive.bind(
        *(import_module("jax").numpy.asarray(np.asarray(x)) for x in operands), **parameters
    )
    return [np.asarray(part) for part in (found if primitive.multiple_results else [found])]


# -- Shapes, totals and choices ------------------------------------------------------------------


def _broadcast(x: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    kept = [1] * len(shape)
    for place, axis in enumerate(broadcast_dimensions):
        kept[axis] = np.shape(x)[place]
    return np.broadcast_to(np.reshape(x, kept), shape)


def _select(which: Any, *cases: Any, **_: Any) -> Any:
    if len(cases) == 2:  # a condition, which stays in the graph
        return np.where(which, cases[1], cases[0])
    found = cases[0]
    for number, case in enumerate(cases[1:], 1):
        found = np.where(np.asarray(which) == number, case, found)
    return found


def _running(name: str) -> Rule:
    """Return the rule of a PyTorch function along an axis.

    Where the axis is reversed, the rule starts from its other end.
    """

    def run(x: Any, axis: int, reverse: bool = False, **_: Any) -> Any:
        found = _on_tensors(function(name), np.flip(x, axis) if reverse else x, axis)
        found = found[0] if isinstance(found, tuple) else found  # extremes come with their indices
        return np.flip(found, axis) if reverse else found

    return run


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("copy copy_p name reduce_precision"), lambda x, **_: x), "optimization_barrier": lambda *xs, **_: list(xs),
    "select_n": _select, "convert_element_type": lambda x, new_dtype, **_: x.astype(new_dtype),
    "broadcast_in_dim": _broadcast,
    "reduce_and": lambda x, axes, **_: np.all(x, tuple(axes)), "reduce_or": lambda x, axes, **_: np.any(x, tuple(axes)),
    **{name: _running(name) for name in words("cumsum cumprod cummax cummin")}, "cumlogsumexp": _running("logcumsumexp"),
    "sort": _sort, "top_k": _top, "dot_general": _dot,
    "cholesky": lambda x, **_: np.linalg.cholesky(x), "triangular_solve": _triangular_solve,
    "eigh": _eigh, "svd": _svd, "qr": _qr,
}  # fmt: skip
ASKING: dict[str, Rule] = {  # rules that also take the primitive, to ask JAX with it
    **dict.fromkeys(words("slice concatenate stack split tile"), _moving_rule()),
    **dict.fromkeys(words("gather dynamic_slice"), _moving_rule(0)), **dict.fromkeys(words("pad dynamic_update_slice"), _moving_rule(0, 1)),
    "scatter": _moving_rule(0, 2), "scatter-add": _add_at, "lu": _lu,
}  # fmt: skip
