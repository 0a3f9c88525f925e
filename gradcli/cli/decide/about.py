"""Commands about gradcli itself: ``gradcli functions``, ``help``, ``info`` and ``cache``."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.cli.commands import COMMANDS, CacheRequest, FunctionsRequest, HelpRequest, InfoRequest
from gradcli.cli.process import FINE, prepare, put, put_rows
from gradcli.data import encode
from gradcli.errors import OutputError, UnknownNameError, UsageError, did_you_mean
from gradcli.options import Request
from gradcli.query import catalogue
from gradcli.report.rules import RULES
from gradcli.storage import NATIVE, STORES, folder, version_of
from gradcli.texts import in_columns, printable, words


def list_functions(request: FunctionsRequest) -> int:
    """Print a list, or one entry."""
    return _put(request, function_list(request.words))


def explain_word(request: HelpRequest) -> int:
    """Print what a code means, what a command takes or what a function is.

    Raises UsageError for a word that is none of these.
    """
    codes = {name.removeprefix("error-"): rule for name, rule in RULES.items()}
    if request.word is None:
        rows = ((name, rule.description) for name, rule in codes.items())
        return _put(request, "\n".join(in_columns(rows)))
    name = request.word.strip().removeprefix("error[").removesuffix("]").removeprefix("error-")
    if name in codes:
        return _put(request, f"{name}: {codes[name].description}.\n  {codes[name].advice}".rstrip())
    if name in COMMANDS:
        from gradcli.cli.main import app

        app([name, "--help"], standalone_mode=False, prog_name="gradcli")
        return FINE
    try:
        return _put(request, function_list(name.split()))
    except UnknownNameError:
        known = [*codes, *COMMANDS, *catalogue.function_names()]
        raise UsageError(
            f"there is no code, command or function '{name}'",
            help=did_you_mean(
                name, known, "gradcli help lists all codes, gradcli functions the rest"
            ),
        ) from None


def show_info(request: InfoRequest) -> int:
    """Print what gradcli runs on."""
    prepare(request.output_format)
    known = surroundings()
    if request.output_format == "json":
        return _put(request, encode(known, 2))
    rows = (
        (name, printable(" ".join(value) if isinstance(value, list) else str(value)))
        for name, value in known.items()
    )
    return _put(request, "\n".join([*in_columns(rows), "", DEPENDS]))


def show_cache(request: CacheRequest) -> int:
    """Print where the cache is and what it holds, and empty it if that is asked for.

    Raises OutputError.
    """
    where = folder()
    if where is None:
        return _put(request, "there is no folder for a cache: set GRADCLI_CACHE_DIR")
    try:
        removed = "removed " if request.clear else ""
        lines = [f"{store.holds}: {removed}{_amount(store.files())}" for store in STORES]
        if NATIVE.is_left_alone():
            lines.append(
                "compiled code is not loaded from there: the folder, or one above it, is not "
                "yours alone to write to"
            )
        for store in STORES if request.clear else ():
            store.clear()
    except OSError as error:
        raise OutputError(
            f"cannot {'empty' if request.clear else 'read'} '{where}': {error.strerror or error}"
        ) from None
    return _put(request, "\n".join(map(printable, [str(where), *lines])))


def _amount(files: Collection[Path]) -> str:
    size = sum(path.lstat().st_size for path in files if path.exists())
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size / 1024:.1f} kB"


def _put(request: Request, text: str) -> int:
    if request.output_format == "json":
        put(f"{text}\n")
    else:
        put_rows(text)
    return FINE


# -- The catalogue as text: a list of functions, or what there is to say of one


def function_list(words: Sequence[str]) -> str:
    """All functions by families; or one, or those that have all words in names or descriptions.

    Raises UnknownNameError.
    """
    if len(words) == 1:
        try:
            return _text(catalogue.entry(catalogue.find_function(words[0])[0]))
        except UnknownNameError:
            if not catalogue.search(words):
                raise
    functions = catalogue.search(words)
    if not functions:
        raise UnknownNameError(
            f"no function has {' and '.join(repr(word) for word in words)}",
            help="gradcli functions lists all",
        )
    lines: list[str] = []
    before = ""
    width = max(len(record.name) for _, record in functions)
    for family, record in functions:
        if family != before and not words:
            lines += ["", family] if lines else [family]
            before = family
        lines.append(f"  {record.name:<{width}}  {catalogue.summary(record)}".rstrip())
    count = "1 function" if len(functions) == 1 else f"{len(functions)} functions"
    further = "" if words else ", and WORD... those that have it"
    return "\n".join([*lines, "", f"{count}; gradcli functions NAME shows one{further}"])


def _kink(kink: dict[str, str]) -> str:
    in_jax = f"; JAX: {kink['jax']}" if "jax" in kink else ""
    return f"{kink['place']}: {kink['convention']}{in_jax}"


def _text(entry: catalogue.Entry) -> str:
    rows: list[tuple[str, str]] = [(f"d/d{name}", text) for name, text in entry.derivative.items()]
    rows.append(("domain", entry.domain))
    rows += [("kink", _kink(kink)) for kink in entry.kinks]
    listed = {"aliases": entry.aliases, "NumPy": entry.numpy, "PyTorch": entry.torch}
    rows += [(name, ", ".join(names)) for name, names in listed.items()]
    if entry.example is not None:
        at = " ".join(
            f"{name}={json.dumps(value).replace(' ', '')}"
            for name, value in entry.example.at.items()
        )
        rows.append(("example", f"gradcli eval '{entry.example.expr}' {at}".rstrip()))
        rows.append(("value", _numbers(entry.example.value)))
        rows += [(f"d/d{name}", _numbers(slope)) for name, slope in entry.example.grad.items()]
    return "\n".join(
        [
            entry.signature,
            f"  {entry.doc}",
            *in_columns([row for row in rows if row[1]], "  "),
        ]
    )


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return str(value) if isinstance(value, bool) else f"{value:.10g}"


# -- What gradcli runs on, as far as results may depend on it ------------------------------------


_PACKAGES = words("gradcli numpy scipy sympy mpmath python-flint typer rich msgspec gmpy2")

DEPENDS = (
    "Values and gradients may differ in last bits between versions of NumPy and SciPy and between "
    "processor features, those of native "
    "code also with the compiler, verdicts of large arrays with the width of long double; none "
    "with the number of threads, nor with "
    "what else runs."
)


def surroundings() -> dict[str, Any]:
    """Names and what is known of them, as JSON has it."""
    double = np.finfo(np.longdouble)
    return {
        **{package: version_of(package) for package in _PACKAGES},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "features": _features(),
        "long double": f"{double.nmant + 1} bits of mantissa, {double.dtype.itemsize * 8} bits in "
        "memory",
        "cores": os.cpu_count(),
        "compiler": _compiler(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        "cache": str(folder() or "none"),
    }


def _compiler() -> str:
    """Return the version and command of the compiler of native code, or why there is none."""
    from gradcli.plans.native.compiler import find_compiler, missing

    compiler = find_compiler()
    return (
        f"{compiler.version} ({' '.join(compiler.command)})"
        if compiler
        else f"none: {missing().note}"
    )


def _features() -> list[str]:
    """Return the features that NumPy found in the processor.

    NumPy chooses loops by them, and these loops round differently.
    """
    found = np.show_config(mode="dicts") or {}
    simd = found.get("SIMD Extensions", {})
    return [*simd.get("baseline", []), *simd.get("found", [])]
