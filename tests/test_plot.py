"""``gradcli plot``: tables, charts, pictures and pages of values and derivatives over ranges, and
the cross-check of what is drawn.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from checking import planted
from conftest import plain_environment
from hostile_texts import HOSTILE

from gradcli import PlotRecord
from gradcli.report.plot_chart import Chart, Style, chart, label, ticks
from gradcli.report.ranges import VALUE, Curve, Mark
from gradcli.report.records import text_of
from gradcli.report.table import plot_rows

try:
    import matplotlib  # noqa: F401

    DRAWS = True
except ImportError:
    DRAWS = False
draws = pytest.mark.skipif(
    not DRAWS, reason="matplotlib, which draws pictures in files, is not installed"
)


def test_a_derivative_that_is_refuted_exits_1(call_cli):
    with planted("sin", partials=lambda _: (lambda out, x: 2 * x,)):
        done = call_cli("plot", "sin(x)", "x=0..1", "--format", "json", "--points", "2")
        assert (done.returncode, json.loads(done.stdout)["check"]["verdict"]) == (1, "mismatch")
        assert call_cli("plot", "sin(x)", "x=0..1", "--no-check").returncode == 0
    assert call_cli("plot", "sin(x)", "x=0..1").returncode == 0


@pytest.mark.parametrize("width", [20, 41, 80, 200])
def test_charts_have_the_width_that_is_asked_for(call_cli, width):
    for arguments in (["x*sin(x)", "x=-10..10"], ["x*y**2", "x=-1..1", "y=-1..1"]):
        done = call_cli("plot", *arguments, "--no-check", "--width", str(width), "--height", "18")
        picture = done.stdout.split("\n\n")[0].splitlines()
        assert max(map(len, picture)) <= width
        assert len(picture) <= 18


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
    cells = [cell.text for cell in page.iter("td")]
    assert cells[-9:] == [
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
    assert "at x=0: the slope goes from -1 to 1" in cells


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
        assert HOSTILE[name] in [cell.text for cell in root.iter("td")]


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
