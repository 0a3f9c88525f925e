"""Expressions as functions that are called many times, as in an optimizer's inner loop.

>>> f = value_and_grad("sum(3*a**3 - b**2)")
>>> value, grads = f(a=[2., 3.], b=[6., 4.])
>>> value, grads["a"]
(np.float64(53.0), array([36., 81.]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

from gradcli.errors import suggestion
from gradcli.limits import DEFAULT, Limits
from gradcli.query import bindings as given
from gradcli.query.functions import Function, Value

if TYPE_CHECKING:
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.plans.backend import Backend
    from gradcli.query.options import DType

_PYTORCH_COMPILE = ("fullgraph", "dynamic", "backend", "mode", "options", "disable")


def value_and_grad(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
) -> Function:
    """A function of an expression's names that gives its value and its gradients, compiled once for each set of shapes.

    expression  a program of the language; the result is that of its last query
    wrt         names to differentiate with respect to, also "a, b" (default: every name that it is called with and depends on)
    dialect     what methods and bare names mean where no prefix or import line says so: "numpy", "torch" or "jax"
    backend     "numpy", "native" (C, compiled by the machine's compiler), or "auto": native code for shapes that are worth compiling
                for, as a count of operations says, if there is a compiler
    threads     that share the work on large arrays, at most (default: as many as cores, or as OMP_NUM_THREADS allows); products of
                matrices have BLAS's own. Results are the same to the bit
    Raises a `GradcliError` with its place in the text for what cannot be read.
    """
    names = given.names_given("wrt", wrt, given.words(given.text_of(expression)))
    return Function(expression, names, dtype, limits, dialect, backend, threads)


@overload
def compile(
    expression: str,
    *,
    dtype: DType = ...,
    limits: Limits = ...,
    dialect: Dialect | None = ...,
    backend: Backend = ...,
    threads: int | None = ...,
) -> Value: ...
@overload
def compile(expression: Callable[..., Any], **pytorch: Any) -> Callable[..., Any]: ...
@overload
def compile(expression: None = None, **pytorch: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def compile(
    expression: Any = None,
    *,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Any = "auto",
    threads: int | None = None,
    **pytorch: Any,
) -> Any:
    """A function of an expression's names that gives its value, with the options of `value_and_grad`.

    A Python function is given back as it is, as PyTorch's `compile` changes nothing that a function computes; with PyTorch's keywords
    alone, of which ``backend`` is one, it is the decorator that does so. Raises UnknownArgument for other keywords, and InputTypeError
    for what is neither.
    """
    of_functions = expression is None or callable(expression)
    options = _PYTORCH_COMPILE if of_functions else ("dtype", "limits", "dialect", "backend", "threads")
    strange = [*pytorch, "threads"] if of_functions and threads is not None else [*pytorch]
    for name in strange:
        if name not in options:
            close = suggestion(name, [*options])
            raise given.UnknownArgument(f"compile has no option '{name}'", help=f"did you mean '{close}'?" if close else None)
    if of_functions:
        return expression if expression is not None else lambda function: function
    return Value(expression, (), dtype, limits, dialect, backend, threads)
