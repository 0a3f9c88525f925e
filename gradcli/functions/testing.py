"""Gradients of functions in tests: a verdict, an assertion, and a test made of a function.

>>> import numpy as np
>>> assert_gradient(lambda x: np.sum(x**2), lambda x: 2*x, at={"x": [1.0, 2.0]})
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import signature
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from gradcli.errors import ArgumentError, InputTypeError, UsageError, one_of
from gradcli.functions.calls import guarded
from gradcli.functions.checking import Question
from gradcli.functions.frameworks import FRAMEWORKS
from gradcli.functions.points import Arguments, gravest, text_of
from gradcli.query.bindings import by_form, count_of, names_given, state_of
from gradcli.query.outcome import outcome_of
from gradcli.query.policy import FAIL_ON
from gradcli.query.programs import Programs
from gradcli.report.describing import block
from gradcli.report.records import Record
from gradcli.report.verdicts import Check


class GradientError(AssertionError):
    """A gradient that is not right; ``check`` says why."""

    def __init__(self, text: str, check: Check) -> None:
        super().__init__(text)
        self.check = check


class Options(TypedDict, total=False):
    """Those of `check_gradient`, as `assert_gradient` and `gradient_test` hand them on."""

    at: Required[Mapping[str, Any]]
    wrt: str | Iterable[str] | None
    by: str | None
    points: int
    rtol: float | None
    atol: float
    seed: Any
    random_state: int
    order: int


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
) -> Check:
    """The verdict on the gradient of a function.

    gradient      what somebody wrote: one array for each name of ``wrt``, or a dictionary of these; that of a function of several results
                  takes a seed after the arguments, or gives the Jacobian
    by            "torch", "jax" or "autograd": the framework's own gradient is held instead, custom rules and kernels in it
    at            the arguments, in the order in which the function takes them: numbers, arrays, lists, tuples and dictionaries of these;
                  a text is drawn anew for each point ("randn(5)"), and so is what a function of a random generator gives
    wrt           by which arguments (all)
    points        at how many points; of a wrong gradient the smallest and roundest is told
    rtol, atol    how far it may be off (1e-6 in float64, 1e-3 in float32, 1e-2 in half precision), beyond rounding
    seed          the vector of the vector-Jacobian product; of several results, random ones by default
    order         2 if ``gradient`` is a Hessian, or for the framework's second derivatives; the function has to be one that can be traced
    Raises a `GradcliError` for what cannot be decided about: a function that raises, a result of another shape.
    """
    return _checked(function, gradient, at, wrt, by, points, rtol, atol, seed, random_state, order)[0]


def assert_gradient(function: Callable[..., Any], gradient: Callable[..., Any] | None = None, **options: Unpack[Options]) -> None:
    """Raise GradientError, with the report of ``gradcli check``, unless a gradient is right: `check_gradient` with its options."""
    __tracebackhide__ = True  # pytest shows the line that asks
    strange = next((name for name in options if name not in _DEFAULTS), None)
    if strange is not None:
        raise TypeError(f"assert_gradient() got an unexpected keyword argument '{strange}'; it takes {', '.join(_DEFAULTS)}")
    check, arguments = _checked(function, gradient, **{**_DEFAULTS, **options})
    whose = f"{options['by']}'s own gradient" if options.get("by") else f"the gradient {_name(gradient)}"
    record = Record(f"{_name(function)} with {whose}", id=_name(function), check=check)
    record.file, record.line = _place(function)
    outcome = outcome_of(record, _name(function), fail_on=FAIL_ON)
    listener = _LISTENER.get()
    if listener is not None:
        source = "" if record.file is None else f"{record.file}:{record.line}"
        for said in (("verdict", check.verdict.word), ("seed", str(options.get("random_state", 0))), ("source", source)):
            listener(said)
    if outcome.bad:
        outcome.details.append("at " + " ".join(f"{name}={text_of(value)}" for name, value in arguments.items()))
        raise GradientError(block(outcome), check)


def gradient_test(
    gradient: Callable[..., Any] | None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """A decorator that makes of a function the test that its gradient is right: `assert_gradient` with these options.

    pytest has the seed of what is drawn (``random_state``) in its name: ``test_loss[seed 0]``.
    """

    def decorated(function: Callable[..., Any]) -> Callable[[], None]:
        def test() -> None:
            __tracebackhide__ = True
            assert_gradient(function, gradient, **options)

        test.__name__, test.__qualname__, test.__module__ = function.__name__, function.__qualname__, function.__module__
        test.__doc__ = function.__doc__
        test.gradcli_seed = options.get("random_state", 0)  # type: ignore[attr-defined]  # in its name, where pytest runs it
        return test

    return decorated


Listener = Callable[[tuple[str, object]], object]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let somebody hear what gradients are found to be meanwhile: pairs of a name and a text."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


_DEFAULTS: dict[str, Any] = {  # of all options; the arguments have none, and are asked for in words
    name: None if parameter.default is parameter.empty else parameter.default
    for name, parameter in signature(check_gradient).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def _checked(
    function: Callable[..., Any], gradient: Callable[..., Any] | None, at: Any, wrt: Any, by: str | None, points: int,
    rtol: float | None, atol: float, seed: Any, random_state: int, order: int,
) -> tuple[Check, Arguments]:  # fmt: skip
    """The verdict, and the arguments that it is about."""
    if (gradient is None) == (by is None):
        raise UsageError("a gradient is somebody's or a framework's: give gradient, or by='torch'")
    if by is not None:
        one_of("by", by, FRAMEWORKS)
    for what, given in {"function": function, **({} if gradient is None else {"gradient": gradient})}.items():
        if not callable(given):
            raise InputTypeError(f"the {what} must be a function, not {type(given).__name__}")
    if order not in (1, 2):
        raise UsageError(f"order must be 1 or 2, not {order!r}")
    help = "at={'x': [1.0, 2.0], 'y': 'randn(5)'}, in the order of its parameters"
    if at is not None and not isinstance(at, Mapping):
        raise InputTypeError(f"'at' must map the names of arguments to values, not {type(at).__name__}", help=help)
    if not at:
        raise ArgumentError("the function needs its arguments", help=help)
    at = by_form("at", at)
    points, random_state = count_of("points", points), state_of(random_state)
    rtol, atol = None if rtol is None else _tolerance("rtol", rtol), _tolerance("atol", atol)
    names = list(at) if wrt is None else list(names_given("wrt", wrt, at) or ())
    if not names:
        raise ArgumentError("wrt: no argument to differentiate by", help=f"the arguments are {', '.join(at)}")
    missing = next((name for name in names if name not in at), None)
    if missing is not None:
        raise ArgumentError(f"wrt: at has no '{missing}'", help=f"the arguments are {', '.join(at)}")
    question = Question({}, names, rtol, atol, by, seed, random_state, order)

    def ask(arguments: Arguments) -> tuple[Check, Any]:
        answer: tuple[Check, Any] = guarded(lambda: replace(question, arguments=arguments).check(function, gradient), interrupts=False)
        return answer

    if points == 1:
        drawn = _drawn(at, random_state)
        return ask(drawn)[0], drawn
    arguments, check, _ = gravest(lambda number: _drawn(at, random_state + number), ask, points)
    return check, arguments


def _drawn(at: Mapping[str, Any], state: int) -> dict[str, Any]:
    """The arguments of a point."""
    calculator, random = Programs().fresh(state), np.random.default_rng(state)
    found = {}
    for name, value in at.items():
        if isinstance(value, str):
            found[name] = calculator.constant(value, f"<{name}>")
        else:
            found[name] = value(random) if callable(value) else _numbers(value)
    return found


def _tolerance(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value < np.inf:
        raise InputTypeError(f"'{name}' must be a number from 0, not {value!r}")
    return float(value)


def _numbers(value: Any) -> Any:
    """A list of numbers is an array; all else is as it was given."""
    if isinstance(value, list) and value and all(isinstance(part, (int, float, list)) for part in value):
        try:
            return np.array(value)
        except ValueError:  # of different lengths
            return value
    return value


def _place(function: Any) -> tuple[str | None, int]:
    """The file and line where a function begins; no file for one of C."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None, 1
    path, folder = code.co_filename, os.path.join(os.getcwd(), "")
    return path.removeprefix(folder), code.co_firstlineno


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)
