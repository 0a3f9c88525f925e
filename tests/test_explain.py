"""Explanations: nodes, adjoints and contributions are the engine's own and PyTorch's; paths add up;
forms say what the data says.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retained import RECORDED

from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.inputs import Inputs
from gradcli.query.bindings import Programs
from gradcli.query.options import Options
from gradcli.report.explanation import ExplainedNode, Explanation, summary

RETAINED = json.loads(RECORDED.read_text("utf-8"))
NO_CHECK = Options(check=False, formula=False)


def explain(
    text: str, at: dict[str, Any] | None = None, options: Options = NO_CHECK
) -> Explanation:
    """The explanation of the last query."""
    values = {name: np.asarray(value, float) for name, value in (at or {}).items()}
    found = list(
        Explanations(Inputs(text, {}, [], None), Programs(values=values), options).answers()
    )
    return found[-1]


def by_text(explanation: Explanation) -> dict[str, ExplainedNode]:
    return {node.text: node for node in explanation.nodes if node.text is not None}


def total(parts: list[Any], like: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sum of arrays, and that of their magnitudes."""
    start = np.zeros(np.shape(like))
    return sum(map(np.asarray, parts), start), sum((np.abs(part) for part in parts), start)


def assert_adds_up(explanation: Explanation) -> None:
    """Contributions to a node add up to its adjoint, and paths to gradients, to rounding."""
    arrived: dict[int, list[Any]] = {}
    for each in explanation.backward:
        arrived.setdefault(each.operand, []).append(each.passed)
    sums = [
        (node.label, node.adjoint, arrived.get(node.id, []))
        for node in explanation.nodes
        if node.id != explanation.result
    ]
    sums = [
        (label, adjoint, parts)
        for label, adjoint, parts in sums
        if adjoint is not None and not isinstance(adjoint, tuple)
    ]
    for name, gradient in explanation.gradients.items():
        if not gradient.left_out:
            sums.append(
                (
                    f"gradient of {name}",
                    gradient.value,
                    [path.contribution for path in gradient.paths],
                )
            )
    for label, whole, parts in sums:
        found, magnitude = total(parts, whole)
        with np.errstate(all="ignore"):
            off = np.abs(found - whole)
            fine = (
                (off <= 4 * np.finfo(float).eps * magnitude)
                | (found == whole)
                | (np.isnan(found) & np.isnan(whole))
            )
        assert np.all(fine), (
            f"{label}: the parts are {off} away from the whole, their magnitudes {magnitude}"
        )


# -- numbers
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RETAINED, ids=lambda case: case["text"])
def test_values_and_adjoints_are_those_that_pytorch_retains(case):
    explanation = explain(case["text"], case["at"])
    nodes = by_text(explanation)
    wanted: dict[str, list[Any]] = {}
    for part in case[
        "parts"
    ]:  # equal parts of a text are one node of ours, and several of PyTorch's
        wanted.setdefault(case["text"][slice(*part["span"])], []).append(part)
    for text, parts in wanted.items():
        node = nodes[text]
        assert np.allclose(node.value, parts[0]["value"], rtol=1e-9, atol=0, equal_nan=True), text
        adjoints = [
            part["adjoint"]
            for part in (parts[:1] if node.op == "leaf" else parts)
            if part["adjoint"] is not None
        ]
        assert (node.adjoint is None) == (not adjoints), text
        if adjoints:
            assert np.allclose(
                node.adjoint, np.sum(adjoints, axis=0), rtol=1e-9, atol=1e-14, equal_nan=True
            ), text


@pytest.mark.parametrize("case", RETAINED, ids=lambda case: case["text"])
def test_contributions_and_paths_add_up(case):
    assert_adds_up(explain(case["text"], case["at"]))


_ATOMS = ("x", "y", "2", "v")
_FORMS = (
    "({a}) + ({b})",
    "({a})*({b})",
    "sin({a})",
    "({a}) - ({b})",
    "tanh({a})",
    "({a})/(2 + ({b})**2)",
    "sum({a})",
    "relu({a})",
)
_EXPRESSIONS = st.recursive(
    st.sampled_from(_ATOMS), lambda inner: st.builds(lambda form, a, b: form.format(a=a, b=b), st.sampled_from(_FORMS), inner, inner),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(_EXPRESSIONS)
def test_any_expression_adds_up(text):
    explanation = explain(text, {"x": 0.75, "y": -1.5, "v": [0.5, 2.0]})
    assert explanation.error is None
    assert_adds_up(explanation)
    for node in explanation.nodes:
        assert node.text is None or node.span is None or text[slice(*node.span)] == node.text


def test_a_gradient_is_its_paths_the_largest_first():
    explanation = explain("x*y + sin(x)*x", {"x": 2.0, "y": 10.0})
    nodes = explanation.nodes
    paths = [
        (" ".join(nodes[id - 1].label for id in path.nodes), float(path.contribution))
        for path in explanation.gradients["x"].paths
    ]
    wanted = [
        ("x x*y x*y + sin(x)*x", 10.0),
        ("x sin(x)*x x*y + sin(x)*x", np.sin(2.0)),
        ("x sin(x) sin(x)*x x*y + sin(x)*x", np.cos(2.0) * 2.0),
    ]
    assert [name for name, _ in paths] == [name for name, _ in wanted]
    assert [value for _, value in paths] == pytest.approx([value for _, value in wanted], rel=1e-15)


@pytest.mark.parametrize(
    ("doublings", "listed", "left_out"), [(5, 32, 0), (6, 12, 52), (80, 12, 2**80 - 12)]
)
def test_paths_are_counted_where_they_are_too_many(doublings, listed, left_out):
    """``y = y + sin(y)`` doubles the ways to x each time."""
    text = "y = x; " + "; ".join(["y = y + sin(y)"] * doublings) + "; y"
    gradient = explain(text, {"x": 0.001}).gradients["x"]
    assert (len(gradient.paths), gradient.left_out) == (listed, left_out)
    sizes = [abs(float(path.contribution)) for path in gradient.paths]
    assert sizes == sorted(sizes, reverse=True)
    wanted = f"{left_out}" if left_out > 2**53 else left_out
    assert explain(text, {"x": 0.001}).to_dict()["gradients"]["x"]["paths_left_out"] == wanted


def test_two_edges_between_two_nodes_are_one_path():
    (path,) = explain("x*x", {"x": 3.0}).gradients["x"].paths
    assert path.contribution == 6.0


# -- nodes
# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        (
            "const c = 3; c*x",
            NO_CHECK,
            {"c": ("frozen", None), "x": ("leaf", 3.0), "c*x": ("mul", 1.0)},
        ),
        (
            "detach(x)*y",
            NO_CHECK,
            {"x": ("leaf", None), "detach(x)": ("detach", None), "y": ("leaf", 2.0)},
        ),
        ("x*y", Options(check=False, wrt=("y",)), {"x": ("frozen", None), "y": ("leaf", 2.0)}),
        ("x*y", Options(check=False, freeze=("y",)), {"y": ("frozen", None), "x": ("leaf", 5.0)}),
        ("x*y", Options(check=False, seed="10"), {"x*y": ("mul", 10.0), "x": ("leaf", 50.0)}),
        (
            "where(x > 3, y, x)",
            NO_CHECK,
            {"x > 3": ("greater", None), "y": ("leaf", 0.0), "x": ("leaf", 1.0)},
        ),
        ("floor(x)*y", NO_CHECK, {"floor(x)": ("floor", 5.0), "x": ("leaf", 0.0)}),
        ("floor(x) > 1", NO_CHECK, {"x": ("leaf", None), "floor(x) > 1": ("greater", None)}),
        ("z = x**2; z*y", NO_CHECK, {"x**2": ("pow", 5.0)}),
    ],
)
def test_what_a_node_is_and_whether_it_has_an_adjoint(text, options, wanted):
    nodes = by_text(explain(text, {"x": 2.0, "y": 5.0}, options))
    assert {name: (nodes[name].op, nodes[name].adjoint) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "part", "grad_fn", "saved"),
    [
        ("x**2", "x**2", "PowBackward0", ("self", "exponent")),
        ("2**x", "2**x", "PowBackward0", ("result", "other", "exponent")),
        ("x + y", "x + y", "AddBackward0", ()),
        ("x*y", "x*y", "MulBackward0", ("self", "other")),
        ("3*x", "3*x", "MulBackward0", ("other",)),
        ("sin(x)", "sin(x)", "SinBackward0", ("self",)),
        ("exp(x)", "exp(x)", "ExpBackward0", ("result",)),
        ("detach(x)*y", "detach(x)", None, ()),
        ("x*1", "x", None, ()),
        ("floor(x)*y", "floor(x)", "FloorBackward0", ()),
        ("where(x > 1, x, y)", "x > 1", None, ()),
    ],
)
def test_what_pytorch_records_of_a_node(text, part, grad_fn, saved):
    node = by_text(explain(text, {"x": 2.0, "y": 5.0}))[part]
    assert (node.grad_fn, node.saved) == (grad_fn, saved)


def test_names_of_statements_and_texts_of_the_whole_program():
    program = "# a comment\ny = x**2  # squared\n(y + 1)*x\n"
    explanation = explain(program, {"x": 2.0})
    assert explanation.source is not None
    assert explanation.source.text == program
    assert {(node.name, node.text) for node in explanation.nodes} == {
        ("x", "x"), (None, "2"), ("y", "x**2"), (None, "1"), (None, "y + 1"), (None, "(y + 1)*x"),
    }  # fmt: skip
    assert all(
        program[slice(*node.span)] == node.text
        for node in explanation.nodes
        if node.span is not None
    )


def test_inside_of_a_function_nodes_have_no_text():
    explanation = explain("F.cross_entropy(z, 0)*2", {"z": [1.0, 2.0, 0.5]})
    (root,) = [node for node in explanation.nodes if node.function is not None]
    assert (root.function, root.text, root.inside) == (
        "cross_entropy",
        "F.cross_entropy(z, 0)",
        None,
    )
    inner = [node for node in explanation.nodes if node.inside is not None]
    assert inner
    assert all((node.inside, node.text, node.span) == (root.id, None, None) for node in inner)


def test_nodes_of_a_users_function_know_their_call():
    program = "f(t) = sin(t)*t; f(x) + f(2*x)"
    explanation = explain(program, {"x": 2.0})
    called = [
        (node.text, program[slice(*node.call)])
        for node in explanation.nodes
        if node.call is not None
    ]
    assert called == [
        ("sin(t)", "f(x)"),
        ("sin(t)*t", "f(x)"),
        ("sin(t)", "f(2*x)"),
        ("sin(t)*t", "f(2*x)"),
    ]


def test_a_derivative_in_an_expression_stands_where_it_is_written():
    nodes = by_text(explain("f(t) = t**3; f'(x)*2", {"x": 2.0}))
    assert (nodes["f'(x)"].value, nodes["f'(x)"].adjoint) == (12.0, 2.0)


@pytest.mark.parametrize(
    ("text", "operand", "partial", "rule"),
    [
        ("x*y", "x", "y", "adjoint*y"),
        ("sin(x*y)", "x*y", "cos(x*y)", "adjoint*cos(x*y)"),
        ("x/y", "y", "-x/y**2", None),
        ("x - y", "y", "-1", "-adjoint"),
        ("(v @ v)*x", "x", "v @ v", None),
        ("sum(v)*x", "v", None, "broadcast_to(adjoint, (2,))"),
    ],
)
def test_local_derivatives_as_formulas(text, operand, partial, rule):
    explanation = explain(text, {"x": 2.0, "y": 5.0, "v": [1.0, 2.0]})
    (found,) = [
        each for each in explanation.backward if explanation.node(each.operand).text == operand
    ]
    assert found.partial == partial
    assert rule is None or found.rule == rule


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 3), (3,)), "summed over axis 0 (2 entries), along which it was repeated"),
        (((2, 3), (2, 1)), "summed over axis 1 (3 entries), along which it was repeated"),
        (((2, 3), (1, 1)), "summed over axes 0 and 1 (6 entries), along which it was repeated"),
        (((2, 3), ()), "summed over all 6 entries, for which it is one number"),
        (((2, 3), (2, 3)), None),
    ],
)
def test_sums_over_broadcast_axes_are_said(shapes, words):
    explanation = explain("a + b", {"a": np.ones(shapes[0]), "b": np.ones(shapes[1])})
    assert [each.summed for each in explanation.backward] == [None, words]


# -- forms
# --------------------------------------------------------------------------------------------------------------------

TEXT = """\
3*a**3 - b**2

forward  every node after its operands
  1  a              leaf      [2, 3]
  2  b              leaf      [6, 4]
  3  3              const     3
  4  a**3           pow 1, 3  [8, 27]    PowBackward0, keeps self, exponent
  5  3*a**3         mul 3, 4  [24, 81]   MulBackward0, keeps other
  6  2              const     2
  7  b**2           pow 2, 6  [36, 16]   PowBackward0, keeps self, exponent
  8  3*a**3 - b**2  sub 5, 7  [-12, 65]  SubBackward0

backward  the adjoint of a node is the derivative of the result by it
  8  3*a**3 - b**2  has [1, 1], the seed: ones
     to 5  3*a**3  times 1 gives [1, 1]
     to 7  b**2  times -1 gives [-1, -1]
  7  b**2  has [-1, -1]
     to 2  b  times 2*b ([12, 8]) gives [-12, -8]
  5  3*a**3  has [1, 1]
     to 4  a**3  times 3 gives [3, 3]
  4  a**3  has [3, 3]
     to 1  a  times 3*a**2 ([12, 27]) gives [36, 81]
  1  a  has [36, 81]
  2  b  has [-12, -8]

gradient  by paths from the name to the result, the largest first
  a  [36, 81]
     [36, 81] by a → a**3 → 3*a**3 → 3*a**3 - b**2
  b  [-12, -8]
     [-12, -8] by b → b**2 → 3*a**3 - b**2

  check    agree, certified: exact, with sympy's derivative, to 17 digits
"""


def test_the_whole_text(call_cli):
    found = call_cli("explain", "3*a**3 - b**2", "a=2,3", "b=6,4")
    assert (found.returncode, found.stdout, found.stderr) == (0, TEXT, "")


def test_json_has_the_whole_explanation(call_cli):
    found = json.loads(
        call_cli("explain", "x*y", "x=2", "y=3", "--format", "json", "--no-check").stdout
    )
    assert found == {
        "schema": 1, "id": None, "source": {"file": None, "line": 1, "column": 1}, "expr": "x*y", "value": 6.0, "dtype": "float64",
        "seed": 1.0, "result": 3,
        "nodes": [
            {"id": 1, "op": "leaf", "name": "x", "text": "x", "span": [0, 1], "operands": [], "shape": [], "dtype": "float", "value": 2.0,
             "adjoint": 3.0, "grad_fn": None, "saved": [], "statement": 0},
            {"id": 2, "op": "leaf", "name": "y", "text": "y", "span": [2, 3], "operands": [], "shape": [], "dtype": "float", "value": 3.0,
             "adjoint": 2.0, "grad_fn": None, "saved": [], "statement": 0},
            {"id": 3, "op": "mul", "name": None, "text": "x*y", "span": [0, 3], "operands": [1, 2], "shape": [], "dtype": "float",
             "value": 6.0, "adjoint": 1.0, "grad_fn": "MulBackward0", "saved": ["self", "other"], "statement": 0},
        ],
        "backward": [
            {"node": 3, "operand": 1, "place": 0, "partial": "y", "rule": "adjoint*y", "local": 3.0, "contribution": 3.0},
            {"node": 3, "operand": 2, "place": 1, "partial": "x", "rule": "adjoint*x", "local": 2.0, "contribution": 2.0},
        ],
        "gradients": {
            "x": {"value": 3.0, "paths": [{"nodes": [1, 3], "contribution": 3.0}], "paths_left_out": 0, "rest": 0.0},
            "y": {"value": 2.0, "paths": [{"nodes": [2, 3], "contribution": 2.0}], "paths_left_out": 0, "rest": 0.0},
        },
        "check": None, "warnings": [], "error": None,
    }  # fmt: skip


def test_large_arrays_are_summarized():
    found = summary(np.array([3.0, -4.0, np.inf] * 400))
    assert found == {
        "shape": [1200],
        "min": -4.0,
        "max": 3.0,
        "norm": pytest.approx(100.0),
        "nonfinite": 400,
    }
    assert summary(np.arange(3)) == [0, 1, 2]


def test_several_queries_files_and_records(call_cli, tmp_path):
    (tmp_path / "m.grad").write_text("x = 3\nx**2\n2*x\n", "utf-8")
    lines = call_cli(
        "explain", "-f", str(tmp_path / "m.grad"), "--format", "jsonl", "--no-check"
    ).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [
        (each["expr"], each["gradients"]["x"]["value"], each["source"]["line"]) for each in found
    ] == [
        ("x**2", 6.0, 2),
        ("2*x", 2.0, 3),
    ]
    assert {each["program"] for each in found} == {"x = 3\nx**2\n2*x\n"} or found[0][
        "program"
    ].startswith("x = 3\nx**2\n")
    (tmp_path / "m.jsonl").write_text(
        '{"expr": "x*y", "at": {"x": 2, "y": 4}, "wrt": ["y"], "id": 7}\n{"expr": "x*("}\n', "utf-8"
    )
    done = call_cli("explain", "-f", str(tmp_path / "m.jsonl"), "--format", "jsonl", "--no-check")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (
        first["id"],
        first["gradients"]["y"]["value"],
        second["error"]["code"],
        done.returncode,
    ) == (7, 2.0, "syntax", 2)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["x*"], 2, "error[syntax]"),
        (["x*y", "x=1"], 2, "error[missing-value]"),
        (
            ["x", "x=1", "--no-check", "--timeout", "3"],
            2,
            "--no-check and --timeout exclude each other",
        ),
        (["x", "x=1", "--format", "csv"], 2, "--format must be one of"),
        (
            ["x", "x=1", "--format", "json", "--color", "always"],
            2,
            "--format json and --color always exclude each other",
        ),
        (["x", "x=1", "--wrt", "z"], 2, "no value for 'z'"),
    ],
)
def test_what_is_refused(call_cli, arguments, code, said):
    done = call_cli("explain", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == ""


def test_long_expressions_are_bounded():
    """A sum of thousands of terms: each node's text has all terms before it, and each path all
    sums.
    """
    text = " + ".join(f"{i}*x" for i in range(1, 4001))
    explanation = explain(text, {"x": 1.0})
    assert len(explanation.nodes) == 12_000
    assert sum(len(node.text or "") for node in explanation.nodes) < 3_000_000
    gradient = explanation.gradients["x"]
    assert len(gradient.paths) + gradient.left_out == 4000
    assert gradient.value == pytest.approx(4000 * 4001 / 2)
