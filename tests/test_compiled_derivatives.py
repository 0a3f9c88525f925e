"""Compiled Jacobians, Hessians and Hessian-vector products:

PyTorch's numbers, SciPy's solvers, their arguments and their errors.

The cases are lines of `data/compiled_derivatives.jsonl`, PyTorch's numbers of them in
`data/derivatives_by_torch.json.gz`: where PyTorch is installed, ``python
tests/test_compiled_derivatives.py`` records them.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from recorded import read_json, read_lines, write

import gradcli

RECORDED = "derivatives_by_torch.json"
X = [0.7, -1.2, 0.4, 2.1]
ROSENBROCK = "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"

# by titles: an expression, its values, PyTorch's of the same, and what PyTorch makes of it
ANSWERS = read_json(RECORDED)
CASES = {
    case["title"]: case | ANSWERS[case["title"]]
    for case in read_lines("compiled_derivatives.jsonl")
}


def arrays(values: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(value, float) for name, value in values.items()}


def dense(matrix: Any, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(matrix.toarray()).reshape(shape) if hasattr(matrix, "toarray") else matrix


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_jacobians(case: str, sparse: bool) -> None:
    recorded = CASES[case]
    text, given = recorded["text"], arrays(recorded["at"])
    value, by = gradcli.jacobian(text, sparse=sparse)(given)
    np.testing.assert_allclose(value, recorded["value"], rtol=1e-12, atol=1e-14)
    assert list(by) == list(given)
    for name, x in given.items():
        wanted = np.array(recorded["jacobian"][name])
        assert wanted.shape == (*np.shape(value), *x.shape)
        np.testing.assert_allclose(dense(by[name], wanted.shape), wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_hessians(case: str, sparse: bool) -> None:
    recorded = CASES[case]
    text, given = recorded["text"], arrays(recorded["at"])
    value, grads, by = gradcli.hessian(f"sum({text})", sparse=sparse)(given)
    assert value == pytest.approx(recorded["sum"], rel=1e-12)
    for name, x in given.items():
        np.testing.assert_allclose(grads[name], recorded["gradient"][name], rtol=1e-11, atol=1e-13)
        for other, y in given.items():
            wanted = np.array(recorded["hessian"][name][other])
            np.testing.assert_allclose(
                dense(by[name][other], (*x.shape, *y.shape)), wanted, rtol=1e-10, atol=1e-12
            )


# whose operations have no form for many directions
ONE_BY_ONE = [
    "running sums",
    "running products",
    "a product of matrices",
    "a solution",
    "an inverse",
    "a determinant",
    "a network",
]


@pytest.mark.parametrize("case", CASES)
def test_directions_all_at_once(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.query.matrices import Short

    monkeypatch.setattr(Short, "suits", lambda of: False)
    recorded = CASES[case]
    text, given = recorded["text"], arrays(recorded["at"])
    jacobian, hessian = gradcli.jacobian(text), gradcli.hessian(f"sum({text})")
    _, by = jacobian(given)
    for name in given:
        np.testing.assert_allclose(by[name], recorded["jacobian"][name], rtol=1e-11, atol=1e-13)
        for other, found in hessian(given)[2][name].items():
            np.testing.assert_allclose(
                found, recorded["hessian"][name][other], rtol=1e-10, atol=1e-12
            )
    if case not in ONE_BY_ONE:
        assert "for all directions" in hessian.plan()


@pytest.mark.parametrize(
    ("fixed", "moving"),
    [
        ("A @ x", (3,)),
        ("A @ X", (3, 2)),
        ("x @ A.T", (3,)),
        ("X.T @ A.T", (3, 2)),
        ("b @ x", (3,)),
        ("b @ X", (3, 2)),
        ("X.T @ b", (3, 2)),
    ],
)
def test_products_with_directions(
    fixed: str, moving: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By difference quotients of what is linear: its change along each entry."""
    from gradcli.query.matrices import Short

    monkeypatch.setattr(Short, "suits", lambda of: False)
    random = np.random.default_rng(1)
    constants = {"A": random.normal(size=(4, 3)), "b": random.normal(size=3)}
    used = {name: value for name, value in constants.items() if name in fixed}
    name = "X" if "X" in fixed else "x"
    x = random.normal(size=moving)
    f = gradcli.jacobian(fixed, wrt=name)
    _, by = f(**used, **{name: x})
    value = gradcli.compile(fixed)
    for place in np.ndindex(moving):
        unit = np.zeros(moving)
        unit[place] = 1
        wanted = value(**used, **{name: unit})
        np.testing.assert_allclose(by[name][(..., *place)], wanted, rtol=1e-13, atol=1e-15)


# -- solvers
# ------------------------------------------------------------------------------------------------------------------


def test_least_squares() -> None:
    from scipy.optimize import least_squares

    t = np.linspace(0, 3, 30)
    values = {"a": (), "b": (), "c": (), "t": t, "y": 2 * np.exp(-0.7 * t) + 0.3}
    model = "a*exp(-b*t) + c - y"
    residuals, slopes = (
        make(model).flat("a", "b", "c", **values) for make in (gradcli.compile, gradcli.jacobian)
    )
    assert slopes([1.0, 1, 1]).shape == (30, 3)
    found = least_squares(residuals, [1.0, 1, 1], jac=slopes)
    np.testing.assert_allclose(found.x, [2, 0.7, 0.3], rtol=1e-9)
    assert residuals.split(found.x)["b"] == pytest.approx(0.7)


def test_least_squares_with_a_sparse_jacobian() -> None:
    """A discrete boundary value problem: u'' = u, u(0) = 1, u(1) = e, of which exp is the solution
    but for the step's square.
    """
    from scipy.optimize import least_squares

    f = "concatenate(((u[2:] - 2*u[1:-1] + u[:-2])*n**2 - u[1:-1], [u[0] - 1, u[-1] - exp(1)]))"
    residuals = gradcli.compile(f).flat("u", n=10.0)
    jacobian = gradcli.jacobian(f, sparse=True).flat("u", n=10.0)
    start = np.ones(11)
    assert jacobian(start).nnz == 3 * 9 + 2
    found = least_squares(residuals, start, jac=jacobian, tr_solver="lsmr")
    np.testing.assert_allclose(found.x, np.exp(np.linspace(0, 1, 11)), rtol=1e-3)


STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "Newton-CG": lambda: {"hess": gradcli.hessian(ROSENBROCK).flat("x")},
    "Newton-CG with products": lambda: {"hessp": products()},
    "trust-constr": lambda: {"hess": gradcli.hessian(ROSENBROCK).flat("x")},
    "trust-constr, sparse": lambda: {"hess": gradcli.hessian(ROSENBROCK, sparse=True).flat("x")},
    "trust-constr with products": lambda: {"hessp": products()},
    "trust-exact": lambda: {"hess": gradcli.hessian(ROSENBROCK).flat("x")},
}


def products() -> Callable[[Any, Any], Any]:
    """The Hessian times a vector, as a value."""
    product = gradcli.compile(f"hvp({ROSENBROCK}, x, p)")
    return lambda x, p: product(x=x, p=p)


@pytest.mark.parametrize("case", STEPS)
def test_minimizers(case: str) -> None:
    from scipy.optimize import minimize

    f = gradcli.value_and_grad(ROSENBROCK).flat("x")
    method = case.split(",", maxsplit=1)[0].removesuffix(" with products")
    found = minimize(f, [-1.2, 1.0, 0.8], jac=True, method=method, **STEPS[case]())
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


# -- flat
# ---------------------------------------------------------------------------------------------------------------------


def test_a_vector_of_several_names() -> None:
    f = gradcli.value_and_grad("sum(W @ x) + b*k").flat("x, W", "b", W=(2, 3), b=(), k=5.0)
    vector = np.arange(10.0)
    value, gradient = f(vector)
    W, x = vector[3:9].reshape(2, 3), vector[:3]
    assert value == (W @ x).sum() + 9 * 5
    np.testing.assert_array_equal(gradient, [*W.sum(axis=0), *x, *x, 5])
    parts = f.split(vector)
    np.testing.assert_array_equal(parts["W"], W)
    matrix = gradcli.hessian("sum(W @ x) + b*k").flat("x", "W", "b", W=(2, 3), b=(), k=5.0)(vector)
    wanted = np.zeros((10, 10))
    for i in range(2):
        for j in range(3):
            wanted[3 + 3 * i + j, j] = wanted[j, 3 + 3 * i + j] = 1
    np.testing.assert_array_equal(matrix, wanted)
    sparse = gradcli.hessian("sum(W @ x) + b*k", sparse=True).flat(
        "x", "W", "b", W=(2, 3), b=(), k=5.0
    )
    np.testing.assert_array_equal(sparse(vector).toarray(), wanted)


def test_names_that_are_no_keywords() -> None:
    value, gradient = gradcli.value_and_grad("sum(out*lambda**2) + at").flat(
        "lambda", at={"out": 2.0, "at": 1.0}
    )([3.0])
    assert (value, gradient.tolist()) == (19, [12])


VECTORS: dict[str, tuple[Callable[[], Any], str]] = {
    "another size": (
        lambda: gradcli.value_and_grad("sum(x)*b").flat("x", "b", x=(2,), b=())([1.0]),
        "holds 3 entries along one axis",
    ),
    "a matrix": (
        lambda: gradcli.value_and_grad("sum(x)").flat("x")([[1.0]]),
        r"has the shape \(1, 1\)",
    ),
    "a masked vector": (
        lambda: gradcli.value_and_grad("sum(x)").flat("x")(np.ma.array([1.0, 2.0], mask=[0, 1])),
        "has masked entries",
    ),
    "a masked solution": (
        lambda: gradcli.compile("sum(x)").flat("x").split(np.ma.array([1.0], mask=[1])),
        "has masked entries",
    ),
    "text": (lambda: gradcli.compile("sum(x)").flat("x")("ab"), "the vector must be real numbers"),
    "imaginary parts": (
        lambda: gradcli.compile("sum(x)").flat("x")([1j]),
        "the vector must be real numbers, not complex128",
    ),
    "two without shapes": (
        lambda: gradcli.value_and_grad("sum(x) + y").flat("x", "y"),
        "the shapes of 'x' and 'y' are not known",
    ),
    "a strange name": (lambda: gradcli.value_and_grad("sum(x)").flat("z"), "no name 'z'"),
}


@pytest.mark.parametrize("case", VECTORS)
def test_errors_of_vectors(case: str) -> None:
    call, message = VECTORS[case]
    with pytest.raises(gradcli.GradcliError, match=message):
        call()


# -- arguments, errors
# --------------------------------------------------------------------------------------------------------

ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "a Hessian of an array": (
        lambda: gradcli.hessian("x**2")(x=X),
        r"a Hessian is of a scalar: the value has the shape \(4,\)",
    ),
    "an assert": (lambda: gradcli.jacobian("assert x == 2\nx**2"), "runs no asserts"),
    "a position": (lambda: gradcli.jacobian("x**2*y")(3.0), "takes values by names"),
    "a strange keyword": (lambda: gradcli.jacobian("x**2")(x=1.0, z=2.0), "no option 'z'"),
    "a strange name in wrt": (lambda: gradcli.hessian("x**2", wrt="z")(x=1.0), "no value for 'z'"),
    "a missing value": (lambda: gradcli.jacobian("x*y")(x=1.0), "no value for 'y'"),
    "sparse as text": (
        lambda: gradcli.jacobian("x", sparse="yes"),
        "'sparse' must be True or False",
    ),  # type: ignore[arg-type]
    "a dense Jacobian that is too large": (
        lambda: gradcli.jacobian("x**2")(x=np.ones(10_000)),
        "100,000,000 entries, over the limit",
    ),
    "a shape that decides": (
        lambda: gradcli.jacobian("cumsum(x, axis=k)").sparsity(x=(3, 2), k=()),
        "decides what is computed",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    call, message = ERRORS[case]
    with pytest.raises(gradcli.GradcliError, match=message):
        call()


def test_an_error_has_its_place_in_the_text() -> None:
    with pytest.raises(gradcli.GradcliError, match="ingular") as caught:
        gradcli.jacobian("1 + inv(m)")(m=np.zeros((2, 2)))
    assert caught.value.place() == (1, 1, 11)


def test_names_that_are_options_elsewhere() -> None:
    assert gradcli.jacobian("seed*out")(seed=2.0, out=3.0)[1] == {"seed": 3, "out": 2}


def test_a_value_that_decides_what_is_computed() -> None:
    f = gradcli.jacobian("cumsum(x, axis=k)[-1]", wrt="x")
    x = np.ones((2, 2))
    assert f(x=x, k=0)[1]["x"].tolist() == [[[1, 0], [1, 0]], [[0, 1], [0, 1]]]
    assert f(x=x, k=1)[1]["x"].tolist() == [[[0, 0], [1, 0]], [[0, 0], [1, 1]]]


def test_the_order_of_names_is_that_of_the_call_or_of_wrt() -> None:
    f = gradcli.hessian("x*y**2")
    assert [list(f(y=1.0, x=2.0)[1]), list(f(x=2.0, y=1.0)[2]), list(f(y=1.0, x=2.0)[2]["x"])] == [
        ["y", "x"],
        ["x", "y"],
        ["y", "x"],
    ]
    assert list(gradcli.hessian("x*y**2", wrt="y, x")(x=2.0, y=1.0)[1]) == ["y", "x"]


def test_shapes_without_entries_and_constants() -> None:
    assert gradcli.jacobian("x**2")(x=np.zeros((0, 2)))[1]["x"].shape == (0, 2, 0, 2)
    assert gradcli.jacobian("sum(x)")(x=np.zeros(0))[1]["x"].shape == (0,)
    assert gradcli.jacobian("3 + 0*x[:0]")(x=X)[1]["x"].shape == (0, 4)
    for sparse in (False, True):
        assert gradcli.hessian("2 + 1", sparse=sparse)()[1:] == ({}, {})
        assert gradcli.jacobian("x > 1", sparse=sparse)(x=X)[1] == {}
    assert gradcli.hessian("sum(x)")(x=X)[2]["x"]["x"].tolist() == np.zeros((4, 4)).tolist()
    assert gradcli.hessian("sum(x)", sparse=True)(x=X)[2]["x"]["x"].nnz == 0


def test_single_precision() -> None:
    value, by = gradcli.jacobian("x*exp(x)", dtype="float32")(x=X)
    assert value.dtype == by["x"].dtype == np.float32
    np.testing.assert_allclose(np.diag(by["x"]), (1 + np.array(X)) * np.exp(X), rtol=1e-6)
    assert (
        gradcli.jacobian("x*exp(x)", dtype="float32", sparse=True)(x=X)[1]["x"].dtype == np.float32
    )


NOT_FINITE: dict[str, tuple[str, dict[str, Any]]] = {
    "a pole": ("1/x", {"x": [0.0, 2.0, -0.5]}),
    "a branch that is not taken": ("where(x > 0, log(x), x)", {"x": [0.0, 2.0, -1.0]}),
    "zero times infinity": ("x*sqrt(x)", {"x": [0.0, 4.0, 1.0]}),
    "an overflow on the way": ("1/(1 + exp(-x))", {"x": [-800.0, 0.0, 800.0]}),
    "an overflow": ("exp(x)*x", {"x": [800.0, 1.0, 2.0]}),
}


@pytest.mark.parametrize("size", [3, 120])
@pytest.mark.parametrize("case", NOT_FINITE)
def test_what_is_not_finite_is_decided_row_by_row(case: str, size: int) -> None:
    """These work entry by entry: the diagonal is the derivative of each, which the ordinary
    gradient gives, and the rest is 0.
    """
    text, values = NOT_FINITE[case]
    x = np.resize(values["x"], size)
    wanted = gradcli.evaluate(text, x=x, seed=np.ones(size), check=False, formula=False).grad
    assert wanted is not None
    for sparse in (False, True):
        _, by = gradcli.jacobian(text, sparse=sparse)(x=x)
        np.testing.assert_allclose(dense(by["x"], (size, size)), np.diag(wanted["x"]), rtol=1e-12)
    second = gradcli.evaluate(
        text, x=values["x"], mode="jacobian", check=False, formula=False
    ).jacobian
    assert second is not None
    hessian = gradcli.evaluate(
        f"sum({text})", x=values["x"], mode="hessian", check=False, formula=False
    ).hessian
    assert hessian is not None
    for sparse in (False, True):
        found = gradcli.hessian(f"sum({text})", sparse=sparse)(x=values["x"])[2]["x"]["x"]
        np.testing.assert_allclose(dense(found, (3, 3)), hessian["x"]["x"], rtol=1e-12)


# -- random numbers, processes, threads, memory
# -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["sum(rand(2)*x)", "rand()*x**2 + sum(randn(3))*x", "sum((rand(2, 3) @ [x, x, 1])**2)"]
)
def test_random_draws_are_those_of_the_state(text: str) -> None:
    for state in (0, 3, 7):
        plain = gradcli.evaluate(text, x=1.5, random_state=state, check=False)
        assert plain.grad is not None
        f = gradcli.value_and_grad(text, random_state=state)
        for _ in range(2):
            value, grads = f(x=1.5)
            assert value == pytest.approx(plain.value)
            assert grads["x"] == pytest.approx(plain.grad["x"])
        assert gradcli.compile(text, random_state=state)(x=1.5) == pytest.approx(plain.value)
        assert gradcli.jacobian(text, random_state=state)(x=1.5)[1]["x"] == pytest.approx(
            plain.grad["x"]
        )
        assert gradcli.hessian(text, random_state=state)(x=1.5)[1]["x"] == pytest.approx(
            plain.grad["x"]
        )


def test_draws_that_decide_what_is_computed() -> None:
    text = "x[int(4*rand())]"
    x = np.arange(4.0)
    found = [float(gradcli.compile(text, random_state=state)(x=x)) for state in range(8)]
    assert found == [int(4 * np.random.default_rng(state).random()) for state in range(8)]


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "value_and_grad": lambda: gradcli.value_and_grad("sum(x**3)*rand()", random_state=5),
    "compile": lambda: gradcli.compile("sum(x**3)"),
    "jacobian": lambda: gradcli.jacobian("x**3", sparse=True),
    "hessian": lambda: gradcli.hessian("sum(x**3)", wrt="x"),
    "flat": lambda: gradcli.hessian("sum(k*x**3)", sparse=True).flat("x", k=2.0),
}


def called(f: Any) -> str:
    """A result in text, which tells any bit."""
    found = f([1.0, 2.0]) if hasattr(f, "split") else f(x=[1.0, 2.0])
    parts = found if isinstance(found, tuple) else (found,)
    return repr(
        [
            {k: dense(v, (2, 2)).tolist() for k, v in p.items() if not isinstance(v, dict)}
            if isinstance(p, dict)
            else str(p)
            for p in parts
        ]
    )


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions_are_pickled_at_any_time(case: str) -> None:
    f = FUNCTIONS[case]()
    before = pickle.loads(pickle.dumps(f))
    wanted = called(f)
    after = pickle.loads(pickle.dumps(f))
    assert called(before) == called(after) == wanted
    assert repr(after) == repr(f)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[pytest.mark.ci] * (method != "fork"))
        for method in multiprocessing.get_all_start_methods()
    ],
)
def test_functions_in_pools(method: str) -> None:
    functions = [make() for make in FUNCTIONS.values()]
    wanted = [called(f) for f in functions]
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert list(pool.map(called, functions)) == wanted


def test_eight_threads_share_a_function() -> None:
    functions = [gradcli.jacobian("x[1:]*exp(-x[:-1])"), gradcli.hessian(ROSENBROCK, sparse=True)]
    xs = [np.linspace(0.1, 1, n) for n in (4, 90)]
    wanted = [
        repr(dense(f(x=x)[-1]["x"], (0,)) if i == 0 else f(x=x)[-1]["x"]["x"].data.tolist())
        for i, f in enumerate(functions)
        for x in xs
    ]
    fresh = [pickle.loads(pickle.dumps(f)) for f in functions]
    found: list[list[str]] = []

    def work() -> None:
        for _ in range(20):
            parts = [
                repr(f(x=x)[-1]["x"] if i == 0 else f(x=x)[-1]["x"]["x"].data.tolist())
                for i, f in enumerate(fresh)
                for x in xs
            ]
        found.append(parts)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8


def test_results_share_no_memory() -> None:
    x = np.array(X)
    for f in (gradcli.jacobian("x"), gradcli.jacobian("x*[1, 1, 1, 1]", sparse=True)):
        first, second = f(x=x)[1]["x"], f(x=x)[1]["x"]
        parts = [
            part
            for m in (first, second)
            for part in ([m] if isinstance(m, np.ndarray) else [m.data, m.indices, m.indptr])
        ]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(parts) for b in [*parts[:i], x])
        if not isinstance(first, np.ndarray):
            first.data[:] = 0
            first.eliminate_zeros()
            np.testing.assert_array_equal(f(x=x)[1]["x"].toarray(), np.eye(4))


def test_many_shapes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcli.query import functions
    from gradcli.query.specialized import ValueAndGradients

    def alive() -> int:
        gc.collect()
        return sum(isinstance(o, ValueAndGradients) for o in gc.get_objects())

    monkeypatch.setattr(functions, "_PLANS", 16)
    before = alive()
    f = gradcli.value_and_grad("sum(exp(x))")
    for n in range(100):
        f(x=np.ones(100 + n))
    assert alive() <= before + 2 * 16, (
        "the last ones that were compiled, and some that were asked for"
    )
    assert f(x=np.ones(100))[0] == pytest.approx(100 * np.e)


def test_plans_are_shown_and_prepared() -> None:
    f = gradcli.jacobian("x[1:]*x[:-1]", sparse=True).prepare(x=(100,))
    assert "2 directions for 198 entries" in f.plan()
    assert "compiled at the first call" not in gradcli.hessian("sum(x**2)").prepare(x=(3,)).plan()


if __name__ == "__main__":
    import torch

    answers = {}
    for title, case in CASES.items():
        given = {n: torch.tensor(v, dtype=torch.float64) for n, v in case["at"].items()}

        def function(*parts: Any, code: str = case["torch"], given: Any = given) -> Any:
            return eval(code, {"torch": torch}, dict(zip(given, parts, strict=True)))

        value = function(*given.values())
        jacobian = torch.autograd.functional.jacobian(function, tuple(given.values()))
        total = lambda *parts, function=function: function(*parts).sum()  # noqa: E731
        gradient = torch.autograd.functional.jacobian(total, tuple(given.values()))
        hessian = torch.autograd.functional.hessian(total, tuple(given.values()))
        answers[title] = {
            "value": value.tolist(),
            "sum": value.sum().item(),
            "jacobian": {n: j.tolist() for n, j in zip(given, jacobian, strict=True)},
            "gradient": {n: g.tolist() for n, g in zip(given, gradient, strict=True)},
            "hessian": {
                n: {o: h.tolist() for o, h in zip(given, row, strict=True)}
                for n, row in zip(given, hessian, strict=True)
            },
        }
    write(RECORDED, json.dumps(answers))
