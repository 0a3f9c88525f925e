"""What people write and mean otherwise than it could be read: it is refused with all readings, and
every help can be followed.
"""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
import scipy.special
import sympy
from recorded import over
from sympy.parsing.sympy_parser import (
    convert_xor,
    function_exponentiation,
    implicit_multiplication_application,
    parse_expr,
    split_symbols,
    standard_transformations,
)

import gradcli
from gradcli import AmbiguousError, ArgumentError, GradcliError, MissingValueError
from gradcli.language.statements import offers, parse_statements
from gradcli.texts import Source

# -- letters written together, where no value tells what they are
# --------------------------------------------------------------

NAMES = (
    "lr*x", "mu x", "rate*t", "x/dt", "cost", "tank", "expr", "logp", "2 dt", "x/lr", "2theta", "1/tau", "x*xy", "(a+b)dx", "w1*x1 + b1",
    "signal*gain", "loss/eps", "k T", "exp(-lr*t)", "bexpr + since", "tg*x + sh/th",
)  # fmt: skip


@over("readings", "glued", "text", "reading")
def test_glued_letters_are_refused_with_both_readings(text, reading):
    with pytest.raises(AmbiguousError) as caught:
        gradcli.differentiate(text, check=False)
    assert reading in offers(caught.value.help or ""), caught.value.help
    name = re.search(r"'(\w+)' has two readings", caught.value.message)
    assert name is not None
    assert caught.value.help.endswith(f" {name[1]}")
    assert name[1] in {
        path[-1] for path in gradcli.differentiate(text, name[1], check=False).formulas
    }


@pytest.mark.parametrize("text", NAMES)
def test_names_in_use_stay_names(text):
    record = gradcli.differentiate(text, check=False)
    assert {path[0] for path in record.formulas} == set(re.findall(r"[a-z]\w*", text, re.I)) - {
        "exp"
    }


_TEXTS = """x y xy 2x 3xy x^2 x^2y x^3 sinx sin(x) sin_x sin_2x cosx cos(2x) cos_3x tanx lnx ln(x) ln_x e^x e^(-x) e^-x e^(-kt) e^(2x)
sqrt(x) sqrtx sqrt(x+1) (x+1) (x+1)^2 (x-y) (a+b) 2^x pi r^2 a/b 1/x x/(x+1) sin^2(x) xsinx xlnx x_e^x a_b 2ab t^2 2gt gt^2 sinh(x)
exp(x) exp(-x^2) arctan(x) arctanx sin2x cos3x x(x+1) x(x-1)(x+2) x_sin_x"""
_PARTS = _TEXTS.split()
_SYMPY = (
    *standard_transformations,
    convert_xor,
    split_symbols,
    function_exponentiation,
    implicit_multiplication_application,
)


def _textbook() -> list[str]:
    random = Random(7)
    found = dict.fromkeys(part.replace("_", " ") for part in _PARTS)
    while len(found) < 220:
        first, second = random.choice(_PARTS), random.choice(_PARTS)
        sign = random.choice(["", " ", " + ", " - ", "*", "/"])
        found[(random.choice(["", "", "2", "-"]) + first + sign + second).replace("_", " ")] = None
    return list(found)


def test_what_is_read_without_values_is_what_sympy_reads():
    """Names of several letters are refused or stand alone; whatever else is read has sympy's names
    and value.
    """
    read = 0
    for text in _textbook():
        try:
            names = [path[0] for path in gradcli.differentiate(text, check=False).formulas]
        except GradcliError:
            continue
        if any(len(name) > 1 for name in names):
            alone = "|".join(
                name for name in names if len(name) > 1 and name.isalpha()
            )  # not x2, with an index
            assert not alone or re.search(rf"(?:^|[-+*(/] *)(?:{alone})(?:$| *[-+*/)^])", text), (
                text,
                names,
            )
            continue
        if re.search(r"(sin|cos|ln) [^+-]*[* (]", text):
            continue  # which sympy takes into the argument
        meant = parse_expr(
            text,
            transformations=_SYMPY,
            local_dict={"e": sympy.E, "ln": sympy.log, "arctan": sympy.atan},
        )
        letters = set(re.findall(r"(?<![A-Za-z])[a-zA-Z](?![A-Za-z])", text)) - {"e"}
        assert {str(symbol) for symbol in meant.free_symbols} <= letters | set(names), text
        assert set(names) <= letters, text
        at = {name: 1.1 + 0.17 * place for place, name in enumerate(sorted(letters))}
        value = float(gradcli.evaluate(text, at=at, check=False, formula=False).value)
        assert value == pytest.approx(float(meant.subs(at)), rel=1e-9), text
        read += 1
    assert read > 80


# -- logarithms to a base, and textbook names of functions
# ---------------------------------------------------------------------


def test_textbook_functions_say_how_they_were_read(evaluate_all):
    found = evaluate_all("x = 2\nlog_3 x + tg x\nsh = 2\nsh x\nsh(u) = u\nsh(x)\n")
    assert [record.read_as for record in found] == ["ln(x)/ln(3) + tan(x)", "sh*x", None]
    assert gradcli.differentiate("log_b x", check=False).names == ("x", "b")


# -- measured values
# -----------------------------------------------------------------------------------------------------------

MEASURED = {
    "5.00(5)": ["5.00±0.05", "5.00*5"], "5.00 +- 0.05": ["5.00±0.05", "5.00 + (-0.05)"], "2(3)": ["2±3", "2*3"],
    "-1.234(56)e-3": ["-1.234e-3±0.056e-3", "-1.234*56e-3"], "5.00(0.05)": ["5.00±0.05", "5.00*0.05"],
    "[1, 2] +- 0.5": ["[1, 2]±0.5", "[1, 2] + (-0.5)"],
}  # fmt: skip


@pytest.mark.parametrize(("text", "readings"), MEASURED.items(), ids=MEASURED)
def test_short_forms_of_measured_values_are_refused_with_both_readings(text, readings):
    for program in (f"V = {text}\nV^2", f"const V = {text}\nV^2"):
        with pytest.raises(AmbiguousError) as caught:
            gradcli.evaluate(program)
        assert offers(caught.value.help) == readings
    with pytest.raises(AmbiguousError):
        gradcli.evaluate("V^2", V=text)
    deviation, value = (
        gradcli.evaluate(f"V = {reading}\nsum(V*1)").uncertainty for reading in readings
    )
    assert deviation is not None
    assert value is None


DEVIATIONS = {"2 ± 5%": 0.4, r"2 \pm 0.1": 0.4, "2 +/- 0.1": 0.4, "-2 ± 5 %": 0.4, "2+/-10%": 0.8}


@pytest.mark.parametrize(("text", "wanted"), DEVIATIONS.items(), ids=DEVIATIONS)
def test_deviations_are_read_however_they_are_written(text, wanted):
    for record in (gradcli.evaluate("x^2", x=text), gradcli.evaluate(f"x = {text}\nx^2")):
        assert float(record.uncertainty.std) == pytest.approx(wanted, rel=1e-12)


def test_a_product_in_an_expression_stays_one():
    assert float(gradcli.evaluate("2(3) + x", x=0.0).value) == 6.0


# -- what means two things of a matrix
# --------------------------------------------------------------------------------------------

MATRIX = np.array([[1.0, 2.0], [3.0, 5.0]])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_functions_along_an_axis_need_one(name):
    for text in (f"{name}(m)", f"m.{name}()", f"np.exp(m) + {name}(m)"):
        with pytest.raises(AmbiguousError) as caught:
            gradcli.evaluate(text, m=MATRIX, seed=None)
        assert offers(caught.value.help) == [f"{name}(m, axis=None)", f"{name}(m, axis=-1)"]
    for text, axis in (
        (f"{name}(m, axis=None)", None),
        (f"scipy.special.{name}(m)", None),
        (f"{name}(m, axis=-1)", -1),
        (f"{name}(m[0])", 0),
    ):
        value = gradcli.evaluate(
            f"sum({text}*[2, 3])" if "prefix" in text else text.join(["np.sum(", ")"]), m=MATRIX
        ).value
        given = MATRIX[0] if "[0]" in text else MATRIX
        assert float(value) == pytest.approx(
            float(np.sum(getattr(scipy.special, name)(given, axis=axis))), rel=1e-13
        )


@pytest.mark.parametrize("dialect", ["torch", "numpy", "jax"])
def test_an_asked_dialect_is_as_good_as_a_prefix(dialect):
    for text, options in (("sum(X)", {"dialect": dialect}), (f"# dialect: {dialect}\nsum(X)", {})):
        with pytest.raises(AmbiguousError, match="Python's is over the rows"):
            gradcli.evaluate(text, X=MATRIX, **options)


@pytest.mark.parametrize("name", ["F", "np", "torch", "special", "nn", "jnp"])
def test_a_function_of_a_library_s_name_shows_no_dialect(name):
    record = gradcli.evaluate(f"{name}(x) = x**2; {name}(3)")
    assert (float(record.value), record.dialect) == (9.0, None)


def test_piecewise_in_lower_case():
    assert float(gradcli.evaluate("piecewise((x**2, x > 0), (0, True))", x=3.0).grad["x"]) == 6.0


# -- helps
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1.0j*x", "2j + x", "x + 3i"])
def test_there_are_no_complex_numbers(text):
    with pytest.raises(MissingValueError, match="no complex numbers"):
        gradcli.evaluate(text, x=1.0)


def test_differences_of_entries_stay(evaluate_all):
    (record,) = evaluate_all("x = [1, 2, 4]; n = 1\nsum(diff(x, n)*[1, 2])")
    assert record.value == 5.0
    with pytest.raises(ArgumentError, match="neighbouring"):
        gradcli.differentiate("diff(x^2, x)")


_MISSPELT = ["sinus", "tang", "SIN", "Sqrt", "log_1p", "model", "derivative", "vmap", "sorted"]


@over("readings", "foreign", "form")
def test_what_a_help_offers_can_be_read(form):
    """What other languages write, with functions that are misspelt: what the help says to write is
    read.
    """
    for function in _MISSPELT:
        text = form.format(f=function)
        help = _help_of(f"x = [1.5, 2.5]; y = 0.5\n{text}")
        for offer in offers(help):
            program = f"x = {offer}" if "±" in offer else offer
            for statement in parse_statements(Source(program), 10_000):
                assert not isinstance(statement, GradcliError), f"{text}: {offer!r} of {help!r}"
            called = set(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", offer)) - set(
                re.findall(r"^(\w+)\(.*\) =", offer)
            )
            assert called.isdisjoint(_MISSPELT), f"{text}: {help}"


def _help_of(text: str) -> str:
    """The help of the error that a program ends with; empty if there is none."""
    try:
        gradcli.evaluate(text, check=False, formula=False)
    except GradcliError as error:
        return error.help or ""
    return ""
