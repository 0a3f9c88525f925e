"""Options that would have no effect beside the others that are given: each is refused by its name rather than ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcli.errors import UsageError
from gradcli.query.options import names_of

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest
    from gradcli.cli.request import Request


def refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names without a name."""
    for option, texts in (("--wrt", [] if request.wrt is None else [request.wrt]), ("--freeze", request.freeze)):
        if any(not names_of(text) for text in texts):
            raise UsageError(f"{option} names nothing", help=f"write {option} x,y with names of the expression")
    frozen = [name for text in request.freeze for name in names_of(text) or ()]
    both = [name for name in names_of(request.wrt) or () if name in frozen]
    if both:
        raise UsageError(f"--wrt and --freeze both name '{both[0]}'", help="leave one of them out")


def refuse_idle(request: Request) -> None:
    """Raise UsageError for an option of ``gradcli eval`` that nothing would come of."""
    refuse_nothing(request)
    kind = request.output_format
    mode = "jacobian" if request.jacobian else "hessian" if request.hessian else "jvp" if request.jvp else None
    if mode is not None and request.formula:
        raise UsageError(f"--{mode} prints no formulas", help="leave --formula out")
    if mode is not None and request.precision is not None:
        raise UsageError(f"--precision is about a value and its gradient, which --{mode} takes the place of", help="leave one of them out")
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


def refuse_idle_in_check(request: CheckRequest) -> None:
    """Raise UsageError for an option of ``gradcli check`` that nothing would come of."""
    refuse_nothing(request)
    shown = [report.partition("=")[0].strip() for report in request.reports if report.partition("=")[2] == "-"]
    if shown and request.format_given:
        raise UsageError(
            f"--format {request.output_format} and --report {shown[0]}=- are both about standard output",
            help=f"write --report {request.output_format}=- for both",
        )
    kinds = [report.partition("=")[0].strip() for report in request.reports] + ([] if shown else [request.output_format])
    if request.verbose and "text" not in kinds:
        raise UsageError("--verbose is about the text report, which is not asked for", help="add --report text=-, or leave --verbose out")
    if request.function is None and request.gradient is None:
        return
    given = {
        "--input": request.input_format, "--seed": request.seed, "--grad": request.grad, "--grad-formula": request.grad_formula,
        "--convention": request.convention, "--points": request.points, "--timeout": request.timeout, "--save": request.save,
        "--dtype": None if request.dtype == "float64" else request.dtype,
    }  # fmt: skip
    for option, value in given.items():
        if value not in (None, (), []):
            raise UsageError(f"{option} is not about Python functions", help=f"leave {option} out beside --function")
