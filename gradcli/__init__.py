"""gradcli: the gradient calculator for the terminal and for CI.

>>> import gradcli
>>> record = gradcli.evaluate("3*a**3 - b**2", a=[2, 3], b=[6, 4], seed=[1, 1])
>>> record.grad["a"]
array([36., 81.])
>>> record.derivative["a"]
'9*a**2'

Formulas need no values:

>>> gradcli.differentiate("x^2*y", order=2).derivative["x"]
{'x': '2*y', 'y': '2*x'}

The tensors of PyTorch's tutorials are here, too, under PyTorch's names:

>>> import gradcli as torch
>>> a = torch.tensor([2., 3.], requires_grad=True)
>>> Q = 3*a**3
>>> Q.sum().backward()
>>> a.grad
tensor([36., 81.])
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The names of the API, by the module that each is imported from on first use.
_PLACES = {
    "gradcli.api": "bound differentiate evaluate explain export plot",
    "gradcli.query.functions": "compile hessian jacobian value_and_grad "
    "Function Hessian Jacobian Value",
    "gradcli.report.results": "AssertRecord GradientRecord HessianRecord HvpRecord JacobianRecord "
    "JvpRecord Result",
    "gradcli.report.deviations": "JointCovariance Uncertainty",
    "gradcli.report.records": "Record",
    "gradcli.report.ranges": "Bound BoundRecord PlotRecord",
    "gradcli.check.verdicts": "Asserted Check Claim CriticalPoint Departure Limit OneSided Rewrite "
    "VariableCheck Verdict Worst",
    "gradcli.report.derivative_record": "DerivativeRecord Step",
    "gradcli.notation": "Formula",
    "gradcli.report.explanation": "Contribution ExplainedGradient ExplainedNode Explanation Path "
    "Why",
    "gradcli.report.shown_explanation": "ShownExplanation",
    "gradcli.limits": "Limits",
    "gradcli.query.bindings": "UnknownArgument",
    "gradcli.errors": "AmbiguousError ArgumentError AxisError EvaluationError ExhaustedError "
    "GradcliError InputError InputTypeError InternalError LimitError MissingValueError NativeError "
    "OutputError ParseError ShapeError TypeMismatchError UnknownFieldError UnknownNameError "
    "UnreadArgumentError UnsupportedInTargetError UsageError",
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names.split()}
_SUBMODULES = frozenset(
    [
        "api",
        "autograd",
        "errors",
        "func",
        "limits",
        "linalg",
        "nn",
        "scipy",
        "special",
        "testing",
        "torch",
    ]
)

# type checkers read __init__.pyi; a star import leaves Python's own compile alone
__all__ = [name for name in _PLACE if name != "compile"]


def __getattr__(name: str) -> Any:
    """Return a name of the API or of PyTorch, imported when it is first asked for.

    Importing late lets the command line handle signals before it imports anything.
    """
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"gradcli.{name}")
    if name in _PLACE:
        # Next time, Python finds the name without this function.
        found = globals()[name] = getattr(importlib.import_module(_PLACE[name]), name)
        return found
    if name == "__version__":
        from gradcli.storage import version_of

        return version_of("gradcli")
    if name.startswith("__"):
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    from gradcli.tensors.torch.namespace import resolve

    try:
        found = globals()[name] = resolve(name)
    except AttributeError:
        if name in importlib.import_module("gradcli.testing").__all__:
            message = f"gradcli has no {name}: write gradcli.testing.{name}"
            raise AttributeError(message) from None
        if close := importlib.import_module("gradcli.texts").suggestion(name, _PLACE):
            message = f"gradcli has no {name}: did you mean '{close}'?"
            raise AttributeError(message) from None
        raise
    return found


def __dir__() -> list[str]:
    """Return the calculator's names.

    PyTorch's names, which are found here, too, are listed by `gradcli.torch`.
    """
    return sorted({*_PLACE, *_SUBMODULES, "__all__", "__doc__", "__name__", "__version__"})
