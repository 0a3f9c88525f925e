"""What a person sees on a terminal of 80 columns: tables, what is too wide for them, colours of
failures, and a prompt.
"""

from __future__ import annotations

import re

import pytest
from helpers import thinned

STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def on_a_terminal(terminal):
    """Run gradcli on a terminal, type lines into it when it waits for them, and give what it shows
    and its exit code.
    """

    def run(*arguments, typed=(), **how):
        own = terminal(*arguments, **how)
        for keys in typed:
            own.wait("> $")
            own.type(keys)
        return own.ended()

    return run


def test_a_matrix_stands_below_the_table_where_it_is_too_wide(on_a_terminal):
    shown, code = on_a_terminal(
        "eval", "sum(w*x)", "w=-reshape(arange(1, 49), (6, 8))/7", "x=ones((6, 8))", "--wrt", "x"
    )
    lines = STYLE.sub("", shown).splitlines()
    begin, end = lines.index("  x ="), next(i for i, line in enumerate(lines) if "✓ agree" in line)
    numbers = [
        float(word)
        for word in re.findall(r"[-\d.]+", " ".join(lines[begin + 1 : end]).partition("d/dx")[0])
    ]
    assert (code, numbers) == (0, [-i / 7 for i in range(1, 49)])
    assert max(map(len, lines)) <= 80
    assert end - begin - 1 <= 18  # eight numbers of twenty characters in three lines


def test_formulas_and_notes_are_broken_between_words(on_a_terminal):
    long = "abs(x)**1.5 + x**2*sin(x)*exp(y)/(1+x**2)**3 + log(1+x*y)"
    shown, code = on_a_terminal("eval", long, "x=0", "y=0.12345678901234567", "--no-check")
    lines = STYLE.sub("", shown).splitlines()
    assert (code, max(map(len, lines)) <= 80) == (0, True)
    formula = " ".join(
        line.strip()
        for line in lines[lines.index(next(line for line in lines if line.startswith("  d/dx"))) :]
    )
    assert formula.startswith("d/dx = ")
    assert formula.partition("d/dy")[0].count("(") == formula.partition("d/dy")[0].count(")")
    shown, _ = on_a_terminal(
        "eval",
        "x*a",
        "x=1",
        *(f"an_unused_name_of_a_long_kind_{i}=0.12345678901234567" for i in range(3)),
        "a=nan",
    )
    notes = [
        line for line in STYLE.sub("", shown).splitlines() if line.startswith(("  note", " " * 9))
    ]
    assert max(map(len, notes)) <= 80


NARROW = [
    ("explain", "3*a**3 - b**2 + sin(a)", "a=2", "b=4"),
    ("explain", "--steps", "x*sin(x)*exp(x)"),
    ("bound", "x*(1-x)*sin(y)", "x=0..1", "y=0.123456..2"),
    ("diff", "x^2*y*sin(x)*exp(y)/(1+x)"),
]


@pytest.mark.parametrize("command", thinned(NARROW), ids=" ".join)
def test_nothing_is_cut_at_forty_columns(on_a_terminal, call_cli, command):
    lines = STYLE.sub("", on_a_terminal(*command, columns=40)[0]).splitlines()
    assert max(map(len, lines)) <= 40
    words = set(re.findall(r"[\w.]+", call_cli(*command).stdout))
    assert words <= {*re.findall(r"[\w.]+", " ".join(lines)), "check"}


def test_what_fits_stays_in_the_table(on_a_terminal):
    shown, code = on_a_terminal("eval", "3*a**3 - b**2", "a=2,3", "b=6,4")
    assert (code, STYLE.sub("", shown)) == (0, """\
3*a**3 - b**2
  = [-12., 65.]   float64, shape (2,)
  seed   ones, the gradient of the sum
╭───┬─────────────┬───────┬────────────╮
│   │ gradient    │ check │ derivative │
├───┼─────────────┼───────┼────────────┤
│ a │ [36., 81.]  │ agree │ 9*a**2     │
│ b │ [-12., -8.] │ agree │ -2*b       │
╰───┴─────────────┴───────┴────────────╯
  ✓ agree, certified: exact, with sympy's derivative, to 17 digits
""")  # fmt: skip


CASES = "x = 2\nassert x**2 == 5\nx**2\nsqr(x)\nassert x == 3  # xfail: known\n"
FAILURES = """\
{red}assert is false{off}: right 5.0, left 4.0 (off by 1, relative 0.25, 1.13e+15 ulp)
  --> c.grad:2:1
2 | assert x**2 == 5
  = repeat: gradcli check c.grad --line 2

{red}error[unknown-name]{off}: unknown function 'sqr'
  --> c.grad:4:1
4 | sqr(x)
  | {caret}^^^{off}
  = {help}help{off}: did you mean 'sqrt'?
  = repeat: gradcli check c.grad --line 4

{red}1 failed, 1 error, 1 passed, 1 xfailed in # s{off}
"""
COLOURED = FAILURES.format(red="\x1b[1;31m", caret="\x1b[31m", help="\x1b[36m", off="\x1b[0m")
PLAIN = FAILURES.format(red="", caret="", help="", off="")


def timeless(text):
    return re.sub(r"in \d+\.\d\d s", "in # s", text)


def test_failures_have_colours(on_a_terminal, tmp_path):
    (tmp_path / "c.grad").write_text(CASES)
    shown, code = on_a_terminal("check", "c.grad", "--no-cache")
    assert (code, timeless(shown).endswith(COLOURED)) == (2, True)
    assert timeless(on_a_terminal("check", "c.grad", "--no-cache", "--color", "never")[0]).endswith(
        PLAIN
    )
    assert timeless(on_a_terminal("check", "c.grad", "--no-cache", NO_COLOR="1")[0]).endswith(PLAIN)


def test_colours_where_they_are_asked_for(call_cli, tmp_path):
    (tmp_path / "c.grad").write_text(CASES)
    assert timeless(call_cli("check", "c.grad", "--color", "always").stdout) == COLOURED
    assert timeless(call_cli("check", "c.grad").stdout) == PLAIN
    verbose = call_cli("check", "c.grad", "--color", "always", "-v").stdout.splitlines()[:4]
    assert verbose == [
        "\x1b[1;31mfailed\x1b[0m   c.grad:2:1  assert x**2 == 5  mismatch", "\x1b[32mpassed\x1b[0m   c.grad:3:1  x**2  agree",
        "\x1b[1;31merror\x1b[0m    c.grad:4:1  sqr(x)", "\x1b[33mxfailed\x1b[0m  c.grad:5:1  "
        "assert x == 3  known",
    ]  # fmt: skip
