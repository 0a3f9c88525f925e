"""What options say: words of several, values by names, limits, and what is computed for each query.

An option that nothing would come of beside the others is refused by its name rather than ignored.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gradcli.characters import normalized
from gradcli.cli.request import CheckRequest, EvalRequest, ExplainRequest, ExportRequest, PlotRequest, Request
from gradcli.errors import UsageError, one_of
from gradcli.files.option_table import option_value, refuse_together
from gradcli.limits import DEFAULT, Limits
from gradcli.plans.backend import insist
from gradcli.query.bindings import Programs
from gradcli.query.options import Options, Place, names_of


def limits_of(request: Request) -> Limits:
    """Return the limits that a request sets. Raises UsageError."""
    return DEFAULT.raised(request.limit) if request.limit else DEFAULT


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


def plot_format(request: PlotRequest) -> str:
    """Return the form of plots. Raises UsageError."""
    kind = kind_by_suffix(request.out, _OF_PLOTS, "--format", request.output_format)
    return kind if kind in ("csv", "json", "jsonl") else "text"


def explanation_format(request: ExplainRequest) -> str:
    """Return the form of explanations. Raises UsageError."""
    given = kind_by_suffix(request.out, _OF_EXPLANATIONS, "--format", request.output_format)
    return given or ("latex" if request.latex else "text")


def export_target(request: ExportRequest) -> str:
    """Return the target of an export: what is asked for, or what the suffix of the file says. Raises UsageError."""
    from gradcli.exports.python import ALIASES, SUFFIXES, TARGETS

    given = ALIASES.get(request.to or "", request.to)
    if given is not None:
        one_of("--to", given, TARGETS)
    return kind_by_suffix(request.out, SUFFIXES, "--to", given) or "numpy"


# -- What is computed, and what is refused: an option that has no effect beside the others ----------


def _refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names with an empty one, and for an empty seed."""
    if request.seed is not None and not request.seed.strip():
        raise UsageError("--seed has no value", help="write --seed 1, or --seed 1,0 in the shape of the output")
    for option, texts in (("--wrt", () if request.wrt is None else (request.wrt,)), ("--freeze", request.freeze)):
        for text in texts:
            if not all(name.strip() for name in text.split(",")):
                wrong = f"{text!r} has an empty name" if names_of(text) else "names nothing"
                raise UsageError(f"{option} {wrong}", help=f"write {option} x,y with names of the expression")
    frozen = _frozen(request)
    both = next((name for name in names_of(request.wrt) or () if name in frozen), None)
    if both is not None:
        raise UsageError(f"--wrt and --freeze both name '{both}'", help="leave one of them out")


def options_of(request: Request, command: str = "") -> Options:
    """Return what every command computes: by which names, and with which seed. Raises UsageError."""
    _refuse_nothing(request)
    refuse_together(f"all {command}", request.typed)
    check = request.check and not isinstance(request, ExportRequest)
    return Options(names_of(request.wrt), _frozen(request), request.seed, check=check, formula=False, timeout=request.timeout)


def _frozen(request: Request) -> tuple[str, ...]:
    return tuple(name for text in request.freeze for name in names_of(text) or ())


def eval_options(request: EvalRequest, place: Place | None = None) -> Options:
    """Return what ``gradcli eval`` computes; ``place`` takes large results. Raises UsageError, and NativeError without a compiler."""
    options = options_of(request, "modes eval")
    insist(request.backend)
    mode = next((option.removeprefix("--") for option, _ in request.given("jacobian hessian jvp hvp")), "grad")
    kind = request.output_format
    return replace(
        options, mode=mode, tangents=assignments(f"--{mode}", request.jvp or request.hvp),
        formula=kind in ("text", "json", "latex") if request.formula is None else request.formula, latex=kind == "latex",
        precision=request.precision, at=kind == "csv", place=place, backend=request.backend, threads=request.threads,
    )  # fmt: skip


def covariances_of(request: EvalRequest, programs: Programs, options: Options) -> Options:
    """The options with ``--cov A,B=VALUE``: numbers, matrices of the language, or data files. Raises GradcliError."""
    calculator = programs.fresh(request.random_state, values={})
    found: list[tuple[tuple[str, ...], object]] = []
    for text in request.cov:
        listed, equals, value = text.partition("=")
        names = names_of(listed) or ()
        sound = equals and names and value.strip() and all(name.isidentifier() for name in names)
        if not sound:
            raise UsageError(f"--cov takes NAMES=VALUE, not '{text}'", help="write --cov a,b=0.02, or --cov a,b=@matrix.npy")
        if any({*names} == {*other} for other, _ in found):
            raise UsageError(f"--cov {listed}=... is given twice")
        given = value.strip()
        found.append((names, programs.loader()(given[1:]) if given.startswith("@") else calculator.constant(given, "<cov>")))
    return replace(options, covariances=found)


def check_options(request: CheckRequest, checking: Options) -> Options:
    """Return what ``gradcli check`` computes: as in every check, but for what is asked for. Raises UsageError."""
    options = options_of(request, "check")
    _refuse_idle_in_check(request)
    return replace(
        checking, wrt=options.wrt, freeze=options.freeze, seed=options.seed, remembering=request.cache and not request.save
    )  # fmt: skip


def _refuse_idle_in_check(request: CheckRequest) -> None:
    """Raise UsageError for an option of ``gradcli check`` that has no effect."""
    form, said = request.output_format, [report.partition("=") for report in request.reports]
    shown = [kind.strip() for kind, _, path in said if path == "-"]
    if shown and request.format_given:
        both = f"--format {form} and --report {shown[0]}=- are both about standard output"
        raise UsageError(both, help=f"write --report {form}=- for both")
    shown = shown or [form]
    for kinds, word in ((shown, "quiet"), (shown, "color=always"), ([*shown, *(kind.strip() for kind, _, _ in said)], "verbose")):
        if "text" not in kinds and (option := request.typed(word)):
            help = f"add --report text=-, or leave {option} out"
            raise UsageError(f"{option} is about the text report, which is not asked for", help=help)
    if not any(request.given("function gradient by")):
        if request.order != 1:
            raise UsageError("--order is about --function", help="leave it out")
        if not request.functions:
            option_value("dtype", request.dtype, "--dtype")
