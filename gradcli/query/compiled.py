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
from gradcli.query.functions import Function, Hessian, HessianProduct, Jacobian, Value
from gradcli.query.instances import Settings

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
    random_state: int = 0,
) -> Function:
    """A function of an expression's names that gives its value and its gradients, compiled once for each set of shapes.

    expression  a program of the language; the result is that of its last query
    wrt         names to differentiate with respect to, also "a, b" (default: every name that it is called with and depends on)
    dialect     what methods and bare names mean where no prefix or import line says so: "numpy", "torch" or "jax"
    backend     "numpy", "native" (C, compiled by the machine's compiler), or "auto": native code for shapes that are worth compiling
                for, as a count of operations says, if there is a compiler
    threads     that share the work on large arrays, at most (default: as many as cores, or as OMP_NUM_THREADS allows); products of
                matrices have BLAS's own. Results are the same to the bit
    random_state
                the seed of the program's random draws, as in `evaluate`: every call has the same, unless it brings a state of its own,
                ``f(x=x, random_state=step)``
    Raises a `GradcliError` with its place in the text for what cannot be read.
    """
    return Function(_settings(expression, wrt, dtype, limits, dialect, backend, threads, random_state))


def jacobian(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    sparse: bool = False,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Jacobian:
    """A function that gives the value and its Jacobian by each name: ``value, {"x": J}``, J of the value's shape followed by x's.

    >>> value, by = jacobian("x[1:] - x[:-1]**2")(x=[1., 2., 3.])
    >>> by["x"]
    array([[-2.,  1.,  0.],
           [ 0., -4.,  1.]])

    sparse  makes each J a ``scipy.sparse.csr_array`` with a row for each entry of the value and a column for each of x. Which entries may
            be other than zero is read from the expression (``f.sparsity(x=(1000,))``), and as many derivatives in a direction are computed
            as columns, or rows, have colours of which no two meet
    The other options are those of `value_and_grad`. ``f.flat("x")`` is the matrix as a function of a vector, for ``jac=`` of SciPy's
    ``least_squares``.
    """
    settings = _settings(expression, wrt, dtype, limits, dialect, backend, threads, random_state)
    return Jacobian(settings, given.flag_of("sparse", sparse))


def hessian(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    sparse: bool = False,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> Hessian:
    """A function that gives a scalar, its gradients and its second derivatives: ``value, {"x": g}, {"x": {"y": H}}``.

    H has the shape of x followed by that of y; ``sparse`` makes it a ``scipy.sparse.csr_array`` with a row for each entry of x and a column
    for each of y, as `jacobian` has it; of symmetric places one derivative is enough. The other options are those of `value_and_grad`.
    ``f.flat("x")`` is the matrix as a function of a vector, for ``hess=`` of ``scipy.optimize.minimize``.

    >>> value, grads, by = hessian("x**2*y")(x=3., y=2.)
    >>> float(by["x"]["x"]), float(by["x"]["y"])
    (4.0, 6.0)
    """
    settings = _settings(expression, wrt, dtype, limits, dialect, backend, threads, random_state)
    return Hessian(settings, given.flag_of("sparse", sparse))


def hvp(
    expression: str,
    wrt: str | Iterable[str] | None = None,
    *,
    dtype: DType = "float64",
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    random_state: int = 0,
) -> HessianProduct:
    """A function that gives a scalar, its gradients and its Hessian times a vector: ``value, {"x": g}, {"x": Hv}``, each in x's shape.

    The vector is given by names, ``f(x=x, v={"x": p})``; a name without one does not move. A name ``v`` of the expression gets its value by
    ``f({"v": ...}, v={...})``. The options are those of `value_and_grad`. ``f.flat("x")`` is the product as a function of two vectors, for
    ``hessp=`` of ``scipy.optimize.minimize``.

    >>> value, grads, products = hvp("x[0]**2*x[1]")(x=[3., 2.], v={"x": [1., 0.]})
    >>> products["x"]
    array([4., 6.])
    """
    return HessianProduct(_settings(expression, wrt, dtype, limits, dialect, backend, threads, random_state))


def _settings(expression: Any, wrt: Any, *options: Any) -> Settings:
    """The settings of a function. Raises by its name for an option that is none."""
    names = given.names_given("wrt", wrt, given.words(given.text_of(expression)))
    return Settings(expression, names, **given.options_of(dict(zip(Settings._fields[2:], options, strict=True))))


@overload
def compile(
    expression: str,
    *,
    dtype: DType = ...,
    limits: Limits = ...,
    dialect: Dialect | None = ...,
    backend: Backend = ...,
    threads: int | None = ...,
    random_state: int = ...,
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
    random_state: int | None = None,
    **pytorch: Any,
) -> Any:
    """A function of an expression's names that gives its value, with the options of `value_and_grad`.

    A Python function is given back as it is, as PyTorch's `compile` changes nothing that a function computes; with PyTorch's keywords
    alone, of which ``backend`` is one, it is the decorator that does so. Raises UnknownArgument for other keywords, and InputTypeError
    for what is neither.
    """
    of_functions = expression is None or callable(expression)
    options = _PYTORCH_COMPILE if of_functions else ("dtype", "limits", "dialect", "backend", "threads", "random_state")
    ours = {"threads": threads, "random_state": random_state}
    strange = [*pytorch, *(name for name, value in ours.items() if of_functions and value is not None)]
    for name in strange:
        if name not in options:
            close = suggestion(name, [*options])
            raise given.UnknownArgument(f"compile has no option '{name}'", help=f"did you mean '{close}'?" if close else None)
    if of_functions:
        return expression if expression is not None else lambda function: function
    return Value(_settings(expression, (), dtype, limits, dialect, backend, threads, 0 if random_state is None else random_state))
