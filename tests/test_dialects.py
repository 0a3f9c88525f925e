"""The dialect of a program: what was written for a library means what it means there, or is
refused.

The programs of ``data/dialects.jsonl`` were run in PyTorch 2.13, JAX 0.10 and NumPy 2.4 with SciPy
1.17, each with the value of its last line and the gradient of its sum by the names in ``at``:
PyTorch's and JAX's own, and central differences for NumPy's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.errors import AmbiguousError, GradcliError, ParseError, UnknownNameError
from gradcli.limits import DEFAULT
from gradcli.ops.calling.meanings import Call, differs

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/dialects.jsonl").read_text("utf-8").splitlines()
]
X = {"x": [1.0, 2.0, 3.5]}
NUMPYS, PYTORCHS = (
    1.0274023338281628,
    1.2583057392117916,
)  # the standard deviation of X, by 3 and by 2


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['in']}: {case['code']}")
def test_a_program_is_what_its_library_makes_of_it(case: dict[str, Any]) -> None:
    seed = np.ones(np.shape(case["value"])) if np.ndim(case["value"]) else None
    record = gradcli.evaluate(case["code"], at=case["at"], seed=seed, check=False, formula=False)
    assert np.shape(record.value) == np.shape(case["value"])
    np.testing.assert_allclose(
        np.asarray(record.value, float), case["value"], rtol=1e-12, atol=1e-12
    )
    tolerance = 1e-7 if case["in"] == "numpy" else 1e-10
    for name, expected in case["grad"].items():
        found = (record.grad or {}).get(
            name, np.zeros(np.shape(expected))
        )  # zeros: nothing differentiable depends on it
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_the_table_is_of_all_dialects() -> None:
    count = {
        library: sum(case["in"] == library for case in RECORDED)
        for library in ("torch", "numpy", "jax")
    }
    assert min(count.values()) >= 40
    assert sum(count.values()) >= 250


# -- what decides


@pytest.mark.parametrize(
    ("code", "value", "dialect"),
    [
        ("x.std()", NUMPYS, None),
        ("std(x)", NUMPYS, None),
        ("x.std() + 0*torch.exp(y)", PYTORCHS, "torch"),
        ("x.std() + 0*np.exp(y)", NUMPYS, None),
        ("x.std() + 0*jnp.exp(y)", NUMPYS, "jax"),
        ("x.std() + 0*math.exp(y)", NUMPYS, None),  # math is neutral
        ("import math\nx.std()", NUMPYS, None),
        ("import torch\nx.std()", PYTORCHS, "torch"),
        ("import torch\nstd(x)", PYTORCHS, "torch"),
        ("import torch\nx.std() + 0*np.exp(y)", NUMPYS, None),  # a prefix goes before import lines
        ("import torch\nz = np.exp(y)\nx.std()", NUMPYS, None),
        (
            "x.std() + 0*torch.exp(y)*np.sqrt(2*np.pi)",
            PYTORCHS,
            "torch",
        ),  # constants stand in code of any library
        ("# dialect: torch\nx.std()", PYTORCHS, "torch"),
        ("# dialect: torch\nx.std() + 0*np.exp(y)", NUMPYS, None),
        (
            "F = [[1., 2.], [3., 4.]]\nx.std() + 0*F.sum()",
            NUMPYS,
            None,
        ),  # a bound name is no prefix
        ("f(v) = v.std()\nz = torch.exp(y)\nf(x)", PYTORCHS, "torch"),
    ],
)
def test_prefixes_then_imports_then_what_is_asked_for(
    code: str, value: float, dialect: str | None
) -> None:
    record = gradcli.evaluate(code, at={**X, "y": 0.5}, check=False)
    assert (float(record.value), record.dialect) == (pytest.approx(value, rel=1e-14), dialect)


@pytest.mark.parametrize(
    ("asked", "value"),
    [("torch", PYTORCHS), ("numpy", NUMPYS), ("jax", NUMPYS), (None, NUMPYS)],
    ids=["torch", "numpy", "jax", "none"],
)
def test_an_option_decides_where_the_text_does_not(
    asked: str | None, value: float, call_cli: Any
) -> None:
    option = [] if asked is None else ["--dialect", asked]
    for command in (
        ["eval", "x.std()", "x=1,2,3.5", "--format", "jsonl"],
        ["check", "-e", "x.std()", "x=1,2,3.5", "--format", "jsonl"],
    ):
        record = json.loads(call_cli(*command, *option).stdout)
        assert record["value"] == pytest.approx(value, rel=1e-14)
        assert record.get("dialect") == (asked if asked != "numpy" else None)
    assert gradcli.evaluate("x.std()", **X, dialect=asked, check=False).value == pytest.approx(
        value, rel=1e-14
    )
    assert gradcli.compile("x.std()", dialect=asked)(X) == pytest.approx(value, rel=1e-14)
    assert gradcli.value_and_grad("x.std()", dialect=asked)(X)[0] == pytest.approx(value, rel=1e-14)
    line = json.dumps({"expr": "x.std()", "at": X, **({} if asked is None else {"dialect": asked})})
    record = json.loads(
        call_cli("eval", "-i", "jsonl", "-", "--format", "jsonl", stdin=line).stdout
    )
    assert record["value"] == pytest.approx(value, rel=1e-14)
    assert record.get("dialect") == (asked if asked != "numpy" else None)


def test_the_text_of_a_result_names_the_dialect(call_cli: Any) -> None:
    shown = call_cli(
        "eval", "x.std()", "x=1,3", "--dialect", "torch", "--no-check", "--no-formula"
    ).stdout.splitlines()
    assert shown[:2] == ["x.std()", "  dialect  torch"]
    assert (
        "dialect" not in call_cli("eval", "x.std()", "x=1,3", "--no-check", "--no-formula").stdout
    )


def test_the_settings_of_a_project_decide_where_nobody_else_does(
    tmp_path: Path, call_cli: Any
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradcli]\ndialect = "torch"\n')
    (tmp_path / "a.grad").write_text(
        f"x = [1., 2., 3.5]\nassert x.std() == {PYTORCHS} within 1e-12\n"
    )
    (tmp_path / "b.grad").write_text(
        f"# dialect: numpy\nx = [1., 2., 3.5]\nassert x.std() == {NUMPYS} within 1e-12\n"
    )
    for file in ("a.grad", "b.grad"):
        assert call_cli("check", str(tmp_path / file)).returncode == 0
    assert call_cli("check", str(tmp_path / "a.grad"), "--dialect", "numpy").returncode == 1


def test_unknown_dialects_are_refused(call_cli: Any) -> None:
    for text, help in (
        ("pytorch", "did you mean 'torch'?"),
        ("tensorflow", "write one of numpy, torch, jax"),
    ):
        with pytest.raises(ParseError, match=f"unknown dialect '{text}'") as caught:
            gradcli.evaluate(f"# dialect: {text}\nx.std()", **X, check=False)
        assert caught.value.help == help
        assert (
            "--dialect must be one of numpy, torch, jax"
            in call_cli("eval", "x.std()", "x=1,2", "--dialect", text).stderr
        )
        with pytest.raises(GradcliError, match="'dialect' must be one of"):
            gradcli.evaluate("x.std()", **X, dialect=text, check=False)


# -- two dialects


BOTH = """\
error[ambiguous]: '.std()' has two readings: lines 1 and 2 have prefixes of NumPy and PyTorch
  --> <expression>:3:1
3 | x.std()
  | ^^^^^^^
  = help: write np.std(x) or torch.std(x)
"""


def refusal(code: str, **at: Any) -> str:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(code, at=at or X, check=False)
    return caught.value.render() + "\n"


def test_a_program_that_names_both_is_refused_where_they_differ() -> None:
    assert refusal("a = np.exp(x)\nb = torch.exp(x)\nx.std()") == BOTH
    assert "the statement has prefixes of NumPy and PyTorch" in refusal(
        "np.exp(x).sum() + torch.exp(x).std()"
    )
    assert "'std()' has two readings" in refusal("a = np.exp(x)\nb = torch.exp(x)\nstd(x)")
    # what is the same in both stays
    assert gradcli.evaluate(
        "a = np.exp(x)\nb = torch.exp(x)\nx.sum() + x.mean() + x.prod()", **X, check=False
    ).value == pytest.approx(6.5 + 6.5 / 3 + 7.0)
    assert gradcli.evaluate(
        "a = np.exp(x)\nb = jnp.exp(x)\nx.std()", **X, check=False
    ).value == pytest.approx(NUMPYS)


LATE = """\
error[ambiguous]: this line is PyTorch's, but '.std()' on line 1 was read as NumPy's, as nothing said so before
  --> <stdin>:2:1
2 | torch.exp(x).sum()
  | ^^^^^^^^^^^^^^^^^^
  = help: say before what the program is: # dialect: torch, or an import line
"""


def test_a_stream_says_when_a_dialect_comes_too_late(call_cli: Any) -> None:
    done = call_cli(
        "eval",
        "-",
        "x=1,2,3.5",
        "--no-check",
        "--format",
        "jsonl",
        stdin="x.std()\ntorch.exp(x).sum()\nx.std()\n",
    )
    first, late, third = map(json.loads, done.stdout.splitlines())
    assert (first["value"], third["value"]) == (pytest.approx(NUMPYS), pytest.approx(PYTORCHS))
    assert late["error"]["code"] == "ambiguous"
    assert done.returncode == 2
    assert late["error"]["message"] == LATE.splitlines()[0].partition(": ")[2]
    # a file is known as a whole
    done = call_cli(
        "eval",
        "x.std()\ntorch.exp(x).sum()\nx.std()\n",
        "x=1,2,3.5",
        "--no-check",
        "--format",
        "jsonl",
    )
    assert [json.loads(line)["value"] for line in done.stdout.splitlines()][::2] == [
        pytest.approx(PYTORCHS)
    ] * 2


def test_a_file_is_read_ahead(tmp_path: Path, call_cli: Any) -> None:
    path = tmp_path / "late.grad"
    path.write_text("x = [1., 2., 3.5]\nx.std()\ny = F.relu(x)\n")
    (record,) = map(
        json.loads,
        call_cli("eval", "-f", str(path), "--no-check", "--format", "jsonl").stdout.splitlines(),
    )
    assert (record["value"], record["dialect"]) == (pytest.approx(PYTORCHS), "torch")
    path.write_text("x = [1., 2., 3.5]\n" + "x.std()\n" * 64 + "y = F.relu(x)\n")
    done = call_cli(
        "check", str(path), "-j", "2", "--format", "jsonl"
    )  # in stretches, which see all of it
    assert {json.loads(line)["value"] for line in done.stdout.splitlines()} == {PYTORCHS}


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (Call("std", True, (False,), ()), True),
        (Call("sum", True, (False, False), ()), False),
        (Call("sum", True, (False, False, False), ()), False),  # NumPy's has no place for the third
        (Call("max", True, (False,), ()), False),
        (Call("max", True, (False, False), ()), True),
        (Call("transpose", True, (False, False, False), ()), True),
        (Call("transpose", True, (False, True), ()), False),
        (Call("repeat", True, (False, False), ()), True),
        (Call("median", False, (False,), ()), True),
        (Call("softmax", False, (False, False), ()), False),
        (Call("softmax", False, (False,), ()), True),
        (Call("exp", False, (False,), ()), False),
        (Call("cumsum", True, (False, False), ()), False),
        (Call("item", True, (False,), ()), True),
    ],
    ids=str,
)
def test_where_meanings_differ(call: Call, result: bool) -> None:
    assert differs(call) is result


def test_formulas_are_read_back_in_any_dialect(call_cli: Any) -> None:
    for text in ("torch.exp(y)*x.std()", "import torch; x.std()"):
        derivative = json.loads(
            call_cli("eval", text, "x=1,2,3.5", "y=0.5", "--format", "json").stdout
        )[0]["derivative"]["x"]
        if derivative is not None:
            assert (
                call_cli(
                    "check", "-e", text, "--grad", f"x={derivative}", "x=1,2,3.5", "y=0.5"
                ).returncode
                == 0
            ), derivative


# -- Python's sum


def test_pythons_sum_runs_over_rows() -> None:
    matrix = {"x": [[1.0, 2.0], [3.0, 4.0]]}
    assert gradcli.evaluate("sum(x)", at=matrix, check=False).value == 10
    for code in (
        "import numpy as np\nsum(x)",
        "y = np.exp(x)\nsum(x)",
        "sum(x) + np.sum(x)",
        "import torch\nsum([x, 2*x])",
        "sum(x)*jnp.sum(x)",
    ):
        assert "'sum()' of an array of" in refusal(code, **matrix)
    for code in (
        "import numpy as np\nsum(x[0]) + sum(x[1])",
        "from numpy import sum\nsum(x)",
        "import torch\nsum(sum(x, axis=0))",
    ):
        assert gradcli.evaluate(code, at=matrix, check=False).value == 10


# -- import lines


@pytest.mark.parametrize(
    ("code", "message", "help"),
    [
        ("import tensorflow as tf\nx", "the module 'tensorflow' is not known here", "leave it out"),
        ("import torhc\nx", "the module 'torhc' is not known here", "did you mean 'torch'?"),
        (
            "import numpy.lnalg\nx",
            "numpy has no module 'numpy.lnalg' here",
            "did you mean 'numpy.linalg'?",
        ),
        ("from torch import expp\nx", "'torch' has no 'expp' here", "did you mean 'exp'?"),
        (
            "from jax import jit\nx",
            "'jax.jit' is not in the language",
            "leave it out",
        ),
        (
            "from .losses import mine\nx",
            "there are no modules beside this text",
            "write import torch",
        ),
        ("import torch as\nx", "Python does not read this import", "write import torch"),
        ("from torch import\nx", "Python does not read this import", "write import torch"),
        (
            "import torch.nn.functional as F, numpy np\nx",
            "Python does not read this import",
            "write import torch",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused_by_name(code: str, message: str, help: str) -> None:
    with pytest.raises((UnknownNameError, ParseError)) as caught:
        gradcli.evaluate(code, **X, check=False)
    assert caught.value.message == message
    assert (caught.value.help or "").startswith(help)


def test_an_import_line_gives_no_result(call_cli: Any) -> None:
    done = call_cli("eval", "import torch; import numpy as np\nx*2", "x=3", "--format", "jsonl")
    (record,) = map(json.loads, done.stdout.splitlines())
    assert (record["value"], record["source"]["line"]) == (6, 2)
    assert "nothing to evaluate" in call_cli("eval", "import torch").stderr
    with pytest.raises(ParseError, match="the program has no query"):
        gradcli.evaluate("import torch")


def test_names_of_imports() -> None:
    with pytest.raises(UnknownNameError, match="'x' is imported, and has a value from outside"):
        gradcli.evaluate("import torch as x\nx", **X)
    assert (
        gradcli.evaluate("import numpy as q\nq = 3.0\nq*2", check=False).value == 6
    )  # a later binding takes the name
    assert gradcli.evaluate(
        "q = 3.0\nfrom math import pi as q\nq*2", check=False
    ).value == pytest.approx(2 * np.pi)
    assert gradcli.evaluate("import = 2.0\nimport**2", check=False).value == 4


# -- several names at once


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("a, b = x\na*x", "2 names for 3 values"),
        ("a, b = 1, 2, 3\na*x", "2 names for 3 values"),
        ("a, b = 2.0\na*x", "2 names for one number"),
        ("(a, b), c = x, x\na*x", "only names with commas between them can stand before this '='"),
        ("a, *b = x\na*x", "only names with commas between them can stand before this '='"),
        ("*a, b = x\na*x", "only names with commas between them can stand before this '='"),
        ("a, b[0] = 1, 2\na*x", "only names with commas between them can stand before this '='"),
        ("a, b.c = 1, 2\na*x", "only names with commas between them can stand before this '='"),
        ("a, 2 = 1, 2\na*x", "only names with commas between them can stand before this '='"),
    ],
)
def test_several_names_that_are_refused(code: str, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(code, **X, check=False)
    assert caught.value.message == message


def test_values_from_outside_and_several_names(call_cli: Any) -> None:
    done = call_cli("eval", "a, b = 1.0, 2.0\na**2 * b", "a=3", "--format", "jsonl", "--no-check")
    record = json.loads(done.stdout)
    assert (record["value"], record["grad"]) == (18, {"a": 12, "b": 9})
    done = call_cli(
        "eval", "a, b = b, a\na - 2*b", "a=1", "b=5", "--format", "jsonl", "--no-check"
    )  # no line is dropped
    record = json.loads(done.stdout)
    assert (record["value"], record["grad"]) == (3, {"a": -2, "b": 1})
    assert record["warnings"] == []


def test_several_names_without_values(call_cli: Any) -> None:
    claim = ["--grad", "x=4*(cos(x)**3 - 2*cos(x)*sin(x)**2)"]
    assert (
        call_cli("check", "-e", "a, b = sin(x), cos(x); a, b = b*2, a; a**2*b", *claim).returncode
        == 0
    )
    wrong = ["--grad", "x=4*(cos(x)**3 - 2*cos(x)*sin(x))"]
    assert (
        call_cli("check", "-e", "a, b = sin(x), cos(x); a, b = b*2, a; a**2*b", *wrong).returncode
        == 1
    )


# -- names bound again


def test_a_query_of_two_values_of_one_name_names_both_lines() -> None:
    with pytest.raises(
        AmbiguousError, match="'x' has two values here: bound on line 1 and on line 3"
    ):
        gradcli.evaluate("x = 1.\ny = x**2\nx = 2.\nx*y", check=False)
    with pytest.raises(
        AmbiguousError, match="'a' has two values here: bound on line 1 and on line 3"
    ):
        gradcli.evaluate("a, b = 1., 2.\ny = a*b\na, b = 3., 4.\ny*a", check=False)


def test_a_name_bound_again_is_the_leaf_in_results_and_the_node_in_the_text(call_cli: Any) -> None:
    text = "x = x/2\nL = x**3\nL + 0*grad(L, x)\ngrad(L, x)"
    done = call_cli("eval", text, "x=4", "--format", "jsonl", "--no-check")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["value"], first["grad"]["x"]) == (8, 6)  # 3*(x/2)**2/2
    assert second["value"] == 12  # by the node
    assert call_cli("check", "-e", "x = x/2; x**3", "--grad", "x=3*x**2/8", "x=4").returncode == 0
    record = json.loads(
        call_cli(
            "eval",
            "-i",
            "jsonl",
            "-",
            "--format",
            "jsonl",
            stdin=json.dumps(
                {"expr": "x = x - x.mean()\n(x**2).mean()", "at": {"x": [1, 2, 3.5]}, "wrt": ["x"]}
            ),
        ).stdout
    )
    assert record["grad"]["x"] == pytest.approx(
        [-0.7777777777777778, -0.1111111111111111, 0.8888888888888888]
    )
    frozen = json.loads(
        call_cli(
            "eval",
            "x = x*y; x**2",
            "x=2",
            "y=3",
            "--freeze",
            "x",
            "--format",
            "jsonl",
            "--no-check",
        ).stdout
    )
    assert frozen["grad"] == {"y": 24}
    value, grads = gradcli.value_and_grad("x = x/2\nx**3")(x=4.0)
    assert (value, grads["x"]) == (8, 6)


# -- what stops gradients


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("torch.exp(x) * y.item()", ".item()"),
        ("y.item() * x", ".item()"),  # nothing says whose: who writes it stops gradients
        ("import torch\nfloat(y) * x", "float(...)"),
        ("torch.tensor([y, y]).sum() * x", "torch.tensor(...)"),
        ("torch.as_tensor([y, y]).sum() * x", "torch.as_tensor(...)"),
        ("torch.exp(x) * math.sqrt(y)", "math.sqrt(...)"),
    ],
)
def test_a_name_whose_gradient_stops_is_told(code: str, written: str) -> None:
    record = gradcli.evaluate(code, x=0.5, y=2.0, check=False)
    assert record.grad is not None
    assert record.grad["y"] == 0
    assert record.grad["x"] != 0
    assert f"the derivative by y is 0: {written} stops gradients, as in PyTorch" in record.warnings


@pytest.mark.parametrize(
    "code", ["jnp.exp(x) * float(y)", "jnp.exp(x) * y.item()", "jnp.exp(x) * math.sqrt(y)"]
)
def test_jax_has_no_numbers_while_it_differentiates(code: str) -> None:
    assert "of a value that is differentiated is an error in JAX" in refusal(code, x=0.5, y=2.0)
    assert gradcli.evaluate(
        "const c = 4\njnp.exp(x) * math.sqrt(c)", x=0.5, check=False
    ).value == pytest.approx(2 * np.exp(0.5))


def test_limits_hold_in_what_is_read_ahead() -> None:
    """A bad line is told in its turn."""
    text = "x = [1., 2., 3.5]\nx.std()\n" + "(" + "1" * 100
    with pytest.raises(GradcliError):
        gradcli.evaluate(text, limits=DEFAULT.raise_to(["length=50"]), check=False)
