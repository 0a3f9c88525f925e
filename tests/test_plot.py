"""``gradcli plot``: tables, charts, pictures and pages of values and derivatives over ranges, and
the cross-check of what is drawn.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from checking import planted
from conftest import plain_environment
from hostile_texts import HOSTILE

from gradcli.query.bindings import Programs
from gradcli.query.evaluate import Script
from gradcli.query.options import Options
from gradcli.query.plots import plots
from gradcli.report.lines import text_of
from gradcli.report.plot_chart import Chart, Style, chart, label, ticks
from gradcli.report.ranges import VALUE, Curve, Mark, PlotRecord
from gradcli.report.table import plot_rows

try:
    import matplotlib  # noqa: F401

    DRAWS = True
except ImportError:
    DRAWS = False
draws = pytest.mark.skipif(
    not DRAWS, reason="matplotlib, which draws pictures in files, is not installed"
)


def table(text):
    """Rows of CSV as columns of numbers."""
    heading, *rows = csv.reader(io.StringIO(text))
    return {name: [row[i] for row in rows] for i, name in enumerate(heading)}


def numbers(column):
    return np.array([float(cell) for cell in column])


# An expression and its arguments, the headings of its table, and value and derivatives by NumPy and
# by hand.
TABLES = [
    (
        "x**2*sin(x)",
        ["x=-3..3"],
        lambda x: (x**2 * np.sin(x), 2 * x * np.sin(x) + x**2 * np.cos(x)),
    ),
    ("exp(-a*x)", ["x=0..5", "a=0.7"], lambda x: (np.exp(-0.7 * x), -0.7 * np.exp(-0.7 * x))),
    ("abs(x)", ["x=-1..1"], lambda x: (np.abs(x), np.sign(x))),
    ("sum(w*x**2)", ["x=-1..1", "w=1,2,3"], lambda x: (6 * x**2, 12 * x)),
    ("f(t) = t**3\nf'(x)", ["x=-1..1"], lambda x: (3 * x**2, 6 * x)),
    ("det([[x, 1], [1, x]])", ["x=-1..1"], lambda x: (x**2 - 1, 2 * x)),
    ("y = x**2; y + 1", ["x=0..2"], lambda x: (x**2 + 1, 2 * x)),
]


@pytest.mark.parametrize("case", TABLES, ids=lambda case: case[0])
def test_the_table_has_the_function_and_its_derivative(call_cli, case):
    text, arguments, function = case
    done = call_cli("plot", text, *arguments, "--format", "csv", "--points", "25")
    assert done.returncode == 0, done.stderr
    found = table(done.stdout)
    assert list(found) == ["x", "value", "d/dx"]
    xs = numbers(found["x"])
    begin, end = (float(x) for x in arguments[0].removeprefix("x=").split(".."))
    assert xs == pytest.approx(np.linspace(begin, end, 25), abs=1e-15)
    value, slope = function(xs)
    assert numbers(found["value"]) == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert numbers(found["d/dx"]) == pytest.approx(slope, rel=1e-12, abs=1e-12)


def test_two_names_make_a_grid(call_cli):
    done = call_cli(
        "plot", "x**2*y", "x=0..1", "y=0..2", "--format", "csv", "--points", "3", "--no-check"
    )
    found = table(done.stdout)
    assert list(found) == ["x", "y", "value", "d/dx", "d/dy"]
    x, y = numbers(found["x"]), numbers(found["y"])
    assert list(zip(x, y, strict=True)) == [(a, b) for b in (0, 1, 2) for a in (0, 0.5, 1)]
    assert numbers(found["value"]).tolist() == (x**2 * y).tolist()
    assert numbers(found["d/dx"]).tolist() == (2 * x * y).tolist()
    assert numbers(found["d/dy"]).tolist() == (x**2).tolist()


def test_several_values_of_a_name_make_a_curve_each(call_cli):
    done = call_cli(
        "plot",
        "a*x**2",
        "x=0..1",
        "a=1,2,3",
        "--wrt",
        "x,a",
        "--format",
        "csv",
        "--points",
        "2",
        "--no-check",
    )
    assert done.stdout.splitlines() == [
        "x,a,value,d/dx,d/da",
        "0.0,1.0,0.0,0.0,0.0", "1.0,1.0,1.0,2.0,1.0", "0.0,2.0,0.0,0.0,0.0", "1.0,2.0,2.0,4.0,1.0", "0.0,3.0,0.0,0.0,0.0",
        "1.0,3.0,3.0,6.0,1.0",
    ]  # fmt: skip


def test_queries_of_a_file_are_curves_together(call_cli, tmp_path):
    (tmp_path / "two.grad").write_text("y = x**2\ny + 1\nsin(y)\n")
    done = call_cli("plot", "-f", "two.grad", "x=0..2", "--format", "csv", "--points", "2")
    assert [line.split(",")[:3] for line in done.stdout.splitlines()] == [
        ["expr", "x", "value"], ["y + 1", "0.0", "1.0"], ["y + 1", "2.0", "5.0"], ["sin(y)", "0.0", "0.0"],
        ["sin(y)", "2.0", repr(math.sin(4.0))],
    ]  # fmt: skip


def test_json_says_all_of_it(call_cli):
    done = call_cli("plot", "abs(x) + 0*a", "x=-1..1", "a=2", "--format", "json", "--points", "3")
    record = json.loads(done.stdout)
    assert record["schema"] == 1
    assert (record["expr"], record["names"], record["ranges"]) == (
        "abs(x) + 0*a",
        ["x"],
        {"x": [-1.0, 1.0]},
    )
    assert record["points"] == [
        {"x": -1.0, "value": 1.0, "d/dx": -1.0},
        {"x": 0.0, "value": 0.0, "d/dx": 0.0},
        {"x": 1.0, "value": 1.0, "d/dx": 1.0},
    ]
    assert record["marks"] == [
        {"kind": "kink", "at": {"x": 0.0}, "text": "kink at x=0: the slope goes from -1 to 1"}
    ]
    assert (
        record["check"]["verdict"],
        record["check"]["points"],
        record["error"],
        record["notes"],
    ) == ("agree", 5, None, [])


def test_several_queries_are_an_array_or_lines(call_cli):
    done = call_cli(
        "plot", "x=0..1", "--format", "json", "--points", "2", "--no-check", stdin="x\nx**(\n"
    )
    first, second = json.loads(done.stdout)
    assert (done.returncode, first["error"], second["error"]["code"], second["points"]) == (
        2,
        None,
        "syntax",
        None,
    )
    lines = call_cli(
        "plot", "x=0..1", "--format", "jsonl", "--points", "2", "--no-check", stdin="x\n2*x\n"
    ).stdout.splitlines()
    assert [json.loads(line)["expr"] for line in lines] == ["x", "2*x"]


def test_numbers_that_are_not_finite(call_cli):
    done = call_cli("plot", "log(x)", "x=-1..1", "--format", "json", "--points", "3", "--no-check")
    assert [point["value"] for point in json.loads(done.stdout)["points"]] == ["nan", "-inf", 0.0]
    done = call_cli("plot", "log(x)", "x=-1..1", "--format", "csv", "--points", "3", "--no-check")
    assert table(done.stdout)["value"] == ["nan", "-inf", "0.0"]


def test_a_derivative_that_is_refuted_exits_1(call_cli):
    with planted("sin", partials=lambda _: (lambda out, x: 2 * x,)):
        done = call_cli("plot", "sin(x)", "x=0..1", "--format", "json", "--points", "2")
        assert (done.returncode, json.loads(done.stdout)["check"]["verdict"]) == (1, "mismatch")
        assert call_cli("plot", "sin(x)", "x=0..1", "--no-check").returncode == 0
    assert call_cli("plot", "sin(x)", "x=0..1").returncode == 0


REFUSED = {
    "x x=3..1": "the range 'x=3..1' ends before it begins",
    "x x=0..inf": "an end of the range of 'x' is no finite number: inf",
    "x x=nan..1": "an end of the range of 'x' is no finite number: nan",
    "x x=1": "no name has a range",
    "x": "no name has a range",
    "x x=1..1": "the range of 'x' is a single point",
    "x x=0..": "'x=0..' is no range",
    "x x=0..1..2": "'x=0..1..2' is no range",
    "x x=-1e308..1e308": "the range of 'x' is too wide for floats",
    "x x=0..1 x=2": "the name 'x' is bound twice",
    "x*y*z x=0..1 y=0..1 z=0..1": "'z' has a range, but a picture has room for two names",
    "x+q x=0..1": "no value for 'q'",
    "2*a a=1 x=0..1": "the expression has no name 'x'",
    "sin( x=0..1": "'(' is never closed",
    "x>1 x=0..2": "a curve is that of a number; the result is a truth or an index",
    "x*ones(20) x=0..1": "the result has the shape (20,): 20 curves are too many for a picture, "
    "which shows up to 12",
    "x*y*ones(2) x=0..1 y=0..1": "contours are those of a number; the result has the shape (2,)",
    "zeros(x) x=1..2": "an extent of a shape must be a whole number",
    "sum(w*x) x=0..1 w=1,2 --wrt w": "'w' has the shape (2,): a curve of d/dw needs a number",
    "x x=0..1 --wrt b": "no value for 'b', which is to be differentiated",
    "sqrt(-1-x**2) x=0..1": "the expression has no finite value anywhere for 0.0 <= x <= 1.0",
    "log(x)*y x=-1..0 y=0..1": "the expression has no finite value anywhere for -1.0 <= x <= 0.0, "
    "0.0 <= y <= 1.0",
    "x x=0..1 --points 1": "--points must be a whole number from 2 to 1,000,000, not 1",
    "x x=-1..1 --log x": "--log x: the range of 'x' begins at -1.0, which has no logarithm",
    "x x=1..2 --log z": "--log must be one of x, y, xy, not 'z'",
    "x x=0..1 --out p.gif": "--out p.gif: a suffix says what is written",
    "x x=0..1 --width 3": "--width must be a whole number from 20 to 10,000, not 3",
    "x x=0..1 --format xml": "--format must be one of text, csv, json, jsonl, not 'xml'",
    "x x=0..1 --format csv --width 40": "--format csv and --width exclude each other",
    "x x=0..1 --timeout 1 --no-check": "--no-check and --timeout exclude each other",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_curve_is_refused(call_cli, line):
    done = call_cli("plot", *line.split(" "))
    assert (done.returncode, done.stdout) == (2, "")
    assert REFUSED[line] in done.stderr


WHOLE = """\
    value
  1┤⠙⠦⣀                               ⢀⡠⠞
   │  ⠈⠑⢦⡀                         ⢀⣠⠖⠉
   │     ⠈⠓⢤⡀                    ⣠⠔⠋
0.5┤        ⠉⠳⢤⡀              ⣠⠴⠋⠁
   │           ⠉⠲⣄⡀        ⣀⡴⠊⠁
   │              ⠙⠲⣄   ⢀⡤⠚⠁
  0┤┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈⠙◆⠞⠁┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
    d/dx
  1┤                  ⠈⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉
   │
   │
  0┤┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
   │
   │
 -1┤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤
   └┴─────────────────┴─────────────────┴
   -1                 0                 1
                      x

abs(x)
  for -1.0 <= x <= 1.0
  kink     at x=0: the slope goes from -1 to 1
  check    agree with sympy's derivative at 5 points of the range
"""


def test_a_chart_as_a_whole(call_cli):
    done = call_cli("plot", "abs(x)", "x=-1..1", "--width", "41", "--height", "20")
    assert done.stdout == WHOLE
    assert max(map(len, done.stdout.splitlines()[:19])) == 41


def test_a_chart_without_colours_tells_curves_apart_by_marks(call_cli):
    done = call_cli("plot", "a*x", "x=0..1", "a=1,2", "--width", "40", "--height", "16")
    assert "** a=1   ++ a=2" in done.stdout
    rows = done.stdout.split("d/dx")[0]
    assert "*" in rows
    assert "+" in rows


def test_without_characters_for_it_there_is_no_chart(run_cli):
    done = run_cli(
        "plot",
        "abs(x)+floor(x)",
        "x=-1.5..1.5",
        "--no-check",
        env={**plain_environment(), "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (
        0,
        "no chart: standard output has no characters for its dots (PYTHONIOENCODING=utf-8)\n",
    )
    assert done.stdout.startswith("abs(x)+floor(x)\n  for -1.5 <= x <= 1.5\n  jump     at x=-1")


@pytest.mark.parametrize("width", [20, 41, 80, 200])
def test_charts_have_the_width_that_is_asked_for(call_cli, width):
    for arguments in (["x*sin(x)", "x=-10..10"], ["x*y**2", "x=-1..1", "y=-1..1"]):
        done = call_cli("plot", *arguments, "--no-check", "--width", str(width), "--height", "18")
        picture = done.stdout.split("\n\n")[0].splitlines()
        assert max(map(len, picture)) <= width
        assert len(picture) <= 18


def test_what_is_not_smooth_over_two_ranges_is_told(call_cli):
    record = json.loads(
        call_cli(
            "plot",
            "floor(x)/y",
            "x=0.5..1.5",
            "y=0..1",
            "--format",
            "json",
            "--no-check",
            "--points",
            "2",
        ).stdout
    )
    assert [(mark["kind"], mark["at"]) for mark in record["marks"]] == [
        ("pole", {"x": [0.5, 1.5], "y": 0.0}), ("jump", {"x": 1.0, "y": [0.0, 1.0]}),
    ]  # fmt: skip
    assert record["levels"] == sorted(record["levels"])


def test_contours_are_not_drawn_through_a_jump():
    program = Programs(values={"x": np.float64(0), "y": np.float64(0)}).fresh()
    script = Script(program, ["sign(x)*(2 + y**2)"])
    (record,) = plots(script, Options(over={"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, check=False))
    assert record.grid is not None
    (cut,) = np.flatnonzero(np.isnan(record.grid.values).all(axis=0))
    assert record.grid.xs[cut] == 0
    assert np.unique(np.sign(record.grid.values[:, :cut])).tolist() == [-1]
    assert np.unique(np.sign(record.grid.values[:, cut + 1 :])).tolist() == [1]


def test_colours_are_those_of_a_terminal_only(call_cli):
    assert "\x1b[" not in call_cli("plot", "x", "x=0..1", "--no-check").stdout
    assert "\x1b[36m" in call_cli("plot", "x", "x=0..1", "--no-check", "--color", "always").stdout


def test_marks_are_listed_below_the_chart(call_cli):
    done = call_cli("plot", "tan(x)", "x=-3..3")
    assert done.stdout.split("\n\n")[1] == (
        "tan(x)\n"
        "  for -3.0 <= x <= 3.0\n"
        "  pole     at x=-pi/2 (-1.5707963267948966): +inf from the left, -inf from the right\n"
        "  pole     at x=pi/2 (1.5707963267948966): +inf from the left, -inf from the right\n"
        "  check    agree with sympy's derivative at 5 points of the range\n"
    )


def test_logarithmic_axes(call_cli):
    done = call_cli(
        "plot",
        "x**3",
        "x=0.01..100",
        "--log",
        "xy",
        "--points",
        "5",
        "--format",
        "csv",
        "--no-check",
    )
    assert numbers(table(done.stdout)["x"]) == pytest.approx([0.01, 0.1, 1, 10, 100], rel=1e-14)
    shown = call_cli(
        "plot", "x**3", "x=0.01..100", "--log", "xy", "--no-check", "--width", "60"
    ).stdout
    assert shown.splitlines()[-5].split() == ["0.01", "0.1", "1", "10", "100"]


# -- files
# ---------------------------------------------------------------------------------------------------------------


FIGURES = {
    "a curve": ["tan(x)", "x=-3..3"],
    "a family": ["a*abs(x-a)", "x=0..4", "a=1,2"],
    "contours": ["x**2-y**2", "x=-1..1", "y=-1..1"],
}


@draws
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("kind", ["svg", "png", "pdf", "html"])
def test_files_have_the_same_bytes_each_time(call_cli, tmp_path, figure, kind):
    found = []
    for place in ("one", "two") if figure == "a curve" else ("one",):
        done = call_cli("plot", *FIGURES[figure], "--no-check", "--out", f"{place}.{kind}")
        assert (done.returncode, done.stderr) == (0, f"{place}.{kind} is written\n")
        found.append((tmp_path / f"{place}.{kind}").read_bytes())
    assert len(set(found)) == 1
    begins = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-", "html": b"<!DOCTYPE html>"}[
        kind
    ]
    assert found[0].startswith(begins)
    if kind in ("svg", "html"):
        text = found[0].decode().removeprefix("<!DOCTYPE html>")
        ElementTree.fromstring(text[text.index("<svg") :] if kind == "svg" else text)
        fetched = re.findall(
            r"""(?:src|href|url)\s*[=(]\s*["']?(?!#|"#|'#)([^"'\s)]+)""",
            re.sub(r"xmlns(:\w+)?=\"[^\"]*\"", "", text),
        )
        assert [address for address in fetched if not address.startswith("#")] == []
        assert "<script" not in text


@draws
def test_a_page_has_the_picture_the_marks_and_the_table(call_cli, tmp_path):
    assert call_cli("plot", "abs(x)", "x=-1..1", "--points", "3", "--out", "p.html").returncode == 0
    page = ElementTree.fromstring((tmp_path / "p.html").read_text().removeprefix("<!DOCTYPE html>"))
    assert len(list(page.iter("{http://www.w3.org/2000/svg}svg"))) == 1
    assert [cell.text for cell in page.iter("th")] == ["x", "value", "d/dx"]
    assert [cell.text for cell in page.iter("td")] == [
        "-1.0",
        "1.0",
        "-1.0",
        "0.0",
        "0.0",
        "0.0",
        "1.0",
        "1.0",
        "1.0",
    ]
    assert "at x=0: the slope goes from -1 to 1" in [cell.text for cell in page.iter("dd")]


def test_a_file_that_cannot_be_written_is_an_error(call_cli, tmp_path):
    done = call_cli("plot", "x", "x=0..1", "--no-check", "--out", "nowhere/p.svg")
    assert (done.returncode, done.stdout) == (2, "")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_error_says_how_to_get_it(tmp_path):
    block = "import sys; sys.modules['matplotlib'] = None; from gradcli.__main__ import run; run()"
    command = [sys.executable, "-c", block, "plot", "x", "x=0..1", "--no-check"]
    options = {"cwd": tmp_path, "env": plain_environment(), "capture_output": True, "text": True}
    done = subprocess.run([*command, "--out", "p.svg"], check=False, **options)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "error[usage]: pictures in files need matplotlib, which is not installed\n = help: pip "
        "install 'gradcli[plot]'\n"
    )
    assert not list(tmp_path.iterdir())
    assert (
        subprocess.run(command, check=False, **options).returncode == 0
    )  # charts and tables need none


# -- texts of others
# -----------------------------------------------------------------------------------------------------


def hostile_record(text):
    at = np.array([0.0, 1.0])
    numbers = {VALUE: at, "d/dx": at}
    marks = [Mark("kink", 0.5, 0.5, (0.5, 0.5), f"kink {text}")]
    curves = [
        Curve(text, {}, at, numbers, numbers, list(marks)),
        Curve("other", {}, at, numbers, numbers),
    ]
    return PlotRecord(
        text,
        ranges={"x": (0.0, 1.0)},
        by=("x",),
        at=at,
        curves=curves,
        notes=[text],
        warnings=[text],
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_of_others_are_inert_in_charts_and_tables(name):
    record = hostile_record(HOSTILE[name])
    for shown in (
        text_of(Chart(chart([record], Style(60, 16, False))).lines()),
        text_of(record.lines()),
    ):
        assert all(character.isprintable() or character == "\n" for character in shown), shown
    cells = plot_rows([record, record])
    assert not re.search(r"(^|,)\"?[=+@]", cells, re.MULTILINE)


@draws
@pytest.mark.parametrize(
    "name",
    ["XML", "a null", "halves", "LaTeX", "percents", "a colour", "wide", "lines", "Markdown"],
)
def test_texts_of_others_are_inert_in_pages(name):
    from gradcli.report.plot_picture import page

    text = page([hostile_record(HOSTILE[name])])
    text.encode()
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))
    assert not list(root.iter("script"))
    if name == "XML":
        assert HOSTILE[name] in [heading.text for heading in root.iter("h1")]


def test_a_name_in_any_script_is_an_axis(call_cli):
    done = call_cli("plot", "αβ**2", "αβ=-1..1", "--format", "csv", "--points", "2", "--no-check")
    assert done.stdout.splitlines()[0] == "αβ,value,d/dαβ"


def test_round_numbers_on_axes():
    assert ticks(-3.1, 3.1, 7) == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    assert ticks(0, 1, 6) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(1e6, 1e6 + 3, 4) == [1000000.0, 1000001.0, 1000002.0, 1000003.0]
    assert ticks(1.0, 1.0, 4) == []
    assert [label(x) for x in (0.0, -2.5, 1e-7, 3e12, 1e300)] == [
        "0",
        "-2.5",
        "1e-7",
        "3e12",
        "1e300",
    ]
