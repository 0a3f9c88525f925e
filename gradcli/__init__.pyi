"""The API, and PyTorch's names. Written by tests/stubs.py."""

from builtins import str as __builtins_str
from gradcli.tensors.torch.names import *
from gradcli import (
    api as api,
    autograd as autograd,
    errors as errors,
    func as func,
    limits as limits,
    linalg as linalg,
    nn as nn,
    scipy as scipy,
    special as special,
    testing as testing,
)
from gradcli.api import differentiate as differentiate, evaluate as evaluate, explain as explain, parse as parse
from gradcli.errors import (
    AmbiguousError as AmbiguousError,
    ArgumentError as ArgumentError,
    AxisError as AxisError,
    EvaluationError as EvaluationError,
    ExhaustedError as ExhaustedError,
    GradcliError as GradcliError,
    InputError as InputError,
    InputTypeError as InputTypeError,
    InternalError as InternalError,
    LimitError as LimitError,
    MissingValueError as MissingValueError,
    NativeError as NativeError,
    OutputError as OutputError,
    ParseError as ParseError,
    ShapeError as ShapeError,
    TypeMismatchError as TypeMismatchError,
    UnknownFieldError as UnknownFieldError,
    UnknownNameError as UnknownNameError,
    UnreadArgumentError as UnreadArgumentError,
    UnsupportedInTargetError as UnsupportedInTargetError,
    UsageError as UsageError,
)
from gradcli.language.tree import ParsedProgram as ParsedProgram
from gradcli.limits import Limits as Limits
from gradcli.query.bindings import UnknownArgument as UnknownArgument
from gradcli.query.compiled import (
    compile as compile,
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    value_and_grad as value_and_grad,
)
from gradcli.query.derivative_functions import Hessian as Hessian, HessianProduct as HessianProduct, Jacobian as Jacobian
from gradcli.query.functions import Function as Function, Value as Value
from gradcli.report.derivative_record import DerivativeRecord as DerivativeRecord, Formula as Formula
from gradcli.report.explanation import (
    Contribution as Contribution,
    ExplainedGradient as ExplainedGradient,
    ExplainedNode as ExplainedNode,
    Explanation as Explanation,
    Path as Path,
    Step as Step,
    Why as Why,
)
from gradcli.report.records import Asserted as Asserted, Record as Record
from gradcli.report.results import (
    AssertRecord as AssertRecord,
    GradientRecord as GradientRecord,
    HessianRecord as HessianRecord,
    HvpRecord as HvpRecord,
    JacobianRecord as JacobianRecord,
    JvpRecord as JvpRecord,
    Result as Result,
)
from gradcli.report.shown_explanation import ShownExplanation as ShownExplanation
from gradcli.report.uncertainty import Uncertainty as Uncertainty
from gradcli.report.verdicts import (
    Check as Check,
    Claim as Claim,
    Departure as Departure,
    OneSided as OneSided,
    Rewrite as Rewrite,
    VariableCheck as VariableCheck,
    Verdict as Verdict,
    Worst as Worst,
)

__all__ = [
    "differentiate",
    "evaluate",
    "explain",
    "parse",
    "compile",
    "hessian",
    "hvp",
    "jacobian",
    "value_and_grad",
    "Hessian",
    "HessianProduct",
    "Jacobian",
    "Function",
    "Value",
    "AssertRecord",
    "GradientRecord",
    "HessianRecord",
    "HvpRecord",
    "JacobianRecord",
    "JvpRecord",
    "Result",
    "Asserted",
    "Record",
    "Check",
    "Claim",
    "Departure",
    "OneSided",
    "Rewrite",
    "VariableCheck",
    "Verdict",
    "Worst",
    "DerivativeRecord",
    "Formula",
    "Contribution",
    "ExplainedGradient",
    "ExplainedNode",
    "Explanation",
    "Path",
    "Step",
    "Why",
    "ShownExplanation",
    "Uncertainty",
    "ParsedProgram",
    "Limits",
    "UnknownArgument",
    "AmbiguousError",
    "ArgumentError",
    "AxisError",
    "EvaluationError",
    "ExhaustedError",
    "GradcliError",
    "InputError",
    "InputTypeError",
    "InternalError",
    "LimitError",
    "MissingValueError",
    "NativeError",
    "OutputError",
    "ParseError",
    "ShapeError",
    "TypeMismatchError",
    "UnknownFieldError",
    "UnknownNameError",
    "UnreadArgumentError",
    "UnsupportedInTargetError",
    "UsageError",
]
__version__: __builtins_str
