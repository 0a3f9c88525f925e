"""The Python API: the same records as the command line's, as typed objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import GradcliError, ParseError, text_lines
from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.language.tree import ParsedProgram
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.plans.backend import Backend
    from gradcli.query.options import DType, Mode, Observer
    from gradcli.report.derivative_record import DerivativeRecord
    from gradcli.report.records import Record
    from gradcli.report.results import Result


def evaluate(
    expression: str,
    *,
    seed: Any = None,
    check: bool = True,
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    mode: Mode = "grad",
    jvp: Mapping[str, Any] | None = None,
    hvp: Mapping[str, Any] | None = None,
    formula: bool = True,
    latex: bool = False,
    precision: int | None = None,
    dtype: DType = "float64",
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    at: Mapping[str, Any] | None = None,
    cov: Mapping[str, Any] | None = None,
    **bindings: Any,
) -> Result[Any]:
    """The value of an expression, its gradients, their formulas and the verdict of the cross-check.

    expression  a program of the language; the result is that of its last query
    bindings    values of names: numbers, nested lists or arrays; ``at`` takes names that are no
                keywords. A keyword that is neither an option nor a name of the expression is an
                error
    seed        the vector of the vector-Jacobian product, of exactly the output's shape; without
                one, ones: the gradient of the sum of the output
    wrt         names to differentiate with respect to, in this order (default: every bound name it
                depends on); a list, or a string with commas between them, as is ``freeze``: names
                to hold constant
    mode        "grad", "jacobian" or "hessian"; with ``jvp``, tangents by names, a directional
                derivative instead; with ``hvp`` the Hessian of a scalar times that direction
    formula     formulas of the derivatives, with ``latex`` in LaTeX, too
    precision   so many digits of value and gradient from the reference, as ``precise``: 1 to
                100,000
    timeout     seconds for the cross-check, after which it is undetermined; by default no clock is
                looked at
    dialect     "numpy", "torch" or "jax": what methods and bare names mean where no prefix or
                import line of the program says so
    backend     of value and gradient of large arrays: "numpy", "native" (C, compiled by the
                machine's compiler), or "auto": native code for what takes longer than its
                compilation, as a count of operations says, if there is a compiler
    threads     that share the work on large arrays, at most (default: as many as cores); results
                are the same to the bit
    cov         covariances of names with standard deviations (``x="1±0.1"``): ``{"a,b": 0.02}``, or
                a matrix over all their entries
    A false assert of the program makes the record ``failed``.
    Raises a `GradcliError` with its place in the text for what cannot be evaluated.
    """
    given = dict(locals())  # all of the parameters
    from gradcli.report.results import result_of

    return result_of(
        evaluate_call(evaluate, given.pop("expression"), given.pop("bindings"), **given), check
    )


@np.errstate(all="ignore")
def evaluate_call(
    function: Any,
    expression: str,
    bindings: Mapping[str, Any],
    *,
    observer: Observer | None = None,
    **options: Any,
) -> Record:
    """The record that `evaluate` shows, for a function of the API with some of its options; an
    observer is shown the queries.
    """
    from gradcli.query import bindings as given
    from gradcli.query.evaluate import join_records, records
    from gradcli.query.names import UsedNames, refuse_unknown_in
    from gradcli.query.options import LONG, Options

    allowed, usual = {"expression", *_usual(function)}, _usual(evaluate)
    what = function.__name__
    known = given.words(given.text_of(expression))
    options = {**usual, **options}
    directions = {word: options[word] for word in ("jvp", "hvp")}
    moving = [
        name
        for direction in directions.values()
        if isinstance(direction, Mapping)
        for name in direction
    ]
    with given.naming(known, **options):
        by, frozen = (given.names_given(word, options[word], known) for word in ("wrt", "freeze"))
        asked = {*(by or ()), *(frozen or ()), *moving}
        given.refuse_unknown(bindings, known | asked, allowed, what)
        values = given.bind_values(options["at"], bindings, known, _by_name)
        read = given.options_of(options)
        mode, tangents = given.mode_of(read["mode"], directions, known)
        given.refuse_exclusive(read, usual)
        covariances = given.covariances_of(read["cov"], known)
    limits = read["limits"]
    programs = given.programs_with(values, limits, read["dtype"], read["dialect"])
    asking = Options(
        wrt=by, freeze=frozen or (), seed=given.seed_of(read["seed"]), mode=mode, tangents=tangents, observer=observer,
        covariances=covariances, **{name: read[name] for name in _OF_QUERIES},
    )  # fmt: skip
    programs.keeps_text = observer is not None
    refuse_unknown_in(expression, asking, programs.values, limits)
    program = programs.fresh(read["random_state"])
    cache = programs.cache if asking.bare and len(expression) >= LONG else None
    result = join_records(records(program, text_lines(expression), None, asking, cache))
    if result is None:
        raise ParseError("the program has no query")
    if result.error is not None:
        raise given.in_words_of_api(result.error.error, allowed, _by_name)
    found = UsedNames()
    found.add(program.scope)
    unused = found.warn_unmentioned(programs.values, asking)
    if unused:
        keywords = given.bind_values(None, bindings, known | asked, _by_name)
        given.refuse_unknown(
            keywords, found.mentioned.union(found.bound, asking.names_asked), allowed, what
        )
        result.warnings += unused
    return result


_OF_QUERIES = ("check", "formula", "latex", "timeout", "precision", "backend", "threads")


def _usual(function: Any) -> dict[str, Any]:
    """The options of a function of the API, each with its value where none is given."""
    found: dict[str, Any] = function.__kwdefaults__
    return found


def _by_name(name: str) -> str:
    """The argument that binds a name that is also an option's."""
    return f'at={{"{name}": ...}}'


def differentiate(
    expression: str,
    *names: str,
    wrt: str | Iterable[str] | None = None,
    order: int = 1,
    check: bool = True,
    points: int = 16,
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    at: Mapping[str, Any] | None = None,
    **constants: Any,
) -> DerivativeRecord:
    """Derivatives as formulas, for all values of the names:

    ``differentiate("x^3*sin(x)").derivative["x"]``.

    expression  a program of the language; the result is that of its last query, or of what it
                defines if it has none
    names       to differentiate by, in this order (default: all without values); ``wrt`` lists more
                of them
    order       how many times, by each combination of names: ``derivative["x"]["y"]`` of second
                order
    check       hold each formula to the derivative at so many ``points`` of the domain; ``verdict``
                says what came of it
    constants   values of names that are constants; ``at`` takes names that are no keywords
    timeout     seconds for the check, after which it is undetermined; by default no clock is looked
                at
    Raises a `GradcliError` with its place in the text for what has no formula.
    """
    from gradcli.query import bindings as given
    from gradcli.query.general_derivatives import Asked, derivatives, refuse_absent

    known = given.words(given.text_of(expression))
    given.refuse_unknown(constants, known, {"expression", *_usual(differentiate)}, "differentiate")
    values = given.bind_values(at, constants, known, _by_name)
    listed = given.names_listed(names, known) + (given.names_given("wrt", wrt, known) or ())
    read = given.options_of({
        "order": order, "check": check, "points": points, "random_state": random_state, "timeout": timeout, "limits": limits,
    })  # fmt: skip
    asked = Asked(
        listed or None,
        read["order"],
        True,
        read["check"],
        read["points"],
        read["random_state"],
        read["timeout"],
    )
    programs = given.programs_with(values, limits)
    with np.errstate(all="ignore"):
        program = programs.fresh(asked.state)
        found = list(derivatives(program, program.statements(text_lines(expression)), asked))
    for record in found:
        if record.error is not None:
            raise record.error.error
    refuse_absent(asked.names, found)
    if not found:
        raise ParseError("the program has nothing to differentiate")
    return found[-1]


def parse(text: str, *, limits: Limits = DEFAULT) -> ParsedProgram:
    """The statements of a program as a tree.

    Raises a `GradcliError` at the first one that cannot be read.
    """
    from gradcli.language.run import statements
    from gradcli.language.tree import ParsedProgram
    from gradcli.query.bindings import option_of, text_of

    program = ParsedProgram()
    for statement in statements(text_lines(text_of(text)), None, option_of("limits", limits)):
        if isinstance(statement, GradcliError):
            raise statement
        program.statements.append(statement)
    return program
