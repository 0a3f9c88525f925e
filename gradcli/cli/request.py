"""What is asked for on the command line, before anything of it is read."""

from __future__ import annotations

from dataclasses import dataclass

OPTIONS = (
    "file", "input", "wrt", "freeze", "seed", "jacobian", "hessian", "jvp", "save", "check", "no-check", "formula", "no-formula",
    "timeout", "format", "dtype", "digits", "precision", "random-state", "fail-fast", "limit", "quiet", "color", "help", "version",
)  # fmt: skip
FORMATS = ("text", "json", "jsonl", "csv", "latex")


@dataclass(eq=False, repr=False)
class Request:
    """The options of ``gradcli eval``."""

    arguments: list[str]
    files: list[str]
    input_format: str | None
    wrt: str | None
    freeze: list[str]
    seed: str | None
    jacobian: bool
    hessian: bool
    jvp: list[str]
    save: list[str]
    check: bool
    formula: bool | None
    timeout: float | None
    output_format: str
    dtype: str
    digits: int | None
    random_state: int | None
    fail_fast: bool
    limit: list[str]
    quiet: bool
    color: str
    precision: int | None = None
