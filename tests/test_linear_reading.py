"""Reading takes time that grows with the text, whatever the text is made of: no kind of it is read
again for each of its parts.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest
from helpers import thinned
from recorded import LISTS, read_table

import gradcli
from gradcli import GradcliError
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.language.syntax import Query
from gradcli.limits import DEFAULT
from gradcli.query.cases import marks_of
from gradcli.texts import Source, Span, compose, suggestion, text_lines

FEW, TIMES = (
    2_000,
    8,
)  # characters of the shorter text, and how many times the longer one is as long
# times as long as the shorter one it may take: about three for each doubling; where time grows as a
# square it takes 64
MOST = 30
SOON = 0.004  # seconds that are nothing
FEWER = DEFAULT.raise_to(["derivatives=20000"])  # than by default


def again(unit: str, head: str = "", tail: str = "", between: str = "") -> Callable[[int], str]:
    """Texts of a unit over and over; ``#`` in it is the number of the time."""

    def text(characters: int) -> str:
        count = characters // (len(unit) + len(between)) + 1
        return head + between.join(unit.replace("#", str(i)) for i in range(count)) + tail

    return text


def nested(opening: str, closing: str, inner: str = "x", head: str = "") -> Callable[[int], str]:
    return lambda characters: (
        head
        + opening * (characters // len(opening))
        + inner
        + closing * (characters // len(opening))
    )


LONG = read_table("long_texts.json")
KINDS: dict[str, Callable[[int], str]] = {
    kind: nested(**parts) if "opening" in parts else again(**parts) for kind, parts in LONG.items()
} | {
    "names bound to the next": lambda n: (
        again("a# = 1.\n")(n) + "\n".join(f"a{i} = a{i + 1} + 1" for i in range(n // 20, 0, -1))
    )
}


def read(text: str) -> None:
    """Read and run a program as far as there is something to evaluate; each of its errors is
    written as it is shown.
    """
    scope = Scope()
    scope.bind_value("x", 0.5)
    program = Program(scope)
    for statement in program.statements(text_lines(text), "a.grad"):
        try:
            if isinstance(statement, GradcliError):
                raise statement
            program.execute(statement)
            marks_of(statement)
        except GradcliError as error:
            marks_of(error)
            error.render()
    program.end()


def seconds(text: str) -> float:
    """Time of reading alone: the collector's grows with all that this process holds, which is what
    other tests left.
    """
    gc.disable()
    try:
        begin = time.process_time()
        read(text)
        return time.process_time() - begin
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", thinned(KINDS, every=6))
def test_time_grows_with_the_text(kind: str) -> None:
    short, long = KINDS[kind](FEW), KINDS[kind](FEW * TIMES)
    tried = []
    for _ in range(8):  # a machine may be busy
        tried.append((seconds(long), seconds(short)))
        slow, fast = (min(times) for times in zip(*tried, strict=True))
        if slow <= MOST * max(fast, SOON):
            return
    pytest.fail(
        f"{len(short):,} characters take {fast:.3f} s, and {len(long):,} characters {slow:.3f} s"
    )


@pytest.mark.parametrize(
    "mark", ["skip: a", "xfail: a", "skip", "skip:", "dialect", "dialect: torch"]
)
def test_comments_that_mean_something_are_read_once(mark: str) -> None:
    blank = " " * 30_000
    begin = time.process_time()
    for text in (
        f"1 # {mark}{blank}b",
        f"1 #{blank}{mark}",
        f"1 # {mark} " * 3_000,
        "1; " * 3_000 + f"# {mark}",
    ):
        read(text)
    assert time.process_time() - begin < 2


MARKS = LISTS["marks"]


@pytest.mark.parametrize("text", MARKS)
def test_marks(text: str) -> None:
    assert marks_of(
        Query(Source(text), Span(0, text.index(")") + 1 if ")" in text else 1), None)
    ) == tuple(MARKS[text])  # type: ignore[arg-type]


VALUES = {
    "x" + "²" * 309: 0.0,
    "x" + "²" * 5_000: 0.0,
    "x⁻" + "²" * 5_000: float("inf"),
    "x¹²": 0.5**12,
    "9**9**9**9": float("inf"),
    "1 # " + "a\u0301\u0327" * 20 + "\u0301\u0327" * 5_000: 1.0,
}


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:20])
def test_numbers_of_any_length_have_a_value(text: str) -> None:
    assert (
        gradcli.evaluate(
            text, check=False, formula=False, **({"x": 0.5} if "x" in text[:1] else {})
        ).value
        == VALUES[text]
    )


@pytest.mark.parametrize("text", ["1" * 400 + "½", "1" * 5_000], ids=["and a half", "long"])
def test_numbers_beyond_all_floats_are_refused(text: str) -> None:
    with pytest.raises(gradcli.GradcliError, match="is too large for a float"):
        gradcli.evaluate(text)


def test_marks_are_composed_but_for_stretches_that_no_script_has() -> None:
    assert compose("e\u0301 # a\u0301") == "é # á"
    assert compose("e" + "\u0301" * 30) == "é" + "\u0301" * 29
    assert compose("o\u0308 e" + "\u0301" * 31 + "u\u0308") == "ö e" + "\u0301" * 31 + "ü"


@pytest.mark.parametrize(
    ("body", "order"), [("x**2", 87), ("1/x", 12), ("exp(sin(x))", 12), ("log(1 + exp(x))", 11)]
)
def test_derivatives_of_derivatives_have_a_limit(body: str, order: int) -> None:
    primes = "'" * 1000
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate(
            f"f(x) = {body}\nf{primes}(x)", x=0.7, check=False, formula=False, limits=FEWER
        )
    error = caught.value
    assert (error.code, error.source.text[error.span.start : error.span.end]) == (
        "limit",
        f"f{primes}(x)",
    )
    assert error.message == (
        f"the derivative of order {order} goes through more than 20,000 operations,"
        " counted with those that it is made of"
    )
    assert error.help == "raise it with --limit derivatives=200000"


def test_nested_derivatives_have_the_same_limit() -> None:
    text = "grad(" * 30 + "sin(x)/x" + ", x)" * 30
    with pytest.raises(
        GradcliError, match="the derivative of order 10 goes through more than 20,000 operations"
    ):
        gradcli.evaluate(text, x=0.7, check=False, formula=False, limits=FEWER)


@pytest.mark.ci
def test_derivatives_of_moderate_order_are_no_matter_of_limits() -> None:
    limits = DEFAULT.raise_to(["derivatives=10000"])
    orders = {
        "sin(x)": (60, 0.644217687237691),
        "1/x": (8, 40320 / 0.7**9),
        "x**9": (9, 362880.0),
        "exp(sin(x))": (8, None),
    }
    for body, (order, value) in orders.items():
        found = gradcli.evaluate(
            f"f(x) = {body}\nf{chr(39) * order}(x)",
            x=0.7,
            check=False,
            formula=False,
            limits=limits,
        ).value
        assert value is None or found == pytest.approx(value, rel=1e-9), body
    # a large expression may have large derivatives of low order
    long = "+".join(f"sin({i}*x)" for i in range(2_000))
    gradcli.evaluate(f"grad(grad({long}, x), x)", x=0.7, check=False, formula=False, limits=limits)


@pytest.mark.parametrize(
    ("word", "names", "meant"),
    [
        ("thetta", ["alpha", "theta"], "theta"),
        ("Theta", ["alpha", "theta"], "theta"),
        ("x", ["xx"], None),
        ("quite_another", ["alpha", "theta"], None),
        ("μüller", ["müller", "muller"], "müller"),
        ("name77x", [f"name{i}" for i in range(3_000)], "name77"),
        ("name2999x", [f"name{i}" for i in range(2_000)] + ["other"], None),
    ],
)
def test_suggestions(word: str, names: list[str], meant: str | None) -> None:
    found = suggestion(word, names)
    assert found == meant or (meant is None and found is not None and found.startswith("name"))
