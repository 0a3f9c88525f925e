"""The Python API: the same records as the command line's, as typed objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradcli.errors import GradcliError, ParseError, UsageError, text_lines
from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.language.tree import ParsedProgram
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.plans.backend import Backend
    from gradcli.query.evaluate import Script
    from gradcli.query.options import DType, Mode, Observer
    from gradcli.report.derivative_record import DerivativeRecord
    from gradcli.report.ranges import BoundRecord, PlotRecord
    from gradcli.report.records import Answer, Record
    from gradcli.report.results import Result

Kind = TypeVar("Kind", bound="Answer")
Asked = TypeVar("Asked")


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
    from gradcli.query.evaluate import Script, join_records, records
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
    result = join_records(records(Script(program, text_lines(expression)), asking, cache))
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
    implicit: str | None = None,
    of: str | None = None,
    **values: Any,
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
    values      of names that are constants; ``at`` takes names that are no keywords
    timeout     seconds for the check, after which it is undetermined; by default no clock is looked
                at
    implicit    the name that an equation (``"x^2 + y^2 = 25"``) or a curve gives, whose slope is
                asked, or its rate with ``of``
    of          the name that all others depend on: ``derivative`` is a rate by it
    Raises a `GradcliError` with its place in the text for what has no formula.
    """
    arguments = dict(locals())
    from gradcli.query.bindings import as_equation, names_listed, words
    from gradcli.query.evaluate import Script
    from gradcli.query.general_derivatives import Asked, derivatives, refuse_absent
    from gradcli.query.related import related_of

    def answer(script: Script, read: dict[str, Any]) -> Iterator[DerivativeRecord]:
        program = script.opened
        listed = (*names_listed(names, words(expression)), *read.pop("wrt", ()))
        implicit, of = read.pop("implicit", None), read.pop("of", None)
        related = related_of(implicit, of)
        state = program.scope.random_state
        asked = Asked(listed or None, latex=True, state=state, related=related, **read)
        if related is not None:
            script = Script(program, text_lines(as_equation(expression, of and implicit)))
        found = [*derivatives(program, script.statements(), asked)]
        yield from found
        refuse_absent(asked.names, found)

    arguments.pop("names")
    return _answers(differentiate, arguments, answer, lambda _, **read: read)[-1]


@np.errstate(all="ignore")
def _answers(
    function: Any,
    arguments: dict[str, Any],
    answer: Callable[[Script, Asked], Iterable[Kind]],
    ask: Callable[..., Asked],
) -> list[Kind]:
    """The answers to a call of a function of the API.

    arguments  its parameters by name, of which None is not given
    answer     takes the text of the program, and what is asked
    ask        makes that of the ranges of names, and the options
    """
    from gradcli.query import bindings as given
    from gradcli.query.bounds import within
    from gradcli.query.evaluate import Script
    from gradcli.query.names import refuse_unknown
    from gradcli.query.options import Options

    text, at, keywords = (arguments.pop(word) for word in ("expression", "at", "values"))
    known, options, what = given.words(given.text_of(text)), _usual(function), function.__name__
    given.refuse_unknown(keywords, known, {"expression", *options}, what)
    values, ranges = given.bind_values(at, keywords, known, _by_name), dict[str, str]()
    for name, value in [*values.items()] if function in (bound, plot) else ():
        is_pair = isinstance(value, tuple) and len(value) == 2
        text_of_range = "..".join(map(str, value)) if is_pair else value
        if isinstance(text_of_range, str) and ".." in text_of_range:
            ranges[name] = text_of_range
            del values[name]
    for word in {"wrt", "freeze"} & arguments.keys():
        arguments[word] = given.names_given(word, arguments[word], known)
    said = {name: value for name, value in arguments.items() if value is not None}
    read = given.options_of(said, what)
    given.refuse_exclusive(read, options, "diff")
    making = [read.pop(word, None) for word in ("limits", "dtype", "dialect")]
    programs = given.programs_with(values, *making)
    if function in (bound, plot) and not ranges:
        raise UsageError("no name has a range", help="write x=(0, 1)")
    try:
        box = within(ranges, programs)
        refuse_unknown(Options(over=box), (), known)
        program, found = programs.fresh(read.pop("random_state", 0)), []
        program.scope.needed = True
        for record in answer(Script(program, text_lines(text)), ask(box, **read)):
            if record.error is not None:
                raise record.error.error
            found.append(record)
    except GradcliError as error:
        raise given.in_words_of_api(error, options, _by_name) from None
    if not found:
        raise ParseError(f"the program has nothing to {what}")
    return found


def bound(
    expression: str,
    *,
    width: float = 0.01,
    lipschitz: bool = False,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    **values: Any,
) -> BoundRecord:
    """The proved range of a number and of its gradient over a box:

    ``bound("x*(1-x)", x=(0, 1)).value``.

    values     of names: a pair is a range, as is a text such as ``"0..2*pi"``; ``at`` takes names
               that are no keywords
    width      how much wider than the true range one may be, relative to its width
    lipschitz  bound the norms 1, 2 and inf of the gradient, too
    Raises a `GradcliError` for what has no range.
    """
    arguments = dict(locals())
    from gradcli.query.bounds import AskedBounds, bounds

    return _answers(bound, arguments, bounds, AskedBounds)[-1]


def plot(
    expression: str,
    *,
    wrt: str | Iterable[str] | None = None,
    points: int | None = None,
    log: str | None = None,
    check: bool = True,
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    **values: Any,
) -> PlotRecord:
    """Values and derivatives over the range of one name, or of two, as data:

    ``plot("x*sin(x)", x=(-3, 3)).table``.

    values   of names: a pair is a range, as is a text such as ``"0..2*pi"``; ``at`` takes names
             that are no keywords
    wrt      names to differentiate by (default: those with ranges)
    points   rows of the table; of two names, along each
    log      logarithmic axes: "x", "y" or "xy"
    check    cross-check the derivative at points of the range
    timeout  seconds for the check
    Raises a `GradcliError` for what has no curve.
    """
    arguments = dict(locals())
    from gradcli.query.plots import AskedPlot, plots

    return _answers(plot, arguments, plots, AskedPlot)[-1]


def export(
    expression: str,
    *,
    to: str = "numpy",
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    seed: Any = None,
    dtype: DType = "float64",
    random_state: int = 0,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    **values: Any,
) -> str:
    """The text of a function of value and gradient in another language, as `gradcli export` writes
    it.

    to      "numpy", "torch", "jax", "c", "javascript", "sympy" or "latex"
    values  say the shapes of names; without one, a name is a number
    wrt, freeze, seed  as of `evaluate`
    Raises a `GradcliError` for what the target lacks.
    """
    arguments = dict(locals())
    from gradcli.exports.python import target_of
    from gradcli.query.bindings import seed_of
    from gradcli.query.exporting import file_of, subjects
    from gradcli.query.options import Options

    def ask(_: Any, to: str, seed: Any = None, **read: Any) -> Options:
        target_of(to)
        return Options(seed=seed_of(seed), check=False, **read)

    found = _answers(export, arguments, subjects, ask)
    return file_of(target_of(to), found)


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
