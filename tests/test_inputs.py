"""What the Python API is given: names, values and options are used, or refused by name."""

from __future__ import annotations

import dataclasses
import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

import gradcli
from gradcli import GradcliError, InputTypeError, UsageError, options
from gradcli.cli.commands import COMMANDS
from gradcli.files import settings

ev, vg = gradcli.evaluate, gradcli.value_and_grad
PLAIN = {"check": False, "formula": False}

OPTIONS = {
    "a misspelt name": ({"wieght": 2.0}, "no name 'wieght'"),
    "a word of no meaning": ({"zzz": 2.0}, "no option 'zzz'"),
    "a dtype of integers": ({"dtype": int}, "'dtype' must be one of float64, float32"),
    "pairs": ({"at": [("x", 3.0)]}, "'at' must map names to values, not list"),
    "an imaginary seed": ({"seed": 1j}, "the seed must be real numbers, not complex128"),
    "dates": ({"seed": np.datetime64("2026-01-01")}, "must be real numbers, not datetime64"),
}


@pytest.mark.parametrize(("options", "message"), OPTIONS.values(), ids=OPTIONS)
def test_options_of_evaluate(options, message):
    """Those that are no JSON; the others are data."""
    with pytest.raises((UsageError, TypeError), match=message):
        ev("x**2*weight", **{"x": 3.0, "weight": 2.0, **PLAIN, **options})


@pytest.mark.parametrize(
    "dtype", ["float32", np.float32, np.dtype("float32"), "f4", "single"], ids=repr
)
def test_dtypes_of_numpy(dtype):
    assert ev("x**2", x=3.0, dtype=dtype, **PLAIN).dtype == "float32"
    assert vg("x**2", dtype=dtype)(x=3.0)[0].dtype == np.float32
    assert gradcli.compile("x**2", dtype=dtype)(x=3.0).dtype == np.float32


@pytest.mark.parametrize("make", [vg, gradcli.compile], ids=["value_and_grad", "compile"])
def test_dtypes_that_a_function_cannot_have(make):
    with pytest.raises(InputTypeError, match="'dtype' must be one of float64, float32"):
        make("x**2", dtype="float16")


@pytest.mark.parametrize("name", sorted(ev.__kwdefaults__.keys() - {"seed", "timeout"}))
def test_values_of_names_that_are_options(name):
    with pytest.raises(UsageError):
        ev(f"2*{name}", **{name: 3.0})


def test_names_that_are_options_of_functions():
    with pytest.raises(GradcliError) as caught:
        vg("x*seed")(x=2.0, seed=3.0)
    assert caught.value.help == 'give it one: f({"seed": ...})'
    assert vg("x*seed")({"seed": 3.0}, x=2.0)[0] == 6.0
    assert gradcli.compile("seed + out")(seed=3.0, out=1.0) == 4.0, "a value alone has neither"
    with pytest.raises(GradcliError, match="no option 'seed', and the expression no name 'seed'"):
        gradcli.compile("x**2")(x=[3.0, 4.0], seed=1)
    with pytest.raises(GradcliError) as caught:
        vg("x**2")(x=3.0, sed=1.0)
    assert caught.value.help == "did you mean 'seed'?"


NAMES = {
    "the micro sign": ("\u00b5**2", "\u00b5"),
    "decomposed": ("\u00e9**2", "e\u0301"),
    "beside a number": ("2\u00b5*\u00b5/2", "\u00b5"),
    "a bold letter": ("\U0001d431**2", "\U0001d431"),
    "a ligature": ("\ufb01**2", "fi"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), NAMES.values(), ids=NAMES)
def test_names_in_other_spellings(text, name):
    keyword = eval(f"dict({name}=3.0)")  # as a keyword of Python, which has a form of its own
    for record in (ev(text, **keyword, **PLAIN), ev(text, at={name: 3.0}, **PLAIN)):
        assert list(record.grad.values()) == [6.0]
    assert list(vg(text)(**keyword)[1].values()) == [6.0]
    assert list(vg(text)({name: 3.0})[1].values()) == [6.0]
    assert gradcli.compile(text)(**keyword) == 9.0
    assert ev(text, at={name: 3.0}, jvp={name: 1.0}, **PLAIN).jvp == 6.0
    assert list(ev(text, at={name: 3.0}, wrt=name, **PLAIN).grad.values()) == [6.0]
    assert ev(text, at={name: 3.0}, freeze=[name], **PLAIN).grad == {}
    assert list(vg(text, wrt=[name])({name: 3.0})[1].values()) == [6.0]
    assert len(gradcli.differentiate(text, name, check=False).derivative) == 1
    assert gradcli.explain(text, at={name: 3.0}, wrt=name, check=False).record.value == 9.0
    assert gradcli.differentiate(f"{text}*z", "z", check=False, **keyword).derivative["z"]


@pytest.mark.parametrize("at", [{1: 3.0}, {"and": 3.0}, {None: 3.0}], ids=repr)
def test_names_that_no_expression_can_have(at):
    with pytest.raises(UsageError):
        ev("2.5*\u00e9", at=at, **PLAIN)
    with pytest.raises(UsageError):
        vg("2.5*\u00e9")(at)


NUMBERS = {
    "a fraction": Fraction(3, 2), "a decimal": Decimal("1.5"), "a float of sympy": sympy.Float(1.5), "a rational": sympy.Rational(3, 2),
    "a float of mpmath": mpmath.mpf(1.5), "an array of objects": np.array([Fraction(3, 2)], object), "a list": [Fraction(3, 2)],
    "float32": np.float32(1.5), "nested": [[1.5]], "unmasked": np.ma.array([1.5]), "unmasked, "
    "said so": np.ma.array([1.5], mask=[False]),
}  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_other_libraries(value):
    assert float(ev("sum(x**2)", x=value, **PLAIN).value) == 2.25
    assert float(vg("sum(x**2)")(x=value)[0]) == 2.25
    assert np.sum(ev("sum(x**2)", x=value, seed=Fraction(2), **PLAIN).grad["x"]) == 6.0


def test_large_whole_numbers():
    assert ev("x/2", x=2**70, **PLAIN).value == 2.0**69
    with pytest.raises(
        InputTypeError, match="the value of 'x' must be real numbers: int is too large for a float"
    ):
        ev("x/2", x=10**400)


FRACTION = Fraction(2**53 + 1, 2**53)  # halfway between floats: to the even one, 1.0
NEAREST = {
    "a fraction": (FRACTION, 1.0),
    "above half": (FRACTION + Fraction(1, 2**200), 1.0 + 2.0**-52),
    "a rational": (sympy.Rational(2**253 + 2**200 + 1, 2**253), 1.0 + 2.0**-52),
    "a float of sympy": (
        sympy.Float(sympy.Rational(2**253 + 2**200 + 1, 2**253), 100),
        1.0 + 2.0**-52,
    ),
    "a decimal": (Decimal("0.1000000000000000055511151231257827021181583404541015625001"), 0.1),
    "a whole number": (2**70 + 2**17 + 1, 2.0**70 + 2.0**18),
    "a long double": (np.longdouble(1) / 3, 1 / 3),
    "infinite": (Decimal("Infinity"), float("inf")),
    "infinite of sympy": (sympy.oo, float("inf")),
}


@pytest.mark.parametrize(("value", "nearest"), NEAREST.values(), ids=NEAREST)
def test_numbers_are_taken_at_their_nearest_floats(value, nearest):
    assert ev("x*1.0", x=value, **PLAIN).value == nearest
    assert vg("sum(x)")(x=[value, value])[1]["x"].shape == (2,)
    assert gradcli.compile("x*1.0")(x=value) == nearest


LARGE = [
    10**400,
    -(10**400),
    Decimal("1e400"),
    Decimal("1e-400"),
    Fraction(10**400),
    mpmath.mpf("1e400"),
    sympy.Integer(10) ** 400,
    [1.0, 10**400],
]


@pytest.mark.parametrize(
    "value",
    [*LARGE, *([np.longdouble("1e400")] if np.finfo(np.longdouble).max > 1e308 else [])],
    ids=type,
)
def test_numbers_beyond_all_floats(value):
    for call in (lambda: ev("x*1.0", x=value), lambda: vg("sum(x)")(x=value)):
        with pytest.raises(
            InputTypeError,
            match=r"the value of 'x' must be real numbers: .* is too large for a float",
        ):
            call()


def test_conversions_heed_no_errstate():
    tiny = np.finfo(np.longdouble).tiny
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ev("x/2", x=1e300, dtype="float32", **PLAIN).value == np.inf
        assert vg("x/2", dtype="float32")(x=1e300)[0] == np.inf
        assert vg("x*1.0")(x=Fraction(1, 3))[0] == 1 / 3
        assert ev("x*1.0", x=tiny, **PLAIN).value <= np.finfo(float).tiny


class Tensor:
    """As PyTorch's, which cannot be made an array then."""

    requires_grad = True

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


MASKED = np.ma.array([1, 1e30, 3], mask=[0, 1, 0])
VALUES = {
    "masked": (MASKED, "has masked entries", "x.filled(0.0) puts a number there, x.compressed() "
    "leaves them out"),
    "masked in a list": ([MASKED, [1, 2, 3]], "has masked entries", None),
    "the masked constant": (np.ma.masked, "has masked entries", None),
    "ragged": ([[1, 2], [3]], "is no array: its rows differ in length", None),
    "a tensor of theirs": (Tensor(), "is a tensor that requires grad", "write x.detach()"),
    "a list with one": ([Tensor(), Tensor()], "a tensor that requires grad", "write x.detach()"),
    "complex": (1j, "must be real numbers, not complex128", None),
    "text": ("three", "must be real numbers", None),
    "dates": (datetime.datetime(2026, 1, 1), "must be real numbers", None),
    "a symbol": (sympy.Symbol("t"), "Symbol is no real number", None),
    "nothing": (None, "NoneType is no real number", None),
    "text among objects": (np.array(["1.5"], object), "'1.5' is no real number", None),
    "a set": ({1.5}, "set is no real number", None),
}  # fmt: skip


@pytest.mark.parametrize(("value", "message", "help"), VALUES.values(), ids=VALUES)
def test_values_that_are_no_numbers(value, message, help):
    ways = {
        "the value of 'x'": [
            lambda: ev("sum(x)", x=value),
            lambda: vg("sum(x)")(x=value),
            lambda: gradcli.compile("sum(x)")({"x": value}),
        ],
        "the seed": [
            lambda: ev("x", x=[1.0, 2, 3], seed=value),
            lambda: vg("x")(x=[1.0, 2, 3], seed=value if value is not None else "no"),
        ],
        "the tangent of 'x'": [lambda: ev("x", x=[1.0, 2, 3], jvp={"x": value})],
    }
    if value is None:
        del ways["the seed"]  # there is none
    for what, calls in ways.items():
        for call in calls:
            with pytest.raises(InputTypeError) as caught:
                call()
            assert caught.value.message.startswith(what)
            assert message in caught.value.message
            assert help in (None, caught.value.help)


def test_our_own_tensors():
    leaf = gradcli.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(InputTypeError, match="the value of 'x' is a tensor that requires grad"):
        ev("sum(x)", x=leaf)
    assert ev("sum(x)", x=leaf.detach(), **PLAIN).value == 3.0


ON_TENSORS = {
    "tensor": gradcli.tensor, "as_tensor": gradcli.as_tensor, "from_numpy": gradcli.from_numpy, "a product": lambda x: gradcli.ones(3) * x,
    "a ufunc": lambda x: np.add(gradcli.ones(3), x), "from the left": lambda x: np.multiply(x, gradcli.ones(3)),
    "a function": lambda x: np.concatenate([gradcli.ones(3), x]),
}  # fmt: skip


@pytest.mark.parametrize("call", ON_TENSORS.values(), ids=ON_TENSORS)
def test_masked_arrays_and_tensors(call):
    with pytest.raises(TypeError, match="masked entries"):
        call(MASKED)
    call(np.ma.array([1.0, 2.0, 3.0]))


OF_OTHERS = {
    "evaluate a number": (lambda: gradcli.evaluate(3), "the expression must be text, not int"),
    "evaluate with a limit": (
        lambda: gradcli.evaluate("x", limits=3),
        "'limits' must be a gradcli.limits.Limits, not int",
    ),
    "explain nothing": (lambda: gradcli.explain("x", x=1.0, why=3), "'why' must be entries, not 3"),
    "explain in no steps": (
        lambda: gradcli.explain("x", x=1.0, steps="x"),
        "'steps' must be True or False, not 'x'",
    ),
    "explain in a mode": (
        lambda: gradcli.explain("x", x=1.0, mode="grad"),
        "explain has no option 'mode'",
    ),
    "differentiate by a mode": (
        lambda: gradcli.differentiate("x", mode="hessian"),
        "differentiate has no option 'mode'",
    ),
    "differentiate no times": (
        lambda: gradcli.differentiate("x", order=0),
        "'order' must be a whole number from 1 to 10, not 0",
    ),
    "a name in a dictionary and as a keyword": (
        lambda: ev("x*2", x=1.0, at={"x": 2.0}),
        "'x' is bound twice: in a dictionary and",
    ),
    "both in a call": (
        lambda: vg("x*2")({"x": 2.0}, x=1.0),
        "'x' is bound twice: in a dictionary and as a keyword",
    ),
    "both to differentiate": (
        lambda: gradcli.differentiate("a*x", a=1.0, at={"a": 2.0}),
        "'a' is bound twice",
    ),
    "a function by nothing": (lambda: vg("x", wrt=3), "'wrt' must be names, not 3"),
}


@pytest.mark.parametrize(("call", "message"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_options_of_other_functions(call, message):
    with (
        pytest.raises(UsageError, match=message)
        if "no option" not in message
        else pytest.raises(GradcliError, match=message)
    ):
        call()


def test_names_of_formulas_have_values_by_keywords():
    assert gradcli.differentiate("a*x**2", a=2.0).derivative == {"x": "2*a*x"}
    with pytest.raises(GradcliError, match="no option 'ordr'"):
        gradcli.differentiate("x**2", ordr=2)


def test_expressions_of_sympy():
    with pytest.raises(InputTypeError, match="the expression must be text, not Symbol"):
        ev(sympy.Symbol("x"), x=1.0)
    with pytest.raises(InputTypeError, match="the expression must be text"):
        vg(sympy.Symbol("x"))


BASE = np.zeros(8)
OUTS = {
    "one array": (BASE[:3], BASE[:3]),
    "a stretch of it": (BASE[:3], BASE[1:4]),
}  # fmt: skip


@pytest.mark.parametrize("outs", OUTS.values(), ids=OUTS)
def test_gradients_do_not_go_into_one_place(outs):
    f = vg("sum(x*y*y)")
    with pytest.raises(UsageError) as caught:
        f(x=np.ones(3), y=np.ones(3), out=dict(zip("xy", outs, strict=True)))
    assert caught.value.message == "out: the array for 'y' shares memory with another array"


def test_gradients_into_parts_of_one_array():
    f, base = vg("sum(x*y*y)"), np.zeros((2, 6))
    a, b = base[0, :3], base[0, 3:]
    f(x=np.ones(3), y=2 * np.ones(3), out={"x": a, "y": b})
    assert (a.tolist(), b.tolist()) == ([4.0] * 3, [4.0] * 3)


CRAMPED = {
    "read-only": np.broadcast_to(np.zeros(1), (3,)),
    "strided": np.lib.stride_tricks.as_strided(np.zeros(3), (3,), (0,)),
}


@pytest.mark.parametrize("array", CRAMPED.values(), ids=CRAMPED)
def test_gradients_need_a_place_for_each_entry(array):
    with pytest.raises(UsageError, match="writable and in C order"):
        vg("sum(x*x)")(x=np.array([1.0, 2.0, 3.0]), out={"x": array})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_values_of_the_table(command):
    for name, annotated in COMMANDS[command][0].options().items():
        values = options.values_of(f"{command}.{name}")
        metavar = annotated.__metadata__[0].metavar or ""
        if "|" in metavar and values is not None:
            assert tuple(metavar.split("|")) == values, name


def test_each_way_to_write_an_option_has_its_values_from_the_table():
    keys = {field.name for field in dataclasses.fields(settings.Settings)}
    assert keys & options.VALUES.keys() >= {"rtol", "points", "dialect", "backend", "timeout"}
    for function in (gradcli.evaluate, gradcli.differentiate, gradcli.value_and_grad):
        given = function.__kwdefaults__.keys() - {
            "seed",
            "wrt",
            "freeze",
            "jvp",
            "hvp",
            "limits",
            "at",
            "cov",
            "implicit",
            "of",
        }
        assert given <= options.VALUES.keys()
