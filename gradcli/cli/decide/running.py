"""The way of a command from what is typed to its answers as they are written.

Positional arguments and options say what there is to read: an expression, files, bindings with
their values, and limits. An option that has no effect beside the others is refused by its name
rather than ignored. `Run` goes through programs and records, and a `Writer` takes what comes of
them; ``gradcli eval`` adds little to that, and `check` has a way of its own from the inputs on
(`cli/decide/cases.py`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gradcli.cli.commands import EXAMPLE, EvalRequest, ExportRequest
from gradcli.cli.process import (
    BAD_INPUT,
    FINE,
    FOUND,
    code_of,
    is_styled,
    prepare,
    put,
    raise_interrupt,
    say,
)
from gradcli.data import encode
from gradcli.errors import GradcliError, UsageError, as_gradcli_error
from gradcli.files.npy import folder_of, read_within
from gradcli.language.run import Program
from gradcli.language.scope import deviations as deviations_of
from gradcli.language.syntax import may_be_measured, of_data
from gradcli.limits import Limits
from gradcli.options import Options, Request, assignments, limits_of, names_of, refuse_together
from gradcli.plans.backend import require_compiler
from gradcli.query.programs import Programs, Script, UsedNames, records, refuse_unknown_in
from gradcli.report.records import Answer, Record, as_error, text_of
from gradcli.texts import PLAIN_NAME, inert_lines, normalize, text_lines

if TYPE_CHECKING:
    from gradcli.report.explanation import Explanation

_OF_RECORDS = (".jsonl", ".ndjson")
BINDING = re.compile(rf"(?P<name>{PLAIN_NAME})=(?!=)(?P<value>[^;\n]*)\Z", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """Everything that there is to read."""

    expression: str | None
    bindings: dict[str, str]  # the text of each value, by name
    files: list[str]  # "-" is standard input
    format: str | None = None  # of all files, "text" or "jsonl"; None: their suffixes decide
    found: frozenset[str] = frozenset()  # files that were found in folders, not named

    def holds_records(self, path: str) -> bool:
        if self.format is None:
            return path.endswith(_OF_RECORDS)
        return self.format == "jsonl"

    def record_files(self) -> list[str]:
        """Return the files of records that can also be written to."""
        return [path for path in self.files if path != "-" and self.holds_records(path)]

    def lines(self, path: str, limits: Limits) -> Iterator[str]:
        """Return the lines of a file as they come.

        Raises InputError for a file that cannot be read.
        """
        from gradcli.files.stores import lines_of

        return lines_of(path, limits.length, stream=path not in self.found)


def is_stream(path: str) -> bool:
    """Return whether the lines of a file come one by one and are answered as they come.

    This is so for standard input and for a named pipe.
    """
    from gradcli.storage import is_device

    return path == "-" or is_device(path)


ONE_BINDING = "quote the expression as a whole; write a binding without spaces around '='"


class Words(NamedTuple):
    """Positional arguments by what they are.

    others  expressions, and what else a command takes, each with whether files are named before it
    """

    others: list[tuple[str, bool]]
    bindings: dict[str, str]
    ranges: dict[str, str]
    files: list[str]

    def expression(self, help: str = ONE_BINDING) -> str | None:
        """Return the only expression, if there is one. Raises UsageError for two."""
        if len(self.others) > 1:
            (first, _), (second, _), *_ = self.others
            raise UsageError(
                f"two expressions: '{first.strip()}' and '{second.strip()}'", help=help
            )
        return self.others[0][0] if self.others else None

    def inputs(
        self, request: Request, nothing: str, example: str, help: str = ONE_BINDING
    ) -> Inputs:
        """Return what there is to read: standard input, if nothing else is named.

        Raises UsageError, also for two expressions.
        """
        expression = self.expression(help)
        if expression is None and not self.files:
            if sys.stdin is None or sys.stdin.closed:
                raise UsageError(f"nothing to {nothing}", help=example)
            if sys.stdin.isatty():
                say("reading expressions from the terminal; end with Ctrl-D")
            self.files.append("-")
        return Inputs(expression, self.bindings, self.files, input_format_of(request, self.files))


def input_format_of(request: Request, files: Sequence[str]) -> str | None:
    """Return how files are read. Raises UsageError where there are none."""
    if request.input_format is not None and not files:
        raise UsageError(
            "--input is about files and standard input, of which there are none",
            help="name a file by -f: -f cases.jsonl",
        )
    return request.input_format


def words_of(request: Request, *, ranges: bool = False, of_files: bool = False) -> Words:
    """Return the positional arguments.

    Raises UsageError for a name that is bound twice, and for standard input that is named twice.

    ranges    whether NAME=BEGIN..END is one
    of_files  whether what exists, or has the suffix of programs or records, is a file
    """
    found = Words([], {}, {}, list(request.files))
    for argument in request.arguments:
        is_file = argument == "-" or (of_files and os.path.exists(argument))
        text = argument if is_file else normalize(argument)
        binding = None if is_file else BINDING.match(text)
        is_named_so = binding is None and text.endswith((".grad", *_OF_RECORDS))
        if is_file or (of_files and is_named_so):
            found.files.append(argument)
        elif is_named_so and os.path.exists(argument):
            raise UsageError(f"'{argument}' is a file", help=f"name it by -f: -f {argument}")
        elif binding is None:
            found.others.append((text, bool(found.files)))
        else:
            name, value = binding.groups()
            if name in found.bindings or name in found.ranges:
                raise UsageError(f"the name '{name}' is bound twice")
            (found.ranges if ranges and ".." in value else found.bindings)[name] = value
    if found.files.count("-") > 1:
        raise UsageError("standard input is named twice")
    return found


def eval_inputs(request: Request) -> Inputs:
    """Return what ``gradcli eval`` reads. Raises UsageError."""
    return words_of(request).inputs(request, "evaluate", EXAMPLE)


def programs_of(request: Request, inputs: Inputs, state: int | None = None) -> Programs:
    """Return the programs of a run.

    Their bindings are constant expressions or data files, and the limits make room for the data.

    Raises GradcliError.
    """
    limits = limits_of(request)
    values: dict[str, Any] = {}
    deviations: dict[str, Any] = {}
    calculator = Programs(limits, request.dtype).fresh(
        request.random_state if state is None else state
    )
    piped = _piped_data(inputs, limits)
    for name, text in inputs.bindings.items():
        if text.startswith("@"):
            from gradcli.files.arrays import load_array

            reference, error_text = of_data(text[1:])
            values[name] = array = load_array(reference, limits, piped=piped)
            limits = limits.with_room_for(array.size)
            if error_text is None:
                continue
            if error_text.lstrip().startswith("@"):
                found = load_array(error_text.strip()[1:], limits, piped=piped)
                deviations[name] = deviations_of(found, array, name)
            else:
                deviations[name] = calculator.deviation(error_text, array, name)
            continue
        if not text.strip():
            raise UsageError(
                f"'{name}=' has no value", help=f"write {name}=2, {name}=2,3 or {name}=@data.npy"
            )
        try:
            values[name], deviation = calculator.uncertain(text, name)
            if deviation is not None:
                deviations[name] = deviation
        except GradcliError as error:
            if error.code in ("missing-value", "ambiguous") and not may_be_measured(text):
                raise _mentioning(error, name, text, inputs) from None
            raise
    return Programs(limits, request.dtype, values, deviations, request.dialect, piped)


def _piped_data(inputs: Inputs, limits: Limits) -> Callable[[], bytes]:
    """Return a function that reads standard input as data, once for all that name it.

    It raises UsageError if programs are read from standard input, and LimitError.
    """

    @cache
    def read() -> bytes:
        if "-" in inputs.files:
            raise UsageError(
                "standard input is named twice: for programs, and as the data '@-'",
                help="put one of them in a file",
            )
        if sys.stdin is None or sys.stdin.closed:
            raise UsageError("there is no standard input, which '@-' names")
        return read_within(sys.stdin.buffer, "standard input", limits)

    return read


def _mentioning(error: GradcliError, name: str, text: str, inputs: Inputs) -> GradcliError:
    """Return the error for a value that mentions a name.

    The value may have been meant as an expression.
    """
    if inputs.expression is None:
        return UsageError(
            f"'{name}={text}' was read as a binding whose value mentions another name: "
            f"{error.message}",
            help=f"to evaluate the right side, write '{text}'; to bind in a program, put spaces: "
            f"'{name} = {text}'",
        )
    if error.code == "missing-value":
        error.help = f"write a number; names may stand in a program: '{name} = {text}; ...'"
    error.note = f"'{name}={text}' was read as a binding; its value must be a constant expression"
    return error


# -- Values of options, and what they ask for


def kind_by_suffix(
    out: str | None, suffixes: Mapping[str, tuple[str, ...]], option: str, given: str | None
) -> str | None:
    """Return the kind of what is written.

    An option says it, or the suffix of the file does: the first of the kinds that it stands for.

    Raises UsageError for another suffix, and for one that the option contradicts.
    """
    if out is None:
        return given
    suffix = os.path.splitext(out)[1].lower()
    if suffix not in suffixes:
        raise UsageError(
            f"--out {out}: a suffix says what is written",
            help=f"the suffixes are {', '.join(suffixes)}",
        )
    if given is not None and given not in suffixes[suffix]:
        raise UsageError(
            f"--out {out} and {option} {given} contradict each other", help=f"leave {option} out"
        )
    return given or suffixes[suffix][0]


# -- What is computed, and what is refused: an option that has no effect beside the others


def _refuse_nothing(request: Request) -> None:
    """Raise UsageError for lists of names with an empty one, and for an empty seed."""
    if request.seed is not None and not request.seed.strip():
        raise UsageError(
            "--seed has no value", help="write --seed 1, or --seed 1,0 in the shape of the output"
        )
    for option, text in (("--wrt", request.wrt), *(("--freeze", each) for each in request.freeze)):
        if text is not None and not all(name.strip() for name in text.split(",")):
            raise UsageError(f"{option} {text!r} has an empty name", help=f"write {option} x,y")


def options_of(request: Request, command: str = "") -> Options:
    """Return what every command computes: by which names, and with which seed.

    Raises UsageError.
    """
    _refuse_nothing(request)
    if vars(request).keys() - {"arguments"}:  # some option was typed
        refuse_together(f"all {command}", request.as_typed)
    check = request.check and not isinstance(request, ExportRequest)
    return Options(
        wrt=names_of(request.wrt),
        freeze=names_of(",".join(request.freeze)) or (),
        seed=request.seed,
        check=check,
        formula=False,
        timeout=request.timeout,
        state=request.random_state,
    )


# -- The answers to all inputs


def scripts(inputs: Inputs, programs: Programs, state: int) -> Iterator[Script]:
    """Every file, and then the expression; beside one file it sees that file's names.

    Raises InputError as the lines are read.
    """
    program: Program | None = None
    for path in inputs.files:
        lines = inputs.lines(path, programs.limits)
        if inputs.holds_records(path):
            yield Script(None, lines, path)
        else:
            program = programs.fresh(state, programs.loader(folder_of(path)))
            yield Script(program, lines, path, is_stream(path))
    if inputs.expression is None:
        return
    if program is None or len(inputs.files) > 1:
        program = programs.fresh(state, programs.loader())
    text = inputs.expression
    yield Script(
        program, text_lines(text.removeprefix(" ") if text.startswith(" -") else text) or [""]
    )


_BOUND = re.compile(rf"(?:\A|;)\s*({PLAIN_NAME}(?:\([\w, ]*\))?)\s*=(?!=)")
VERBS = {"eval": "evaluate", "eval --implicit": "evaluate", "diff": "differentiate"}


@dataclass(eq=False)
class Run:
    """The answers of a command to all inputs, in order, each as soon as it is there.

    ask      gives the answers to a text
    kind     of the answers
    example  of the command
    free     whether names that are asked for may do without values
    """

    command: str
    inputs: Inputs
    programs: Programs
    ask: Callable[[Script, Options], Iterator[Any]]
    options: Options
    kind: type[Answer] = Record
    example: str = EXAMPLE
    free: bool = False

    def __post_init__(self) -> None:
        self.names = UsedNames()
        inputs, programs = self.inputs, self.programs
        # the names of the whole run are known at once
        if inputs.expression is not None and not inputs.files:
            refuse_unknown_in(
                inputs.expression, self.options, programs.values, programs.limits, self.free
            )

    def answers(self) -> Iterator[Any]:
        """Yield the answers.

        Raises GradcliError for names that an expression alone does not have, and for records where
        a command reads none.
        """
        for script in scripts(self.inputs, self.programs, self.options.state):
            found = self._answers_or_errors(script)
            yield from found if self.inputs.files else self._with_remarks(found)

    def _answers_or_errors(self, script: Script) -> Iterator[Any]:
        found = (
            self.of_records(script) if script.program is None else self.ask(script, self.options)
        )
        try:
            yield from found
        except Exception as error:
            self.names.unread = True
            yield self.kind.of_error(as_gradcli_error(error))
        if script.program is not None:
            self.names.add(script.program.scope)

    def _with_remarks(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yield the answers to an expression alone.

        The last one carries the remarks that are known by then.
        """
        last: Any = None
        for each in found:
            if last is not None:
                yield last
            last = each
        if last is not None:
            if last.error is None:
                last.warnings += self.remarks()
            yield last

    def remarks(self) -> list[str]:
        """Return what is to be said when all is done.

        Raises an error for names that are asked for and that nobody has.
        """
        return self.names.remarks(
            self.programs.values, self.options, several=bool(self.inputs.files)
        )

    def write(self, writer: Form, fail_fast: bool = False) -> int:
        """Write the answers as they come, and give the exit code. Raises UsageError for none."""
        codes: set[int] = set()
        said = FINE
        try:
            for result in self.answers():
                raise_interrupt()
                writer.write(result)
                failed = FOUND if result.failed else FINE
                codes.add(failed if result.error is None else code_of(result.error))
                if fail_fast and max(codes):
                    break
            else:
                said = say_remarks(self.remarks) if self.inputs.files else FINE
        finally:
            if codes:
                writer.close()
        if codes:
            return max(*codes, said)
        nothing = f"nothing to {VERBS.get(self.command, self.command)}"
        text = self.inputs.expression
        bound = [] if text is None else _BOUND.findall(text)
        help = f"add what is wanted: '{text}; {bound[-1]}'" if bound else self.example
        raise UsageError(nothing, help=help)

    def of_records(self, script: Script) -> Iterator[Any]:
        """Return the answers to JSON Lines records."""
        raise UsageError(f"'gradcli {self.command}' reads programs, not records")


def say_remarks(remarks: Callable[[], list[str]]) -> int:
    """Print what is known of names when a run is over, and give the exit code that follows."""
    try:
        for remark in remarks():
            say(f"warning: {remark}")
    except GradcliError as error:
        say(error.render())
        return BAD_INPUT
    return FINE


# -- The results as they are written: in the form that is asked for, or to a file, whole


_PICTURES = ("svg", "html", "mermaid")


class Form(Protocol):
    """Takes results as they come."""

    def write(self, result: Any) -> None: ...

    def close(self) -> None:
        """End the output."""


@dataclass(eq=False)
class Writer:
    """Writer of results.

    It takes results, saves what is to be saved of them, and shows all, or, if it is quiet, those
    that need attention.

    Characters that the encoding of standard output lacks are escaped. A result that cannot be
    written is written as an error, with its id and text.

    form       such as "text", "json" or "svg"
    one_alone  whether a single result is no array in JSON
    out        a file
    save       leaves out of a record what it saves
    """

    form: str
    color: str = "never"
    digits: int | None = None
    one_alone: bool = True
    out: str | None = None
    quiet: bool = False
    save: Callable[[Record], None] | None = None

    def __post_init__(self) -> None:
        prepare(self.form)
        self.texts: list[str] = []  # parts of the file's text
        self.put = put if self.out is None else self.texts.append
        self.found: list[Any] = []  # what is written at the end
        self.between = ""
        self.complains = self.out is not None or self.form not in ("json", "jsonl")
        self._put: Callable[[Any], None] = self._write_plainly
        if self.form == "text" and self.out is None and is_styled(self.color):
            from gradcli.cli.write.terminal import Terminal

            self._put, self.complains = Terminal(self.digits, self.color).write, False

    def write(self, result: Any) -> None:
        if self.save is not None:
            try:
                self.save(result)
            except Exception as error:
                result.fail(as_gradcli_error(error))
        if not self.quiet or result.error is not None or result.failed:
            try:
                self._show(result)
            except OSError:  # the output takes nothing more
                raise
            except Exception as error:
                self._show(as_error(result, error))

    def _show(self, result: Any) -> None:
        self._put(result)
        if self.complains and result.error is not None:
            say(result.error_text())

    def _write_plainly(self, result: Any) -> None:
        form, is_fine = self.form, result.error is None
        if form in ("csv", "value") and is_fine and result.uncertainty is not None:
            raise UsageError(
                f"--format {form} has no place for standard deviations",
                help="write --format json, or text",
            )
        if form == "jsonl":
            self.put(f"{result.to_json()}\n")
        elif form == "json":
            self.found.append(encode(result.to_dict(), 2))
        elif form == "csv":
            from gradcli.report.table import HEADER, csv_rows

            rows = csv_rows(result, self.digits)
            self.put(rows if self.between else HEADER + rows)
            self.between = HEADER
        elif form in _PICTURES:
            if form == "html" or is_fine:
                self._take_picture(result)
        elif is_fine and form in ("value", "grad"):
            self.put(_alone(result, form))
            if result.failed:
                say("the cross-check does not agree, or an assert is false: see --format text")
        elif is_fine and form == "latex":
            self.put(inert_lines(result.to_latex(self.digits)))
        elif is_fine:
            self.put(self.between + text_of(result.lines(self.digits)))
            self.between = "\n"

    def _take_picture(self, explanation: Explanation) -> None:
        if self.form != "html" and self.found:
            raise UsageError(
                f"--format {self.form} holds one picture, which is that of "
                f"line {self.found[0].record.line}",
                help="explain one expression, or write --format html",
            )
        self.found.append(explanation)

    def close(self) -> None:
        """End the output."""
        if self.form == "json" and self.one_alone and len(self.found) == 1:
            self.put(f"{self.found[0]}\n")
        elif self.form == "json":
            items = ",\n  ".join(text.replace("\n", "\n  ") for text in self.found)
            self.put(f"[\n  {items}\n]\n" if items else "[]\n")
        elif self.found:
            self.put(self._picture())
        if self.texts and self.out is not None:
            from gradcli.storage import write_whole

            write_whole(self.out, "".join(self.texts).encode())

    def _picture(self) -> str:
        """One document of all explanations; a picture is of one."""
        if self.form == "html":
            from gradcli.report.page.assembly import page

            return page(self.found, self.digits)
        from gradcli.report.pictures import mermaid, svg

        if self.form == "svg":
            return svg(self.found[0])
        text = mermaid(self.found[0])
        return text if self.out is None else f"```mermaid\n{text}```\n"


def _alone(record: Record, field: str) -> str:
    """Return the value alone, or the only gradient, as a line of JSON.

    A number is written as it is.

    Raises UsageError for several gradients.
    """
    found = record.to_dict().get(field)
    if field == "grad" and isinstance(found, dict):
        if len(found) != 1:
            names = ", ".join(found)
            raise UsageError(
                f"--format grad prints one gradient, not those by {names}"
                if found
                else "there is no gradient",
                help="write --wrt NAME" if found else None,
            )
        (found,) = found.values()
    return encode(found).strip('"') + "\n"


def writer_for(request: Request, **how: Any) -> Writer:
    """Return what writes the results of a command."""
    return Writer(
        request.output_format,
        request.color,
        request.digits,
        out=request.out,
        quiet=request.quiet,
        **how,
    )


# -- ``gradcli eval``


def evaluate(request: EvalRequest) -> int:
    """Evaluate everything that was asked for."""
    inputs = eval_inputs(request)
    options = eval_options(request)
    targets: dict[str, str] = {}
    save = None
    if request.save:
        from gradcli.cli.write.saving import SavedArrays, targets_of

        targets = targets_of(request.save)
        arrays = SavedArrays(targets)
        options, save = options.but(place=arrays.place), arrays.save
    writer = writer_for(request, one_alone=False, save=save)
    if request.on is not None:
        return ChunkedEvaluation(request, inputs, targets).write(writer)
    programs = programs_of(request, inputs)
    if request.cov:
        options = covariances_of(request, programs, options)
    run: Run
    if request.implicit is not None:
        from gradcli.query.related import Implicit

        run = Run(
            "eval --implicit", inputs, programs, Implicit(request.implicit).at_points, options
        )
    else:
        run = Evaluation("eval", inputs, programs, options)
    return run.write(writer, request.fail_fast)


class Evaluation(Run):
    """The results of `eval`."""

    def __init__(
        self, command: str, inputs: Inputs, programs: Programs, options: Options, *, free: bool = False
    ) -> None:  # fmt: skip
        # A single expression is not worth the imports of the cache.
        cache = programs.cache if inputs.files and options.bare else None
        ask = partial(records, cache=cache)
        super().__init__(command, inputs, programs, ask, options, free=free)

    def of_records(self, script: Script) -> Iterator[Record]:
        from gradcli.query.cases import RecordLines

        return RecordLines(self.programs, self.names).results(
            script.lines, script.path or "", self.options
        )


class ChunkedEvaluation(Evaluation):
    """The one result of ``--on``."""

    def __init__(self, request: EvalRequest, inputs: Inputs, targets: dict[str, str]) -> None:
        self.command, self.request, self.inputs, self.targets = "eval", request, inputs, targets

    def answers(self) -> Iterator[Record]:
        from gradcli.cli.decide.chunked import chunked_record

        inputs = self.inputs
        if inputs.expression is None or inputs.files:
            raise UsageError(
                "--on computes one expression, without files",
                help="gradcli eval 'sum(x**2)' x=@x.zarr --on here",
            )

        yield chunked_record(
            self.request, inputs.expression, inputs.bindings,
            lambda bindings: programs_of(self.request, replace(inputs, bindings=bindings)), self.targets,
        )  # fmt: skip


def eval_options(request: EvalRequest) -> Options:
    """Return what ``gradcli eval`` computes.

    Raises UsageError, and NativeError without a compiler.
    """
    options = options_of(request, "modes eval")
    if request.backend == "native":
        require_compiler()
    modes = ("jacobian", "hessian", "jvp", "hvp")
    mode = next((mode for mode in modes if getattr(request, mode)), "grad")
    kind = request.output_format
    return options.but(
        mode=mode, tangents=assignments(f"--{mode}", request.jvp or request.hvp),
        formula=kind in ("text", "json", "latex") if request.formula is None else request.formula, latex=kind == "latex",
        precision=request.precision, at=kind == "csv", backend=request.backend, threads=request.threads,
    )  # fmt: skip


def covariances_of(request: EvalRequest, programs: Programs, options: Options) -> Options:
    """Return the options with the covariances of ``--cov A,B=VALUE``.

    The values are numbers, matrices of the language, or data files.

    Raises GradcliError.
    """
    calculator = programs.fresh(options.state, values={})
    found = [
        (
            names_of(listed) or (),
            programs.loader()(text[1:])
            if text.startswith("@")
            else calculator.constant(text, "<cov>"),
        )
        for listed, text in assignments("--cov", request.cov).items()
    ]
    return options.but(covariances=found)
