"""What options say: words of several, values by names, limits, and what is computed for each query.

An option that nothing would come of beside the others is refused by its name rather than ignored.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gradcli.characters import normalized
from gradcli.cli.request import (
    EXPLAIN_FORMATS,
    PLOT_FORMATS,
    BoundRequest,
    CheckRequest,
    DiffRequest,
    EvalRequest,
    ExplainRequest,
    ExportRequest,
    Request,
)
from gradcli.errors import UsageError, one_of
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.plans.backend import BACKENDS, insist
from gradcli.query.options import Options, Place, names_of


def limits_of(request: Request, formats: tuple[str, ...], dtypes: tuple[str, ...] = ("float64", "float32")) -> Limits:
    """The limits that a request sets, once its words are known to be such. Raises UsageError."""
    limits = DEFAULT.raised(request.limit) if request.limit else DEFAULT
    one_of("--format", request.output_format, formats)
    one_of("--input", request.input_format or "text", ("text", "jsonl"))
    if request.dialect is not None:
        one_of("--dialect", request.dialect, DIALECTS)
    one_of("--dtype", request.dtype, dtypes)
    one_of("--color", request.color, ("auto", "always", "never"))
    return limits


def backend_of(word: str) -> str:
    """Who runs loops. Raises UsageError, and NativeError for native code without a compiler."""
    one_of("--backend", word, BACKENDS)
    if word == "native":
        insist(word)
    return word


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Values by names, of which each is given once. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = assignment(option, text)
        if name in found:
            raise UsageError(f"{option} {name}=... is given twice")
        found[name] = value
    return found


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return normalized(name.strip()), value


def export_options(request: ExportRequest) -> Options:
    """Options of ``gradcli export``: its names and its seed. Raises UsageError."""
    _refuse_nothing(request)
    return Options(wrt=names_of(request.wrt), freeze=_frozen(request), seed=request.seed, check=False, formula=False)


def eval_options(request: EvalRequest, place: Place | None = None) -> Options:
    """Return what ``gradcli eval`` computes; ``place`` takes large results. Raises UsageError."""
    asked = {"jacobian": request.jacobian, "hessian": request.hessian, "jvp": bool(request.jvp), "hvp": bool(request.hvp)}
    modes = [name for name in asked if asked[name]]
    mode, kind = modes[0] if modes else "grad", request.output_format
    _refuse_nothing(request)
    _refuse_idle(request, mode)
    if len(modes) > 1:
        raise UsageError(f"--{modes[0]} and --{modes[1]} exclude each other")
    if modes and request.seed is not None:
        raise UsageError(f"--{mode} takes no --seed")
    _refuse_no_time(request)
    return Options(
        wrt=names_of(request.wrt), freeze=_frozen(request), seed=request.seed, mode=mode,
        tangents=assignments(f"--{mode}", request.jvp or request.hvp) if request.jvp or request.hvp else {}, check=request.check,
        formula=kind in ("text", "json", "latex") if request.formula is None else request.formula, latex=kind == "latex",
        timeout=request.timeout, precision=request.precision, at=kind == "csv", place=place,
        backend=backend_of(request.backend), threads=request.threads,
    )  # fmt: skip


_OF_EXPLANATIONS = {
    ".svg": ("svg",), ".html": ("html",), ".json": ("json",), ".md": ("mermaid",), ".tex": ("latex",), ".txt": ("text",),
}  # fmt: skip


def kind_by_suffix(out: str | None, suffixes: Mapping[str, tuple[str, ...]], option: str, given: str | None) -> str | None:
    """Return what is written: what an option says, or the first of those that the suffix of the file stands for.

    Raises UsageError for another suffix, and for one that the option contradicts.
    """
    if out is None:
        return given
    suffix = os.path.splitext(out)[1].lower()
    if suffix not in suffixes:
        raise UsageError(f"--out {out}: a suffix says what is written", help=f"the suffixes are {', '.join(suffixes)}")
    if given is not None and given not in suffixes[suffix]:
        own = next((s for s, kinds in suffixes.items() if given in kinds), None)
        help = f"leave {option} out" if own is None else f"leave {option} out, or write --out {os.path.splitext(out)[0]}{own}"
        raise UsageError(f"--out {out} and {option} {given} contradict each other", help=help)
    return given or suffixes[suffix][0]


_OF_PLOTS = {
    **{suffix: (suffix[1:], "text") for suffix in (".svg", ".png", ".pdf", ".html")}, ".csv": ("csv",), ".json": ("json",),
}  # fmt: skip


def plot_format(given: str | None, out: str | None) -> str:
    """Return the form of plots: what is asked for, or what the suffix of the file says. Raises UsageError."""
    if given is not None:
        one_of("--format", given, PLOT_FORMATS)
    kind = kind_by_suffix(out, _OF_PLOTS, "--format", given) or "text"
    return kind if kind in PLOT_FORMATS else "text"


def explanation_format(given: str | None, out: str | None, latex: bool) -> str:
    """Return the form of explanations: what is asked for, or what the suffix of the file says. Raises UsageError."""
    if given is not None:
        one_of("--format", given, EXPLAIN_FORMATS)
    return kind_by_suffix(out, _OF_EXPLANATIONS, "--format", given) or ("latex" if latex else "text")


def export_target(given: str | None, out: str | None) -> str:
    """Return the target of an export: what is asked for, or what the suffix of the file says. Raises UsageError."""
    from gradcli.exports.python import ALIASES, SUFFIXES, TARGETS

    if given is not None:
        given = ALIASES.get(given, given)
        one_of("--to", given, TARGETS)
    return kind_by_suffix(out, SUFFIXES, "--to", given) or "numpy"


def explain_options(request: ExplainRequest) -> Options:
    """Return what ``gradcli explain`` computes. Raises UsageError."""
    _refuse_nothing(request)
    _refuse_no_time(request)
    if (request.output_format != "text" or request.out is not None) and request.color == "always":
        raise UsageError(f"--format {request.output_format} has no colours", help="leave --color out")
    if request.latex and request.output_format not in ("latex", "json", "jsonl", "html"):
        raise UsageError(f"--format {request.output_format} has no LaTeX", help="leave one of them out")
    if request.steps and request.output_format in ("mermaid", "svg"):
        raise UsageError(f"--format {request.output_format} is a picture, which has no steps", help="leave one of them out")
    if request.why and request.output_format in ("mermaid", "svg"):
        raise UsageError(f"--format {request.output_format} is a picture, which has no story", help="leave one of them out")
    if request.output_format in ("json", "jsonl") and request.digits is not None:
        raise UsageError(f"--format {request.output_format} has all digits: --digits is about what people read", help="leave --digits out")
    if not request.check and request.timeout is not None:
        raise UsageError("--timeout is about the cross-check, which --no-check leaves out", help="leave one of them out")
    return Options(
        wrt=names_of(request.wrt), freeze=_frozen(request), seed=request.seed, check=request.check, formula=False, timeout=request.timeout
    )


def bound_width(request: BoundRequest) -> float:
    """How much wider than the true range a range may be. Raises UsageError."""
    if request.output_format != "text" and request.color == "always":
        raise UsageError(f"--format {request.output_format} has no colours", help="leave --color out")
    if not 0 < request.width < math.inf:
        raise UsageError(f"--width must be a positive number, not {request.width:g}")
    return request.width


def diff_format(request: DiffRequest) -> str:
    """The form of what ``gradcli diff`` prints. Raises UsageError for options that nothing would come of."""
    kind = request.output_format
    if request.latex and kind == "text":
        kind = "latex"
    if kind != "text" and request.color == "always":
        raise UsageError(f"--format {kind} has no colours", help="leave --color out")
    if not request.check and request.timeout is not None:
        raise UsageError("--timeout is about the check, which --no-check leaves out", help="leave one of them out")
    _refuse_nothing(request)
    _refuse_no_time(request)
    return kind


def check_options(request: CheckRequest, checking: Options) -> Options:
    """Return what ``gradcli check`` computes: as in every check, but for what is asked for. Raises UsageError."""
    _refuse_nothing(request)
    _refuse_idle_in_check(request)
    for name, tolerance in (("rtol", request.rtol), ("atol", request.atol)):
        if tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance)):
            raise UsageError(f"--{name} must be a number from 0, not {tolerance}")
    _refuse_no_time(request)
    return replace(
        checking, wrt=names_of(request.wrt), freeze=_frozen(request), seed=request.seed, remembering=request.cache and not request.save
    )


def _frozen(request: Request) -> tuple[str, ...]:
    return tuple(name for text in request.freeze for name in names_of(text) or ())


def _refuse_no_time(request: Request) -> None:
    given = {"--timeout": request.timeout, "--budget": request.budget if isinstance(request, CheckRequest) else None}
    for option, seconds in given.items():
        if seconds is not None and not seconds > 0:
            raise UsageError(f"{option} must be more than 0 seconds, not {seconds}")


def _refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names with an empty one, and for an empty seed."""
    if request.seed is not None and not request.seed.strip():
        raise UsageError("--seed has no value", help="write --seed 1, or --seed 1,0 in the shape of the output")
    if request.wrt is None and not request.freeze:
        return
    for option, texts in (("--wrt", [] if request.wrt is None else [request.wrt]), ("--freeze", request.freeze)):
        for text in texts:
            if not all(name.strip() for name in text.split(",")):
                wrong = f"{text!r} has an empty name" if names_of(text) else "names nothing"
                raise UsageError(f"{option} {wrong}", help=f"write {option} x,y with names of the expression")
    frozen = _frozen(request)
    both = [name for name in names_of(request.wrt) or () if name in frozen]
    if both:
        raise UsageError(f"--wrt and --freeze both name '{both[0]}'", help="leave one of them out")


def _refuse_idle(request: EvalRequest, mode: str) -> None:
    """Raise UsageError for an option of ``gradcli eval`` that nothing would come of."""
    kind = request.output_format
    if mode == "jvp" and request.formula:
        raise UsageError(f"--{mode} prints no formulas", help="leave --formula out")
    if mode != "grad" and request.precision is not None:
        raise UsageError(f"--precision is about a value and its gradient, which --{mode} takes the place of", help="leave one of them out")
    for option, given in (("--backend", request.backend != "auto"), ("--threads", request.threads is not None)):
        if given and mode != "grad":
            raise UsageError(f"{option} is about a value and its gradient, which --{mode} takes the place of", help=f"leave {option} out")
    if mode == "jvp" and (request.wrt is not None or request.freeze):
        option = "--wrt" if request.wrt is not None else "--freeze"
        raise UsageError(f"--jvp is along the names that it is given; {option} has no say in it", help=f"leave {option} out")
    if kind == "csv" and request.formula:
        raise UsageError("--format csv has no formulas", help="leave --formula out, or write --format json")
    if kind in ("csv", "latex") and request.precision is not None:
        raise UsageError(f"--format {kind} has no place for --precision", help="write --format json, or text")
    if kind in ("json", "jsonl") and request.digits is not None:
        raise UsageError(f"--format {kind} has all digits: --digits is about what people read", help="leave --digits out")
    if kind != "text" and request.color == "always":
        raise UsageError(f"--format {kind} has no colours", help="leave --color out")
    if not request.check and request.timeout is not None:
        raise UsageError("--timeout is about the cross-check, which --no-check leaves out", help="leave one of them out")


def _refuse_idle_in_check(request: CheckRequest) -> None:
    """Raise UsageError for an option of ``gradcli check`` that nothing would come of."""
    shown = [report.partition("=")[0].strip() for report in request.reports if report.partition("=")[2] == "-"]
    if shown and request.format_given:
        raise UsageError(
            f"--format {request.output_format} and --report {shown[0]}=- are both about standard output",
            help=f"write --report {request.output_format}=- for both",
        )
    kinds = [report.partition("=")[0].strip() for report in request.reports] + ([] if shown else [request.output_format])
    text = "is about the text report, which is not asked for"
    if request.verbose and "text" not in kinds:
        raise UsageError(f"--verbose {text}", help="add --report text=-, or leave --verbose out")
    for option, given in (("--quiet", request.quiet), ("--color always", request.color == "always")):
        if given and "text" not in (shown or [request.output_format]):
            raise UsageError(f"{option} {text}", help=f"leave {option} out")
    if request.verbose and request.quiet:
        raise UsageError("--verbose and --quiet exclude each other", help="leave one of them out")
    for option, is_given in (("--update", request.update), ("--baseline", request.baseline is not None)):
        if is_given and request.line is not None:
            raise UsageError(f"{option} is about all cases, and --line about one", help="leave one of them out")
    if request.functions:
        own = {
            "--function": request.function, "--gradient": request.gradient, "--by": request.by, "--at": request.at,
            "--wrt": request.wrt, "--freeze": request.freeze, "--seed": request.seed, "--line": request.line,
        }  # fmt: skip
        for option, value in own.items():
            if value not in (None, (), []):
                raise UsageError(f"{option} is not about the functions of the settings, which say theirs", help=f"leave {option} out")
    if request.function is None and request.gradient is None and request.by is None:
        if request.order != 1:
            raise UsageError("--order is about --function", help="leave it out")
        return
    idle = {
        "--input": request.input_format, "--grad": request.grad, "--grad-formula": request.grad_formula,
        "--convention": request.convention, "--save": request.save, "--backend": request.backend, "--threads": request.threads,
        "--line": request.line,
    }  # fmt: skip
    for option, value in idle.items():
        if value not in (None, (), []):
            raise UsageError(f"{option} is not about Python functions", help=f"leave {option} out beside --function")
