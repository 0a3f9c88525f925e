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
    PlotRequest,
    Request,
)
from gradcli.errors import UsageError, one_of
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.plans.backend import BACKENDS, insist
from gradcli.query.bindings import Programs
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


_OF_EXPLANATIONS = {
    ".svg": ("svg",), ".html": ("html",), ".json": ("json",), ".md": ("mermaid",), ".tex": ("latex",), ".txt": ("text",),
}  # fmt: skip
_OF_PLOTS = {
    **{suffix: (suffix[1:], "text") for suffix in (".svg", ".png", ".pdf", ".html")}, ".csv": ("csv",), ".json": ("json",),
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


def format_of(request: Request, formats: tuple[str, ...], suffixes: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the form of the output: what is asked for, or what the suffix of the file says. Raises UsageError."""
    if request.output_format is not None:
        one_of("--format", request.output_format, formats)
    return kind_by_suffix(request.out, suffixes, "--format", request.output_format)


def plot_format(request: PlotRequest) -> str:
    """Return the form of plots. Raises UsageError."""
    kind = format_of(request, PLOT_FORMATS, _OF_PLOTS)
    return kind if kind in PLOT_FORMATS else "text"


def explanation_format(request: ExplainRequest) -> str:
    """Return the form of explanations. Raises UsageError."""
    return format_of(request, EXPLAIN_FORMATS, _OF_EXPLANATIONS) or ("latex" if request.latex else "text")


def export_target(request: ExportRequest) -> str:
    """Return the target of an export: what is asked for, or what the suffix of the file says. Raises UsageError."""
    from gradcli.exports.python import ALIASES, SUFFIXES, TARGETS

    given = ALIASES.get(request.to or "", request.to)
    if given is not None:
        one_of("--to", given, TARGETS)
    return kind_by_suffix(request.out, SUFFIXES, "--to", given) or "numpy"


# -- What is computed, and what is refused: an option that has no effect beside the others ----------

Rule = tuple[object, str, str | None]  # when it holds, what is said, and what to write instead


def refuse(*rules: Rule) -> None:
    """Raise UsageError for the first rule that holds."""
    for holds, message, help in rules:
        if holds:
            raise UsageError(message, help=help)


def refuse_idle(request: Request) -> None:
    """Raise UsageError for options that have no effect, whatever the command: colours, digits and times."""
    kind, one = request.output_format, "leave one of them out"
    timed = {"--timeout": request.timeout, "--budget": request.budget if isinstance(request, CheckRequest) else None}
    styled = isinstance(request, CheckRequest) or (kind == "text" and not (isinstance(request, ExplainRequest) and request.out))
    what = "check" if isinstance(request, DiffRequest) else "cross-check"
    refuse(
        (not styled and request.color == "always", f"--format {kind} has no colours", "leave --color out"),
        (
            kind in ("json", "jsonl") and request.digits is not None,
            f"--format {kind} has all digits: --digits is about what people read", "leave --digits out",
        ),
        (
            not request.check and request.timeout is not None,
            f"--timeout is about the {what}, which --no-check leaves out", one,
        ),
        *(
            (seconds is not None and not seconds > 0, f"{option} must be more than 0 seconds, not {seconds}", None)
            for option, seconds in timed.items()
        ),
    )  # fmt: skip


def _refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names with an empty one, and for an empty seed."""
    empty = "write --seed 1, or --seed 1,0 in the shape of the output"
    refuse((request.seed is not None and not request.seed.strip(), "--seed has no value", empty))
    for option, texts in (("--wrt", () if request.wrt is None else (request.wrt,)), ("--freeze", request.freeze)):
        for text in texts:
            wrong = f"{text!r} has an empty name" if names_of(text) else "names nothing"
            names = all(name.strip() for name in text.split(","))
            refuse((not names, f"{option} {wrong}", f"write {option} x,y with names of the expression"))
    frozen = _frozen(request)
    both = [name for name in names_of(request.wrt) or () if name in frozen]
    refuse((both, f"--wrt and --freeze both name '{''.join(both[:1])}'", "leave one of them out"))


def options_of(request: Request) -> Options:
    """Return what every command computes: by which names, and with which seed. Raises UsageError."""
    _refuse_nothing(request)
    refuse_idle(request)
    check = request.check and not isinstance(request, ExportRequest)
    return Options(names_of(request.wrt), _frozen(request), request.seed, check=check, formula=False, timeout=request.timeout)


def _frozen(request: Request) -> tuple[str, ...]:
    return tuple(name for text in request.freeze for name in names_of(text) or ())


def eval_options(request: EvalRequest, place: Place | None = None) -> Options:
    """Return what ``gradcli eval`` computes; ``place`` takes large results. Raises UsageError."""
    options = options_of(request)
    modes = [option.removeprefix("--") for option, _ in request.given("jacobian hessian jvp hvp")]
    mode, kind = modes[0] if modes else "grad", request.output_format
    along = "--wrt" if request.wrt is not None else "--freeze"
    instead = f"is about a value and its gradient, which --{mode} takes the place of"
    refuse(
        (mode == "jvp" and request.formula, f"--{mode} prints no formulas", "leave --formula out"),
        (modes and request.precision is not None, f"--precision {instead}", "leave one of them out"),
        *((modes, f"{option} {instead}", f"leave {option} out") for option, _ in request.given("backend threads")),
        (
            mode == "jvp" and (request.wrt is not None or request.freeze),
            f"--jvp is along the names that it is given; {along} has no say in it", f"leave {along} out",
        ),
        (kind == "csv" and request.formula, "--format csv has no formulas", "leave --formula out, or write --format json"),
        (
            kind in ("csv", "latex") and request.precision is not None,
            f"--format {kind} has no place for --precision", "write --format json, or text",
        ),
        (len(modes) > 1, f"--{' and --'.join(modes[:2])} exclude each other", None),
        (modes and request.seed is not None, f"--{mode} takes no --seed", None),
    )  # fmt: skip
    return replace(
        options, mode=mode, tangents=assignments(f"--{mode}", request.jvp or request.hvp),
        formula=kind in ("text", "json", "latex") if request.formula is None else request.formula, latex=kind == "latex",
        precision=request.precision, at=kind == "csv", place=place, backend=backend_of(request.backend), threads=request.threads,
    )  # fmt: skip


def covariances_of(request: EvalRequest, programs: Programs, options: Options) -> Options:
    """The options with ``--cov A,B=VALUE``: numbers, matrices of the language, or data files. Raises GradcliError."""
    calculator = programs.fresh(request.random_state, values={})
    found: list[tuple[tuple[str, ...], object]] = []
    for text in request.cov:
        listed, equals, value = text.partition("=")
        names = names_of(listed) or ()
        sound = equals and names and value.strip() and all(name.isidentifier() for name in names)
        refuse(
            (not sound, f"--cov takes NAMES=VALUE, not '{text}'", "write --cov a,b=0.02, or --cov a,b=@matrix.npy"),
            (any({*names} == {*other} for other, _ in found), f"--cov {listed}=... is given twice", None),
        )
        given = value.strip()
        found.append((names, programs.loader()(given[1:]) if given.startswith("@") else calculator.constant(given, "<cov>")))
    return replace(options, covariances=found)


def explain_options(request: ExplainRequest) -> Options:
    """Return what ``gradcli explain`` computes. Raises UsageError."""
    options = options_of(request)
    kind, one = request.output_format, "leave one of them out"
    refuse(
        (request.latex and kind not in ("latex", "json", "jsonl", "html"), f"--format {kind} has no LaTeX", one),
        *(
            (asked and kind in ("mermaid", "svg"), f"--format {kind} is a picture, which has no {what}", one)
            for asked, what in ((request.steps, "steps"), (request.why, "story"))
        ),
    )
    return options


def bound_width(request: BoundRequest) -> float:
    """How much wider than the true range a range may be. Raises UsageError."""
    refuse_idle(request)
    refuse((not 0 < request.width < math.inf, f"--width must be a positive number, not {request.width:g}", None))
    return request.width


def check_options(request: CheckRequest, checking: Options) -> Options:
    """Return what ``gradcli check`` computes: as in every check, but for what is asked for. Raises UsageError."""
    options = options_of(request)
    _refuse_idle_in_check(request)
    for name, tolerance in (("rtol", request.rtol), ("atol", request.atol)):
        wrong = tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance))
        refuse((wrong, f"--{name} must be a number from 0, not {tolerance}", None))
    return replace(
        checking, wrt=options.wrt, freeze=options.freeze, seed=options.seed, remembering=request.cache and not request.save
    )  # fmt: skip


def _refuse_idle_in_check(request: CheckRequest) -> None:
    """Raise UsageError for an option of ``gradcli check`` that has no effect."""
    form, said = request.output_format, [report.partition("=") for report in request.reports]
    shown = [kind.strip() for kind, _, path in said if path == "-"]
    kinds = [kind.strip() for kind, _, _ in said] + ([] if shown else [form])
    text, lacking = "is about the text report, which is not asked for", "text" not in (shown or [form])
    of_function = request.function is not None or request.gradient is not None or request.by is not None
    settings, one = "is not about the functions of the settings, which say theirs", "leave one of them out"
    refuse(
        (
            shown and request.format_given,
            f"--format {form} and --report {''.join(shown[:1])}=- are both about standard output", f"write --report {form}=- for both",
        ),
        (request.verbose and "text" not in kinds, f"--verbose {text}", "add --report text=-, or leave --verbose out"),
        (request.quiet and lacking, f"--quiet {text}", "leave --quiet out"),
        (request.color == "always" and lacking, f"--color always {text}", "leave --color always out"),
        (request.verbose and request.quiet, "--verbose and --quiet exclude each other", one),
        *(
            (request.line is not None, f"{option} is about all cases, and --line about one", one)
            for option, _ in request.given("update baseline")
        ),
        *(
            (request.functions, f"{option} {settings}", f"leave {option} out")
            for option, _ in request.given("function gradient by at wrt freeze seed line")
        ),
        (not of_function and request.order != 1, "--order is about --function", "leave it out"),
        *(
            (of_function, f"{option} is not about Python functions", f"leave {option} out beside --function")
            for option, _ in request.given("input_format grad grad_formula convention save backend threads line")
        ),
    )  # fmt: skip
