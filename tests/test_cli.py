"""The command line's contract: what is an expression, what is read, what is printed, and how it
ends.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

QUIET = ("--no-check", "--format", "jsonl")


@pytest.fixture
def records(call_cli):
    """Run gradcli eval and give its exit code and its JSON Lines records."""

    def run(*arguments, **options):
        done = call_cli("eval", *QUIET, *arguments, **options)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize(
    ("arguments", "value", "grad"),
    [
        pytest.param(
            ["3*a**3 - b**2", "a=2,3", "b=6,4"],
            [-12, 65],
            {"a": [36, 81], "b": [-12, -8]},
            id="the first example",
        ),
        pytest.param(
            ["a=2,3", "3*a**3 - b**2", "b=6,4"],
            [-12, 65],
            {"a": [36, 81], "b": [-12, -8]},
            id="bindings first",
        ),
        pytest.param(
            ["x**2", "x=[[1, 2], [3, 4]]"],
            [[1, 4], [9, 16]],
            {"x": [[2, 4], [6, 8]]},
            id="a matrix",
        ),
        pytest.param(["x", "x=2*pi/4"], math.pi / 2, {"x": 1}, id="a constant expression"),
        pytest.param(["x == y", "x=1", "y=1"], True, {}, id="== is no binding"),
        pytest.param(["y = x**2; y + 1", "x=3"], 10, {"x": 6}, id="a space before ="),
        pytest.param(["y=x**2; y + 1", "x=3"], 10, {"x": 6}, id="a semicolon makes a program"),
        pytest.param(["y=x**2\ny + 1", "x=3"], 10, {"x": 6}, id="a newline makes a program"),
        pytest.param(["sum(x, axis=0)", "x=1,2"], 3, {"x": [1, 1]}, id="= inside brackets"),
        pytest.param(["-x**2", "x=3"], -9, {"x": -6}, id="-x**2"),
        pytest.param(["-q*x", "x=3", "q=2"], -6, {"x": -2, "q": -3}, id="-q*x"),
        pytest.param(["-f(x)", "x=3", "f=2"], -6, {"x": -2, "f": -3}, id="-f(x) of a variable f"),
        pytest.param(["-sin(x)", "x=0"], 0, {"x": -1}, id="-sin(x)"),
        pytest.param(["-(-x)", "x=3"], 3, {"x": 1}, id="-(-x)"),
        pytest.param(["--2"], 2, {}, id="--2"),
        pytest.param(["-(x)", "x=3"], -3, {"x": -1}, id="-(x)"),
        pytest.param(["-x", "x=3"], -3, {"x": -1}, id="-x"),
        pytest.param(["-i*x", "x=3", "i=2"], -6, {"x": -2, "i": -3}, id="-i*x"),
        pytest.param(["-1", "x=3"], -1, {}, id="-1"),
        pytest.param(["--", "-x", "x=3"], -3, {"x": -1}, id="after --"),
        pytest.param(["x", "x=-3"], -3, {"x": 1}, id="a negative value"),
        pytest.param(["α*x", "α=2", "x=3"], 6, {"α": 3, "x": 2}, id="Greek"),
        pytest.param(["x", "x=True"], True, {}, id="a boolean"),
        pytest.param(["x*x", "x=2", "--dtype", "float32"], 4, {"x": 4}, id="float32"),
    ],
)
def test_expressions_and_bindings(records, arguments, value, grad):
    code, found = records(*arguments)
    if value is None:
        assert code == 2
        return
    assert code == 0
    assert [found[0]["value"], found[0]["grad"], len(found)] == [value, grad, 1]


@pytest.mark.parametrize(
    ("arguments", "stdin", "fragments"),
    [
        pytest.param(["y=x**2", "x=3"], "", ["error[usage]", "'y=x**2'", "binding", "mentions", "x",
        "write"], id="the binding trap"),
        pytest.param(["\udcff**2", "x=3"], "",
                     ["the locale, whose encoding is utf-8, cannot read '\\xff**2'", "write it in "
                     "UTF-8"],
                     id="bytes that are no text"),
        pytest.param(["x + 1", "y + 1"], "", ["error[usage]", "two expressions", "'x + 1'", "'y + "
        "1'"], id="two expressions"),
        pytest.param(["x=1", "x=2", "x"], "", ["error[usage]", "twice", "'x'"], id="bound twice"),
        pytest.param([], "", ["nothing to evaluate"], id="nothing"),
        pytest.param(["-"], "# only a comment\n", ["nothing to evaluate"], id="only a comment"),
        pytest.param(["a=1"], "", ["nothing to evaluate"], id="only a binding"),
        pytest.param(["x", "--frobnicate"], "",
            ["error[usage]: no such option: --frobnicate", "gradcli eval --help lists them; for "
            "an expression, write -(-x)"],
            id="an unknown one"),
        pytest.param(["x^2", "--hesian", "x=1"], "", ["no such option: --hesian", "= help: did "
        "you mean --hessian?"], id="after it"),
        pytest.param(["--hesian", "x^2", "x=1"], "", ["no such option: --hesian", "= help: did "
        "you mean --hessian?"], id="before it"),
        pytest.param(["x^2", "x=1", "--formt=json"], "", ["no such option: --formt", "= help: did "
        "you mean --format?"], id="with a value"),
        pytest.param(["--x", "x=3"], "", ["no such option: --x", "write -(-x)"], id="minus minus x"),
        pytest.param(["x", "--format", "yaml"], "", ["yaml", "jsonl"], id="unknown format"),
        pytest.param(["x", "x=1", "--dtype", "int8"], "", ["int8", "float32"], id="unknown dtype"),
        pytest.param(["x", "x=1", "--color", "blue"], "", ["--color", "auto, always, never", "blue"], id="unknown colour"),
        pytest.param(["x", "x="], "", ["error[usage]", "x="], id="no value"),
        pytest.param(["x", "x=(1"], "", ["error[syntax]", "never closed", "^"], id="a value with "
        "an open bracket"),
        pytest.param(["x", "x=1", "--jacobian", "--hessian"], "", ["--jacobian", "--hessian"], id="two modes"),
        pytest.param(["-", "-f", "-"], "1", ["twice"], id="standard input twice"),
        pytest.param(["x", "x=@none.npy"], "", ["error[input]", "none.npy"], id="no such data"),
        pytest.param(["x*b", "x=1"], "", ["error[missing-value]", "'b'", "1 | x*b", "  |   ^", "b=1"], id="a rendered error"),
        pytest.param(["x", "x=1", "--jvp", "nope=1"], "", ["error[missing-value]", "'nope'"], id="a tangent of nothing"),
        pytest.param(["x**2", "x=1,2", "--seed", "1,0,0"], "", ["error[shape]", "(3,)", "(2,)"], id="a seed of another shape"),
        pytest.param(["x**2", "x=1,2", "--seed", "2"], "", ["error[shape]", "()", "(2,)"], id="a "
        "scalar seed of an array"),
        pytest.param(["x**2", "x=1,2", "--hessian"], "", ["error[shape]", "scalar"], id="a "
        "Hessian of an array"),
        pytest.param(["x**2", "x=1,2", "--wrt", "z"], "", ["error[missing-value]", "'z'"], id="wrt of nothing"),
    ],
)  # fmt: skip
def test_refusals(call_cli, arguments, stdin, fragments):
    done = call_cli("eval", "--no-check", "--no-formula", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    for fragment in fragments:
        assert fragment in done.stderr


@pytest.mark.parametrize(
    ("options", "key", "expected"),
    [
        pytest.param(["--wrt", "b,a"], "grad", {"b": [-6, -8], "a": [2, 4]}, id="wrt orders"),
        pytest.param(["--wrt", "c"], "grad", {"c": 0}, id="wrt widens"),
        pytest.param(["--freeze", "b"], "grad", {"a": [2, 4]}, id="freeze"),
        pytest.param(["--freeze", "a,b"], "grad", {}, id="freeze all"),
        pytest.param(["--seed", "1,0"], "grad", {"a": [2, 0], "b": [-6, 0]}, id="seed"),
        pytest.param(["--seed=[0, 2]"], "grad", {"a": [0, 8], "b": [0, -16]}, id="--seed=value"),
        pytest.param(
            ["--jacobian"],
            "jacobian",
            {"a": [[2, 0], [0, 4]], "b": [[-6, 0], [0, -8]]},
            id="jacobian",
        ),
        pytest.param(["--jvp", "a=1,10", "--jvp", "b=1,0"], "jvp", [2 - 6, 40], id="jvp"),
    ],
)
def test_modes(records, options, key, expected):
    code, (record,) = records("a**2 - b**2", "a=1,2", "b=3,4", "c=5", *options)
    assert (code, record[key]) == (0, expected)
    if isinstance(expected, dict):
        assert list(record[key]) == list(expected)
    assert [k for k in ("grad", "jacobian", "hessian", "jvp") if k in record] == [key]


def test_hessian(records):
    code, (record,) = records("x[0]**2*x[1] + y**2", "x=2,3", "y=5", "--hessian")
    assert (code, record["hessian"]) == (
        0,
        {"x": {"x": [[6, 4], [4, 0]], "y": [0, 0]}, "y": {"x": [0, 0], "y": 2}},
    )


def test_files_have_scopes_of_their_own(records, tmp_path):
    (tmp_path / "one.grad").write_text("k = 3\nk*x\n\nk + \nk*2\n")
    (tmp_path / "two.grad").write_text("x*2\nk*2\n")
    code, found = records("-f", "one.grad", "--file", "two.grad", "x=5")
    assert code == 2
    rows = [
        (r["source"]["file"], r["source"]["line"], r["error"]["code"] if r["error"] else r["value"])
        for r in found
    ]
    assert rows == [
        ("one.grad", 2, 15), ("one.grad", 4, "syntax"), ("one.grad", 5, 6), ("two.grad", 1, 10), ("two.grad", 2, "missing-value"),
    ]  # fmt: skip
    assert found[1]["error"]["line"] == 4


def test_an_expression_sees_the_names_of_its_file_and_bindings_override(records, tmp_path):
    (tmp_path / "model.grad").write_text("lr = 0.5\nf(t) = lr*t**2\n")
    assert records("-f", "model.grad", "f(x)", "x=4")[1][0]["value"] == 8
    code, (record,) = records("-f", "model.grad", "f(x)", "x=4", "lr=2")
    assert (code, record["value"], record["grad"]) == (0, 32, {"lr": 16, "x": 16})


def test_error_in_a_file_is_rendered_with_its_line(call_cli, tmp_path):
    (tmp_path / "model.grad").write_bytes("\ufeff# Δ\r\nb = 2\r\n3*b**3 - sqr(b)\r\n".encode())
    done = call_cli("eval", "--no-check", "-f", "model.grad")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error[unknown-name]: unknown function 'sqr'\n  --> model.grad:3:10\n"
        "3 | 3*b**3 - sqr(b)\n  |          ^^^\n  = help: did you mean 'sqrt'?\n"
    )


@pytest.mark.parametrize("arguments", [[], ["-"], ["-f", "-"]], ids=["bare", "dash", "file dash"])
def test_standard_input_in_order(records, arguments):
    code, found = records(*arguments, "a=2", "b=3", stdin="a + b\na*b  # product\n\na**b\n")
    assert code == 0
    assert [(r["source"]["line"], r["value"], r["id"]) for r in found] == [
        (1, 5, None),
        (2, 6, None),
        (4, 8, None),
    ]
    assert found[0]["source"] == {"file": None, "line": 1, "column": 1}


def test_standard_input_is_not_touched_with_an_expression(records):
    code, found = records("1 + 1", stdin="2 + 2\n")
    assert (code, [r["value"] for r in found]) == (0, [2])
    code, found = records("1 + 1", "-", stdin="2 + 2\n")
    assert (code, sorted(r["value"] for r in found)) == (0, [2, 4])


FIELDS = [
    "schema",
    "id",
    "source",
    "expr",
    "value",
    "shape",
    "dtype",
    "seed",
    "grad",
    "derivative",
    "check",
    "warnings",
    "error",
]
ERROR_FIELDS = ["code", "message", "line", "column", "end_column", "help"]


def test_schema(records):
    _, (good,) = records("3*a**3 - b**2", "a=2,3", "b=6,4", "--no-formula")
    assert list(good) == FIELDS
    assert good == {
        "schema": 1, "id": None, "source": {"file": None, "line": 1, "column": 1}, "expr": "3*a**3 - b**2", "value": [-12.0, 65.0],
        "shape": [2], "dtype": "float64", "seed": [1.0, 1.0], "grad": {"a": [36.0, 81.0], "b": [-12.0, -8.0]}, "derivative": None,
        "check": None, "warnings": [], "error": None,
    }  # fmt: skip
    code, (bad,) = records("1 + sqr(x)", "x=1")
    assert (code, list(bad), bad["value"], bad["grad"]) == (2, FIELDS, None, None)
    assert list(bad["error"]) == ERROR_FIELDS
    assert bad["error"] == {
        "code": "unknown-name", "message": "unknown function 'sqr'", "line": 1, "column": 5, "end_column": 8,
        "help": "did you mean 'sqrt'?",
    }  # fmt: skip


def test_numbers_round_trip_and_non_finite_ones_are_strings(records):
    _, (record,) = records("x", "x=[0.1, 1/3, 1e-300, inf, -inf, nan, 5e-324]")
    assert record["value"] == [0.1, 1 / 3, 1e-300, "inf", "-inf", "nan", 5e-324]
    _, (single,) = records("x", "x=0.1", "--dtype", "float32")
    assert (single["value"], single["dtype"]) == (0.1, "float32")


def test_json_is_one_array(call_cli):
    done = call_cli(
        "eval", "--no-check", "--no-formula", "--format", "json", "x=2", "-", stdin="x\nx +\nx**2\n"
    )
    found = json.loads(done.stdout)
    assert done.stdout.startswith("[\n  {")
    assert [(r["value"], r["error"] and r["error"]["code"]) for r in found] == [
        (2, None),
        (None, "syntax"),
        (4, None),
    ]
    assert done.returncode == 2


def test_csv_has_a_row_for_each_entry(call_cli):
    import csv

    done = call_cli(
        "eval", "--no-check", "--format", "csv", "sum(x*k)", "x=[[1, 2], [3, 4]]", "k=10"
    )
    assert done.stdout.splitlines()[0] == "id,line,expr,variable,index,at,gradient,value"
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(r["variable"], float(r["gradient"]), r["line"]) for r in rows] == [
        *(("x", 10, "1"),) * 4,
        ("k", 10, "1"),
    ]
    assert len({r["index"] for r in rows[:4]}) == 4


def test_text_shows_value_gradient_seed_and_no_escapes(call_cli):
    done = call_cli("eval", "--no-check", "--no-formula", "3*a**3 - b**2", "a=2,3", "b=6,4")
    assert done.returncode == 0
    for fragment in (
        "3*a**3 - b**2",
        "-12",
        "65",
        "36",
        "81",
        "-8",
        "float64",
        "ones, the gradient of the sum",
    ):
        assert fragment in done.stdout
    assert "\x1b" not in done.stdout


def test_digits_say_that_they_rounded(call_cli):
    done = call_cli("eval", "--no-check", "--no-formula", "x/3", "x=1", "--digits", "4")
    assert "0.3333" in done.stdout
    assert "0.33333" not in done.stdout
    assert "≈" in done.stdout
    assert (
        "≈"
        not in call_cli("eval", "--no-check", "--no-formula", "x/4", "x=1", "--digits", "4").stdout
    )


def test_false_assert_exits_1_and_bad_input_wins(records):
    code, (record,) = records("-", stdin="assert 1 == 2\n")
    assert (code, record["assert"]["holds"]) == (1, False)
    assert "grad" not in record
    assert records("-", stdin="assert 1 == 2\n1 +\n")[0] == 2
    assert records("-", stdin="assert 1 == 1\n")[0] == 0


def test_fail_fast_and_quiet(records):
    program = "x\nx +\nassert x == 3\nx + 2\n"
    assert [r["error"] is None for r in records("-", "x=2", "--fail-fast", stdin=program)[1]] == [
        True,
        False,
    ]
    code, found = records("-q", "-", "x=2", stdin=program)
    assert (code, [r["source"]["line"] for r in found]) == (2, [2, 3])


def test_random_state(records):
    first, again, other = (
        records("rand(2)", "--random-state", n)[1][0]["value"] for n in ("0", "0", "1")
    )
    assert first == again == records("rand(2)")[1][0]["value"]
    assert first != other


def test_save(records, tmp_path):
    code, (record,) = records("x**2", "x=2,3", "--save", "x=out.npy", "--save", "value=value.npy")
    assert code == 0
    assert "x" not in record["grad"]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [4, 6])
    np.testing.assert_array_equal(np.load(tmp_path / "value.npy"), [4, 9])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "value.npy"]
    assert records("x**2", "x=2", "--save", "x=no/such/folder.npy")[0] == 2


def test_large_results_are_computed_into_their_files(records, tmp_path):
    x = np.random.default_rng(3).normal(size=300_000)
    np.save(tmp_path / "x.npy", x)
    arguments = ("x*exp(x)", "x=@x.npy", "--save", "x=out.npy", "--save", "value=value.npy")
    code, (record,) = records(*arguments)
    assert code == 0
    assert record["grad"] == {}
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), (1 + x) * np.exp(x), rtol=1e-14, atol=1e-15
    )
    np.testing.assert_allclose(np.load(tmp_path / "value.npy"), x * np.exp(x), rtol=1e-14)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "value.npy", "x.npy"]
    x[250_000] = -np.inf
    np.save(tmp_path / "x.npy", x)
    code, (record,) = records(*arguments)
    assert record["warnings"][0] == "a value that was given is not finite"
    assert np.load(tmp_path / "out.npy")[249_999] == pytest.approx(
        (1 + x[249_999]) * np.exp(x[249_999])
    )
    assert records(*arguments[:3], "x=no/such/folder.npy")[0] == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.npy", "value.npy", "x.npy"]


def test_version_and_help(call_cli):
    from importlib.metadata import version

    assert call_cli("--version").stdout == f"gradcli {version('gradcli')}\n"
    shown = call_cli("eval", "--help").stdout
    for option in ("--file", "--input", "--wrt", "--freeze", "--seed", "--jacobian", "--hessian", "--jvp", "--save",
    "--no-check", "--no-formula",
                   "--timeout", "--format", "--dtype", "--digits", "--random-state", "--fail-fast", "--quiet",
                   "--color"):  # fmt: skip
        assert option in shown


def test_value_and_gradient_to_any_number_of_digits(records):
    import mpmath

    _, (record,) = records("exp(x)*sin(x)", "x=0.5", "--precision", "60")
    with mpmath.workdps(80):
        value, slope = (
            mpmath.exp(0.5) * mpmath.sin(0.5),
            mpmath.exp(0.5) * (mpmath.sin(0.5) + mpmath.cos(0.5)),
        )
        assert record["precise"] == {"value": mpmath.nstr(value, 60), "x": mpmath.nstr(slope, 60)}


COMMAS = {
    "x = 1,5": ("a comma is never a decimal point", "write 1.5, or [1, 5] for an array"),
    "x = -1,5": ("a comma is never a decimal point", "write -1.5, or [-1, 5] for an array"),
    "x = 0.5, 0.1": ("a comma is never a decimal point", "write [0.5, 0.1] for an array"),
    "x = 0.3, -1.2": ("a comma outside brackets", "write [0.3, -1.2] for an array"),
    "x = 1, 2, 3": ("a comma outside brackets", "write [1, 2, 3] for an array"),
    "2*1,5": ("a comma is never a decimal point", "write 2*1.5, or [2*1, 5] for an array"),
}


@pytest.mark.parametrize(("text", "said"), COMMAS.items(), ids=COMMAS)
def test_commas_outside_brackets(call_cli, text, said):
    lines = call_cli("eval", "--no-check", stdin=text).stderr.splitlines()
    assert (lines[0], lines[-1]) == (f"error[syntax]: {said[0]}", f"  = help: {said[1]}")
    for written in said[1].removeprefix("write ").removesuffix(" for an array").split(", or "):
        assert call_cli("eval", "--no-check", written).returncode == 0


FAILING = "f = sqr(2)\ny = f*3\nz = y + f\nz*2\nassert f == 1\nx = 3\nx**2\n"
FOLLOWING = [
    "error[unknown-name]: unknown function 'sqr'",
    "error[missing-value]: 'z' has no value: it depends on the binding on line 1, which has an "
    "error",
    "error[missing-value]: 'f' has no value: its binding on line 1 has an error",
]  # fmt: skip


def test_a_binding_that_fails_is_told_once(call_cli, tmp_path):
    (tmp_path / "p.grad").write_text(FAILING)
    done = call_cli("eval", "--no-check", "-f", "p.grad")
    assert [line for line in done.stderr.splitlines() if line.startswith("error")] == FOLLOWING
    assert "9.0" in done.stdout
    done = call_cli("check", "p.grad")
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("error")) == sorted(
        FOLLOWING
    )
    assert done.stdout.splitlines()[-1].startswith("3 error, 1 passed")
