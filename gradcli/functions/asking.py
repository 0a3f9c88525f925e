"""What a function is asked, out of the words of a command line or of settings: its arguments, by which of them, and how it is judged."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.errors import UsageError, suggestion
from gradcli.files.function_settings import FunctionSetting
from gradcli.files.settings import shown
from gradcli.functions.arguments import in_format
from gradcli.functions.loading import Definition
from gradcli.functions.points import text_of
from gradcli.query.options import Options, Policy, names_of
from gradcli.query.programs import Programs
from gradcli.report.records import Record


def placed(record: Record, definition: Definition) -> None:
    """The record stands where its function does."""
    if definition.file is not None and os.path.isfile(definition.file):
        record.file, record.line = shown(Path(definition.file)), definition.line


def smallest_of(arguments: Mapping[str, Any]) -> list[str]:
    """Arguments as the command line takes them."""
    return [f"{name}={text_of(value)}" for name, value in arguments.items()]


def judged(policy: Policy, setting: FunctionSetting, flags: Collection[str] = ()) -> Policy:
    """The policy of a function: that of its settings, but for what it says itself and no flag does."""
    own = {"rtol": setting.rtol, "atol": setting.atol, "timeout": setting.timeout}
    said: dict[str, Any] = {name: value for name, value in own.items() if value is not None and name not in flags}
    options = replace(policy.options, wrt=names_of(setting.wrt), **said)
    own_state = None if "random_state" in flags else setting.random_state
    return replace(policy, options=options, state=policy.state if own_state is None else own_state)


def arguments_of(given: Mapping[str, str], programs: Programs, state: int, dtype: str, folder: Path | None) -> dict[str, Any]:
    """Return the arguments by their names; whole numbers stay whole."""
    if not given:
        raise UsageError("--function needs its arguments", help="--at x='randn(5)' --at y=2, by the names of its parameters")
    load, calculator = programs.loader(folder), programs.fresh(state)

    def value_of(name: str, text: str) -> Any:
        parts = _parts_of(name, text)
        if isinstance(parts, dict):
            return {key: value_of(f"{name}[{key!r}]", part) for key, part in parts.items()}
        if isinstance(parts, list):
            return [value_of(f"{name}[{i}]", part) for i, part in enumerate(parts)]
        return _as_argument(load(text[1:]) if text.startswith("@") else calculator.constant(text, f"<{name}>"), dtype)

    return {name: value_of(name, text) for name, text in given.items()}


def _parts_of(name: str, text: str) -> dict[Any, str] | list[str] | None:
    """Return the texts in a dictionary, or in a list that has dictionaries; None for any other text.

    Values are texts of the language, or such texts, and names of files, in quotes.
    """
    if "{" not in text or text.startswith("@"):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.Dict) and all(isinstance(key, ast.Constant) for key in tree.keys):
            keys = [key.value for key in tree.keys if isinstance(key, ast.Constant)]
            return dict(zip(keys, [_text_of(text.strip(), value) for value in tree.values], strict=True))
        if isinstance(tree, (ast.List, ast.Tuple)):
            return [_text_of(text.strip(), value) for value in tree.elts]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise UsageError(f"--at {name}: '{text}' is no dictionary", help='write {"w": [1, 2], "b": 0.5}')


def _text_of(text: str, value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return ast.get_source_segment(text, value) or ""


def _as_argument(value: Any, dtype: str) -> Any:
    """A value as a function is called with it: Python's numbers, and arrays in the precision that is asked for."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and (array.ndim or dtype != "float64"):
        rounded = in_format(array, dtype)
        return rounded if array.ndim else rounded[()]
    return array.item() if not array.ndim else array


def differentiated(names: list[str], options: Options, by: str | None) -> list[str]:
    """Return the names that the gradient is by, of which PyTorch's modules may have more than the arguments.

    Raises UsageError for a name that is none of them.
    """
    if by == "torch":
        return names if options.wrt is None else list(dict.fromkeys(options.wrt))
    for option, given in (("--wrt", options.wrt or ()), ("--freeze", options.freeze)):
        for name in given:
            if name not in names:
                close = suggestion(name, names)
                help = f"did you mean '{close}'?" if close else f"the arguments are {', '.join(names)}"
                raise UsageError(f"{option}: --at has no '{name}'", help=help)
    wanted = names if options.wrt is None else list(dict.fromkeys(options.wrt))
    left = [name for name in wanted if name not in options.freeze]
    if not left:
        raise UsageError("--freeze leaves nothing to differentiate with respect to")
    return left
