"""Windows of signals: ``torch.hann_window`` and its kin, periodic unless symmetric ones are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.nested_lists import default_float
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked


def _bartlett(place: np.ndarray) -> Any:
    return 1 - np.abs(2 * place - 1)


def _blackman(place: np.ndarray) -> Any:
    return 0.42 - 0.5 * np.cos(2 * np.pi * place) + 0.08 * np.cos(4 * np.pi * place)


def _hamming(place: np.ndarray, alpha: float = 0.54, beta: float = 0.46) -> Any:
    return alpha - beta * np.cos(2 * np.pi * place)


def _hann(place: np.ndarray) -> Any:
    return 0.5 - 0.5 * np.cos(2 * np.pi * place)


def _kaiser(place: np.ndarray, beta: float = 12.0) -> Any:
    return np.i0(beta * np.sqrt(1 - (2 * place - 1) ** 2)) / np.i0(beta)


def _window(name: str, weight: Callable[..., Any]) -> Callable[..., Tensor]:
    """A window by its weight at places from 0 to 1."""

    def make(
        window_length: int, periodic: bool = True, *parameters: float, dtype: Any = None, requires_grad: bool = False, **named: Any
    ) -> Tensor:
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        kind = default_float() if dtype is None else dtypes.as_numpy(dtype)
        if kind.kind != "f":
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtypes.of_numpy(kind).in_messages}Tensor")
        steps = window_length if periodic else window_length - 1
        place = np.arange(window_length) / steps if steps else np.full(window_length, 0.5)
        entries = np.ones(1) if window_length == 1 else weight(place, *parameters, **named)
        return Tensor(np.asarray(entries, kind)).requires_grad_(requires_grad)

    make.__name__ = name
    return checked(make)


WINDOWS: dict[str, Callable[..., Tensor]] = {
    f"{name}_window": _window(f"{name}_window", weight)
    for name, weight in (("bartlett", _bartlett), ("blackman", _blackman), ("hamming", _hamming), ("hann", _hann), ("kaiser", _kaiser))
}
