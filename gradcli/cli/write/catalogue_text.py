"""The catalogue as text or JSON: a list of all functions, or what there is to say of one."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import Any

from gradcli.query import catalogue


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
    width = max(len(record.name) for _, record in functions)
    room = max(30, shutil.get_terminal_size().columns - width - 4)
    lines: list[str] = []
    before = ""
    for family, record in functions:
        if family != before:
            lines += ["", family] if lines else [family]
            before = family
        lines.append(f"  {record.name:<{width}}  {textwrap.shorten(catalogue.summary(record), room, placeholder='...')}")
    return "\n".join([*lines, "", f"{len(functions)} functions; gradcli functions NAME shows one"])


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str)


def _kink(kink: dict[str, str]) -> str:
    in_jax = f"; JAX: {kink['jax']}" if "jax" in kink else ""
    return f"{kink['place']}: {kink['convention']}{in_jax}"


def _text(entry: catalogue.Entry) -> str:
    lines = [entry.signature, *textwrap.wrap(entry.doc, 96, initial_indent="  ", subsequent_indent="  ")]
    rows: list[tuple[str, str]] = [(f"d/d{name}", text) for name, text in entry.derivative.items()]
    rows += [("domain", entry.domain)] if entry.domain else []
    rows += [("kink", _kink(kink)) for kink in entry.kinks]
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
