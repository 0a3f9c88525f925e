"""The page of an explanation as a text: it is whole, it can be read without its script, it fetches
nothing, and shows any text as text.
"""

from __future__ import annotations

import re
import tarfile
import zipfile
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_texts import HOSTILE

import gradcli
from gradcli import ExplainedGradient, ExplainedNode, Explanation, Record, ShownExplanation
from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.decide.running import Inputs
from gradcli.options import Options
from gradcli.query.programs import Programs
from gradcli.report.explanation import Path as Route
from gradcli.report.page.assembly import MOST_NODES, page
from gradcli.report.records import text_of
from gradcli.texts import Source

VOID = {"meta", "link", "input", "img"}
ROOT = Path(gradcli.__file__).parent.parent


def explain(text: str, **at: Any) -> list[Explanation]:
    values = {name: np.asarray(value, float) for name, value in at.items()}
    options = Options(check=False, formula=False)
    return list(
        Explanations(Inputs(text, {}, [], None), Programs(values=values), options).answers()
    )


class Outline(HTMLParser):
    """The elements of a page with their attributes, and its texts beside styles and scripts; an end
    without its beginning is an error.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def test_a_page_is_whole_and_fetches_nothing() -> None:
    outline = Outline(page(explain("sum(tanh(x)*x + y)", x=[1, 2, 3], y=2)))
    policies = [
        attrs["content"]
        for tag, attrs in outline.elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src "
        "data:; base-uri 'none'; form-action 'none'"
    ]
    for tag, attrs in outline.elements:
        assert not [name for name in attrs if name.startswith("on")], (
            f"{tag} has a handler: {attrs}"
        )
        assert "src" not in attrs, tag
        assert (attrs.get("href") or "#")[0] == "#" or attrs["href"] == "data:,", tag
    assert [tag for tag, _ in outline.elements].count("script") == 1
    assert "value 11.6748" in outline.text


def test_the_page_can_be_read_without_its_script() -> None:
    """d(x*y + x)/dx at (2, 3) by hand: 3 by the product and 1 beside it."""
    text = Outline(page(explain("x*y + x", x=2, y=3))).text
    for part in (
        "x 4 3 by x → x*y → x*y + x 1 by x → x*y + x y 2 2 by y",
        "Forward Node 3, x*y: mul of x (node 1) and y (node 2).",
        "2 * 3 = 6 Forward Node 4",
        "It is the last of 2 contributions; together the adjoint of x is 4.",
        "1 x has 2 contributions, together 4 1 from 4 3 from 3",
        "to 1 x times y (3) gives 3",
    ):
        assert part in text


def named(text: str) -> ShownExplanation:
    """An explanation with a text of the user's wherever one may stand."""
    record = Record(
        text, value=np.float64(1), grad={text: np.float64(2)}, warnings=[text], seed=np.float64(1)
    )
    nodes = [
        ExplainedNode(
            1, "leaf", text, text, text, (0, len(text)), value=np.float64(1), adjoint=np.float64(2)
        ),
        ExplainedNode(
            2,
            "exp",
            text,
            None,
            text,
            (0, len(text)),
            text,
            (1,),
            value=np.float64(1),
            adjoint=np.float64(1),
            function=text,
        ),
    ]
    gradients = {
        text: ExplainedGradient(np.float64(2), [Route((1, 2), np.float64(2))], 0, np.float64(0))
    }
    return ShownExplanation(record, Source(text), nodes, gradients=gradients, result=2)


TEXTS = {
    **HOSTILE, "a script": "<script>alert(1)</script>", "an end": "</script><img src=x "
    "onerror=alert(1)>", "a comment": "<!--<script>",
    "a bracket": '"]', "a placeholder": "{{main}} {{program}}", "an attribute": '" '
    'onload="alert(1)',
    "a picture": "</svg><script>alert(1)</script>",
    "a style": "</style><script>alert(1)</script>", "plain text": "</pre></span><script>alert(1)</script>",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_of_users_are_text(text: str) -> None:
    wanted = Outline(page([named("x")]))
    outline = Outline(page([named(text)]))
    ignored = ("text", "title", "path", "g", "rect")  # of which a box has as many as lines of text
    tags, wanted_tags = (
        [tag for tag, _ in each.elements if tag not in ignored] for each in (outline, wanted)
    )
    assert tags == wanted_tags
    for _, attrs in outline.elements:
        assert not [name for name in attrs if name.startswith("on")]
    assert not set(outline.text) & set("\u202e\u2066\u2069\u2028\u2029\x85\U000e0100\x1b")


def test_errors_stand_on_the_page() -> None:
    text = Outline(page(explain("x + (", x=1))).text
    assert "This has no result error" in text


def test_arrays_are_pictures() -> None:
    """Orange above zero, blue below it, and the stronger the larger: 3 fills a cell, -1 a third of
    one, and zero is clear.
    """
    text = page(explain("sum(x)", x=[[3.0, -1.0], [0.0, np.nan]]))
    heat = text.partition('<figure class="heat">')[2].partition("</svg>")[0]
    found = re.findall(r'fill="(#\w+)" opacity="([\d.]+)"', heat)
    assert found == [
        ("#e87d1e", "1.00"), ("#2d7ddc", "0.33"), ("#e87d1e", "0.00"), ("#a050be", "1.00"),
    ]  # fmt: skip


def test_a_large_array_is_a_line() -> None:
    outline = Outline(page(explain("sum(x)", x=np.arange(4000.0).reshape(80, 50))))
    assert "Value 80×50, 0 to 4e+03 Adjoint" in outline.text
    assert "figure" not in [tag for tag, _ in outline.elements]


def test_many_arrays_are_summed_up() -> None:
    """400 nodes of 900 entries would be megabytes of numbers."""
    text = "x" + "*2+x" * 200
    assert len(page(explain(text, x=np.ones(900)))) < 4_000_000
    assert "[1.0, 1.0, 1.0, 1.0, 1.0]" in page(explain(text, x=np.ones(5)))


def test_a_large_graph_is_a_summary() -> None:
    nodes = [
        ExplainedNode(
            i,
            "leaf" if i == 1 else "sin",
            value=1.0,
            adjoint=1.0,
            operands=(i - 1,) if i > 1 else (),
        )
        for i in range(1, 100_001)
    ]
    explanation = ShownExplanation(
        Record("f(x)", value=np.float64(1), grad={}), Source("f(x)"), nodes, result=len(nodes)
    )
    text = page([explanation])
    assert len(nodes) > MOST_NODES
    assert "100,000 nodes: --format json lists them all" in Outline(text).text
    assert len(text) < 200_000


def test_counts_of_paths_are_exact_whatever_their_size() -> None:
    """2**15000 has 4,516 digits, more than Python writes by itself."""
    explanation = named("x")
    explanation.gradients["x"].left_out = 2**15_000
    digits = explanation.to_dict()["gradients"]["x"]["paths_left_out"]
    assert (len(digits), Decimal(digits)) == (4516, Decimal(2**15_000))
    assert "and about 10**4515 smaller paths" in text_of(explanation.lines(6))
    assert "about 10**4515 smaller paths" in page([explanation])


def test_the_parts_of_the_program_are_short_and_have_no_handlers() -> None:
    folder = Path(gradcli.__file__).parent / "report" / "page"
    for path in [*folder.glob("*.js"), *folder.glob("*.css"), *folder.glob("*.html")]:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) < 400, path.name
        assert text.isascii(), path.name  # which every encoding has
        assert "innerHTML" not in text, path.name
        assert not re.search(
            r"\beval\(|https?:(?!//www\.w3\.org)|\bfetch\(|XMLHttpRequest|\bimport\b", text
        ), path.name


@pytest.mark.ci
def test_builds_have_the_parts(tmp_path: Path) -> None:
    """The wheel and the sdist hold what the page is made of."""
    builder = pytest.importorskip(
        "hatchling.builders.wheel", reason="hatchling, which builds gradcli, is not installed here"
    )
    sdist = pytest.importorskip("hatchling.builders.sdist")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("gradcli is installed, this is no checkout")
    wheel = next(
        iter(builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    )
    archive = next(
        iter(sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    )
    wanted = {
        path.name for path in (ROOT / "gradcli" / "report" / "page").iterdir() if path.is_file()
    }
    with zipfile.ZipFile(wheel) as found:
        assert {Path(name).name for name in found.namelist() if "/report/page/" in name} == wanted
    with tarfile.open(archive) as packed:
        assert {Path(name).name for name in packed.getnames() if "/report/page/" in name} == wanted
