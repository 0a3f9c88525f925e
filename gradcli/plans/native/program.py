"""The nests of a program as one library of C."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from gradcli.plans.native.calling import CompiledNest
from gradcli.plans.native.compiler import library
from gradcli.plans.native.writer import NestWriter
from gradcli.plans.nests import Nest

_HEADERS = {"float64": "double.h", "float32": "float.h"}


@cache
def _header(name: str) -> str:
    return (files("gradcli.plans.native") / name).read_text(encoding="utf-8")


def in_c(nests: Sequence[Nest], precision: str, threads: int | None) -> list[CompiledNest]:
    """Functions of all nests. Raises NativeError where there is no compiler."""
    writers = [NestWriter(nest, f"nest{place}") for place, nest in enumerate(nests)]
    texts = [writer.text() for writer in writers]
    code = library("\n".join([_header(_HEADERS[precision]), *texts]))
    functions = [getattr(code, writer.function) for writer in writers]
    return [CompiledNest(*made, precision, threads) for made in zip(writers, functions, texts, strict=True)]
