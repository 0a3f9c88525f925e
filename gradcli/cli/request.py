"""What is asked for on the command line, before anything of it is read: plain data."""

from __future__ import annotations

from gradcli.ops.fixed import Fixed

FORMATS = ("text", "json", "jsonl", "csv", "latex")  # of `eval`
FORMULA_FORMATS = ("text", "json", "jsonl", "latex")  # of `diff`
EXPLAIN_FORMATS = ("text", "json", "jsonl", "mermaid", "svg", "html", "latex")  # of `explain`
BOUND_FORMATS = ("text", "json", "jsonl")  # of `bound`
PLOT_FORMATS = ("text", "csv", "json", "jsonl")  # of `plot`
REPORTS = ("text", "json", "jsonl", "junit", "github", "gitlab", "sarif", "markdown", "html")  # of `check`


class Request(Fixed):
    """The options that the commands share."""

    arguments: list[str]
    files: list[str]
    input_format: str | None
    wrt: str | None
    freeze: list[str]
    seed: str | None
    save: list[str]
    timeout: float | None
    output_format: str
    dtype: str
    random_state: int | None
    fail_fast: bool
    limit: list[str]
    dialect: str | None
    quiet: bool
    color: str


class EvalRequest(Request):
    """Those of ``gradcli eval``."""

    jacobian: bool
    hessian: bool
    jvp: list[str]
    hvp: list[str]
    check: bool
    formula: bool | None
    backend: str
    threads: int | None
    digits: int | None
    precision: int | None
    cov: list[str]
    on: str | None


class DiffRequest(Request):
    """Those of ``gradcli diff``."""

    order: int
    check: bool
    latex: bool
    points: int


class ExplainRequest(Request):
    """Those of ``gradcli explain``."""

    check: bool
    digits: int | None
    out: str | None
    why: list[str]
    steps: bool
    latex: bool


class ReplRequest(Fixed):
    """Those of ``gradcli repl``."""

    file: str | None
    history: bool
    check: bool
    dialect: str | None
    dtype: str
    color: str
    limit: list[str]


class BoundRequest(Request):
    """Those of ``gradcli bound``."""

    width: float
    lipschitz: bool


class ExportRequest(Request):
    """Those of ``gradcli export``."""

    to: str
    out: str | None


class CheckRequest(Request):
    """Those of ``gradcli check``."""

    expression: str | None = None
    grad: tuple[str, ...] = ()
    grad_formula: tuple[str, ...] = ()
    fail_on: str | None = None
    rtol: float | None = None
    atol: float | None = None
    convention: str | None = None
    over: tuple[str, ...] = ()
    points: int | None = None
    jobs: int | None = None
    reports: tuple[str, ...] = ()
    update: bool = False
    baseline: str | None = None
    allow_empty: bool = False
    verbose: bool = False
    cache: bool = True
    function: str | None = None
    gradient: str | None = None
    jvp_of: str | None = None
    adjoint: str | None = None
    implicit: str | None = None
    fixed_point: str | None = None
    parameters: str | None = None
    forward: bool = False
    by: str | None = None
    functions: bool = False  # those of the settings, too
    changed_since: str | None = None
    order: int = 1
    backend: str | None = None
    threads: int | None = None
    at: tuple[str, ...] = ()
    config: str | None = None
    line: int | None = None  # of one file: what stands there
    budget: float | None = None  # seconds of the whole run
    format_given: bool = False  # rather than the default
    words: tuple[str, ...] = ()  # the arguments as they were typed


class PlotRequest(Request):
    """Those of ``gradcli plot``."""

    points: int | None
    log: str | None
    out: str | None
    check: bool
    width: int | None
    height: int | None
