"""R begins at the text: what the judge reads of programs, its table of names, and the mistakes before the graph that it finds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special
from cases import EVERY as CASES
from checking import judged, planted, said
from helpers import lowered
from planting.machinery import machinery
from planting.mistakes import forgetful
from planting.names import replaced
from planting.records import _changed, _times
from reading_table import TABLE
from witness.lines import LINES
from witness.numpy_values import Unusable, value_of
from witness.programs import values_of

from gradcli.errors import GradcliError
from gradcli.ops import registry
from gradcli.ops.calling import signatures
from gradcli.ops.registry import named, public_names
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.reading.names import line_of
from gradcli.reference.reading.tape import TreeTape
from gradcli.reference.scalars import plain

MATRIX = [[0.5, -1.25, 2.75], [1.5, 0.375, -0.875], [-0.25, 2.0, 1.125]]


def read(text: str, values: Any) -> np.ndarray:
    """The value of a text by the judge's evaluator, as floats."""
    scope, root = lowered(text, values)
    tape = TreeTape(mpmath.mp, {}, "float64", scope, {})
    return np.asarray(Algebra.map(lambda v: float(plain(v)), tape.run(root)), dtype=float)


# -- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", LINES)
def test_lines_are_read_as_numpy_computes_them(text: str) -> None:
    values = values_of(3)
    try:
        wanted = value_of(text, values)
        text = text.replace("\n", "; ")
        lowered(text, values)
    except (Unusable, GradcliError):
        pytest.skip("no number")
    np.testing.assert_allclose(read(text, values), wanted, rtol=1e-12, atol=1e-12)


UNREAD = ("linspace(", "geomspace(", "logspace(")


def test_cases_are_read() -> None:
    """Nearly all: what is not is judged by the graph alone."""
    missing = []
    for case in CASES[::6]:
        if not any(word in case.text for word in UNREAD):
            try:
                read(case.text, case.values)
            except Unsupported as why:
                missing.append(f"{case.text}: {why}")
    assert not missing, missing


PROGRAMS: list[tuple[str, Any]] = [
    ("x = [[1, 2], [3, 4]]; x[-1]", [3, 4]),
    ("x = [1, 2, 4]; x = x/2; y = x[::-1]; y[0] - y[2]", 1.5),
    ("f(a) = a^3 + a; f''(2)", 12),
    ("f(a) = a*a; g(a) = f(a) - f(-a) + 1; g(3)", 1),
    ("x = 3; grad(x**3, x)", 27),
    ("n = 2; x = [1, 2, 3]; x[n] + x[n - 1]", 5),
    ("x = [[1, 2, 3], [4, 5, 6]]; np.sum(x, axis=-1, keepdims=True)", [[6], [15]]),
    ("x = [[1, 2, 3], [4, 5, 6]]; x.sum(0)", [5, 7, 9]),
    ("x = [[1, 2, 3], [4, 5, 6]]; x.T.shape[0] + x.ndim", 5),
    ("x = [3, 1, 2]; torch.max(x, 0)[1] + torch.max(x, dim=0).values", 3),
    ("x = [1, 2, 3]; torch.std(x, unbiased=False)**2*3", 2),
    ("x = [1, 2, 3]; np.var(x, ddof=1)", 1),
    ("x = [1, 2, 3]; sum(x[x > 1])", 5),
    ("x = [0.5, -2]; where(x > 0, x, 0)", [0.5, 0]),
    ("x = [1, 2]; nn.MSELoss(reduction='sum')(x, [0, 4])", 5),
    ("d = torch.distributions.Uniform(1, 3); d.mean", 2),
    ("import numpy as jnp; x = [1, 2]; jnp.flip(x)", [2, 1]),
    ("x = [1, 2, 3]; -x[0]**2 + 7 % 4 - 2**3**0", 0),
    ("x = 2; 1 if x > 1 else x", 1),
    ("x = [[1, 2], [3, 4]]; np.einsum('ij,ij->', x, x)", 30),
]  # fmt: skip


@pytest.mark.parametrize(("program", "wanted"), PROGRAMS, ids=[program for program, _ in PROGRAMS])
def test_programs_are_read(program: str, wanted: Any) -> None:
    np.testing.assert_allclose(read(program, {}), wanted, rtol=1e-14, atol=1e-14)


def test_what_is_not_read_is_said() -> None:
    with pytest.raises(Unsupported, match="random"):
        read("rand(2)*x", {"x": 1.0})


# -- the table of names -----------------------------------------------------------------------------------------------


def test_every_name_of_the_catalogue_has_a_line() -> None:
    missing = [name for name in public_names() if not any(line_of(name, library) for library in ("numpy", "torch", "jax"))]
    assert not missing, f"python tests/reading_table.py writes lines for {missing}"


def written() -> Iterator[tuple[str, str, list[str], dict[str, Any], Any]]:
    """The lines of NumPy's and SciPy's functions whose signatures can be asked, with these."""
    homes = {"numpy": (np, np.linalg), "scipy": (scipy.special, scipy.linalg)}
    for text in TABLE.read_text().splitlines()[1:]:
        name, libraries, *_ = text.split("\t")
        for library in libraries.split(","):
            for home in homes.get(library, ()):
                try:
                    found = inspect.signature(getattr(home, name))
                except (AttributeError, ValueError, TypeError):
                    continue
                line = line_of(name, library)
                assert line is not None
                yield library, name, [p.spellings for p in line.parameters], line.defaults, found.parameters


# What is the same by another default: the last axis and SciPy's words for None.
_ALIKE = {("numpy", "cross", "axis"), ("numpy", "rot90", "axes"), ("scipy", "solve_triangular", "trans"),
          ("scipy", "solve_triangular", "lower")}  # fmt: skip


def test_defaults_are_the_libraries_own() -> None:
    checked, wrong = 0, []
    for library, name, spellings, defaults, parameters in written():
        for key, parameter in parameters.items():
            ours = next((spelled[0] for spelled in spellings if key in spelled), None)
            if ours not in defaults or parameter.default in (parameter.empty, np._NoValue) or (library, name, key) in _ALIKE:
                continue
            checked += 1
            if parameter.default != defaults[ours]:
                wrong.append(f"{library}'s {name}: {key}={parameter.default!r}, the table says {defaults[ours]!r}")
    assert not wrong
    assert checked > 150


# -- mistakes before the graph ----------------------------------------------------------------------------------------


def _named(name: str, other: str) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: replaced(registry._BY_NAME, name, named(other))


def _declared(library: str, name: str, other: str) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: replaced(signatures._TABLES[library], name, signatures._TABLES[library][other])


def _body(name: str) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: planted(name, body=_changed(_times))


def _machinery(words: str) -> Callable[[], AbstractContextManager[Any]]:
    return next(mistake.plant for mistake in machinery() if mistake.place == words)


PLANTED: list[tuple[str, str, Callable[[], AbstractContextManager[Any]]]] = [
    ("F.mse_loss(x, 2*x)", "a body", _body("mse_loss")),
    ("np.cov(x)[0, 1]", "a body", _body("cov")),
    ("scipy.stats.norm.logpdf(x[0], 0.5, scale=2)", "a body", _body("norm_logpdf")),
    ("arctan(x)", "an alias", _named("arctan", "asinh")),
    ("scipy.stats.norm.cdf(x[0])", "a name of a library", _declared("scipy", "norm.cdf", "norm.sf")),
    ("x.sum(axis=-1)", "an axis", _machinery("axis=-1 is 0")),
    ("x[1:, -1]", "an index", _machinery("index off by one")),
    ("x[0] - x[1]", "the order of operands", _machinery("operands exchanged")),
    ("np.arctan2(x[0], x[1])", "the order of arguments", _machinery("two arguments exchanged")),
    ("x.T @ [1, 2, 3]", "an attribute", _machinery("x.T is x")),
    ("x[0]*pi", "a constant", _machinery("pi to four digits")),
    ("where(x > 0, x, 2) if 1 > 2 else x*3", "a branch", _machinery("branches exchanged")),
    ("(x[0] - x[1])*exp(x[1] - x[0])", "interning", _machinery("interning without the order of operands")),
    ("sum(x, axis=0) + sum(x, axis=1)", "interning", _machinery("interning without parameters")),
    ("x[0] + 1e-9*x[1]", "an input", _machinery("an input transposed")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "plant"), [pytest.param(text, plant, id=f"{what}: {text}") for text, what, plant in PLANTED])
def test_a_mistake_before_the_graph_is_found_by_the_verdict(text: str, plant: Callable[[], AbstractContextManager[Any]]) -> None:
    options = {"x": MATRIX}
    seed = lowered(text, options)[1].shape
    given: dict[str, Any] = {"seed": np.linspace(0.5, 1.5, int(np.prod(seed))).reshape(seed)} if seed else {}
    right = judged(text, options, **given)
    assert right.verdict.word == "agree", said(right)
    with forgetful(), plant():
        wrong = judged(text, options, **given)
    assert wrong.verdict.word == "mismatch", said(wrong)


def test_a_result_of_another_shape_is_a_mismatch() -> None:
    with replaced(registry._BY_NAME, "hstack", named("vstack")):
        check = judged("np.hstack([x, x])", {"x": [1.0, 2.0]}, mode="jacobian")
    assert check.verdict.word == "mismatch", said(check)
    assert check.reason == "the result has the shape (2, 2), the text says (4,)"


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("F.binary_cross_entropy(x, [0, 1, 0, 1], reduction='none')", [0.0, 0.0, 1.0, 1.0]),
        ("torch.logit(x, 0.2)", [0.1, 0.5, 0.9, 0.7]),
        ("F.interpolate(x.reshape((1, 1, 4)), (7,), mode='linear')[0, 0, 1:5]", [0.3, -1.2, 0.8, 2.0]),
        ("F.l1_loss(x, [0, 1, 2, 3], reduction='none')", [0.0, 1.5, 2.0, 1.0]),
    ],
)
def test_conventions_and_rounded_parameters_are_no_mistakes(text: str, x: list[float]) -> None:
    """The graph's tape decides where bodies compute with rounded parameters, at kinks and at edges of domains."""
    check = judged(text, {"x": x}, seed=np.ones(4))
    assert check.verdict.word in ("agree", "kink"), said(check)
