"""Every record of the registry: complete, accurate to the bound it states, and its partials those
that sympy finds.
"""

from __future__ import annotations

import math
import pickle
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from domain_words import BEYOND, contains
from domain_words import ranges as ranges_of
from helpers import applied, exact, exact_partial, parsed, swept, thinned

import gradcli.query.programs  # noqa: F401  the engine registers operations of its own
from gradcli.graph.nodes import forward
from gradcli.graph.sweep import scale
from gradcli.ops.registry import find, registry
from gradcli.ops.spec import Op

EVERY = list(registry().values())
ELEMENTWISE = [op for op in EVERY if op.elementwise]
NUMERIC = [op for op in ELEMENTWISE if op.result == "float" and len(op.operands) < 3 and op.public]
SMOOTH = [op for op in EVERY if op.kind == "smooth"]
SLOPES = [
    pytest.param(op, i, id=f"{op.name}-{name}")
    for op in SMOOTH
    if len(op.operands) < 3
    for i, name in enumerate(op.operands)
]

SIZES = (
    1e-300,
    1e-100,
    1e-20,
    1e-8,
    1e-3,
    0.1,
    0.5,
    0.9,
    0.99,
    1.0,
    1.1,
    1.5,
    2.0,
    3.0,
    10.0,
    30.0,
    100.0,
    700.0,
)
HUGE = (1e5, 1e10, 1e100, 1e300)
RANDOM = np.random.default_rng(0)
GRID = [sign * size for size in SIZES + HUGE for sign in (1, -1)]
POINTS = [
    float(x)
    for x in (
        *GRID,
        *RANDOM.uniform(-1, 1, 40),
        *RANDOM.uniform(-12, 12, 60),
        *RANDOM.uniform(-200, 200, 40),
    )
]
SLOPE_SIZES = (
    1e-100,
    1e-8,
    1e-3,
    0.25,
    0.5,
    0.9,
    0.999999,
    1.000001,
    1.5,
    2.0,
    3.0,
    7.5,
    19.0,
    30.0,
    200.0,
    1e8,
    1e100,
)
SLOPE_POINTS = [
    float(x)
    for x in (*(s * size for size in SLOPE_SIZES for s in (1, -1)), *RANDOM.uniform(-3, 3, 12))
]
for near in (
    10 ** RANDOM.uniform(-12, 3, 40),
    1 + 10 ** RANDOM.uniform(-14, -1, 20),
    1 - 10 ** RANDOM.uniform(-14, -1, 20),
):
    POINTS += near.tolist()

MOST = 400  # operands that are tried

# How far an operation is tried within its domain, for each operand: beyond, mpmath's own functions
# take for ever, or neither is accurate.
EVERYWHERE = (-math.inf, math.inf)
RANGES: dict[str, list[tuple[float, float]]] = {
    **{name: [(-40.0, 0.99)] for name in ("ellipk", "ellipe")},
    **{name: [(0.1, 60.0), (1e-8, 40.0)] for name in ("gammainc", "gammaincc", "gammainc_slope")},
    **{name: [(1e-2, 31.0), (1e-2, 31.0), (1e-3, 0.999)] for name in ("betainc", "betainc_slope")},
    **{name: [(-900.0, math.inf)] for name in ("polygamma", "digamma", "gamma", "lgamma")},
    # beyond, gamma functions are taken from each other, or sines of rounded numbers
    **{name: [(0.2, 60.0), (0.2, 30.0)] for name in ("beta", "betaln")},
    "binomial": [(4.0, 60.0), (0.2, 1.9)],
    "erfcx": [(-math.inf, 10.0)],
    "faddeeva": [(-8.0, 8.0), (0.0, 8.0)],
    **{name: [(-30.0, 30.0)] for name in ("i0e", "i1e")},
    "airy_function": [(-40.0, math.inf)],
    "fresnel_integral": [(-0.97, 0.97)],
    "struve": [(-1e5, 1e5)],
    "owens_t": [(-38.0, 38.0), EVERYWHERE],
    # beside 1 the definitions lose digits
    **{name: [(1.1, math.inf)] for name in ("asec", "acsc", "acoth")},
    "asech": [(-math.inf, 0.99)],
    "hurwitz_zeta": [(0.3, 60.0), (1e-3, 200.0)],
    "zeta_slope": [(0.05, 60.0), (1e-3, 200.0)],
    **{name: [(-1e14, 1e14)] for name in ("jv", "yv")},  # SciPy's phase has no digits beyond
}
# A remainder needs every digit of the quotient.
DIGITS = {"remainder": 700, "fmod": 700, "floor_divide": 700}
# Sympy's derivative may cancel (E(m) - K(m) all its digits, 100 at 1e-100), and some of mpmath's
# functions are slow at 250 digits.
SLOPE_DIGITS = {"ellipe": 140, "ellipk": 140,
    "yv": 50, "kv": 50, "owens_t": 50, "zeta_slope": 50, "hurwitz_zeta": 50,
    **dict.fromkeys(("gammainc", "gammaincc", "gammainc_slope", "betainc", "betainc_slope"), 50)}  # fmt: skip


def tuples(op: Op, points: list[float], ranges: Any = None) -> list[tuple[float, ...]]:
    """Operands to try, which are not too many for what is slow: most operations take one, and pairs
    are thinned out.
    """
    ranges = ranges or RANGES.get(op.name, [EVERYWHERE] * len(op.operands))
    columns = []
    for name, (low, high) in zip(op.operands, ranges, strict=False):
        parts = [box[name] for box in ranges_of(op.domain) if op.name in BEYOND and name in box]
        columns.append(
            [
                x
                for x in points
                if low <= x <= high
                and (not parts or any(least < x < most for least, most in parts))
            ]
        )
    first, *rest = columns
    tried = [(x, y) for x in first[::3] for y in rest[0][1::4]] if rest else [(x,) for x in first]
    tried = tried[:: -(-len(tried) // MOST)]
    if op.name not in BEYOND:
        return tried  # outside of the domain there is no value to compare
    return [
        point
        for point in tried
        if contains(op, {**dict(zip(op.operands, point, strict=True)), **op.static})
    ]


@pytest.mark.parametrize("op", EVERY, ids=lambda op: op.name)
def test_record_is_complete(op: Op) -> None:
    assert len(op.doc.strip()) > 1
    assert callable(op.forward)
    assert callable(op.reference)
    assert op.ulps >= 0
    assert op.kind in ("smooth", "piecewise", "flat", "structural")
    assert op.result in ("float", "bool", "int", "same")
    assert set(op.saves) <= {*op.operands, "out", "input", "target"}
    assert set(op.optional) <= set(op.operands)
    assert op.core_dims is None or len(op.core_dims) == len(op.operands)
    for name in (op.name, *op.aliases):
        assert find(name) is op
    assert pickle.loads(pickle.dumps(op)) is op
    assert not op.example or parsed(op.example)
    assert_derivative_of_its_kind(op)


def assert_derivative_of_its_kind(op: Op) -> None:
    assert op.partials is None or op.vjp is None, "one way to state a derivative"
    if op.elementwise:
        assert op.shape is None, "elementwise operations broadcast"
        assert op.partials is None or len(op.partials) == len(op.operands)
        if op.kind == "flat":
            assert all(rule is None for rule in op.partials or ())
        else:
            assert op.vjp is not None or all(callable(rule) for rule in op.partials or (None,))
    else:
        assert op.shape is not None or op.definition is not None, (
            "functions broadcast, where they do not say a shape"
        )
        assert op.partials is None
        assert (
            op.vjp is not None
            or op.result in ("bool", "int")
            or op.name in ("output", "detach", "machine_epsilon")
        )
    if op.elementwise and not op.optional:
        for kink in op.kinks:
            kink.where(*[mpmath.mpf(1)] * len(op.operands), **op.static)
            assert kink.place
            assert kink.convention


# where rules are right, and floats lose digits
EXACT_RANGES = {
    **{name: [(-math.inf, 1e5), (-math.inf, 1e5)] for name in ("beta", "betaln")},
    "binomial": [(-math.inf, 1e10), (-math.inf, 10.0)],
    **{name: [EVERYWHERE] for name in ("asec", "acsc", "acoth", "asech")},
}


@pytest.mark.parametrize(
    ("op", "place"), thinned([case for case in SLOPES if case.id != "gammainc_slope-a"], every=9)
)
def test_partial_is_the_derivative_that_sympy_finds(op: Op, place: int) -> None:
    """To 30 digits, with the rule run on multi-precision numbers."""
    symbols = sympy.symbols(op.operands, real=True)
    formula = (op.symbolic or op.reference)(sympy, *symbols, **op.static)
    slope = sympy.lambdify(
        symbols, sympy.diff(formula, symbols[place]), [{"DiracDelta": lambda *_: 0}, "mpmath"]
    )
    compared, digits = 0, SLOPE_DIGITS.get(op.name, 250)
    for operands in tuples(op, SLOPE_POINTS, EXACT_RANGES.get(op.name)):
        if exact(op, *operands, digits=digits) is None:
            continue
        with mpmath.workdps(digits):
            try:
                wanted = mpmath.mpc(slope(*[mpmath.mpf(x) for x in operands]))
            except (ZeroDivisionError, OverflowError, ValueError):
                continue
            if not mpmath.isfinite(wanted) or abs(wanted.imag) > abs(wanted.real) * mpmath.mpf(
                "1e-100"
            ):
                continue  # not a real derivative: x**y by y at negative x
            found = exact_partial(op, place, operands, digits=digits)
            if found is None and op.name == "pow" and operands[0] < 0:
                continue  # ((-2)**3 by the exponent is NaN by convention)
            assert found is not None, (
                f"{op.name} has no partial at {operands}, sympy {mpmath.nstr(wanted.real, 20)}"
            )
            allowed = mpmath.mpf("1e-30") * abs(wanted.real) + mpmath.mpf("1e-230")
            assert abs(found - wanted.real) <= allowed, (operands, found, wanted)
        compared += 1
    assert compared >= 9


@pytest.mark.parametrize(
    ("op", "place"), thinned([case for case in SLOPES if case.id != "gammainc_slope-a"])
)
def test_partial_in_float64(op: Op, place: int) -> None:
    """The same rule on floats loses next to nothing, from 1e-100 to 1e100."""
    assert op.partials is not None
    rule = op.partials[place]
    worst = (0.0, None, None)
    allowed = (
        1e-11 if op.name in ("polygamma", "digamma", "gamma", "lgamma", "rgamma") else 1e-12
    )  # scipy.special.digamma near its poles
    for operands in tuples(op, SLOPE_POINTS):
        wanted = exact_partial(op, place, operands, digits=min(120, SLOPE_DIGITS.get(op.name, 120)))
        if exact(op, *operands) is None or wanted is None or not 1e-300 < abs(wanted) < 1e300:
            continue
        numbers = [np.float64(x) for x in operands]
        with np.errstate(all="ignore"):
            found = float(rule(op.forward(*numbers, **op.static), *numbers, **op.static))
        if op.name == "pow" and place == 1 and operands[0] <= 0:
            continue
        error = (
            float(abs((mpmath.mpf(found) - wanted) / wanted)) if math.isfinite(found) else math.inf
        )
        worst = max(worst, (error, operands, found), key=lambda w: w[0])
    assert worst[0] <= allowed, worst


def of_dtype(op: Op, dtype: type) -> list[tuple[float, ...]]:
    """Operands to try that are numbers of a dtype, neither zero nor infinite."""
    with np.errstate(all="ignore"):
        found = [tuple(float(dtype(x)) for x in operands) for operands in tuples(op, POINTS)]
    return [x for x in dict.fromkeys(found) if all(math.isfinite(v) and v for v in x)]


def by_operands(op: Op, operands: tuple[float, ...], wanted: Any, dtype: type) -> Any:
    """How far the result moves where operands are off by a unit in their last place: near a zero,
    more than that of the result.
    """
    moved = mpmath.mpf(0)
    for i, x in enumerate(operands):
        beside = exact(
            op, *operands[:i], float(np.nextafter(dtype(x), dtype(np.inf))), *operands[i + 1 :]
        )
        moved += 0 if beside is None else abs(beside - wanted)
    return moved


# What is not a rounded function of its operands in this dtype: the distance of floats is that of
# float64.
OTHERWISE = {("gap", np.float32), ("to_float", np.float32), ("to_float", np.float64)}
MEASURED = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype.__name__}")
    for op in ELEMENTWISE
    for dtype in (np.float64, np.float32)
    if op.result == "float" and len(op.operands) < 3 and (op.name, dtype) not in OTHERWISE
]


@pytest.mark.parametrize(("op", "dtype"), thinned(MEASURED, every=12))
def test_forward_is_as_accurate_as_its_record_says(op: Op, dtype: type) -> None:
    """Entry by entry and as an array:

    NumPy has a loop of its own for what fills the processor's vector registers.
    """
    tried = of_dtype(op, dtype)
    with np.errstate(all="ignore"):
        together = op.forward(
            *[np.array(column, dtype) for column in zip(*tried, strict=True)], **op.static
        )
        alone = [op.forward(*[dtype(x) for x in operands], **op.static) for operands in tried]
    small, large = (1e-300, 1e300) if dtype is np.float64 else (1e-35, 1e35)
    worst, compared = (0.0, ""), 0
    for operands, *results in zip(tried, together.tolist(), alone, strict=True):
        wanted = exact(op, *operands, digits=DIGITS.get(op.name, 60))
        if wanted is None or (wanted != 0 and not small < abs(wanted) < large):
            continue
        if op.kind == "flat" and abs(wanted) * np.finfo(dtype).eps > 1 / 32:
            # NumPy's quotients are whole, but the next or the one after next to the right one
            continue
        unit = float(np.spacing(dtype(abs(wanted))))
        if op.rounding == "operands":  # near its zero as good as its operands, no better
            unit = max(unit, float(np.spacing(dtype(max(abs(x) for x in operands)))))
        for found in map(float, results):
            error = abs(mpmath.mpf(found) - wanted) if math.isfinite(found) else mpmath.inf
            if op.ulps > 4 and op.ulps * unit < error < mpmath.inf:
                error = max(
                    0,
                    error
                    - (8 if callable(op.rounding) else 1)
                    * by_operands(op, operands, wanted, dtype),
                )
            said = (
                f"{float(error / unit):.3g} ulp, the record says {op.ulps:g}, at "
                f"{operands}: {found!r} for {float(wanted)!r}"
            )
            worst = max(worst, (float(error / unit), said))
        compared += 1
    assert compared >= 25
    assert worst[0] <= max(op.ulps, 0.5), worst[1]


@pytest.mark.parametrize(
    ("name", "dtype", "operands"),
    [
        ("beta", np.float32, (0.8255111575126648, 34.44922637939453)),  # gamma(x + y) overflows
        ("binomial", np.float32, (77.89795684814453, 0.9999999403953552)),
    ],
)
def test_where_digits_were_lost(name: str, dtype: type, operands: tuple[float, ...]) -> None:
    op = find(name)
    found = op.forward(*[dtype(x) for x in operands], **op.static)
    assert np.asarray(found).dtype == dtype
    wanted = float(exact(op, *operands, digits=400))
    assert float(found) == pytest.approx(wanted, rel=op.ulps * float(np.finfo(dtype).eps))


def ordinary(op: Op) -> float:
    """A point at which an operation of this name is defined."""
    return 1.75 if op.name in ("acosh", "asec", "acsc", "acoth") else 0.625


@pytest.mark.parametrize("op", NUMERIC, ids=lambda op: op.name)
def test_float32_stays_float32(op: Op) -> None:
    x = np.full(3, ordinary(op), np.float32)
    operands = [x + np.float32(0.125) * i for i in range(len(op.operands))]
    scope, root, names = applied(op, *operands, precision="float32")
    value = np.asarray(forward([root], scope.values, "float32")[root])
    assert value.dtype == np.float32
    assert value == pytest.approx(
        np.full(3, float(exact(op, *[float(o[0]) for o in operands]))), rel=2e-6, abs=1e-7
    )
    for rule in op.partials or ():
        if rule is not None:
            slope = rule(value, *operands, **op.static)
            assert np.asarray(scale(value, slope)).dtype == np.float32, (
                "the sweep would leave float32"
            )
    assert len(names) == len(op.operands)


@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if len(op.operands) == 2 and op.public], ids=lambda op: op.name
)
def test_two_operands_broadcast(op: Op) -> None:
    x, y = np.array([[0.3], [1.6]]), np.array([0.7, 1.1, 2.9])
    scope, root, _ = applied(op, x, y)
    value = np.asarray(forward([root], scope.values)[root])
    assert value.shape == root.shape == (2, 3)
    assert value.tolist() == [
        [op.forward(np.float64(a), np.float64(b)) for b in y] for a in x[:, 0]
    ]


# which have no derivatives by their parameters
SLOPES_BY_PARAMETERS = {"gammainc_slope", "betainc_slope"}


@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if op.name not in SLOPES_BY_PARAMETERS], ids=lambda op: op.name
)
def test_arrays_without_entries(op: Op) -> None:
    for shape in ((0,), (2, 0)):
        assert_without_entries(op, shape)


def assert_without_entries(op: Op, shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape)
    operands = [empty.astype(bool) if name == "condition" else empty for name in op.operands]
    scope, root, names = applied(op, *operands)
    value = np.asarray(forward([root], scope.values)[root])
    assert value.shape == root.shape == shape
    if root.kind == "float":
        for name, slope in swept(scope, root, empty, names).items():
            assert slope.shape == shape, name


def test_every_kind_is_met() -> None:
    """The tables above are read from the registry; this fails if they were empty."""
    assert len(SMOOTH) >= 40
    assert len(NUMERIC) >= 55
    assert {op.kind for op in EVERY} == {"smooth", "piecewise", "flat", "structural"}
