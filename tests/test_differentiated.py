"""What a query differentiates: by the text, never by a value; and what is said of names that have
no derivative.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import gradcli
from gradcli.errors import AmbiguousError, MissingValueError, TypeMismatchError, UnknownNameError

X = np.array([1.0, 2.0, 4.0])
LABELS = np.array([2, 0])
SCORES = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]])


def gradient(text, **options):
    return gradcli.evaluate(text, check=False, formula=False, **options)


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        (
            "a*e^(k*t)",
            {"a": 2, "k": 3, "t": 1},
            {"a": math.exp(3), "k": 2 * math.exp(3), "t": 6 * math.exp(3)},
        ),
        ("2^x", {"x": 3}, {"x": 8 * math.log(2)}),
        ("e^x*y", {"x": 1, "y": 2}, {"x": 2 * math.e, "y": math.e}),
        (
            "x**(a + n)",
            {"x": 2, "a": 1, "n": 2},
            {"x": 12, "a": 8 * math.log(2), "n": 8 * math.log(2)},
        ),
        ("x**2*n", {"x": 3, "n": 2}, {"x": 12, "n": 9}),
    ],
)
@pytest.mark.parametrize("spelled", [int, float])
def test_the_spelling_of_a_number_changes_nothing(call_cli, text, at, expected, spelled):
    given = {name: spelled(value) for name, value in at.items()}
    by_call = gradcli.value_and_grad(text)(**given)[1]
    record = json.dumps({"expr": text, "at": given})
    lines = call_cli(
        "eval", "--no-check", "--format", "jsonl", "-i", "jsonl", "-", stdin="\n".join([record] * 8)
    ).stdout.splitlines()
    found = [gradient(text, **given).grad, by_call, *(json.loads(line)["grad"] for line in lines)]
    assert len(found) == 10
    for grad in found:
        assert list(grad) == list(expected)
        assert [float(value) for value in grad.values()] == pytest.approx(
            list(expected.values()), rel=1e-14
        )


def test_a_hessian_has_rows_of_exponents():
    found = gradcli.evaluate("e^x*y", x=1, y=2, mode="hessian").hessian
    assert {a: sorted(row) for a, row in found.items()} == {"x": ["x", "y"], "y": ["x", "y"]}
    assert float(found["x"]["x"]) == pytest.approx(2 * math.e)


def test_an_exponent_of_a_negative_base_has_no_derivative_and_counts_for_no_verdict():
    record = gradcli.evaluate("x**n", x=-2, n=2)
    assert (float(record.grad["x"]), math.isnan(record.grad["n"])) == (-4.0, True)
    assert record.warnings == [
        "no derivative by n: the base of 'x**n' is negative; --freeze n leaves it out"
    ]
    assert [record.check.variables[name].verdict.word for name in "xn"] == ["agree", "skipped"]
    assert record.check.worst.word == "agree"
    assert gradcli.evaluate("x**n", x=-2, n=2, wrt="x,n").check.worst.word == "undefined", (
        "asked for"
    )
    assert gradcli.evaluate("x**x", x=-2.0).check.worst.word == "undefined", (
        "the base is no other name's"
    )
    assert gradcli.evaluate("x**n", x=-2, n=2, freeze="n").warnings == []


def test_of_an_array_only_entries_of_negative_bases_have_no_derivative():
    record = gradcli.evaluate("sum(x**n)", x=[-2, 3], n=[2, 2])
    assert np.isnan(record.grad["n"]).tolist() == [True, False]
    assert float(record.grad["n"][1]) == pytest.approx(9 * math.log(3))
    assert record.check.worst.word == "agree"


@pytest.mark.parametrize(
    ("mode", "words"),
    [("jacobian", ["agree", "skipped"]), ("hessian", ["agree", "skipped", "skipped", "skipped"])],
)
def test_the_same_of_other_derivatives(mode, words):
    check = gradcli.evaluate("x**n", x=-2.0, n=3, mode=mode).check
    assert [part.verdict.word for part in check.variables.values()] == words
    assert check.worst.word == "agree"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--wrt", "x"], 0),
        (["--wrt", "n"], 1),
        (["--grad", "x=-4"], 0),
        (["--grad", "n=1"], 1),
    ],
)
def test_exit_codes_of_a_check(call_cli, arguments, code):
    assert call_cli("check", "-e", "x**n", "x=-2", "n=2", *arguments).returncode == code


WHOLE = [
    ("cross_entropy(s, y)", {"s": SCORES, "y": LABELS}, "y", "a class label or an index"),
    ("nll_loss(s, y)", {"s": SCORES, "y": LABELS}, "y", "'target' of nll_loss"),
    ("take(x, k).sum()", {"x": X, "k": [0, 2]}, "k", "'index' of take"),
    ("x[k]", {"x": X, "k": 1}, "k", "an index"),
    ("y = x[k]\ny**2", {"x": X, "k": 1}, "k", "an index"),
    ("f(u) = u[k]\nf(x)", {"x": X, "k": 1}, "k", "an index"),
    ("sum(x[:k])", {"x": X, "k": 2}, "k", "an index"),
    ("sum(sum(s, axis=k))", {"s": SCORES, "k": 1}, "k", "'axis' of sum"),
    ("sum(x + zeros(k))", {"x": X, "k": 3}, "k", "an extent of a shape"),
]


@pytest.mark.parametrize(("text", "at", "name", "place"), WHOLE)
def test_whole_numbers_have_no_derivative_and_are_named(text, at, name, place):
    record = gradient(text, at=at)
    assert list(record.grad) == [other for other in at if other != name]
    assert record.warnings == [f"no derivative by {name}: it is a whole number, {place}"]
    with pytest.raises(TypeMismatchError, match=f"no derivative by '{name}': it is a whole number"):
        gradient(text, at=at, wrt=name)
    assert gradient(text, at=at, freeze=name).warnings == []


def test_an_index_that_is_also_a_factor_has_the_factors_derivative():
    record = gradient("x[k]*k", x=X, k=2)
    assert float(record.grad["k"]) == 4.0
    assert record.warnings == []


HELD = [
    (
        "gaussian_nll_loss(x, y, v, eps=b)",
        {"x": 1.0, "y": 2.0, "v": 0.5, "b": 1e-3},
        "'eps' of gaussian_nll_loss",
    ),
    ("cosine_similarity(x, [2, 3, 1], 0, b)", {"x": X, "b": 1e-3}, "'eps' of cosine_similarity"),
    ("torch.sum(torch.renorm(x, 2, 0, b))", {"x": SCORES, "b": 1}, "'maxnorm' of renorm"),
    ("norm(x, b)", {"x": X, "b": 3}, "'ord' of norm"),
]
OPERANDS = [
    ("softplus(x, beta=b)", {"x": 0.5, "b": 2}, (math.e / (1 + math.e) - math.log1p(math.e)) / 4),
    ("elu(x, alpha=b)", {"x": -0.5, "b": 2}, math.expm1(-0.5)),
    ("leaky_relu(x, b)", {"x": -0.5, "b": 1}, -0.5),
    ("huber_loss(x, y, delta=b)", {"x": 3.0, "y": 1.0, "b": 1}, 1.0),
    ("sum(linspace(0, b, 3)*x)", {"x": X, "b": 2}, 5.0),
    ("sum(arange(b, b + 3)*x)", {"x": X, "b": 2}, 7.0),
]


@pytest.mark.parametrize(("text", "at", "place"), HELD)
@pytest.mark.parametrize("spelled", [int, float])
def test_a_parameter_that_is_no_operand_has_a_zero_and_is_named(text, at, place, spelled):
    at = {**at, "b": spelled(at["b"]) or at["b"]}
    record = gradcli.evaluate(text, at=at)
    assert list(record.grad) == list(at)
    assert float(record.grad["b"]) == 0.0
    assert record.warnings == [f"the derivative by b is 0: {place}, which is held constant"]
    assert record.check.variables["b"].verdict.word == "skipped"
    assert list(gradcli.value_and_grad(text)(at)[1]) == list(at)
    with pytest.raises(
        TypeMismatchError, match=f"it is {place}, which takes a number known beforehand"
    ):
        gradient(text, at=at, wrt="b")


@pytest.mark.parametrize(("text", "at", "expected"), OPERANDS)
@pytest.mark.parametrize("spelled", [int, float])
def test_a_parameter_that_is_an_operand_has_its_derivative(text, at, expected, spelled):
    record = gradient(text, at={**at, "b": spelled(at["b"])}, wrt=["b"])
    assert float(record.grad["b"]) == pytest.approx(expected, rel=1e-14)
    assert record.warnings == []


def test_what_decides_how_many_entries_there_are_is_named():
    assert gradient("sum(linspace(0, 1, n)*2)", n=3).warnings == [
        "no derivative by n: it is a whole number, 'num' of linspace"
    ]
    record = gradient("sum(arange(0, b, 0.5)*2)", b=1.75)
    assert (record.grad, record.warnings) == (
        {"b": 0.0},
        ["the derivative by b is 0: nothing differentiable depends on it"],
    )


def test_a_part_that_is_left_out_is_named():
    assert gradient("b*norm(x, b)", x=X, b=2.0).warnings == [
        "the derivative by b leaves out 'ord' of norm, which is held constant"
    ]


@pytest.mark.parametrize(
    "text", ["floor(a)*b", "detach(a)*b", "where(a > 0, b, 2*b)", "sum(b*[1, 2][[a > 0, a > 2]])"]
)
def test_a_zero_that_nothing_differentiable_makes_is_named(text):
    record = gradient(text, a=1.5, b=2.0)
    assert float(record.grad["a"]) == 0
    assert record.warnings == ["the derivative by a is 0: nothing differentiable depends on it"]


def test_a_zero_that_is_a_result_is_none_of_these():
    assert gradient("(x - 2)**2 + x*0", x=2.0).warnings == []


def test_booleans_are_named_where_they_are_calculated_with():
    assert gradient("sum(x**2)", x=True).warnings == ["no derivative by x: it is boolean"]
    assert gradient("sum(where(m, x, 0))", x=X, m=[True, False, True]).warnings == []
    with pytest.raises(TypeMismatchError, match="'x' is boolean"):
        gradient("sum(x**2)", x=True, wrt="x")


def test_statistics_of_a_normalization_are_operands():
    x, mean, var = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.5, 0.3]), np.array([1.0, 2.0])
    for text in (
        "F.batch_norm(x, m, v, training=False).sum()",
        "F.instance_norm(x[:, :, None], m, v, use_input_stats=False).sum()",
    ):
        found = gradcli.evaluate(text, x=x, m=mean, v=var)
        spread = var + 1e-5
        np.testing.assert_allclose(found.grad["m"], -2 / np.sqrt(spread), rtol=1e-13)
        np.testing.assert_allclose(
            found.grad["v"], -0.5 * (x - mean).sum(0) * spread**-1.5, rtol=1e-13
        )
        assert found.check.worst.word == "agree"


# -- names bound again
# ------------------------------------------------------------------------------------------------------------

AGAIN = [
    ("x = 3.; x = x*2; x**2", {}, 36, {"x": 24}),
    ("x = 3.; x = x*2; x = x + 1; x**2", {}, 49, {"x": 28}),
    (
        "x = x - mean(x); sum(x**2)",
        {"x": X},
        float(((X - X.mean()) ** 2).sum()),
        {"x": 2 * (X - X.mean())},
    ),
    ("x = 3; x = x/2; x**2", {"x": 5.0}, 6.25, {"x": 2.5}),
    ("x = x/2; x = 3; x**2", {"x": 5.0}, 25, {"x": 10}),
    ("y = x + 1; x = y*2; x*y", {"x": 5.0}, 72, {"x": 24}),
    ("f(t) = t + x; x = f(2); x**2", {"x": 5.0}, 49, {"x": 14}),
    ("z = x*w; z**2", {"z": 3.0}, 9, {"z": 6}),
    ("x = x; x**2", {"x": 3.0}, 9, {"x": 6}),
    ("l = 1.; l += 0.1*r; l *= 2 + 1; l", {"r": 3.0}, 3.9, {"r": 0.3, "l": 3}),
    ("x -= 1; x /= 2; x **= 2; x", {"x": 5.0}, 4, {"x": 2}),
    ("w = [[1, 2], [3, 4]]; w @= [1, 1]; sum(w)", {}, 10, {"w": [[1, 1], [1, 1]]}),
    ("x = 2.; x = x**2; grad(x**3, x)", {}, 48, {"x": 96}),
    ("x = 4.; const x = x/2; 3*x*y", {"y": 1.0}, 6, {"y": 6}),
    ("x = 4.; y = x**2; const x = x/2; x*y", {}, 32, {"x": 16}),
    ("pi = 2*pi; pi", {}, 2 * math.pi, {"pi": 1}),
    ("x = 1.; y = x**2; x = 2.; 3*y", {}, 3, {"x": 6}),
    ("x = 1.; y = x**2; x = 2.; 3*x", {}, 6, {"x": 3}),
    ("t = a*b; y = t**2; t = 0.5; y", {"a": 2.0, "b": 3.0}, 36, {"a": 36, "b": 24}),
]


@pytest.mark.parametrize(("text", "at", "value", "expected"), AGAIN)
def test_names_bound_again(text, at, value, expected):
    record = gradcli.evaluate(text, at=at)
    assert float(record.value) == pytest.approx(value)
    assert sorted(record.grad) == sorted(expected)
    for name, wanted in expected.items():
        np.testing.assert_allclose(record.grad[name], wanted, rtol=1e-14)
    assert record.check.worst.word == "agree"
    grads = gradcli.value_and_grad(text)(at)[1]
    assert {name: np.asarray(found).tolist() for name, found in grads.items() if name in at} == {
        name: pytest.approx(np.asarray(expected[name]).tolist()) for name in at
    }


def test_two_values_of_one_name_are_refused():
    with pytest.raises(AmbiguousError) as caught:
        gradient("x = 1.\ny = x**2\nx = 2. + 1\nx*y")
    assert caught.value.render() == (
        "error[ambiguous]: 'x' has two values here: bound on line 1 and on line 3\n  --> "
        "<expression>:4:1\n4 | x*y\n  | ^^^\n"
        "  = help: give the second a name of its own: x_2 = 2. + 1"
    )
    assert gradient("x = 1.\ny = x**2\nx_2 = 2. + 1\nx_2*y").grad == {"x": 6.0, "x_2": 1.0}, (
        "as the help says"
    )
    assert gradient("x = 1.\ny = x**2\nx = 2.\nx*y", freeze="x").grad == {}, (
        "no result has the name"
    )
    with pytest.raises(AmbiguousError):
        gradient("x = 1.\ny = x**2\nx = 2.\nx*y", wrt="x")
    with pytest.raises(AmbiguousError):
        gradient("x = 1.\ny = x**2\nx = 3*w\nx*y", w=2.0)


def test_claims_and_saved_gradients_are_about_the_value_bound_before(call_cli, tmp_path):
    record = {"expr": "x = x/2\nx**2", "at": {"x": 3.0}, "expect": {"grad": {"x": "x/2"}}}
    assert call_cli("check", "-i", "jsonl", "-", stdin=json.dumps(record)).returncode == 0
    record["expect"]["grad"]["x"] = "x"
    assert call_cli("check", "-i", "jsonl", "-", stdin=json.dumps(record)).returncode == 1
    assert (
        call_cli("eval", "x = x/2; x**2", "x=3", "--save", f"x={tmp_path / 'x.npy'}").returncode
        == 0
    )
    assert float(np.load(tmp_path / "x.npy")) == 1.5


@pytest.mark.parametrize(
    ("program", "cases"),
    [
        ("x = x - 1\nx = x/2\nassert grad(x**3, x) == 3*x**2\nx**2", 2),
        ("y = 3.\ny = y*z\nassert y == 3*z\ny + z**2", 2),
        ("y = 3.\ny = y*z\ny += 1\nassert y == 3*z + 1", 1),
        ("a = b*2\nc = a + 1\na = 5.\nassert c == 2*b + 1\nassert a == 5", 2),
        ("l = 0.\nl += z\nl += z**2\nassert grad(l, z) == 1 + 2*z", 1),
    ],
)
def test_names_without_values_may_be_bound_again(call_cli, program, cases):
    done = call_cli("check", "-i", "text", "--format", "jsonl", "-", stdin=program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [json.loads(line)["outcome"]["status"] for line in done.stdout.splitlines()[:cases]] == [
        "passed"
    ] * cases


# -- names that are asked for, or bound
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [("ab", ["ab"]), ("b, ab", ["b", "ab"]), (["b"], ["b"]), (("a", "b"), ["a", "b"])],
)
def test_a_string_is_a_list_of_names_everywhere(given, expected):
    at = {"ab": 2.0, "a": 3.0, "b": 4.0}
    assert list(gradient("ab*a*b", at=at, wrt=given).grad) == expected
    assert list(gradcli.value_and_grad("ab*a*b", wrt=given)(at)[1]) == expected
    assert list(gradient("ab*a*b", at=at, freeze=given).grad) == [
        name for name in at if name not in expected
    ]


@pytest.mark.parametrize("option", ["wrt", "freeze"])
def test_names_that_no_query_has_are_refused(call_cli, option):
    with pytest.raises(MissingValueError) as caught:
        gradient("weight*x", weight=1.0, x=2.0, **{option: "wieght"})
    assert caught.value.help == "did you mean 'weight'?"
    assert call_cli("eval", "weight*x", "weight=1", "x=2", f"--{option}", "wieght").returncode == 2
    lines = "\n".join(json.dumps({"expr": f"{name}**2", "at": {name: 2}}) for name in "ab")
    done = call_cli(
        "eval", "-i", "jsonl", "--format", "jsonl", "-", f"--{option}", "a", stdin=lines
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, done.stderr, first["warnings"], len(second["warnings"])) == (
        0,
        "",
        [],
        1,
    )
    assert second["warnings"][0].startswith("'a' has no value here")
    done = call_cli(
        "eval", "-i", "jsonl", "--format", "jsonl", "-", f"--{option}", "c", stdin=lines
    )
    assert done.returncode == 2
    assert "error[missing-value]: no value for 'c'" in done.stderr


@pytest.mark.parametrize(
    ("words", "name", "use", "help"),
    [
        ("check -e x*y x=1 --freeze z", "z", "held constant", "the names are x, y"),
        (
            "eval speed*time speed=1. time=2. --freeze sped",
            "sped",
            "held constant",
            "did you mean 'speed'?",
        ),
        ("eval x*y x=1 --wrt y", "y", "differentiated", "give it a value: y=..."),
        ("eval x x=1 --wrt y", "y", "differentiated", "the names are x"),
        ("eval 2*3 --wrt y", "y", "differentiated", "give it a value: y=..."),
    ],
)
def test_helps_for_names_that_are_asked_for(call_cli, words, name, use, help):
    done = call_cli(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"error[missing-value]: no value for '{name}', which is to be {use}\n = help: {help}\n"
    )


def test_a_name_that_the_query_does_not_depend_on_has_zeros():
    record = gradient("x**2", x=3.0, y=[1.0, 2.0], wrt=["y", "x"])
    assert {name: np.asarray(found).tolist() for name, found in record.grad.items()} == {
        "y": [0.0, 0.0],
        "x": 6.0,
    }
    assert record.warnings == []


def test_names_that_stand_nowhere(call_cli):
    with pytest.raises(
        UnknownNameError, match="evaluate has no option 'chek', and the expression no name 'chek'"
    ) as caught:
        gradcli.evaluate("x**2", x=2.0, chek=False)
    assert caught.value.help == "did you mean 'check'?"
    with pytest.raises(
        UnknownNameError, match="evaluate has no option 'axis', and the expression no name 'axis'"
    ):
        gradcli.evaluate("sum(x, axis=0)", x=2.0, axis=0)
    with pytest.raises(
        UnknownNameError, match="the function has no option 'y', and the expression no name 'y'"
    ):
        gradcli.value_and_grad("x**2")(x=2.0, y=3.0)
    with pytest.raises(UnknownNameError, match="the expression no name 'axis'"):
        gradcli.value_and_grad("sum(x, axis=0)")(x=2.0, axis=0)
    assert gradient("x**2", at={"x": 2.0, "y": 3.0}).warnings == ["'y' is mentioned nowhere"]
    assert gradient("y = 3\nx**2", x=2.0).warnings == ["'y' is mentioned nowhere (bound on line 1)"]
    assert gradient("_y = 3\nx**2", x=2.0).warnings == []
    done = call_cli("eval", "x**2", "x=2", "y=3")
    assert (done.returncode, "'y' is mentioned nowhere" in done.stdout) == (0, True)
    records = [{"expr": "a**2", "at": {"a": 2, "b": 3}}, {"expr": "b**2", "at": {"b": 2}}]
    done = call_cli(
        "eval",
        "-i",
        "jsonl",
        "--format",
        "jsonl",
        "--no-check",
        "-",
        "q=3",
        "b=1",
        stdin="\n".join(map(json.dumps, records)),
    )
    assert [json.loads(line)["warnings"] for line in done.stdout.splitlines()] == [
        ["'b' is mentioned nowhere"],
        [],
    ]
    assert (done.returncode, done.stderr) == (0, "warning: 'q' is mentioned nowhere\n")


@pytest.mark.parametrize("command", ["eval", "check"])
def test_a_file_is_read_to_its_end_before_a_name_is_said_to_stand_nowhere(
    call_cli, tmp_path, command
):
    file = tmp_path / "m.grad"
    file.write_text("a = 1.\nb = 2.\nlr = 3.\nf(t) = b*t\na**2\nlr*a\n" + "assert a == 1\n" * 40)
    for jobs in (1, 2) if command == "check" else (1,):
        done = call_cli(
            command,
            *(["-f"] if command == "eval" else []),
            str(file),
            "lrr=4",
            *(["--jobs", "2"] if jobs > 1 else []),
        )
        assert (done.returncode, done.stderr) == (
            0,
            "warning: 'lrr' is mentioned nowhere: did you mean 'lr'?\n",
        )
