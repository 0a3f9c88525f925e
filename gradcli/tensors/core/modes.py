"""Modes of the operations that follow: whether they are recorded, and what is watched.

Each mode is a context manager and a decorator; it restores what was there before, also after an
exception.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any

import numpy as np

# -- Warnings as PyTorch gives them, at the line of the user's that they are about ----------------


_said: set[str] = set()


def warn_once(message: str) -> None:
    """Warn of something for the first time only."""
    if message not in _said:
        _said.add(message)
        warn(message)


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn of the line that called into this package."""
    level, frame = 1, sys._getframe()
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == "gradcli"
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def silent() -> Context:
    """Return a context that runs a function without NumPy's warnings, one call at a time.

    It takes a tenth of the time that `np.errstate` takes.
    """
    context = Context()
    context.run(np.seterrcall, _note_invalid)
    context.run(np.seterr, all="ignore", invalid="call")
    return context


def _note_invalid(*_: Any) -> None:
    state.invalid = True


# The context variable in which NumPy looks up how to treat floating-point errors, and the value
# that ignores them. The user's functions need it, as they run in their own context.
((ERRORS, IGNORED),) = silent().items()


class _Nobody:
    """The recorder while none is on, which takes no notice."""

    def note(self, *_: Any) -> None: ...

    rename = overwritten = note


NOBODY = _Nobody()


class _State(threading.local):
    """Read by every operation; all but ``recording`` are changed by ``change`` only."""

    recording = True  # operations on tensors that require grad make nodes
    inference = False  # inference mode is on, which records nothing
    anomaly = False
    invalid = False  # NumPy has computed a NaN of numbers
    nan_checks = True
    recorder: Any = NOBODY  # is notified of every operation while a function is traced
    before_writing: Any = None  # is called with every tensor before it is written to
    # Replaces the slow path of applying operations while tensors are batched.
    interpreter: Any = None
    forward = False  # forward mode is on, which differentiates backward passes
    # On in a backward pass whose product with the Jacobian will be transposed.
    pushing = False
    transforms = 0  # depth of torch.func's transforms, where only they choose inputs
    batch_levels: tuple[Any, ...] = ()  # of batched tensors, the innermost last
    usual = True  # neither anomaly mode, a recorder nor an interpreter is on

    def change(self, **fields: Any) -> dict[str, Any]:
        """Set fields. What they were before."""
        before = {name: getattr(self, name) for name in fields}
        for name, value in fields.items():
            setattr(self, name, value)
        self.usual = not (
            self.anomaly or self.recorder is not NOBODY or self.interpreter is not None
        )
        return before


state = _State()


class Mode:
    """Sets fields of the state while it is entered."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(state.change(**self.fields))

    def __exit__(self, *exception: object) -> None:
        state.change(**self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function) or inspect.isgeneratorfunction(function):
            raise TypeError(
                f"{function.__name__} is no function that ends with its call: enter the mode "
                "inside of it"
            )

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            with Mode(**self.fields):
                return function(*arguments, **keywords)

        return run


class _Decorator(Mode):
    """A mode that is a decorator without brackets, too."""

    recording: bool

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(recording=self.recording)

    def __new__(cls, *given: Any, **named: Any) -> Any:
        self = super().__new__(cls)
        for function in filter(callable, (*given, *named.values())):
            self.__init__()  # type: ignore[misc]  # of this class: no other is made here
            return self(function)
        return self


class no_grad(_Decorator):
    """Nothing is recorded: results do not require grad."""

    recording = False


class enable_grad(_Decorator):
    """Operations are recorded again, inside no_grad."""

    recording = True


class inference_mode(_Decorator):
    """Act as no_grad."""

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        Mode.__init__(self, recording=not mode, inference=bool(mode))


class _Switch(Mode):
    """A mode that holds from its call on, and as a context manager until the end of the block."""

    def __init__(self, **fields: bool) -> None:
        super().__init__(**fields)
        self._first: dict[str, bool] | None = state.change(**fields)

    def __enter__(self) -> None:
        super().__enter__()
        if self._first is not None:
            self._before[-1], self._first = self._first, None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.change(**(self._first or {}))
        return super().__call__(function)


class set_grad_enabled(_Switch):
    """Record operations, or not, from here on or in a ``with`` block."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        super().__init__(recording=bool(mode))


class set_detect_anomaly(_Switch):
    """Mode that stops at the first operation whose gradient is NaN.

    If a backward pass fails, it says which line of the program the operation comes from.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(anomaly=bool(mode), nan_checks=bool(check_nan))


class detect_anomaly(Mode):
    """The same inside a ``with`` block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(anomaly=True, nan_checks=check_nan)
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )


_CAPTURED = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
    "in-place operation that would mutate a captured"
    " Tensor. This is not supported; please rewrite the function being transformed to explicitly "
    "accept the mutated Tensor(s) as inputs"
)


class Transforming(Mode):
    """Mode in which a function is being transformed.

    If it is differentiated by inputs, nothing that existed before them may be written to.
    """

    def __init__(self, inputs: Sequence[Any] = ()) -> None:
        super().__init__()
        self._inputs = [x._version_counter for x in inputs]

    def __enter__(self) -> None:
        self._outer, self._depth = state.before_writing, state.transforms + 1
        writing = self._check if self._inputs else self._outer
        self._before.append(state.change(transforms=self._depth, before_writing=writing))

    def _check(self, x: Any) -> None:
        counter = x._version_counter
        if counter[1] < self._depth and not any(counter is own for own in self._inputs):
            raise RuntimeError(_CAPTURED)
        if self._outer is not None:
            self._outer(x)


_TRANSFORMED = (
    "You are attempting to call Tensor.{} (or perhaps using torch.autograd.functional.* APIs) "
    "inside of a function being transformed by a "
    "functorch transform. This is unsupported, please attempt to use the functorch transforms "
    "(e.g. grad, vjp, jacrev, jacfwd, hessian) or "
    "call {} outside of a function being transformed instead."
)


def check_untransformed(method: str) -> None:
    """Refuse what makes an input of a gradient, where torch.func says what the inputs are."""
    if state.transforms:
        raise RuntimeError(_TRANSFORMED.format(method, method))


def is_grad_enabled() -> bool:
    return state.recording


def is_inference_mode_enabled() -> bool:
    return state.inference


def is_anomaly_enabled() -> bool:
    return state.anomaly


# -- Where tensors live: the CPU -----------------------------------------------------------------


class device:
    """A place for tensors under PyTorch's name: the CPU."""

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        self.type = _kind_of(kind)
        self.index = index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')"

    def __str__(self) -> str:
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(other) == self.type

    def __hash__(self) -> int:
        return hash(self.type)


def _kind_of(where: Any) -> str:
    return str(getattr(where, "type", where)).split(":")[0]


def check_device(where: Any) -> None:
    """Refuse any other place. Raises RuntimeError."""
    kind = _kind_of(where)
    if where is not None and kind != "cpu":
        raise RuntimeError(f"tensors of gradcli live on the CPU: there is no {kind}")


def set_default_device(where: Any) -> None:
    check_device(where)


def get_default_device() -> device:
    return device("cpu")
