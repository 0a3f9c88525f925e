"""Gradients of functions in tests: a verdict, an assertion, and a test made of a function.

>>> import numpy as np
>>> assert_gradient(lambda x: np.sum(x**2), lambda x: 2*x, at={"x": [1.0, 2.0]})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, update_wrapper
from inspect import signature
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from gradcli.check.verdicts import Check
from gradcli.errors import ArgumentError, InputTypeError, UsageError
from gradcli.functions.arguments import as_arrays, duplicate
from gradcli.functions.asking import (
    OPTIONS,
    Asked,
    definition_of,
    questions_of,
    set_place,
    smallest_of,
)
from gradcli.functions.calls import call_guarded
from gradcli.functions.checking import Question, names_to_differentiate
from gradcli.functions.points import Arguments, gravest
from gradcli.options import FAIL_ON
from gradcli.query.bindings import by_form, names_given, option_of
from gradcli.query.cases import outcome_of
from gradcli.query.programs import Programs
from gradcli.report.describing import block
from gradcli.report.records import Record


class GradientError(AssertionError):
    """A gradient that is not right; ``check`` says why."""

    def __init__(self, text: str, check: Check) -> None:
        super().__init__(text)
        self.check = check


class Options(TypedDict, total=False):
    """Options of `check_gradient`, as `assert_gradient` and `gradient_test` hand them on."""

    at: Required[Mapping[str, Any]]
    wrt: str | Iterable[str] | None
    by: str | None
    points: int
    rtol: float | None
    atol: float
    seed: Any
    random_state: int
    order: int
    jvp_of: Callable[..., Any] | None
    adjoint: Callable[..., Any] | None
    implicit: Callable[..., Any] | None
    fixed_point: Callable[..., Any] | None
    parameters: Any
    forward: bool


def check_gradient(
    function: Callable[..., Any],
    gradient: Callable[..., Any] | None = None,
    *,
    at: Mapping[str, Any],
    wrt: str | Iterable[str] | None = None,
    by: str | None = None,
    points: int = 1,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: Any = None,
    random_state: int = 0,
    order: int = 1,
    jvp_of: Callable[..., Any] | None = None,
    adjoint: Callable[..., Any] | None = None,
    implicit: Callable[..., Any] | None = None,
    fixed_point: Callable[..., Any] | None = None,
    parameters: Any = None,
    forward: bool = False,
) -> Check:
    """Return the verdict on the gradient of a function, or on its JVP or adjoint.

    gradient      what somebody wrote: one array for each name of ``wrt``, or a dictionary of these;
                  that of a function of several results takes a seed after the arguments, or gives
                  the Jacobian
    by            "torch", "jax" or "autograd": the framework's own gradient is held instead, custom
                  rules and kernels in it
    at            the arguments by the names of the function's parameters: numbers, arrays, lists,
                  tuples and dictionaries of these; a text is drawn anew for each point
                  ("randn(5)"), and so is what a function of a random generator gives; with ``by``
                  also the framework's own arrays
    wrt           by which arguments (all)
    points        at how many points; of a wrong gradient the smallest and roundest is told
    rtol, atol    how far it may be off (1e-6 in float64; nothing in float32, float16 and bfloat16),
                  beyond what rounding explains in the precision of the arguments, carried through
                  the function
    seed          the vector of the vector-Jacobian product; of several results, random ones by
                  default
    order         2 if ``gradient`` is a Hessian, or for the framework's second derivatives; the
                  function has to be one that can be traced
    jvp_of        in the place of a gradient, the JVP that somebody wrote: it takes the arguments,
                  then a tangent for each name of ``wrt``
    adjoint       that of a linear function: it takes a vector for the result, then the arguments
                  that are not of ``wrt``
    implicit      the residual(x, *arguments) that the function's value x makes zero: the gradient
                  is held to the implicit function theorem
    fixed_point   the same of a function g(x, *arguments) that gives x
    parameters    with by="torch" a torch.nn.Module that the function uses, whose parameters the
                  gradient is by, too; a function that is one has its own
    forward       with by="torch" or "jax": its forward mode is held, along random directions
    Raises a `GradcliError` for what cannot be decided about: a function that raises, a result of
    another shape.
    """
    return _check(function, locals())[0]


def assert_gradient(
    function: Callable[..., Any],
    gradient: Callable[..., Any] | None = None,
    **options: Unpack[Options],
) -> None:
    """Raise GradientError, with the report of ``gradcli check``, unless a gradient is right.

    The check is `check_gradient` with its options.
    """
    __tracebackhide__ = True  # makes pytest show the caller's line
    given = _ALL.bind_partial(function, gradient, **options)
    given.apply_defaults()
    named = given.arguments
    check, arguments, what = _check(function, named)
    title = f"{_name(function)} with {what.title(named['by'], named['order'], _name)}"
    record = Record(title, id=_name(function), check=check)
    set_place(record, definition_of(function))
    outcome = outcome_of(record, _name(function), FAIL_ON)
    if outcome.bad:
        outcome.details.append(f"at {' '.join(smallest_of(arguments))}")
        raise GradientError(block(outcome), check)


def gradient_test(
    gradient: Callable[..., Any] | None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """Return a decorator that turns a function into the test that its gradient is right.

    The test is `assert_gradient` with these options.

    pytest shows the seed of the random draws (``random_state``) in the test's name:
    ``test_loss[seed 0]``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        def test() -> None:
            __tracebackhide__ = True
            assert_gradient(function, gradient, **options)

        update_wrapper(test, function, updated=())
        del vars(test)["__wrapped__"]  # which pytest would ask for fixtures
        test.gradcli_seed = options.get("random_state", 0)  # type: ignore[attr-defined]  # in its name, where pytest runs it
        return test

    return decorate


_ALL = signature(check_gradient)


def _check(function: Any, given: Mapping[str, Any]) -> tuple[Check, Arguments, Asked]:
    """Return the verdict, the arguments that it is about, and the question.

    ``given`` has all options of `check_gradient` by their names.
    """
    by = given["by"]
    order = given["order"]
    at = given.get("at")
    wrt = given["wrt"]
    points = option_of("points", given["points"])
    if order not in (1, 2):
        raise UsageError(f"order must be 1 or 2, not {order!r}")
    what = questions_of(given, by, order, str, given["forward"])
    functions = {name: given[name] for name in OPTIONS if given[name] is not None}
    for name, one in {"function": function, **functions}.items():
        if not callable(one):
            raise InputTypeError(f"the {name} must be a function, not {type(one).__name__}")
    help = "at={'x': [1.0, 2.0], 'y': 'randn(5)'}, by the names of its parameters"
    if at is not None and not isinstance(at, Mapping):
        raise InputTypeError(
            f"'at' must map the names of arguments to values, not {type(at).__name__}", help=help
        )
    if not at:
        raise ArgumentError("the function needs its arguments", help=help)
    at = by_form("at", at)
    state = option_of("random_state", given["random_state"])
    atol = option_of("atol", given["atol"])
    rtol = None if given["rtol"] is None else option_of("rtol", given["rtol"])
    names = names_to_differentiate(
        list(at), None if wrt is None else names_given("wrt", wrt, at) or (), (), by, str
    )
    question = Question(
        {}, names, rtol, atol, by, given["seed"], state, order, what.kind, what.solves, wrt is None
    )

    def ask(arguments: Arguments) -> tuple[Check, Any]:
        at_these = replace(question, arguments=arguments)
        called = partial(at_these.check, function, what.claim, what.equation, given["parameters"])
        answer: tuple[Check, Any] = call_guarded(called, interrupts=False)
        return answer

    if points == 1:
        drawn = _draw(at, state, by)
        return ask(drawn)[0], drawn, what
    arguments, check, _ = gravest(lambda number: _draw(at, state + number, by), ask, points)
    return check, arguments, what


def _draw(at: Mapping[str, Any], state: int, by: str | None) -> dict[str, Any]:
    """Draw the arguments of a point."""
    calculator = Programs().fresh(state)
    random = np.random.default_rng(state)
    found = {}
    for name, value in at.items():
        if isinstance(value, str):
            found[name] = calculator.constant(value, f"<{name}>")
        else:
            found[name] = as_arrays(
                duplicate(value(random)) if callable(value) else _numbers(value), by
            )
    return found


def _numbers(value: Any) -> Any:
    """Convert a list of numbers to an array, and leave anything else as it is."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(part, (int, float, list)) for part in value)
    ):
        try:
            return np.array(value)
        except ValueError:  # rows of different lengths
            return value
    return value


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)
