"""Calls of every function with every keyword of the libraries' own signatures, as text that they
and gradcli read alike.

Positional arguments are found by trial: the first that a function takes. A keyword is tried with
values that are likely to mean something for its name, none of them the default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from text_tables import read_table

V = np.array([0.7, 0.2, 0.45])
W = np.array([0.3, 0.9, 0.6])
M = np.array([[0.5, 0.25, 0.75], [0.875, 0.125, 0.375]])
N = np.array([[0.4, 0.8, 0.1], [0.3, 0.6, 0.9]])
S = np.array([[2.0, 0.5, 0.25], [0.5, 3.0, 0.125], [0.25, 0.125, 4.0]])
B = np.array([[[0.1, 0.6, 0.3, 0.9], [0.8, 0.2, 0.7, 0.4], [0.5, 0.35, 0.15, 0.65]]])
I4 = np.arange(16.0).reshape(1, 1, 4, 4) / 16 + np.array([0.01, 0.05, 0.02, 0.03])
K = np.array([0, 2, 1])
VALUES = {"V": V, "W": W, "M": M, "N": N, "S": S, "B": B, "I": I4, "K": K}


_FOLDER = Path(__file__).parent
ARGUMENTS, CANDIDATES = (read_table(_FOLDER / f"{name}.txt") for name in ("arguments", "values"))


def candidates(keyword: str, library: str) -> list[str]:
    return [text.replace("{lib}", library) for text in CANDIDATES.get(keyword, CANDIDATES["*"])]


def templates(name: str) -> tuple[str, ...]:
    return (*ARGUMENTS.get(name, ()), *ARGUMENTS["*"])


def plain(result: Any) -> Any:
    """The numbers of a result, and its structure: nested lists, or None of what is no array of
    numbers.
    """
    if isinstance(result, (tuple, list)) and not isinstance(result, np.ndarray):
        return {"parts": [plain(part) for part in result]}
    detach = getattr(result, "detach", None)
    array = np.asarray(
        detach().resolve_conj().numpy()
        if detach is not None and hasattr(result, "grad_fn")
        else result
    )
    if array.dtype.kind not in "fiub":
        return None
    return np.round(array.astype(float), 12).tolist()


def call_of(prefix: str, name: str, arguments: str, keyword: str = "", value: str = "") -> str:
    """The text of a call; of a method, the first argument comes before the dot."""
    more = f"{keyword}={value}" if keyword else ""
    if prefix:
        return f"{prefix}.{name}({', '.join(part for part in (arguments, more) if part)})"
    depth = 0
    for at, letter in enumerate(arguments):  # the first comma outside of brackets
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            return f"({arguments[:at]}).{name}({', '.join(part for part in (arguments[at + 1 :].strip(), more) if part)})"
    return f"({arguments}).{name}({more})"


def value_of(expression: str) -> Any:
    """The numbers that gradcli makes of an expression. Raises GradcliError."""
    from gradcli.graph.nodes import forward
    from gradcli.language.run import Program, statements
    from gradcli.language.scope import Scope

    scope = Scope()
    for name, array in VALUES.items():
        scope.bind_value(name, array)
    (statement,) = statements([expression])
    if isinstance(statement, Exception):
        raise statement
    result = Program(scope).execute(statement)
    assert result is not None
    with np.errstate(all="ignore"):
        return plain(forward([result.value], scope.values)[result.value])


def run(text: str) -> Any:
    """What gradcli makes of a call: its numbers, with the parts of several results.

    Raises GradcliError.
    """
    from gradcli.errors import GradcliError

    try:
        return value_of(text)
    except GradcliError as error:
        if "tuple" not in error.message and "several" not in error.message:
            raise
    parts: list[Any] = []
    while True:
        try:
            parts.append(value_of(f"{text}[{len(parts)}]"))
        except GradcliError:
            if not parts:
                raise
            return {"parts": parts}
