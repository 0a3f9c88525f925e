"""The command line as people write it: options given twice, suffixes of --out, what check, export
and explain read, labels of nodes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textbook_texts import READ

import gradcli
from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.inputs import Inputs
from gradcli.graph.interpret import forward
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query
from gradcli.query.bindings import Programs
from gradcli.query.options import Options

SAMPLES = Path(__file__).parent.parent / "samples"


# --- Options that are given twice

ADD_UP = {
    "wrt": (
        ["eval", "x*y*z", "x=2", "y=3", "z=5", "--wrt", "z", "--wrt", "x"],
        {"z": 6.0, "x": 15.0},
    ),
    "wrt, listed": (
        ["eval", "x*y*z", "x=2", "y=3", "z=5", "--wrt", "z,y", "--wrt", "x"],
        {"z": 6.0, "y": 10.0, "x": 15.0},
    ),
    "wrt, a name twice": (["eval", "x*y", "x=2", "y=3", "--wrt", "x", "--wrt", "x"], {"x": 3.0}),
    "freeze": (
        ["eval", "x*y*z", "x=2", "y=3", "z=5", "--freeze", "z", "--freeze", "x"],
        {"y": 10.0},
    ),
}


@pytest.mark.parametrize(("arguments", "wanted"), ADD_UP.values(), ids=ADD_UP)
def test_lists_add_up(call_cli, arguments, wanted):
    done = call_cli(*arguments, "--no-check", "--format", "jsonl")
    found = json.loads(done.stdout)["grad"]
    assert (done.returncode, found, list(found)) == (0, wanted, list(wanted))


def test_names_to_differentiate_by_add_up_in_every_command(call_cli):
    assert json.loads(call_cli("diff", "x*y*z", "--wrt", "x", "--wrt", "z", "--no-check", "--format", "jsonl").stdout)["derivative"] == {
        "x": "y*z", "z": "x*y",
    }  # fmt: skip
    table = call_cli(
        "plot",
        "x*a",
        "x=0..1",
        "a=2",
        "--wrt",
        "x",
        "--wrt",
        "a",
        "--points",
        "2",
        "--no-check",
        "--format",
        "csv",
    ).stdout
    assert "d/dx,d/da" in table.splitlines()[0]
    assert list(gradcli.differentiate("a x^3", wrt="x").derivative) == ["x"]
    assert list(gradcli.differentiate("a x^3", "a", wrt=["x"]).derivative) == ["a", "x"]


TWICE = {
    "--seed": ["eval", "x", "x=1", "--seed", "1", "--seed", "2"],
    "--format": ["eval", "x", "x=1", "--format", "json", "--format=csv"],
    "--no-check": ["eval", "x", "x=1", "--check", "--no-check"],
    "--quiet": ["eval", "x", "x=1", "-q", "--quiet"],
    "--order": ["diff", "x", "--order", "1", "--order", "2"],
    "--out": ["explain", "x", "x=1", "-o", "a.svg", "--out", "a.svg"],
    "--expression": ["check", "-e", "x", "-e", "y"],
    "--rtol": ["check", "-e", "x", "--rtol", "1", "--rtol", "2"],
    "--points": ["plot", "x", "x=0..1", "--points", "5", "--points", "6"],
    "--width": ["bound", "x", "x=0..1", "--width", "1", "--width", "2"],
    "--to": ["export", "x", "--to", "c", "--to", "js"],
    "--dtype": ["repl", "--dtype", "float32", "--dtype", "float64"],
    "--clear": ["cache", "--clear", "--clear"],
}


@pytest.mark.parametrize(("option", "arguments"), TWICE.items(), ids=TWICE)
def test_any_other_option_that_is_given_twice_is_refused(call_cli, option, arguments):
    done = call_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[usage]: ")
    assert option in done.stderr
    assert "given twice" in done.stderr


REFUSED = {
    "two claims": (
        ["check", "x**2", "x=3", "--grad", "x=6", "--grad", "x=2*x"],
        "two claims of the gradient by 'x'",
    ),
    "two claims, one a formula": (
        ["check", "-e", "x", "x=3", "--grad", "x=1", "--grad-formula", "x=1"],
        "two claims",
    ),
    "no name": (["eval", "x", "x=1", "--wrt", ""], "--wrt names nothing"),
    "an empty name": (
        ["eval", "x", "x=1", "--wrt", "x", "--wrt", ""],
        "--wrt 'x,' has an empty name",
    ),
    "an empty name to freeze": (
        ["export", "x*y", "--freeze", "x,,y"],
        "--freeze 'x,,y' has an empty name",
    ),
    "no seed": (["explain", "x", "x=1", "--seed", ""], "--seed has no value"),
    "a covariance twice": (
        ["eval", "x*y", "x=1±1", "y=1±1", "--cov", "x,y=0.1", "--cov", "y,x=0.2"],
        "given twice",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_names_and_values_that_say_nothing_or_two_things(call_cli, arguments, said):
    done = call_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


# --- Files: the suffix says what is written

WRITTEN = {
    "f.py": ("export", "def value_and_grad"),
    "f.c": ("export", "double value_and_grad"),
    "f.js": ("export", "export function value_and_grad"),
    "f.tex": ("export", r"\begin{align"),
    "p.svg": ("explain", "<svg"),
    "p.html": ("explain", "<!DOCTYPE html>"),
    "p.json": ("explain", '"schema": 1'),
    "p.md": ("explain", "```mermaid\nflowchart"),
    "p.tex": ("explain", r"\begin{align"),
    "p.txt": ("explain", "forward  every node after its operands"),
}


@pytest.mark.parametrize(
    ("file", "command", "begins"), [(file, *how) for file, how in WRITTEN.items()], ids=WRITTEN
)
def test_the_suffix_of_a_file_says_what_is_written(call_cli, tmp_path, file, command, begins):
    done = call_cli(command, "x**2*y", "x=2", "y=3", "--out", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert begins in (tmp_path / file).read_text("utf-8")


UNWRITTEN = {
    "another suffix of export": (
        ["export", "x", "--out", "f.rs"],
        "the suffixes are .py, .c, .js, .tex",
    ),
    "no suffix": (["export", "x", "--out", "f"], "a suffix says what is written"),
    "another suffix of explain": (
        ["explain", "x", "x=1", "--out", "p.png"],
        ".svg, .html, .json, .md, .tex, .txt",
    ),
    "another target": (
        ["export", "x", "--to", "c", "--out", "f.py"],
        "--out f.py and --to c contradict each other",
    ),
    "another library": (["export", "x", "--to", "jax", "--out", "f.js"], "write --out f.py"),
    "another format": (
        ["explain", "x", "x=1", "--format", "html", "--out", "p.svg"],
        "write --out p.html",
    ),
    "text into a picture": (
        ["explain", "x", "x=1", "--format", "text", "--out", "p.svg"],
        "contradict",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), UNWRITTEN.values(), ids=UNWRITTEN)
def test_another_suffix_is_refused(call_cli, tmp_path, arguments, said):
    done = call_cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- What people write

CHECKED = {
    "a claim": (["x**2", "x=3", "--grad", "x=6"], 0),
    "a wrong claim": (["x**2", "x=3", "--grad", "x=7"], 1),
    "without values": (["x**2*sin(x)"], 0),
    "a sign first": (["-x**2", "x=3", "--grad", "x=-6"], 0),
    "a name with a value": (["x", "x=3", "--grad", "x=2"], 1),
    "names with values that could be a path": (["a/b", "a=3", "b=2", "--grad", "a=0.5"], 0),
    "over a range": (["x**3", "--over", "x=0..1"], 0),
    "beside a file": (["model.grad", "y**2"], 0),
}


@pytest.mark.parametrize(("arguments", "code"), CHECKED.values(), ids=CHECKED)
def test_check_takes_an_expression(call_cli, tmp_path, arguments, code):
    (tmp_path / "model.grad").write_text("x = 2.0\ny = x**2\ny\n", "utf-8")
    assert call_cli("check", *arguments).returncode == code


LOST = {
    "a known suffix": ["modle.grad"],
    "records": ["cases.jsonl"],
    "a folder": ["modles"],
    "a folder in a folder": ["tests/gradients"],
    "a folder of one letter in another": ["a/b"],
    "a name with a sign": ["run-1"],
    "another suffix": ["model.py"],
    "with a space": ["my models"],
    "beside an expression": ["modle", "-e", "x**2"],
    "with values of other names": ["modle", "x=3"],
    "a short option with its value": ["-j2"],
}


@pytest.mark.parametrize("arguments", LOST.values(), ids=LOST)
def test_a_mistyped_file_is_no_expression(call_cli, arguments):
    done = call_cli("check", *arguments)
    assert done.returncode == 2
    assert "there is no file" in done.stdout + done.stderr


@pytest.mark.parametrize(("claim", "code"), [("2*x", 0), ("3*x", 1)])
def test_check_without_arguments_reads_what_is_piped_in(run_cli, claim, code):
    done = run_cli("check", stdin=f"x = 3.0\nassert grad(x**2, x) == {claim}\n")
    assert done.returncode == code, done.stderr


def test_check_without_arguments_prefers_the_files_of_the_settings(run_cli, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.gradcli]\nfiles = ["model.grad"]\n', "utf-8")
    (tmp_path / "model.grad").write_text("x = 2.0\nx**2\n", "utf-8")
    done = run_cli("check", "-v", stdin="assert 1 == 2\n", cwd=tmp_path)
    assert (done.returncode, "x**2" in done.stdout) == (0, True)


def _arguments_of(function: str) -> str:
    found = re.search(r"value_and_grad\((.*?)\)", function)
    assert found is not None
    return found[1]


EXPORTED = {
    "two names": (
        ["x*sin(y)", "--to", "c"],
        "const double *x, const double *y, double *grad_x, double *grad_y",
    ),
    "js": (["x*sin(y)", "--to", "js"], "{ x, y }"),
    "beside an array": (["a*x", "x=1,2,3", "--to", "numpy"], "*, a, x"),
    "a product of names": (["a x^2", "--to", "numpy"], "*, a, x"),
    "held": (
        ["x*y", "--freeze", "y", "--to", "c"],
        "const double *x, const double *y, double *grad_x",
    ),
    "a function": (["f(t) = t**2; f(u)*k", "--to", "js"], "{ k, u }"),
}


@pytest.mark.parametrize(("arguments", "wanted"), EXPORTED.values(), ids=EXPORTED)
def test_names_without_values_are_numbers_in_exports(call_cli, arguments, wanted):
    done = call_cli("export", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert _arguments_of(done.stdout) == wanted


NOT_EXPORTED = {
    "no function": (["sqr(x)"], "did you mean 'sqrt'?"),
    "two readings": (["x*y + xy"], "'xy' has two readings"),
    "an array that lacks its shape": (["x[0]"], "numbers were tried"),
}


@pytest.mark.parametrize(("arguments", "said"), NOT_EXPORTED.values(), ids=NOT_EXPORTED)
def test_what_is_wrong_in_an_export_without_values(call_cli, arguments, said):
    done = call_cli("export", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


STEPS = {
    "wrt": (["x**2*sin(y)", "--wrt", "x"], {"x": "2*x*sin(y)"}),
    "freeze": (["x**2*sin(y)", "--freeze", "y"], {"x": "2*x*sin(y)"}),
    "a constant": (["a*x**2", "a=3", "--wrt", "x"], {"x": "2*a*x"}),
    "both": (["x*y", "--wrt", "y", "--wrt", "x"], {"y": "x", "x": "y"}),
}


@pytest.mark.parametrize(("arguments", "wanted"), STEPS.values(), ids=STEPS)
def test_steps_need_no_values(call_cli, arguments, wanted):
    done = call_cli("explain", *arguments, "--steps", "--no-check", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {
        name: steps[-1]["formula"] for name, steps in json.loads(done.stdout)["steps"].items()
    } == wanted


# --- Labels: each node's text has the node's value

AT = {
    "x": 0.7, "y": 1.3, "z": 0.4, "a": 0.9, "b": 1.2, "c": 0.8, "h": 0.33, "k": 1.1, "m": 1.5, "n": 2.0, "r": 0.5, "s": 1.7, "t": 0.6,
    "v": 0.45, "w": 0.3, "g": 9.8, "A": 1.9, "G": 0.7, "L": 2.4, "P": 2.1, "q_1": 0.3, "q_2": 0.5, "m_1": 3.5, "m_2": 4.5, "φ": 0.3,
    "p": [0.5, 1.5], "q": [0.2, 0.4], "M": [[1.2, 0.3], [0.1, 0.9]],
}  # fmt: skip
LABELLED = [
    *[*READ][::8], "sin^2(3x)", "(sin^2(3x))^2", "exp(sin^2 x)", "ln^2(x)", "1/sin x", "(sin 2x)^3", "sin x cos x", "(√x)^3", "(½x)^3",
    "sin^2 x^2", "30°", "x°", "√(x² + y²)", "(x+1)²/(x-1)³", "|x²-4|", "|sin x|", "x|y|",
    "log_2 x", "2log_2(x+1)", "grad(sin^2(x), x)", "d/dx(x^2)",
    "sum([x**2, y])", "[x,y].sum()", "[[x,y],[y,x]] @ [x,1]", "[[1,2],[3,4]] @ p", "sum(p*[1,2])", "-[x,y]", "np.array([x,y])*2",
    "np.dot([x,y],[y,z])", "norm([x,y])", "sum([[x,y],[y,x]])", "(M+1).pow(2).t()", "(p*2).mean()", "F.relu(x-1)", "torch.std(p)",
    "where(x > 0, x, -x)", "x^2 if x > 0 else sin^2 x", "p[0]*p[1]", "softmax(p)[0]", "cross_entropy(p, 0)", "einsum('i,i->', p, q)",
    "f(u) = u sin u; f(2)", "f(u) = u**2 + 1; f(3x)", "f(u) = u**2+1; f'(2x)", "f(u) = sin(u); "
    "f''(x)", "u = 2x; sin^2(u)",
    "u = [x, 2x]; u[0]*u[1]", "u = x**2; u += 1; 2u", "u, o = x, y; u*o", "1e3x", "x × y", "x ÷ y", "x − y", "-x²", "2⁻¹x", "x^½",
]  # fmt: skip


def _explained(text: str) -> gradcli.Explanation:
    values = {name: np.asarray(value, float) for name, value in AT.items()}
    (*_, found) = Explanations(
        Inputs(text, {}, [], None), Programs(values=values), Options(check=False, formula=False)
    ).answers()  # fmt: skip
    return found


def _program(names: dict[str, Any], lines: list[str]) -> Program:
    """A program with these values, after these lines."""
    program = Programs(
        values={name: np.asarray(value, float) for name, value in names.items()}
    ).fresh(0)
    for statement in statements([f"{line}\n" for line in lines]):
        if not isinstance(statement, Query):
            program.execute(statement)
    return program


def _value(text: str, names: dict[str, Any], lines: list[str]) -> Any:
    """The value of a text alone, after the lines before it."""
    program = _program(names, lines)
    (query,) = statements([text])
    node = program.execute(query).value
    return forward([node], program.scope.values)[node]


@pytest.mark.parametrize("text", LABELLED)
def test_the_text_of_a_node_has_its_value(text):
    lines = text.split("; ")
    explanation = _explained("\n".join(lines))
    assert explanation.error is None, explanation.record.error
    for node in explanation.nodes:
        if node.text is None or node.call is not None or node.op == "leaf":
            continue
        before = lines[: len(lines) - 1 if node.statement is None else node.statement]
        np.testing.assert_allclose(
            _value(node.text, AT, before),
            node.value,
            rtol=1e-12,
            err_msg=f"node {node.id}: {node.text}",
        )


@pytest.mark.parametrize(
    "text", [text for text in LABELLED if "f(u)" not in text and "u, o" not in text]
)
def test_the_formula_of_an_edge_has_its_value(text):
    lines = text.split("; ")
    explanation = _explained("\n".join(lines))
    names = {**AT, **{f"v{node.id}": node.value for node in explanation.nodes}}
    for part in explanation.backward:
        if part.partial is None or part.local is None or np.ndim(part.local):
            continue
        np.testing.assert_allclose(
            _value(part.partial, names, lines[:-1]), part.local, rtol=1e-9, err_msg=part.partial
        )


def test_nodes_of_the_samples_have_texts_of_their_value(monkeypatch):
    monkeypatch.chdir(SAMPLES)
    tried = 0
    for path in sorted(SAMPLES.glob("*.grad")):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        options = Options(check=False, formula=False)
        for explanation in Explanations(
            Inputs(None, {}, [path.name], None), Programs(), options
        ).answers():
            for node in explanation.nodes:
                if (
                    node.text is None
                    or node.call is not None
                    or not node.operands
                    or node.spelling == node.text
                ):
                    continue
                tried += 1
                programs = Programs()
                program = programs.fresh(0, programs.loader(SAMPLES))
                own = explanation.record.line - 1 if node.statement is None else node.statement
                for statement in statements(lines[:own]):
                    if type(statement).__name__ not in ("Query", "Assertion"):
                        program.execute(statement)
                (query,) = statements([f"({node.text})" if "\n" in node.text else node.text])
                found = program.execute(query).value
                value = forward([found], program.scope.values)[found]
                np.testing.assert_allclose(
                    value,
                    node.value,
                    rtol=1e-9,
                    err_msg=f"{path.name}, node {node.id}: {node.text}",
                )
    assert tried > 200
