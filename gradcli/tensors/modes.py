"""What holds for the operations that follow: whether they are recorded, and what is watched.

Each mode is a context manager and a decorator; it restores what was there before, also after an exception.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any


class _State(threading.local):
    recording = True  # operations on tensors that require grad make nodes
    inference = False
    anomaly = False
    nan_checks = True
    recorder: Any = None  # is told of every operation, while a function is traced


state = _State()


class _Mode:
    """Sets fields of the state while it is entered."""

    def __init__(self, **fields: bool) -> None:
        self.fields = fields
        self._before: list[dict[str, bool]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(state, name) for name in self.fields})
        for name, value in self.fields.items():
            setattr(state, name, value)

    def __exit__(self, *exception: object) -> None:
        for name, value in self._before.pop().items():
            setattr(state, name, value)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return self._over_generator(function)

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            with _Mode(**self.fields):
                return function(*arguments, **keywords)

        return run

    def _over_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator runs, not while its user does."""

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            generator = function(*arguments, **keywords)
            step: Callable[[], Any] = functools.partial(next, generator)
            while True:
                try:
                    with _Mode(**self.fields):
                        value = step()
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)

        return run


class no_grad(_Mode):
    """Nothing is recorded: results do not require grad."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        if function is not None:  # used as a decorator without brackets
            self.__init__()  # type: ignore[misc]
            return self(function)
        return self

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(recording=False)


class enable_grad(no_grad):
    """Operations are recorded again, inside no_grad."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        _Mode.__init__(self, recording=True)


class inference_mode(_Mode):
    """As no_grad; the results can never take part in a graph."""

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):
            self.__init__()  # type: ignore[misc]
            return self(mode)
        return self

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        super().__init__(**({"recording": False, "inference": True} if mode else {}))


class _Switch(_Mode):
    """A mode that holds from its call on, and as a context manager until the end of the block."""

    def __init__(self, **fields: bool) -> None:
        before = {name: getattr(state, name) for name in fields}
        super().__init__(**fields)
        for name, value in fields.items():
            setattr(state, name, value)
        self._first: dict[str, bool] | None = before

    def __enter__(self) -> None:
        super().__enter__()
        if self._first is not None:
            self._before[-1], self._first = self._first, None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        for name, value in (self._first or {}).items():
            setattr(state, name, value)
        return super().__call__(function)


class set_grad_enabled(_Switch):
    """Record operations, or not, from here on or in a ``with`` block."""

    def __init__(self, mode: bool) -> None:
        super().__init__(recording=bool(mode))


class set_detect_anomaly(_Switch):
    """Stop at the first operation whose result or gradient is not finite, forwards or backwards."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(anomaly=bool(mode), nan_checks=bool(check_nan))


class detect_anomaly(_Mode):
    """The same inside a ``with`` block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(anomaly=True, nan_checks=check_nan)


def is_grad_enabled() -> bool:
    return state.recording


def is_inference_mode_enabled() -> bool:
    return state.inference


def is_anomaly_enabled() -> bool:
    return state.anomaly
