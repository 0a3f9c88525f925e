"""The Python API: the same records as the command line's, as typed objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gradcli.errors import GradcliError, ParseError, UsageError
from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.language.tree import Program
    from gradcli.report.records import Record


def evaluate(
    expression: str,
    *,
    seed: Any = None,
    check: bool = True,
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    mode: str = "grad",
    jvp: Mapping[str, Any] | None = None,
    formula: bool = True,
    dtype: str = "float64",
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    at: Mapping[str, Any] | None = None,
    **bindings: Any,
) -> Record:
    """The value of an expression, its gradients, their formulas and the verdict of the cross-check.

    expression  a program of the language; the result is that of its last query
    bindings    values of names: numbers, nested lists or arrays; ``at`` takes names that are no keywords
    seed        the vector of the vector-Jacobian product, of exactly the output's shape; without one the output
                must be a scalar (one entry of any shape), as in PyTorch
    wrt         names to differentiate with respect to, in this order (default: every bound name it depends on);
                a list, or a string with commas between them, as is ``freeze``: names to hold constant
    mode        "grad", "jacobian" or "hessian"; with ``jvp``, a directional derivative instead
    Raises a `GradcliError` with its place in the text for what cannot be evaluated.
    """
    import numpy as np

    from gradcli.check.deadline import usable_limit
    from gradcli.evaluation import records
    from gradcli.language.program import Program
    from gradcli.language.scope import Scope
    from gradcli.options import LONG, Options, names_of
    from gradcli.unused import Names, names_in, refuse_keywords, refuse_unknown

    if not usable_limit(timeout):
        raise UsageError(f"a time limit must be more than 0 seconds, not {timeout}")
    scope = Scope(limits, dtype, random_state)
    for name, value in {**(at or {}), **bindings}.items():
        array = value if isinstance(value, np.memmap) else np.array(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"the value of {name!r} must be real numbers, not {array.dtype}")
        limits.check_shape(array.shape)
        scope.bind_value(name, array)
        scope.outside[name] = array
    program = Program(scope)
    options = Options(
        wrt=names_of(wrt), freeze=names_of(freeze) or (), seed=seed, mode="jvp" if jvp is not None else mode,
        tangents=dict(jvp or {}), check=check, formula=formula, timeout=timeout, need_seed=True,
    )  # fmt: skip
    if (options.wrt or options.freeze) and (names := names_in(expression, limits)) is not None:
        refuse_unknown(options, names[0] | scope.outside.keys())
    result: Record | None = None
    alike = None
    if options.bare and len(expression) >= LONG:
        from gradcli.alike import Alike

        alike = Alike(limits, dtype)
    for record in records(program, expression.splitlines(keepends=True), None, options, alike):
        if record.error is not None:
            raise record.error.error
        result = record
    if result is None:
        raise ParseError("the program has no query")
    found = Names()
    found.add(scope)
    unused = found.unmentioned(scope.outside, options)
    if unused:
        refuse_keywords([name for name in bindings if name not in found.bound], found.mentioned | {*(options.wrt or ()), *options.freeze})
        result.warnings += unused
    return result


def parse(text: str, *, limits: Limits = DEFAULT) -> Program:
    """The statements of a program as a tree. Raises a `GradcliError` at the first one that cannot be read."""
    from gradcli.language.program import statements
    from gradcli.language.tree import Program

    program = Program()
    for statement in statements(text.splitlines(keepends=True), None, limits):
        if isinstance(statement, GradcliError):
            raise statement
        program.statements.append(statement)
    return program
