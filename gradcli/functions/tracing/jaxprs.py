"""Functions of JAX's as the programs that JAX makes of them: each primitive is NumPy's function on
traced arrays.

A ``jax.custom_vjp`` is its own function here; its rules play no part, so that they can be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.places import Place, best_known_place, place_in
from gradcli.functions.tracing.jax_rules import ASKING, Untraceable, rule_of
from gradcli.functions.tracing.numpy_arrays import Traced
from gradcli.functions.tracing.passage import Passage


class Chosen(np.ndarray):
    """Whole numbers and truths that the arguments have had a part in: what is chosen by them is
    decided at the tested values.
    """


@dataclass(frozen=True, eq=False)
class _Run:
    """One run of a program: it tells the passage of numbers that leave it, and where its code
    stands.

    custom  whether it is within a custom function, whose rules say what is held constant
    """

    passage: Passage
    custom: bool = False
    place: Callable[[], Place | None] = lambda: None

    def evaluate(self, jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The results of a program at these arguments."""
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
        """The results of a primitive."""
        name, parameters = equation.primitive.name, equation.params
        inner = next((parameters[key] for key in _INNER if key in parameters), None)
        if inner is not None and name in _CALLS:
            run = replace(
                self, custom=self.custom or name.startswith("custom"), place=self.passage.place
            )
            return (
                run.evaluate(inner.jaxpr, inner.consts, operands)
                if hasattr(inner, "jaxpr")
                else run.evaluate(inner, (), operands)
            )
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
        """A primitive without a rule, by JAX itself: what goes in leaves the graph."""
        operands = [_plain(x) for x in operands]
        jax = import_module("jax")
        given = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
        found = equation.primitive.bind(*given, **equation.params)
        return [
            _plain(part) for part in (found if equation.primitive.multiple_results else [found])
        ]

    def branch(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``cond`` and ``switch``: what the index says, which JAX holds to the branches
        there are.
        """
        index, *rest = operands
        if isinstance(index, Chosen):
            self.passage.decide()
        branches = parameters["branches"]
        branch = branches[min(max(int(index), 0), len(branches) - 1)]
        return self.evaluate(branch.jaxpr, branch.consts, rest)

    def loop(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``while_loop``: as long as its condition is true."""
        conditions, bodies = parameters["cond_nconsts"], parameters["body_nconsts"]
        asked, done, carried = (
            operands[:conditions],
            operands[conditions : conditions + bodies],
            list(operands[conditions + bodies :]),
        )
        condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
        while bool(self.evaluate(condition.jaxpr, condition.consts, [*asked, *carried])[0]):
            carried = self.evaluate(body.jaxpr, body.consts, [*done, *carried])
        return carried

    def scan(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``scan``: its body for each row."""
        constants, carries, body = (
            parameters["num_consts"],
            parameters["num_carry"],
            parameters["jaxpr"],
        )
        fixed, carried, rows = (
            operands[:constants],
            list(operands[constants : constants + carries]),
            operands[constants + carries :],
        )
        order = range(parameters["length"])
        given: list[list[Any]] = []
        for i in reversed(order) if parameters["reverse"] else order:
            found = self.evaluate(
                body.jaxpr, body.consts, [*fixed, *carried, *(row[i] for row in rows)]
            )
            carried = found[:carries]
            given.append(found[carries:])
        if parameters["reverse"]:
            given.reverse()
        return [*carried, *(np.stack(column) for column in zip(*given, strict=True))]

    def solve(self, parameters: Any, operands: Sequence[Any]) -> list[Any]:
        """``custom_linear_solve``: as its own solver does, of what it keeps for that."""
        counts, solve = parameters["const_lengths"], parameters["jaxprs"].solve
        begin = counts.matvec + counts.vecmat
        kept, right = (
            operands[begin : begin + counts.solve],
            operands[begin + counts.solve + counts.transpose_solve :],
        )
        return self.evaluate(solve.jaxpr, solve.consts, [*kept, *right])


_FLOWS: dict[str, Callable[[_Run, Any, Sequence[Any]], list[Any]]] = {
    "cond": _Run.branch, "while": _Run.loop, "scan": _Run.scan, "linear_solve": _Run.solve, "custom_linear_solve": _Run.solve,
}  # fmt: skip


def evaluate_jaxpr(
    jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any], passage: Passage
) -> list[Any]:
    """The results of a program of JAX's at these arguments, of which those that are traced tell the
    passage.
    """
    passage.price = _PRICE
    return _Run(passage).evaluate(jaxpr, constants, arguments)


def _plain(x: Any) -> Any:
    """An array of NumPy's; keys of random numbers, which are none, as they are."""
    return x if str(getattr(x, "dtype", "")).startswith("key<") else np.asarray(x)


def _place(equation: Any, around: Callable[[], Place | None]) -> Place | None:
    """Return where the code stands that a primitive is from; for one within JAX's own functions,
    where these are called.
    """
    at, traceback = _frame(equation), equation.source_info.traceback
    if at is None:
        return around()
    codes, instructions = traceback.raw_frames()
    return place_in(codes[at], instructions[at], traceback.frames[at].line_num)


def _is_declared(equation: Any) -> bool:
    """Return whether code of theirs asks for a constant:

    JAX's own functions do, too, where rules of theirs say what is differentiated.
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


_PRICE = 50  # of a primitive that JAX computes by itself, in operations of a trace
_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_CALLS = frozenset({
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "remat",
    "remat2", "checkpoint",
})  # fmt: skip
