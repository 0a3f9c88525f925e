"""The page of an explanation as a text: it is whole, it fetches nothing, and what users write is data in it."""

from __future__ import annotations

import json
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
from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.inputs.positionals import Inputs
from gradcli.errors import Source
from gradcli.query.bindings import Programs
from gradcli.query.options import Options
from gradcli.report.explanation import ExplainedGradient, ExplainedNode, Explanation
from gradcli.report.explanation import Path as Route
from gradcli.report.explanation_lines import explanation_lines
from gradcli.report.lines import text_of
from gradcli.report.page.assembly import page
from gradcli.report.page.data import MOST_NODES, page_data
from gradcli.report.records import Record

VOID = {"meta", "link", "input", "br"}
ROOT = Path(gradcli.__file__).parent.parent


def explain(text: str, **at: Any) -> list[Explanation]:
    values = {name: np.asarray(value, float) for name, value in at.items()}
    options = Options(check=False, formula=False)
    return list(Explanations(Inputs(text, {}, [], None), Programs(values=values), options, 0).answers())


class Outline(HTMLParser):
    """The elements of a page with their attributes, and the texts of scripts; an end without its beginning is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def data_of(outline: Outline) -> dict[str, Any]:
    return json.loads(outline.scripts[0])


def test_a_page_is_whole_and_fetches_nothing() -> None:
    outline = Outline(page(explain("sum(tanh(x)*x + y)", x=[1, 2, 3], y=2)))
    policies = [attrs["content"] for tag, attrs in outline.elements if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    ]
    for tag, attrs in outline.elements:
        assert not [name for name in attrs if name.startswith("on")], f"{tag} has a handler: {attrs}"
        assert attrs.get("src") is None, tag
        assert attrs.get("href") in (None, "data:,", "#player"), tag
    assert len(outline.scripts) == 2
    assert [query["value"] for query in data_of(outline)["queries"]] == [11.67481357716759]


def test_the_page_has_the_numbers_of_the_explanation() -> None:
    """d(x*y + x)/dx at (2, 3) by hand: 3 by the product and 1 beside it."""
    data = data_of(Outline(page(explain("x*y + x", x=2, y=3))))["queries"][0]
    assert data["gradients"]["x"]["value"] == 4
    assert sorted(path["contribution"] for path in data["gradients"]["x"]["paths"]) == [1, 3]
    assert data["page"]["operations"]["mul"]
    assert data["page"]["spellings"] == {"3": "*", "4": "+"}


def named(text: str) -> Explanation:
    """An explanation with a text of the user's wherever one may stand."""
    record = Record(text, value=np.float64(1), grad={text: np.float64(2)}, warnings=[text], seed=np.float64(1))
    nodes = [
        ExplainedNode(1, "leaf", text, text, text, (0, len(text)), value=np.float64(1), adjoint=np.float64(2)),
        ExplainedNode(2, "exp", text, None, text, (0, len(text)), text, (1,), value=np.float64(1), adjoint=np.float64(1), function=text),
    ]
    gradients = {text: ExplainedGradient(np.float64(2), [Route((1, 2), np.float64(2))], 0, np.float64(0))}
    return Explanation(record, Source(text), nodes, gradients=gradients, result=2)


TEXTS = {
    **HOSTILE, "a script": "<script>alert(1)</script>", "an end": "</script><img src=x onerror=alert(1)>", "a comment": "<!--<script>",
    "a bracket": '"]', "a placeholder": "{{data}} {{program}}", "a template": "</template></svg><script>alert(1)</script>",
    "a style": "</style><script>alert(1)</script>", "plain text": "</pre></noscript><script>alert(1)</script>",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_of_users_are_data(text: str) -> None:
    wanted = Outline(page([named("x")]))
    outline = Outline(page([named(text)]))
    tags = [tag for tag, _ in outline.elements]
    assert [tag for tag in tags if tag not in ("text", "title", "path")] == [
        tag for tag, _ in wanted.elements if tag not in ("text", "title", "path")
    ]
    shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert data_of(outline)["queries"][0]["nodes"][0]["text"] == shown or "\ud800" <= max(text) <= "\udfff"
    assert outline.scripts[0].isascii()


def test_errors_stand_on_the_page() -> None:
    data = data_of(Outline(page(explain("x + (", x=1))))["queries"][0]
    assert data["page"]["error"].startswith("error")
    assert data["nodes"] == []


def test_large_arrays_are_pictures() -> None:
    """A matrix of rows 0 and 1 has means of 0 above and 1 below; what is not finite is seen."""
    x = np.repeat([0.0, 1.0], 2000).reshape(80, 50)
    data = page_data(explain("sum(x)", x=x)[0], 6)
    assert data["nodes"][0]["value"]["shape"] == [80, 50]
    picture = data["page"]["pictures"]["1"]["value"]
    assert np.array_equal(picture["means"], np.repeat([[0.0], [1.0]], 12, axis=0) * np.ones((24, 32)))
    x[79, 49] = np.nan
    assert page_data(explain("sum(x)", x=x)[0], 6)["page"]["pictures"]["1"]["value"]["means"][-1][-1] == "nan"


def test_many_arrays_are_summed_up() -> None:
    """400 nodes of 900 entries would be megabytes of numbers."""
    text = "x" + "*2+x" * 200
    assert len(page(explain(text, x=np.ones(900)))) < 4_000_000
    small = page_data(explain(text, x=np.ones(5))[0], 6)
    assert small["nodes"][-1]["adjoint"] == [1.0] * 5


def test_a_large_graph_is_a_summary() -> None:
    nodes = [
        ExplainedNode(i, "leaf" if i == 1 else "sin", value=1.0, adjoint=1.0, operands=(i - 1,) if i > 1 else ()) for i in range(1, 100_001)
    ]
    explanation = Explanation(Record("f(x)", value=np.float64(1), grad={}), Source("f(x)"), nodes, result=len(nodes))
    text = page([explanation])
    data = data_of(Outline(text))["queries"][0]
    assert len(nodes) > MOST_NODES
    assert (data["nodes"], data["page"]["counts"]) == ([], [["sin", 99_999], ["leaf", 1]])
    assert len(text) < 200_000


def test_counts_of_paths_are_exact_whatever_their_size() -> None:
    """2**15000 has 4,516 digits, more than Python writes by itself."""
    explanation = named("x")
    explanation.gradients["x"].left_out = 2**15_000
    digits = explanation.to_dict()["gradients"]["x"]["paths_left_out"]
    assert (len(digits), Decimal(digits)) == (4516, Decimal(2**15_000))
    assert "and about 10**4515 smaller paths" in text_of(explanation_lines(explanation, 6))
    assert page([explanation])


def test_the_parts_of_the_program_are_short_and_have_no_handlers() -> None:
    folder = Path(gradcli.__file__).parent / "report" / "page"
    for path in [*folder.glob("*.js"), *folder.glob("*.css"), *folder.glob("*.html")]:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) < 300, path.name
        assert "innerHTML" not in text, path.name
        assert not re.search(r"\beval\(|https?:(?!//www\.w3\.org)|\bfetch\(|XMLHttpRequest|\bimport\b", text), path.name


def test_builds_have_the_parts(tmp_path: Path) -> None:
    """The wheel and the sdist hold what the page is made of."""
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, which builds gradcli, is not installed here")
    sdist = pytest.importorskip("hatchling.builders.sdist")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("gradcli is installed, this is no checkout")
    wheel = next(iter(builder.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    archive = next(iter(sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    wanted = {path.name for path in (ROOT / "gradcli" / "report" / "page").iterdir() if path.is_file()}
    with zipfile.ZipFile(wheel) as found:
        assert {Path(name).name for name in found.namelist() if "/report/page/" in name} == wanted
    with tarfile.open(archive) as packed:
        assert {Path(name).name for name in packed.getnames() if "/report/page/" in name} == wanted
