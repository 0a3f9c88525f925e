"""``gradcli diff``: what is read, what is printed, how it ends; and what leads to it."""

from __future__ import annotations

import json
import shlex

import pytest

import gradcli
from gradcli.query import general_formulas


@pytest.fixture
def text(call_cli):
    """Run gradcli diff and give all that it prints, and its exit code."""

    def run(*arguments, **options):
        done = call_cli("diff", *arguments, **options)
        return done.stdout + done.stderr, done.returncode

    return run


@pytest.fixture
def records(call_cli):
    """Run gradcli diff and give its exit code and its records."""

    def run(*arguments, **options):
        done = call_cli("diff", "--format", "jsonl", *arguments, **options)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


# -- what is printed
# ---------------------------------------------------------------------------------------------------------

PRINTED = {
    "one name": (["x**2"], 0, """\
x**2
  d/dx     2*x
  check    agree with sympy's derivative at 16 points
"""),
    "how it was read": (["2πr", "--no-check"], 0, """\
2πr
  read as  2*π*r
  d/dr     2*pi
"""),
    "a Greek letter that is a function, too": (["gamma*x", "--no-check"], 0, """\
gamma*x
  ∂/∂gamma  x
  ∂/∂x      gamma
"""),
    "a listed name before a bracket": (["x(y+1)", "x", "--no-check"], 0, """\
x(y+1)
  read as  x*(y + 1)
  ∂/∂x     y + 1
"""),
    "a name before a bracket that also stands alone": (["x(x-1) + x", "--no-check", "--order", "2"], 0, """\
x(x-1) + x
  read as  x*(x - 1) + x
  d²/dx²   2
"""),
    "several names": (["x*y + y", "--points", "8"], 0, """\
x*y + y
  ∂/∂x     y
  ∂/∂y     x + 1
  check    agree with sympy's derivative at 8 points
"""),
    "one of several names": (["x*y", "y", "--no-check"], 0, """\
x*y
  ∂/∂y     x
"""),
    "second order": (["x*y^2", "--order", "2", "--no-check"], 0, """\
x*y^2
  ∂²/∂x²   0
  ∂²/∂x∂y  2*y
  ∂²/∂y²   2*x
"""),
    "third order, by one name": (["x^3", "--order", "3", "--no-check"], 0, """\
x^3
  d³/dx³   6
"""),
    "a long name": (["velocity**2", "--no-check"], 0, """\
velocity**2
  d/dvelocity  2*velocity
"""),
    "a constant": (["2+3"], 0, """\
2+3
  note     there is no name to differentiate by: the expression is a constant
"""),
    "a function": (["f(t) = t^2", "--no-check"], 0, """\
f(t) = t^2
  d/dt     2*t
"""),
    "a binding that nothing mentions": (["x**2", "b=3", "--no-check"], 0, """\
x**2
  d/dx     2*x
  note     'b' is mentioned nowhere
"""),
    "minus": (["-x", "--no-check"], 0, """\
-x
  d/dx     -1
"""),
    "values alone": (["a*x", "a=3", "x=2"], 0, """\
a*x
  ∂/∂a     x
  ∂/∂x     a
  check    agree with sympy's derivative at the given values and around them
"""),
    "LaTeX": (["alpha*x^2", "x", "--latex"], 0, """\
% alpha*x^2
\\begin{align*}
\\frac{\\partial}{\\partial x} \\left(\\alpha x^{2}\\right) &= 2 \\alpha x
\\end{align*}
"""),
    "LaTeX of one name": (["x^2", "--format", "latex", "--order", "2"], 0, """\
% x^2
\\begin{align*}
\\frac{d^{2}}{dx^{2}} \\left(x^{2}\\right) &= 2
\\end{align*}
"""),
    "colours": (["x**2", "--color", "always"], 0, """\
\x1b[1mx**2\x1b[0m
\x1b[2m  d/dx     \x1b[0m\x1b[1;36m2*x\x1b[0m
\x1b[32m  ✓ agree\x1b[0m\x1b[2m with sympy's derivative at 16 points\x1b[0m
"""),
    # -- errors
    "a name that does not stand there": (["x^2*alpha", "alpah"], 2, """\
error[unknown-name]: the expression has no name 'alpah' to differentiate by
 = help: did you mean 'alpha'?
"""),
    "a name far from all": (["x^2*y", "z"], 2, """\
error[unknown-name]: the expression has no name 'z' to differentiate by
 = help: the names are x, y
"""),
    "glued letters that are listed": (["e^(-kt)", "k", "t"], 2, """\
error[ambiguous]: 'kt' has two readings
 --> <expression>:1:5
1 | e^(-kt)
  |     ^^
  = help: write k*t for the product, or list the name: diff 'e^(-kt)' kt
"""),
    "glued letters that stand alone": (["xe^(-x)"], 2, """\
error[ambiguous]: 'xe' has two readings
 --> <expression>:1:1
1 | xe^(-x)
  | ^^
  = help: write x*e for the product, or list the name: diff 'xe^(-x)' xe
"""),
    "dy/dx": (["dy/dx"], 2, """\
error[ambiguous]: 'dy/dx' is a derivative in a book, and a quotient here
 --> <expression>:1:1
1 | dy/dx
  | ^^^^^
  = help: write grad(y, x)
"""),
    "a function that is listed": (["gamma(1+x)", "gamma"], 2, """\
error[ambiguous]: 'gamma(...)' has two readings: 'gamma' is a function, and has a value here
 --> <expression>:1:1
1 | gamma(1+x)
  | ^^^^^^^^^^
  = help: write gamma*(1+x) or math.gamma(1+x)
"""),
    "a vector": (["[x, x^2]"], 2, """\
error[shape]: the result has the shape (2,), and its entries no formula in common
 --> <expression>:1:1
1 | [x, x^2]
  | ^^^^^^^^
  = help: take a sum of its entries, sum(...), or one of them, (...)[0]
"""),
    "a truth value": (["x > 2"], 2, """\
error[type]: the result is boolean: it has no derivative
 --> <expression>:1:1
1 | x > 2
  | ^^^^^
"""),
    "an unknown function": (["sqr(x)"], 2, """\
error[unknown-name]: unknown function 'sqr'
 --> <expression>:1:1
1 | sqr(x)
  | ^^^
  = help: did you mean 'sqrt'?
"""),
    "second derivatives by an array": (["sum(w^2)", "w=1,2", "--order", "2"], 2, """\
error[shape]: 'w' is an array: the second derivatives by its entries have no formula in common
 --> <expression>:1:1
1 | sum(w^2)
  | ^^^^^^^^
  = help: leave --order out, or take numbers: gradcli eval --hessian
"""),
    "two expressions": (["x^2", "y+1"], 2, """\
error[usage]: two expressions: 'x^2' and 'y+1'
 = help: quote the expression as a whole; after it come the names to differentiate by
"""),
    "an expression that is a binding": (["y=x^2"], 2, """\
error[usage]: 'y=x^2' was read as a binding whose value mentions another name: no value for 'x'
 = help: to evaluate the right side, write 'x^2'; to bind in a program, put spaces: 'y = x^2'
"""),
    "an unknown option": (["x^2", "--lates"], 2, """\
error[usage]: no such option: --lates
 = help: did you mean --latex?
"""),
    "a form that it has not": (["x", "--format", "csv"], 2, """\
error[usage]: --format must be one of text, json, jsonl, latex, html, not 'csv'
"""),
    "a time limit of nothing": (["x", "--no-check", "--timeout", "3"], 2, """\
error[usage]: --no-check and --timeout exclude each other
 = help: leave one of them out
"""),
    "only claims": (["assert 1 == 1"], 2, """\
error[usage]: nothing to differentiate
 = help: gradcli diff 'x^3*sin(x)'
"""),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "wanted"), PRINTED.values(), ids=PRINTED)
def test_text(text, arguments, code, wanted):
    assert text(*arguments) == (
        wanted.replace("\n -->", "\n  -->") if "\n1 |" in wanted else wanted,
        code,
    )


# -- records
# -----------------------------------------------------------------------------------------------------------------


def test_json_of_one_query_is_an_object(call_cli):
    found = json.loads(call_cli("diff", "x^2 + y", "--format", "json").stdout)
    assert list(found) == [
        "schema",
        "id",
        "source",
        "expr",
        "read_as",
        "order",
        "derivative",
        "check",
        "warnings",
        "error",
    ]
    assert [found[key] for key in ("schema", "expr", "derivative", "error")] == [
        1,
        "x^2 + y",
        {"x": "2*x", "y": "1"},
        None,
    ]
    assert [found["check"][key] for key in ("verdict", "points")] == ["agree", 16]
    assert {claim["of"]: claim["verdict"] for claim in found["check"]["claims"]} == {
        "x": "agree",
        "y": "agree",
    }


def test_json_of_several_queries_is_an_array(call_cli):
    found = json.loads(
        call_cli("diff", "x^2; f(t) = t; y^2", "--format", "json", "--no-check").stdout
    )
    assert [record["derivative"] for record in found] == [{"x": "2*x"}, {"y": "2*y"}]


def test_higher_orders_are_nested(records):
    code, (second, *_) = records("x*y^2", "--order", "2")
    assert (code, second["derivative"]) == (
        0,
        {"x": {"x": "0", "y": "2*y"}, "y": {"x": "2*y", "y": "2*x"}},
    )
    assert set(second["check"]["variables"]) == {
        "x",
        "y",
        "x,y",
        "y,y",
    }  # of 2*y by x there is nothing to hold
    code, (third, *_) = records("x*y^2", "--order", "3", "--no-check")
    assert third["derivative"]["x"] == {"x": {"x": "0", "y": "0"}, "y": {"x": "0", "y": "2"}}
    assert third["derivative"]["y"]["x"]["y"] == third["derivative"]["y"]["y"]["x"] == "2"


def test_latex_beside_json(records):
    _, (record,) = records("theta^2", "--latex", "--no-check")
    assert record["latex"] == {"theta": "2 \\theta"}


def test_a_pipe_gives_a_result_for_each_query(records):
    code, found = records(stdin="x^2\nz = 3*x\nz*x # of a name\n\nsqr(x)\n")
    assert code == 2
    assert [(record["expr"], record["derivative"]) for record in found[:2]] == [
        ("x^2", {"x": "2*x"}),
        ("z*x", {"x": "6*x"}),
    ]
    assert found[2]["derivative"] is None
    assert found[2]["check"] is None
    assert found[2]["error"] == {
        "code": "unknown-name", "message": "unknown function 'sqr'",
        "line": 5, "column": 1, "end_column": 4, "help": "did you mean 'sqrt'?",
    }  # fmt: skip


def test_names_beside_a_file(records, tmp_path):
    (tmp_path / "f.grad").write_text("a = 2\na*x + y\ny^2\n")
    code, found = records("-f", "f.grad", "x")
    assert (code, [record["derivative"] for record in found]) == (0, [{"x": "a"}, {"x": "0"}])
    assert found[1]["warnings"] == ["'x' does not stand here: the derivative by it is 0"]
    code, found = records("-f", "f.grad", "x*a")
    assert found[-1]["derivative"] == {"x": "a"}


def test_a_name_that_no_query_of_a_file_has(call_cli, tmp_path):
    (tmp_path / "f.grad").write_text("x^2\ny^2\n")
    done = call_cli("diff", "-f", "f.grad", "zeta")
    assert done.returncode == 2
    assert (
        done.stderr
        == "error[unknown-name]: the expression has no name 'zeta' to differentiate by\n = help: "
        "the names are x, y\n"
    )


def test_json_lines(records):
    lines = [
        {"id": 1, "expr": "a*x^2", "at": {"a": 3}, "meta": {"of": "me"}},
        {"id": 2, "expr": "x*y", "wrt": ["y"]},
        {"id": 3, "expr": "x", "seed": 2},
        {"id": 4, "expr": "x", "expects": 1},
        {"id": 5, "expr": "y = x^2; y*y", "expect": {"grad": {"x": "4*x**3"}}},
        {"id": 6, "expr": ""},
    ]
    code, found = records("-i", "jsonl", "-", "--no-check", stdin="\n".join(map(json.dumps, lines)))
    assert code == 2
    assert [record["id"] for record in found] == [1, 2, 3, 4, 5, 6]
    assert [record["derivative"] for record in found] == [
        *({"x": x} for x in [found[0]["derivative"]["x"]]), {"y": "x"}, None, None, {"x": "4*x**3"}, None,
    ]  # fmt: skip
    assert found[0]["derivative"]["x"] in ("2*a*x", "2*x*a")
    assert found[0]["meta"] == {"of": "me"}
    assert [record["error"] and record["error"]["message"] for record in found] == [
        None, None, "the record has a seed, and formulas take none", "a record has no field "
        "'expects'", None,
        "the record's 'expr' is empty",
    ]  # fmt: skip
    assert found[1]["source"] == {"file": None, "line": 2, "column": 1}


def test_quiet_prints_what_needs_attention(text):
    assert text("x^2", "-q") == ("", 0)


def test_the_first_error_ends_it_if_that_is_asked_for(records):
    assert len(records("--fail-fast", stdin="x^\ny^2\n")[1]) == 1


# -- verdicts
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [lambda raw: raw * 1.00001, lambda raw: -raw, lambda raw: raw + 1e-6, lambda raw: raw / 2],
)
@pytest.mark.parametrize("text", ["x^3*sin(x)", "log(x)/x", "x*y + sqrt(x*y)"])
def test_a_wrong_formula_is_a_mismatch(monkeypatch, call_cli, text, wrong):
    """The simplifier is made to change the function, and what would notice it before is
    made blind.
    """
    monkeypatch.setattr(general_formulas, "WAYS", (lambda raw, graph: wrong(raw),))
    monkeypatch.setattr(general_formulas.General, "_agree", lambda self, simple, raw: True)
    done = call_cli("diff", text, "--format", "jsonl")
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert record["check"]["verdict"] == "mismatch"
    assert "claimed" in record["warnings"][0]


@pytest.mark.parametrize(
    "text", ["celu(x, 0.6)", "softplus(x, beta=0.3)", "leaky_relu(x, 0.3)", "elu(x, 0.7)", "⅓x³"]
)
def test_decimals_of_functions_are_as_exact_as_they_are_written(text):
    assert gradcli.differentiate(text).check.verdict.word == "agree"


def test_a_simplifier_that_changes_the_function_is_not_believed(monkeypatch):
    monkeypatch.setattr(
        general_formulas, "WAYS", (lambda raw, graph: raw * 2, general_formulas.plain)
    )
    record = gradcli.differentiate("x^3")
    assert (record.derivative, record.verdict) == ({"x": "3*x**2"}, "agree")


def test_what_has_no_value_anywhere_is_undetermined(records):
    code, (record,) = records("log(-1 - x^2)")
    assert (code, record["check"]["verdict"]) == (0, "undetermined")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "x" + ")" * 3000,
        "+".join(f"x**{i}" for i in range(10_000)),
        "-" * 5000 + "x",
        *("sin(" * n + "x" + ")" * n for n in (300, 800, 3000)),
        "1/(1+" * 150 + "x" + ")" * 150,
    ],
    ids=["brackets", "terms", "signs", "depth", "more depth", "most depth", "fractions"],
)
def test_hostile_texts_are_answered(records, text):
    code, (record,) = records("-", stdin=text)
    assert code == (0 if record["error"] is None else 2)
    assert record["error"] is None or record["error"]["code"] == "limit"


def test_a_tower_of_powers(records):
    code, (record,) = records("9**9**9**9*x")
    assert (code, gradcli.evaluate(record["derivative"]["x"]).value) == (0, float("inf"))


# -- what leads here
# ---------------------------------------------------------------------------------------------------------

HINTS = {
    "a formula without values": (
        ["eval", "x^3*sin(x)"],
        "give it one: x=1; formulas need no values: gradcli diff 'x^3*sin(x)'",
    ),
    "a definition alone": (["eval", "f(x)=x^2"], "its derivatives: gradcli diff 'f(x)=x^2'"),
    "no command": (["x^2"], "gradcli diff 'x^2'"),
    "no command, with values": (["x^2", "x=3"], "gradcli eval 'x^2' x=3"),
    "no command, names": (["x*y", "y"], "gradcli diff 'x*y' y"),
    "a misspelt command": (["evla", "x"], "did you mean eval?"),
    "a file to eval": (["eval", "model.grad"], "to read the file: gradcli eval -f model.grad"),
    "a file to diff": (["diff", "model.grad"], "to read the file: gradcli diff -f model.grad"),
    "a file to nothing": (["model.grad"], "gradcli eval -f model.grad"),
    "some values": (["eval", "x*y", "x=3"], "give it one: y=1"),
}


@pytest.mark.parametrize(("arguments", "help"), HINTS.values(), ids=HINTS)
def test_hints(call_cli, tmp_path, arguments, help):
    (tmp_path / "model.grad").write_text("x = 2\nx**2\n")
    done = call_cli(*arguments)
    assert done.returncode == 2
    assert f"= help: {help}\n" in done.stderr
    if "gradcli " in help:
        _, *command = shlex.split(help[help.index("gradcli ") :])
        assert call_cli(*command).returncode == 0


@pytest.mark.parametrize(("dialect", "divisor"), [("torch", 1), ("numpy", 2)])
def test_a_record_s_dialect_is_read(records, dialect, divisor):
    """The deviation of x and 0 is |x|/sqrt(2) with PyTorch's divisor, n - 1, and |x|/2 with
    NumPy's, n.
    """
    code, (record,) = records(
        "-i", "jsonl", "-", stdin=json.dumps({"expr": "std([x, 0])", "dialect": dialect})
    )
    assert code == 0
    assert record.get("dialect", "numpy") == dialect
    slope = gradcli.evaluate(record["derivative"]["x"], x=3.0, check=False).value
    assert slope == pytest.approx({1: 0.5**0.5, 2: 0.5}[divisor], rel=1e-12)
