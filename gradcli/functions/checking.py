"""Check of a Python function's gradient against the derivative.

The best available source decides, and the record names it.

A function that can be traced is a graph, and the judge of expressions decides. Where a trace stops,
extrapolated differences decide, with their error. In both cases claims are about the function's
result times a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from gradcli.check.claims import RTOL
from gradcli.check.verdicts import Check
from gradcli.errors import ArgumentError, EvaluationError, UsageError, did_you_mean
from gradcli.functions.arguments import (
    DIRECTIONS,
    NoValue,
    Parameters,
    Seeds,
    Subject,
    as_function,
    as_given,
    claims_in,
    differentiable,
    is_module,
    product,
    products_in,
    seeds_for,
)
from gradcli.functions.calls import arrange_names, by_names, call_guarded
from gradcli.functions.differences import JVP, along, claimed_jvps, contract
from gradcli.functions.frameworks import Framework, framework
from gradcli.functions.implicit import (
    ADJOINT,
    SOLUTION,
    adjoint_said,
    check_solution,
    refuse_nonlinear,
)
from gradcli.functions.precision import precision_of
from gradcli.functions.tracing.exact import Claims
from gradcli.functions.truth import Truth, in_float64, trace_subject


@dataclass(frozen=True, eq=False)
class Question:
    """A gradient of a function at the values of its arguments, by some of them.

    by     the framework whose own backward is held, if nobody's gradient is
    order  1, or 2: the gradient is a Hessian then, held along random directions
    seed   the vector of the vector-Jacobian product; without one, 1 for a number and random
           directions for arrays
    state  of these directions
    kind   what is claimed: a gradient, JVP or ADJOINT
    solves "residual" or "fixed point", if the function solves an equation: what is given of it
    by_default  whether nobody has chosen ``wrt``, which is then all arguments, in the order of the
                function's parameters, and all parameters of its module
    frozen      names that it is not by
    """

    arguments: Mapping[str, Any]
    wrt: list[str]
    rtol: float | None = None
    atol: float = 0.0
    by: str | None = None
    seed: Any = None
    state: int = 0
    order: int = 1
    kind: str = "gradient"
    solves: str | None = None
    by_default: bool = False
    frozen: tuple[str, ...] = ()

    @np.errstate(
        all="ignore"
    )  # verdicts report numbers that are not finite, so NumPy need not warn
    def check(
        self, function: Callable[..., Any], claim: Callable[..., Any] | None, equation: Callable[..., Any] | None = None,
        module: Any = None,
    ) -> tuple[Check, Any]:  # fmt: skip
        """Return the verdict, and the function's value.

        claim     the gradient, JVP or adjoint that somebody wrote; None for that of a framework
        equation  what the function solves
        module    a PyTorch module with whose parameters the gradient is checked as well; the function
                  itself, if it is one

        Raises NoValue where the function raises, what the claim raises, and GradcliError for
        arguments that they may not have.
        """
        if is_module(function):
            module = module or function
            function = as_function(function)
        names = arrange_names(function, list(self.arguments))
        here = replace(self, arguments={name: self.arguments[name] for name in names})
        called = by_names(function, names)
        equation = equation if equation is None else by_names(equation, [SOLUTION, *names])
        if module is None or self.by is None:
            return here._choose(names)._by(called, claim, equation)
        if self.by != "torch":
            raise UsageError(
                f"parameters are those of PyTorch's modules, not of {self.by}'s", help="--by torch"
            )
        parameters = Parameters(module, _widest(self.arguments))
        twice = next((name for name in parameters.values if name in names), None)
        if twice is not None:
            raise ArgumentError(
                f"'{twice}' is an argument, and a parameter of the module, too",
                help="give the argument another name",
            )
        here = replace(here, arguments={**here.arguments, **parameters.values})
        check, value = here._choose([*names, *parameters.values])._by(
            parameters.taken_by(called), claim, equation
        )
        check.reason = "; ".join(filter(None, (check.reason, parameters.training_note))) or None
        return check, value

    def _choose(self, names: list[str]) -> Question:
        """Return the question by those of these names that are asked for.

        Raises UsageError for others.
        """
        wrt = None if self.by_default else self.wrt
        return replace(self, wrt=names_to_differentiate(names, wrt, self.frozen, None, str))

    def _by(
        self,
        function: Callable[..., Any],
        claim: Callable[..., Any] | None,
        equation: Callable[..., Any] | None,
    ) -> tuple[Check, Any]:
        """Return the verdict on a function that takes the arguments in their order."""
        if self.by is None:
            return self._check(Subject(function, self.arguments, self.wrt), None, claim, equation)
        found = framework(self.by)
        with found.setting():
            return self._check(
                Subject(function, self.arguments, self.wrt, found.make), found, None, equation
            )

    def _check(
        self,
        subject: Subject,
        found: Framework | None,
        claim: Callable[..., Any] | None,
        equation: Callable[..., Any] | None,
    ) -> tuple[Check, Any]:
        say = partial(self._say, found, claim)
        self._warm(subject, say)
        call_guarded(lambda: subject.value, NoValue, interrupts=False)
        directions = seeds_for(subject.value, self.seed, self.state)
        if self.order == 2:
            checks = self._second(subject, directions[0], say)
        elif self.kind == JVP:
            checks = self._forward(subject, directions, say)
        else:
            if self.kind == ADJOINT:
                refuse_nonlinear(subject, self.state)
            claims = [say(subject, seeds) for seeds in directions]
            if equation is not None and self.solves is not None:
                rtol = RTOL["float64"] if self.rtol is None else self.rtol
                trace = partial(trace_subject, by=self.by, held={})
                checks = check_solution(
                    subject, equation, self.solves, trace, self._truth, directions, claims, rtol
                )
            else:
                truth = self._truth(subject)
                checks = [
                    truth.check(seeds, said) for seeds, said in zip(directions, claims, strict=True)
                ]
        return _gravest(checks), _summary(subject)

    def _say(
        self,
        found: Framework | None,
        claim: Callable[..., Any] | None,
        subject: Subject,
        seeds: Seeds,
        along: Any = None,
    ) -> Any:
        """Return the claim of a framework or of somebody about the result times seeds.

        A JVP or a Hessian is claimed along a direction.

        A claim is asked after its function was called at the point, as a class needs that keeps
        values for its backward pass.
        """
        if found is not None:
            return (
                found.push(subject, along)
                if self.kind == JVP and found.push
                else found.product(subject, seeds, along)
            )
        assert claim is not None
        subject()
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")
            if self.kind == JVP:
                return claimed_jvps(subject, claim, along)
            if self.kind == ADJOINT:
                return adjoint_said(subject, claim, seeds)
            if self.order == 2:
                return products_in(
                    self.arguments,
                    self.wrt,
                    by_names(claim, list(self.arguments))(*subject.copies().values()),
                    along,
                )
            return claims_in(
                self.arguments, self.wrt, product(claim, subject.copies(), seeds, subject.is_scalar)
            )

    def _warm(self, subject: Subject, say: Callable[..., Any]) -> None:
        """Ask for the claim at other values first.

        A claim that keeps its first answer, or answers for an earlier call, is then found out.
        """
        random = np.random.default_rng(self.state)
        moved = {
            name: (x * random.uniform(*_ELSEWHERE, x.shape)).astype(x.dtype)
            for name, x in subject.floats.items()
        }
        there = replace(subject, arguments=subject.arguments_with(moved, as_given))
        with suppress(Exception, SystemExit), np.errstate(all="ignore"):
            say(
                there,
                seeds_for(there.value, self.seed, self.state)[0],
                None if self.kind != JVP and self.order == 1 else moved,
            )

    def _truth(self, subject: Subject) -> Truth:
        return Truth(subject, self.by, self.kind, self.rtol, self.atol)

    def _forward(
        self, subject: Subject, directions: list[Seeds], say: Callable[..., Any]
    ) -> list[Check]:
        """Return the verdicts on a JVP, along random directions of the arguments."""
        random = np.random.default_rng([self.state, 3])
        checks: list[Check] = []
        for _ in range(DIRECTIONS):
            tangents = subject.direction(random)
            parts = say(subject, directions[0], tangents)
            truth = self._truth(along(in_float64(subject), tangents))
            checks += [truth.check(seeds, contract(parts, seeds)) for seeds in directions]
        return checks

    def _second(self, subject: Subject, seeds: Seeds, say: Callable[..., Any]) -> list[Check]:
        """Return the verdicts on second derivatives.

        They are checked by their products with random directions. Only a trace gives second
        derivatives for certain.
        """
        if not subject.is_scalar and self.seed is None:
            raise ArgumentError(
                "second derivatives are of a number",
                help="give the vector that the result is multiplied with (seed)",
            )
        graph = trace_subject(subject, self.by, {})
        if graph is None:
            raise EvaluationError(
                "second derivatives are checked of functions that can be traced, and this one "
                "cannot"
            )
        random = np.random.default_rng(self.state)
        checks: list[Check] = []
        for _ in range(DIRECTIONS):
            direction = subject.direction(random)
            claims = say(subject, seeds, direction)
            narrow = precision_of(subject, claims.values(), graph.trace.kinds, self.by)
            parts = graph.check(seeds, Claims(claims, self.rtol, self.atol, narrow), direction)
            if parts is None:
                raise EvaluationError("the reference has no second derivative of this function")
            checks.append(Check(max(part.verdict for part in parts.values()), parts))
        return checks


def names_to_differentiate(
    names: list[str],
    wrt: Sequence[str] | None,
    freeze: Sequence[str],
    by: str | None,
    spelled: Callable[[str], str],
) -> list[str]:
    """Return the names that the gradient is by.

    PyTorch's modules may have more names than the arguments. Raises UsageError for an unknown name,
    and where no name is left.
    """
    for option, given in (("wrt", wrt or ()), ("freeze", freeze)):
        for name in given if by != "torch" else ():
            if name not in names:
                raise UsageError(
                    f"{spelled(option)}: {spelled('at')} has no '{name}'",
                    help=did_you_mean(name, names, f"the arguments are {', '.join(names)}"),
                )
    left = [name for name in dict.fromkeys(names if wrt is None else wrt) if name not in freeze]
    if names and not left and by != "torch":
        told = f"{spelled('wrt')}: no argument to differentiate by"
        if freeze:
            told = f"{spelled('freeze')} leaves nothing to differentiate with respect to"
        raise UsageError(told, help=f"the arguments are {', '.join(names)}")
    return left


def _widest(arguments: Mapping[str, Any]) -> np.dtype[Any]:
    """Return the dtype of the arguments' floats; float64 where there are none."""
    kinds = {
        part.dtype
        for name, value in arguments.items()
        for _, _, part in differentiable(name, value)
    }
    return max(kinds, key=lambda kind: kind.itemsize, default=np.dtype(np.float64))


_ELSEWHERE = (1.001, 1.01)  # range of the factors on the arguments' values


def _gravest(checks: list[Check]) -> Check:
    """Return the gravest of the verdicts along several directions."""
    check = max(checks, key=lambda c: c.verdict)
    if len(checks) > 1:
        for part in check.variables.values():
            part.directions = len(checks)
    return check


def _summary(subject: Subject) -> Any:
    value = subject.value
    return (
        np.float64(value[0].reshape(())[()])
        if subject.is_scalar
        else value[0]
        if len(value) == 1
        else None
    )
