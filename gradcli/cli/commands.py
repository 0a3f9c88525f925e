"""Commands: their options, in the order of the help, and what runs them.

An option with the default that `Request` has does not repeat it.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from gradcli.limits import Number
from gradcli.options import WORDS, Request, Texts

_code = partial(typer.Option, metavar="MODULE:NAME")  # an option that names a Python object
_UNSAID: Any = None  # default of an option that follows from others
EXAMPLE = "gradcli eval '3*a**3 - b**2' a=2,3 b=6,4"

Expression = Annotated[
    Texts,
    typer.Argument(
        metavar="[EXPRESSION] [NAME=VALUE]...",
        help="An expression and its bindings; - reads standard input.",
    ),
]
Files = Annotated[
    Texts,
    typer.Option(
        "--file", "-f", metavar="FILE", help="Read programs from FILE; - is standard input."
    ),
]
Wrt = Annotated[
    str | None, typer.Option(metavar="A,B", help="Differentiate with respect to these names only.")
]
Freeze = Annotated[
    Texts, typer.Option(metavar="X,Y", help="Never differentiate with respect to these names.")
]
Seed = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE", help="The vector of the vector-Jacobian product, in the output's shape."
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input",
        "-i",
        metavar="text|jsonl",
        help="How to read files and standard input (by suffix, else text).",
    ),
    WORDS,
]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Cross-check the result against sympy.")
]
CheckTime = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time limit of each cross-check.")
]
Dialect = Annotated[
    str | None,
    typer.Option(
        metavar="numpy|torch|jax",
        help="The library that methods and bare names are read by where no prefix or import line "
        "shows it (numpy).",
    ),
]
Precision = Annotated[
    str, typer.Option(metavar="float64|float32", help="The precision of the calculation.")
]
BACKEND = typer.Option(
    metavar="auto|numpy|native",
    help="What computes large arrays: NumPy, C by the machine's compiler, or what a count of "
    "operations says (auto).",
)
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Threads that share large arrays, at most (as many as cores); the same bits.",
    ),
]
State = Annotated[int, typer.Option(metavar="N", help="The seed of rand and randn.")]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Stop at the first error.")]
Limit = Annotated[
    Texts,
    typer.Option(
        metavar="NAME=SIZE",
        help="Set a limit: length, entries, dimensions, nodes, calls, tangents, derivatives, "
        "memory or work, such as memory=500M.",
    ),
]
Color = Annotated[
    str, typer.Option(metavar="auto|always|never", help="Colour of the output."), WORDS
]
Implicit = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The name that an equation gives: 'x^2 + y^2 = 25' --implicit y is dy/dx.",
    ),
]


class EvalRequest(Request):
    """Evaluate expressions and their gradients.

    gradcli eval '3*a**3 - b**2' a=2,3 b=6,4

    Reads programs from standard input without an expression and without -f.
    """

    epilog = (
        "Exit codes: 0 fine; 1 a mismatch or a false assert; 2 input that cannot be evaluated, or "
        "wrong usage; 3 an internal error; 130 interrupted."
    )
    arguments: Expression
    files: Files
    input_format: InputFormat
    wrt: Wrt
    freeze: Freeze
    seed: Seed
    implicit: Implicit = None
    jacobian: Annotated[
        bool, typer.Option("--jacobian", help="All partial derivatives instead of a gradient.")
    ] = False
    hessian: Annotated[
        bool, typer.Option("--hessian", help="All second derivatives of a scalar.")
    ] = False
    jvp: Annotated[
        Texts,
        typer.Option(metavar="NAME=VALUE", help="The derivative in this direction (repeatable)."),
    ] = ()
    hvp: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=VALUE", help="The Hessian of a scalar times this vector (repeatable)."
        ),
    ] = ()
    cov: Annotated[
        Texts,
        typer.Option(
            metavar="A,B=VALUE",
            help="The covariance of two uncertain names, or a matrix over the entries of those "
            "listed.",
        ),
    ] = ()
    save: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=FILE",
            help="Write a gradient ('value': the value) to a .npy, .npz, .csv, .tsv or .json file.",
        ),
    ]
    check: Check
    formula: Annotated[
        bool | None,
        typer.Option(
            "--formula/--no-formula",
            help="Print derivative formulas (not in jsonl and csv by default).",
        ),
    ] = None
    timeout: CheckTime
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|json|jsonl|csv|latex|value|grad",
            help="The form of the output. value is the value alone, grad the gradient by the one "
            "name that --wrt leaves. In csv, text that a spreadsheet would calculate has an "
            "apostrophe before it.",
        ),
        WORDS,
    ]
    dialect: Dialect
    dtype: Precision
    digits: Annotated[
        int | None, typer.Option(metavar="N", help="Round printed numbers to N significant digits.")
    ]
    precision: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Value and gradient to N certain digits, from the reference."
        ),
    ] = None
    backend: Annotated[str, BACKEND] = "auto"
    threads: Threads = None
    random_state: State
    on: Annotated[
        str | None,
        typer.Option(
            metavar="here|local|tcp://HOST:PORT",
            help="Compute chunk by chunk: here, or by Dask on this machine or a cluster.",
        ),
    ] = None
    fail_fast: FailFast
    limit: Limit
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print only results that need attention: errors, mismatches, false asserts.",
        ),
    ]
    color: Color


class DiffRequest(Request):
    """Derivatives as formulas, for all values of the names.

    gradcli diff 'x^3*sin(x)'

    gradcli diff 'x^2*y + y^3' x y --order 2

    Reads programs from standard input without an expression and without -f.
    """

    epilog = (
        "Exit codes: 0 fine; 1 a formula that its check refutes; 2 input that has no formula, or "
        "wrong usage; 3 an internal error; 130 interrupted."
    )
    arguments: Annotated[
        Texts,
        typer.Argument(
            metavar="[EXPRESSION] [NAME]... [NAME=VALUE]...",
            help="An expression, the names to differentiate by (all without values), and "
            "constants; - reads standard input.",
        ),
    ]
    order: Annotated[
        int, typer.Option(metavar="N", help="How many times, by each combination of names.")
    ] = 1
    files: Files
    wrt: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The names to differentiate by, as after the expression."),
    ]
    implicit: Implicit = None
    of: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The rate by NAME, on which the names after the expression depend: "
            "'pi r^2 h' --of t r h, where dr_dt is the rate of r.",
        ),
    ] = None
    steps: Annotated[
        bool, typer.Option("--steps", help="How a teacher finds each formula, rule by rule.")
    ] = False
    latex: Annotated[
        bool, typer.Option("--latex", help="LaTeX: as the output, or beside the formulas in JSON.")
    ] = False
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Hold each formula to the derivative at sampled points."
        ),
    ]
    points: Annotated[
        int, typer.Option(metavar="N", help="At how many points formulas are held.")
    ] = 16
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of each check.")
    ]
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="text|json|jsonl|latex", help="The form of the output."),
        WORDS,
    ]
    dialect: Dialect
    random_state: Annotated[
        int, typer.Option(metavar="N", help="The seed of the points, and of rand and randn.")
    ]
    fail_fast: FailFast
    limit: Limit
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print only results that need attention: errors and mismatches."
        ),
    ]
    color: Color


class ExplainRequest(Request):
    """Explain where every number of a value and its gradient comes from: the forward pass, the
    backward pass, and the paths between.

    gradcli explain '3*a**3 - b**2' a=2,3 b=6,4

    Reads programs from standard input without an expression and without -f.
    """

    epilog = EvalRequest.epilog
    arguments: Expression
    files: Files
    input_format: InputFormat
    wrt: Wrt
    freeze: Freeze
    seed: Seed
    why: Annotated[
        Texts,
        typer.Option(
            metavar="NAME[INDEX]",
            help="Why an entry of a gradient, or 'value', is what it is: the story alone "
            "(repeatable).",
        ),
    ] = ()
    steps: Annotated[
        bool,
        typer.Option(
            "--steps",
            help="The derivative as a teacher finds it, rule by rule; names need no values.",
        ),
    ] = False
    latex: Annotated[
        bool,
        typer.Option("--latex", help="The steps in LaTeX: as the output, or beside them in JSON."),
    ] = False
    check: Check
    timeout: CheckTime
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|json|jsonl|mermaid|svg|html|latex",
            help="The form of the output (text, or as FILE's suffix says).",
        ),
        WORDS,
    ] = _UNSAID
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to FILE.svg, .html, .json, .md, .tex or .txt.",
        ),
    ]
    digits: Annotated[
        int | None,
        typer.Option(metavar="N", help="Round numbers in text to N significant digits (6)."),
    ]
    dialect: Dialect
    dtype: Precision
    random_state: State
    fail_fast: FailFast
    limit: Limit
    color: Color


class PlotRequest(Request):
    """Draw a value and its derivative over a range, with kinks, jumps and poles; over two ranges,
    contours and gradients.

    gradcli plot 'x*sin(x)' x=-10..10

    gradcli plot 'sin(x)' 'cos(x)' 0..2pi

    gradcli plot 'a*exp(-x)' x=0..5 a=1,2,3 --out decay.svg

    gradcli plot '(1-x)^2 + 100*(y-x^2)^2' x=-2..2 y=-1..3
    """

    epilog = (
        "Exit codes: 0 fine; 1 a derivative that the cross-check refutes; 2 input that has no "
        "curve, or wrong usage; 3 an internal error; 130 interrupted."
    )
    arguments: Annotated[
        Texts,
        typer.Argument(
            metavar="[EXPRESSION]... [NAME=]BEGIN..END [NAME=BEGIN..END] [NAME=VALUE]...",
            help="Expressions, the range of one name or two, and values of others (a=1,2,3: a "
            "curve each); - reads standard input.",
        ),
    ]
    files: Files
    wrt: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Differentiate by these names (by those with ranges)."),
    ]
    points: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Rows of the table, evenly spaced (101); of two names, along each (65).",
        ),
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to FILE.svg, .png, .pdf, .html (pip install 'gradcli[plot]'), .csv or "
            ".json.",
        ),
    ]
    width: Annotated[
        int | None,
        typer.Option(metavar="N", help="Columns of a chart; pixels of a file."),
        Number(True, 20, 10_000),
    ] = None
    height: Annotated[
        int | None,
        typer.Option(metavar="N", help="Rows of a chart; pixels of a file."),
        Number(True, 8, 10_000),
    ] = None
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Cross-check the derivative at points of the range."
        ),
    ]
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of each check.")
    ]
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|csv|json|jsonl",
            help="The form of the output (text, or as FILE's suffix says).",
        ),
        WORDS,
    ] = _UNSAID
    dialect: Dialect
    random_state: State
    limit: Limit
    color: Color


class CheckRequest(Request):
    """Decide whether gradients are right: cross-checks of every query, asserts, and claims.

    gradcli check gradients.grad cases.jsonl

    gradcli check '3*a**3 - b**2' --grad a='9*a**2' a=2,3 b=6,4

    Without files and an expression: the files of the settings; without those, what is piped in.
    """

    epilog = (
        "Exit codes: 0 nothing to report; 1 a verdict in --fail-on; 2 input that cannot be "
        "evaluated, or wrong usage; 3 an internal error; 130 interrupted."
    )
    arguments: Annotated[
        Texts,
        typer.Argument(
            metavar="[FILE]... [EXPRESSION] [NAME=VALUE]...",
            help="Programs, JSON Lines, or folders of them (.grad, .jsonl); an expression; "
            "bindings.",
        ),
    ]
    expression: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--expression",
            metavar="EXPR",
            help="Check an expression, whatever files are called.",
        ),
    ] = None
    grad: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=CLAIM",
            help="What somebody says its gradient is: a formula, numbers, @FILE.",
        ),
    ] = ()
    grad_formula: Annotated[
        Texts,
        typer.Option(metavar="NAME=FORMULA", help="The same, for a formula that mentions no name."),
    ] = ()
    function: Annotated[
        str | None,
        _code(help="Check a Python function whose gradient is --gradient, or is computed --by."),
    ] = None
    gradient: Annotated[str | None, _code(help="The gradient of --function.")] = None
    jvp_of: Annotated[
        str | None,
        _code(help="The JVP of --function: takes its arguments, then a tangent for each of --wrt."),
    ] = None
    adjoint: Annotated[
        str | None,
        _code(help="The adjoint of a linear --function."),
    ] = None
    implicit: Annotated[
        str | None,
        _code(help="residual(x, ...) that --function solves: implicit differentiation decides."),
    ] = None
    fixed_point: Annotated[
        str | None, _code(help="The same of g(x, ...) whose fixed point --function gives.")
    ] = None
    parameters: Annotated[
        str | None,
        _code(help="A torch.nn.Module that --function uses: its parameters are held, too."),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="torch|jax|autograd",
            help="Whose own backward of --function is checked, custom rules in it.",
        ),
    ] = None
    forward: Annotated[
        bool, typer.Option("--forward", help="With --by torch or jax: its forward mode is checked.")
    ] = False
    functions: Annotated[
        bool,
        typer.Option(
            "--functions", help="Check the functions that the settings list, too: it runs them."
        ),
    ] = False
    order: Annotated[
        int, typer.Option(metavar="N", help="2: the gradient of --function is its Hessian.")
    ] = 1
    at: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=VALUE", help="An argument of --function, by the name of its parameter."
        ),
    ] = ()
    changed_since: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Only files and functions whose sources changed since a commit or branch of git.",
        ),
    ] = None
    files: Annotated[
        Texts, typer.Option("--file", "-f", metavar="FILE", help="Another file to check.")
    ]
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input", "-i", metavar="text|jsonl", help="How to read files and standard input."
        ),
        WORDS,
    ]
    line: Annotated[
        int | None,
        typer.Option(metavar="N", help="Check what stands in this line of the file alone."),
        Number(True, 1),
    ] = None
    wrt: Wrt
    freeze: Freeze
    seed: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The vector of the vector-Jacobian product.")
    ]
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="VERDICTS",
            help="Verdicts that fail (default: mismatch,undetermined,undefined), or none.",
        ),
    ] = None
    rtol: Annotated[
        float | None,
        typer.Option(metavar="R", help="Relative tolerance of claimed numbers (default by dtype)."),
    ] = None
    atol: Annotated[
        float | None,
        typer.Option(metavar="A", help="Absolute tolerance of claimed numbers (default 0)."),
    ] = None
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="torch|jax|min-norm",
            help="What is right at a kink, in claimed numbers and asserts (any value between both "
            "sides).",
        ),
    ] = None
    over: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=BEGIN..END",
            help="Hold asserts, claims, else the rules, for all numbers of a range.",
        ),
    ] = ()
    points: Annotated[
        int | None,
        typer.Option(metavar="N", help="Points for names without values (16); draws of --at."),
    ] = None
    random_state: Annotated[
        int | None, typer.Option(metavar="N", help="The seed of these points, rand and randn.")
    ] = None
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes (default 1).")
    ] = None
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of each case.")
    ]
    budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit of the run; what is not reached fails."),
    ] = None
    reports: Annotated[
        Texts,
        typer.Option(
            "--report", metavar="KIND=FILE",
            help="A report: text, json, jsonl, junit, github, gitlab, sarif or markdown; - "
            "is stdout.",
        ),
    ] = ()  # fmt: skip
    output_format: Annotated[
        str,
        typer.Option(
            "--format", metavar="KIND", help="The report on standard output (default text)."
        ),
    ] = _UNSAID
    dialect: Dialect
    dtype: Annotated[
        str,
        typer.Option(
            metavar="float64|float32|float16|bfloat16",
            help="The precision of the calculation (16 bits with --function).",
        ),
    ]
    backend: Annotated[str | None, BACKEND] = None
    threads: Threads = None
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Take the settings from FILE, not from the pyproject.toml above what is checked.",
        ),
    ] = None
    update: Annotated[
        bool,
        typer.Option("--update", help="Record present results as expectations (refused under CI)."),
    ] = False
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Known failures, which do not fail.")
    ] = None
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Nothing to check is fine.")
    ] = False
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")]
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Remember verdicts between runs.")
    ] = True
    limit: Annotated[
        Texts, typer.Option(metavar="NAME=SIZE", help="Set a limit, such as memory=500M.")
    ]
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name passing cases, too.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing if nothing fails.")]
    color: Color
    format_given: bool = False  # whether the format was given, not defaulted
    words: Texts = ()  # the arguments as they were typed


class BoundRequest(Request):
    """Ranges of a value and its gradient over a box, proved by interval arithmetic.

    gradcli bound 'x*(1-x)' x=0..1

    gradcli bound 'exp(x)*sin(y)' x=-1..1 y=0..pi --lipschitz
    """

    epilog = (
        "Exit codes: 0 fine; 2 input that has no range, or wrong usage; 3 an internal error; "
        "130 interrupted."
    )
    arguments: Annotated[
        Texts,
        typer.Argument(
            metavar="[EXPRESSION] NAME=BEGIN..END... [NAME=VALUE]...",
            help="An expression, the box that its names run through, and values of other names; - "
            "reads standard input.",
        ),
    ]
    width: Annotated[
        float,
        typer.Option(
            metavar="W",
            help="How much wider than the true range a range may be, relative to its width.",
        ),
    ] = 0.01
    lipschitz: Annotated[
        bool, typer.Option("--lipschitz", help="Bound the norms 1, 2 and inf of the gradient, too.")
    ] = False
    files: Files
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="text|json|jsonl", help="The form of the output."),
        WORDS,
    ]
    dialect: Dialect
    limit: Limit
    color: Color


class ExportRequest(Request):
    """A function of value and gradient, in another language.

    gradcli export 'sum((a*x - y)**2)' a=2 x=1,2,3 y=2,4,7 --to torch

    gradcli export 'exp(-x)*sin(y)' --out f.c

    Of several queries, each has a function: value_and_grad_1, value_and_grad_2, ...
    """

    epilog = (
        "Exit codes: 0 fine; 2 input that has no value, what the target lacks, or wrong "
        "usage; 3 an internal error; 130 interrupted."
    )
    arguments: Annotated[
        Texts,
        typer.Argument(
            metavar="[EXPRESSION] [NAME=VALUE]...",
            help="An expression, and values that say shapes and dtypes (without one: a number); - "
            "reads standard input.",
        ),
    ]
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="latex|numpy|torch|jax|c|javascript|sympy",
            help="The language or library (numpy, or as FILE's suffix says); js is javascript.",
        ),
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the functions to FILE.py, .c, .js or .tex, as its suffix says.",
        ),
    ]
    files: Files
    wrt: Wrt
    freeze: Freeze
    seed: Seed
    dialect: Dialect
    dtype: Precision
    random_state: State
    limit: Limit
    color: Color


class ReplRequest(Request):
    """A session: type expressions, bind names, ask where a gradient comes from. :help lists its
    commands.

    gradcli repl

    Without a terminal, lines of standard input are answered one after the other, without prompts.
    """

    epilog = (
        "Exit codes: 0 when the session is left; of piped lines, as gradcli eval: 1 a mismatch or "
        "a false assert; 2 input that cannot "
        "be evaluated."
    )
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="A program that is run first, whose names are there then."
        ),
    ] = None
    history: Annotated[
        bool,
        typer.Option("--history/--no-history", help="Keep what is typed for the next session."),
    ] = True
    check: Annotated[
        bool,
        typer.Option("--check/--no-check", help="Cross-check results."),
    ]
    dialect: Dialect
    dtype: Precision
    limit: Limit
    color: Color


class FunctionsRequest(Request):
    """Show what can be differentiated: all functions, those with a word, or one with its
    derivative, domain, conventions and an example.
    """

    words: Annotated[
        Texts,
        typer.Argument(
            metavar="[NAME]|[WORD]...",
            help="A function, as NumPy or PyTorch calls it; or words to search for.",
        ),
    ] = ()


class HelpRequest(Request):
    """Explain the code of an error, a verdict, a command or a function; without one, list all
    codes.
    """

    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]|[COMMAND]|[FUNCTION]",
            help="A code (error[unknown-name]), a verdict, a command or a function.",
        ),
    ] = None


class InfoRequest(Request):
    """Show what runs here: versions, the processor, the width of long double, caches; and what
    results may depend on.
    """

    output_format: Annotated[
        str, typer.Option("--format", metavar="text|json", help="The form of the output."), WORDS
    ]


class CacheRequest(Request):
    """Show where verdicts and compiled code are kept between runs, and how much of them;
    GRADCLI_CACHE_DIR names another folder.
    """

    clear: Annotated[bool, typer.Option("--clear", help="Remove what is kept.")] = False


# Subjects of the options in help, by command.
GROUPS = {
    "check": {
        "What is checked": "expression files input_format line changed_since over points "
        "random_state",
        "What is claimed": "grad grad_formula rtol atol convention",
        "Python functions": "function gradient jvp_of adjoint implicit fixed_point parameters by "
        "forward functions order at",
        "How it is calculated": "wrt freeze seed dialect dtype backend threads limit",
        "What fails": "fail_on baseline update allow_empty fail_fast config",
        "How long it takes": "jobs timeout budget cache",
        "Output": "reports output_format verbose quiet color",
    }
}


# By command: the class of its options, and the function that runs it.
COMMANDS: dict[str, tuple[type[Request], str]] = {
    "eval": (EvalRequest, "decide.running:evaluate"),
    "diff": (DiffRequest, "decide.explanations:differentiate"),
    "explain": (ExplainRequest, "decide.explanations:explain"),
    "plot": (PlotRequest, "decide.ranges:plot"),
    "check": (CheckRequest, "decide.checking:check"),
    "bound": (BoundRequest, "decide.ranges:bound"),
    "export": (ExportRequest, "decide.exporting:export"),
    "repl": (ReplRequest, "repl.commands:converse"),
    "functions": (FunctionsRequest, "decide.about:list_functions"),
    "help": (HelpRequest, "decide.about:explain_word"),
    "info": (InfoRequest, "decide.about:show_info"),
    "cache": (CacheRequest, "decide.about:show_cache"),
}
