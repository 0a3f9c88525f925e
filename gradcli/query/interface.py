"""The Python API: the same records as the command line's, as typed objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradcli.errors import GradcliError, ParseError, UsageError
from gradcli.limits import DEFAULT, Limits
from gradcli.options import LONG, Options
from gradcli.query import bindings as given
from gradcli.query.programs import (
    Script,
    UsedNames,
    join_records,
    records,
    refuse_unknown,
    refuse_unknown_in,
)
from gradcli.report.results import result_of
from gradcli.texts import text_lines

if TYPE_CHECKING:
    from gradcli.language.run import Program
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.options import Backend, DType, Mode
    from gradcli.query.exporting import Export
    from gradcli.report.derivative_record import DerivativeRecord
    from gradcli.report.ranges import BoundRecord, PlotRecord
    from gradcli.report.records import Answer, Record
    from gradcli.report.results import Result

Kind = TypeVar("Kind", bound="Answer")


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
    **values: Any,
) -> Result[Any]:
    """Evaluate an expression: its value, gradients, their formulas and the cross-check's verdict.

    expression  a program of the language; the result is that of its last query
    values      of names: numbers, nested lists or arrays; ``at`` takes names that are no
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

    A false assert of the program makes the record ``failed``. Raises a `GradcliError` with its
    place in the text for an expression that cannot be evaluated.
    """
    arguments = dict(locals())
    return result_of(evaluate_call(evaluate, arguments), check)


def evaluate_call(function: Any, arguments: dict[str, Any], **asked: Any) -> Record:
    """Return the record of `evaluate` for a function of the API that has some of its options.

    ``asked`` are options that are not parameters of the function.
    """
    text, keywords = arguments["expression"], arguments["values"]

    def answer(script: Script, options: Options) -> Iterator[Record]:
        scope = script.opened.scope
        outside, limits = scope.outside, scope.limits
        refuse_unknown_in(text, options, outside, limits)
        cache = None
        if options.bare and len(text) >= LONG:
            from gradcli.query.templates import CompilationCache

            cache = CompilationCache(limits, scope.precision)
        scope.needed = False
        result = join_records(records(script, options, cache))
        if result is None:
            raise ParseError("the program has no query")
        found = UsedNames()
        found.add(scope)
        unused = found.warn_unmentioned(outside, options) if result.error is None else []
        if unused:
            known = {*given.words(text), *options.names_asked}
            named = given.bind_values(None, keywords, known, _by_name)
            known = found.mentioned.union(found.bound, options.names_asked)
            given.refuse_unknown(named, known, _usual(function), function.__name__)
            result.warnings += unused
        yield result

    return _answer(function, arguments, answer, **asked)


@lru_cache(64)
def _idle_programs(*of: Any) -> list[Program]:
    """Return the programs of a text, limits, names and shapes that have run with other values."""
    return []


def _usual(function: Any) -> dict[str, Any]:
    """Return the options of a function of the API with their default values."""
    return {"expression": None, **function.__kwdefaults__}


def _by_name(name: str) -> str:
    """Write the argument that binds a name that is also the name of an option."""
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
    """Differentiate an expression into formulas, for all values of the names.

    An example is ``differentiate("x^3*sin(x)").derivative["x"]``.

    expression  a program of the language; the result is that of its last query, or of what it
                defines if it has none
    names       to differentiate by, in this order (default: all without values); ``wrt`` lists more
                of them
    order       how many times, by each combination of names: ``derivative["x"]["y"]`` of second
                order
    check       hold each formula to the derivative at so many ``points`` of the domain; ``check``
                of the record says what came of it
    values      of names that are constants; ``at`` takes names that are no keywords
    timeout     seconds for the check, after which it is undetermined; by default no clock is looked
                at
    implicit    the name that an equation (``"x^2 + y^2 = 25"``) or a curve gives, whose slope is
                asked, or its rate with ``of``
    of          the name that all others depend on: ``derivative`` is a rate by it

    Raises a `GradcliError` with its place in the text for an expression without a formula.
    """
    arguments = dict(locals())
    from gradcli.query.general_derivatives import derivatives, refuse_absent
    from gradcli.query.related import related_of, with_equations

    def answer(script: Script, options: Options) -> Iterator[DerivativeRecord]:
        listed = (
            *(given.names_given("names", names, given.words(expression)) or ()),
            *(options.wrt or ()),
        )
        options = options.but(wrt=listed or None, related=related_of(implicit, of))
        script = with_equations(script, options.related)
        found = [*derivatives(script, options)]
        yield from found
        refuse_absent(options.wrt, found)

    for word in ("names", "implicit", "of"):
        arguments.pop(word)
    return _answer(differentiate, arguments, answer, latex=True)


def _answer(
    function: Any, arguments: dict[str, Any],
    answer: Callable[[Script, Options], Iterable[Kind]],
    **asked: Any,
) -> Kind:  # fmt: skip
    """Return the answer to a call of a function of the API that answers the last query."""
    found = _answers(function, arguments, answer, **asked)
    return found[-1].last_of(len(found))


@np.errstate(all="ignore")
def _answers(
    function: Any,
    arguments: dict[str, Any],
    answer: Callable[[Script, Options], Iterable[Kind]],
    **asked: Any,
) -> list[Kind]:
    """Return the answers to a call of a function of the API.

    arguments  its parameters by name; None means not given, unless the default is something else
    answer     takes the program with its text, and the options
    asked      options that are not parameters of the function
    """
    text, at, keywords = (arguments.pop(word) for word in ("expression", "at", "values"))
    known = given.words(given.text_of(text))
    usual = _usual(function)
    what = function.__name__
    directions = {word: arguments.get(word) for word in ("jvp", "hvp")}
    moving = {name for each in directions.values() if isinstance(each, Mapping) for name in each}
    for word in {"wrt", "freeze"} & arguments.keys():
        found = given.names_given(word, arguments[word], known)
        arguments[word] = usual[word] if found is None else found
        moving |= {*(found or ())}
    given.refuse_unknown(keywords, known | moving, usual, what)
    values = given.bind_values(at, keywords, known, _by_name)
    takes_ranges = function in (bound, plot)
    ranges = _take_ranges(values) if takes_ranges else {}
    changed = given.options_of(
        {name: value for name, value in arguments.items() if value is not usual[name]}, what
    )
    given.refuse_exclusive(changed)
    read = arguments | changed
    if "mode" in read:
        read["mode"], asked["tangents"] = given.mode_of(read["mode"], directions, known)
    asked["covariances"] = given.covariances_of(read.pop("cov", None), known)
    making = [read.pop(word, None) for word in ("limits", "dtype", "dialect", "jvp", "hvp")][:3]
    programs = given.programs_with(values, *making)
    programs.keeps_text = "observer" in asked
    if "seed" in read:
        read["seed"] = given.seed_of(read["seed"])
    if takes_ranges and not ranges:
        raise UsageError("no name has a range", help="write x=(0, 1)")
    try:
        if ranges:
            from gradcli.query.bounds import within

            asked["over"] = within(ranges, programs)
            refuse_unknown(Options(over=asked["over"]), (), known)
        options = Options(state=read.pop("random_state", 0), **asked, **read)
        shapes = [(name, value.dtype, value.shape) for name, value in programs.values.items()]
        making += [options.state, options.bare, *programs.deviations, *shapes]
        idle = _idle_programs(function, text, *making)
        try:
            program, lines = idle.pop(), None  # no other thread has it then
            program.take(programs.values)
        except IndexError:
            program, lines = programs.fresh(options.state), text_lines(text)
        program.scope.needed, answers = True, []
        for record in answer(Script(program, lines), options):
            if record.error is not None:
                raise record.error
            answers.append(record)
    except GradcliError as error:
        raise given.in_words_of_api(error, usual, _by_name) from error.__cause__
    if function is evaluate and program.release():
        idle.append(program)
    if not answers:
        raise ParseError(f"the program has nothing to {what}")
    return answers


def _take_ranges(values: dict[str, Any]) -> dict[str, str]:
    """Take what is a range out of the values of names, and return it as text."""
    ranges = {}
    for name, value in [*values.items()]:
        is_pair = isinstance(value, tuple) and len(value) == 2
        text = "..".join(map(str, value)) if is_pair else value
        if isinstance(text, str) and ".." in text:
            ranges[name] = text
            del values[name]
    return ranges


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
    """Bound a number and its gradient over a box by proved ranges.

    An example is ``bound("x*(1-x)", x=(0, 1)).value``.

    values     of names: a pair is a range, as is a text such as ``"0..2*pi"``; ``at`` takes names
               that are no keywords
    width      how much wider than the true range one may be, relative to its width
    lipschitz  bound the norms 1, 2 and inf of the gradient, too

    Raises a `GradcliError` for an expression without a range.
    """
    arguments = dict(locals())
    from gradcli.query.bounds import bounds

    return _answer(bound, arguments, bounds)


def plot(
    expression: str,
    *,
    wrt: str | Iterable[str] | None = None,
    points: int | None = None,
    check: bool = True,
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    **values: Any,
) -> PlotRecord:
    """Compute values and derivatives over the range of one name, or of two, as data.

    An example is ``plot("x*sin(x)", x=(-3, 3)).table``.

    values   of names: a pair is a range, as is a text such as ``"0..2*pi"``; ``at`` takes names
             that are no keywords
    wrt      names to differentiate by (default: those with ranges)
    points   rows of the table; of two names, along each
    check    cross-check the derivative at points of the range
    timeout  seconds for the check

    Raises a `GradcliError` for an expression without a curve.
    """
    arguments = dict(locals())
    from gradcli.query.plots import plots

    return _answer(plot, arguments, plots)


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
    """Export a function of value and gradient as text in another language, as `gradcli export`.

    to      "numpy", "torch", "jax", "c", "javascript", "sympy" or "latex"
    values  say the shapes of names; without one, a name is a number
    wrt, freeze, seed  as of `evaluate`

    Raises a `GradcliError` for an operation that the target lacks.
    """
    arguments = dict(locals())
    from gradcli.exports.python import target_of
    from gradcli.query.exporting import file_of, subjects

    def answer(script: Script, options: Options) -> Iterator[Export]:
        target_of(to)
        return subjects(script, options)

    arguments.pop("to")
    found = _answers(export, arguments, answer, check=False)
    return file_of(target_of(to), found)
