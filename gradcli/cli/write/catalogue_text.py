"""The catalogue as text or JSON: a list of all functions, or what there is to say of one."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import Any

from gradcli.errors import UnknownNameError
from gradcli.query import catalogue
from gradcli.report.data import encoded, plain


def one(name: str, output_format: str) -> str:
    """The entry of a function. Raises UnknownNameError."""
    record, _ = catalogue.found(name)
    entry = catalogue.entry(record)
    return _json(entry.as_dict()) if output_format == "json" else _text(entry)


def all_functions(output_format: str) -> str:
    """The list, by families."""
    functions = catalogue.functions()
    if output_format == "json":
        return _json([catalogue.entry(record, example=False).as_dict() for _, record in functions])
    lines: list[str] = []
    before = ""
    width = max(len(record.name) for _, record in functions)
    for family, record in functions:
        if family != before:
            lines += ["", family] if lines else [family]
            before = family
        lines += _listed(record, width)
    return "\n".join([*lines, "", f"{len(functions)} functions; gradcli functions NAME shows one, and WORD... those that have it"])


def searched(words: list[str], output_format: str) -> str:
    """What there is to say of one function, or the list of those that have all words in names or descriptions. Raises UnknownNameError."""
    if len(words) == 1:
        try:
            return one(words[0], output_format)
        except UnknownNameError:
            if not catalogue.search(words):
                raise
    functions = [record for _, record in catalogue.search(words)]
    if not functions:
        raise UnknownNameError(f"no function has {' and '.join(repr(word) for word in words)}", help="gradcli functions lists all")
    if output_format == "json":
        return _json([catalogue.entry(record, example=False).as_dict() for record in functions])
    width = max(len(record.name) for record in functions)
    lines = [line for record in functions for line in _listed(record, width)]
    count = "1 function" if len(functions) == 1 else f"{len(functions)} functions"
    return "\n".join([*lines, "", f"{count}; gradcli functions NAME shows one"])


def _listed(record: catalogue.Function, width: int) -> list[str]:
    """A function with the first sentence of its description, which a terminal has in as many lines as it takes."""
    text = catalogue.summary(record)
    room = max(30, shutil.get_terminal_size().columns - width - 4) if sys.stdout.isatty() else len(text)
    first, *rest = textwrap.wrap(text, max(room, 1)) or [""]
    return [f"  {record.name:<{width}}  {first}".rstrip(), *(f"{'':{width + 4}}{line}" for line in rest)]


def _json(data: Any) -> str:
    return encoded(plain(data), 2)


def _kink(kink: dict[str, str]) -> str:
    in_jax = f"; JAX: {kink['jax']}" if "jax" in kink else ""
    return f"{kink['place']}: {kink['convention']}{in_jax}"


def _text(entry: catalogue.Entry) -> str:
    lines = [entry.signature, *textwrap.wrap(entry.doc, 96, initial_indent="  ", subsequent_indent="  ")]
    rows: list[tuple[str, str]] = [(f"d/d{name}", text) for name, text in entry.derivative.items()]
    rows += [("domain", entry.domain)] if entry.domain else []
    rows += [("kink", _kink(kink)) for kink in entry.kinks]
    rows += [("uncertified", entry.uncertified)] if entry.uncertified else []
    rows += [("aliases", ", ".join(entry.aliases))] if entry.aliases else []
    rows += [("NumPy", ", ".join(entry.numpy)), ("PyTorch", ", ".join(entry.torch))]
    if entry.example is not None:
        at = " ".join(f"{name}={json.dumps(value).replace(' ', '')}" for name, value in entry.example.at.items())
        rows.append(("example", f"gradcli eval '{entry.example.expr}' {at}".rstrip()))
        rows.append(("value", _numbers(entry.example.value)))
        rows += [(f"d/d{name}", _numbers(slope)) for name, slope in entry.example.grad.items()]
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join([*lines, *(f"  {label:<{width}}  {text}" for label, text in rows if text)])


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return str(value) if isinstance(value, bool) else f"{value:.10g}"
