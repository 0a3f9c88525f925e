"""Pictures of explanations: every node in one box, layouts without circles, formats that their own
readers take, text that stays text.
"""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest
from hostile_texts import HOSTILE
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gradcli
from gradcli import Explanation, OutputError
from gradcli.report.pictures import (
    MOST,
    ROLES,
    colours,
    drawing,
    layout,
    lines_of,
    mermaid,
    svg,
)
from gradcli.texts import display_width

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = "\n".join(
    ["y0 = sin(x)", *(f"y{i} = y{i - 1}*z + cos(y{i - 1}*{i}.5)" for i in range(1, 80)), "y79"]
)
TERMS = " + ".join(f"{i}*sin({i}.5*x)" for i in range(1, 200))

EXPLAINED: dict[str, Explanation] = {
    "a product": gradcli.explain("3*a**2 + b", a=2.0, b=6.0, check=False),
    "a layer": gradcli.explain(
        "F.cross_entropy(W @ tanh(x), 1)", x=[1.0, -2.0], W=[[0.5, -1.0], [2.0, 0.25]], check=False
    ),
    "several results": gradcli.explain(
        "qr(A)[1][0, 0] + svdvals(A)[0]", A=[[2.0, 1.0], [0.5, 3.0]], check=False
    ),
    "not finite": gradcli.explain("log(x)*y", x=0.0, y=2.0, check=False),
    "many lines": gradcli.explain(CHAIN, x=1.5, z=0.3, check=False),
    "one number": gradcli.explain(
        "\n".join(["y0 = 2*x", *(f"y{i} = y{i - 1}*2 + 2" for i in range(1, 30)), "y29"]),
        x=1.0,
        check=False,
    ),
    "one long line": gradcli.explain(TERMS, x=0.5, check=False),
}
EACH = pytest.mark.parametrize("explanation", EXPLAINED.values(), ids=list(EXPLAINED))


def named(text: str) -> Explanation:
    """An explanation whose every text is this one."""
    explanation = gradcli.explain("x*y", x=2.0, y=3.0, check=False)
    explanation.record.expr = text
    for node in explanation.nodes:
        node.name = node.text = text
    return explanation


# -- folding and layout
# -----------------------------------------------------------------------------------------------------


@EACH
def test_every_node_is_in_one_box_and_every_edge_between_two(explanation):
    drawn = drawing(explanation)
    inside = [id for box in drawn.boxes for id in box.nodes]
    given_inside = {id for id, node in enumerate(explanation.nodes, 1) if node.op == "const"}
    assert len(inside) == len(set(inside))
    assert set(inside) | given_inside == set(range(1, len(explanation.nodes) + 1))
    keys = {box.key for box in drawn.boxes}
    assert all({edge.begin, edge.end} <= keys and edge.begin != edge.end for edge in drawn.edges)
    assert len(drawn.boxes) <= MOST
    assert sum(box.role == "result" for box in drawn.boxes) == 1


def test_few_nodes_are_all_drawn():
    drawn = drawing(EXPLAINED["a product"])
    assert [(box.title, box.role, box.value, box.adjoint) for box in drawn.boxes] == [
        ("a", "leaf", "2", "12"), ("b", "leaf", "6", "1"), ("3", "const", "", ""), ("2", "const", "", ""), ("a**2", "operation", "4", "3"),
        ("3*a**2", "operation", "12", "1"), ("3*a**2 + b", "result", "18", "1"),
    ]  # fmt: skip
    assert {(edge.begin, edge.end): edge.contribution for edge in drawn.edges}[1, 5] == "12"


def test_lines_and_functions_are_folded_with_a_count():
    drawn = drawing(EXPLAINED["many lines"])
    assert [(box.title, box.detail) for box in drawn.boxes if box.title in ("y1", "y40")] == [
        ("y1", "4 nodes"),
        ("y40", "4 nodes"),
    ]
    text = (
        "; ".join(f"s{i} = F.multi_margin_loss(x*{i}, 1)" for i in range(1, 6)) + "; s1*s2*s3*s4*s5"
    )
    folded = drawing(gradcli.explain(text, x=[1.0, 2.0], check=False))
    assert [box.detail for box in folded.boxes if box.title == "s4"] == [
        "multi_margin_loss, 8 nodes"
    ]


def test_a_number_that_several_use_leads_from_none_of_them_to_another():
    """In large graphs numbers stand in the boxes of what uses them; the one 2 of this text is in a
    box of which others use nothing.
    """
    drawn = drawing(EXPLAINED["one number"])
    titles = {box.key: box.title for box in drawn.boxes}
    after_first = {titles[edge.end] for edge in drawn.edges if titles[edge.begin] == "y0"}
    assert after_first == {"y0*2"}
    assert all(edge.size is not None for edge in drawn.edges), (
        "an edge along which nothing flows back"
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=80))
@example([(0, 5), (1, 2), (1, 4), (2, 3), (3, 4)])  # a bend has the number of another part's box
def test_any_edges_are_laid_out(edges):
    """Circles, loops and edges twice would end the process in the layout's library."""
    laid = layout(range(31), edges)
    assert set(laid.places) == set(range(31))
    assert len(set(laid.places.values())) == 31, "two boxes stand in one place"
    for begin, end in edges:
        if begin != end:
            assert (min(begin, end), max(begin, end)) in laid.ways
    for (begin, end), way in laid.ways.items():
        assert (way[0], way[-1]) == (laid.places[begin], laid.places[end])


# -- SVG
# --------------------------------------------------------------------------------------------------------------------


@EACH
def test_svg_is_well_formed_and_text_fits_into_boxes(explanation):
    tree = ElementTree.fromstring(svg(explanation))
    drawn = {
        tuple(map(int, group.get("data-nodes", "").split())): group
        for group in tree.iter(f"{SVG}g")
        if group.get("data-nodes")
    }
    boxes = drawing(explanation).boxes
    assert set(drawn) == {box.nodes for box in boxes}
    width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
    for box in boxes:
        rect = drawn[box.nodes].find(f"{SVG}rect")
        assert rect is not None
        x, y, w = (float(rect.get(name, "0")) for name in ("x", "y", "width"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + float(rect.get("height", "0")) <= height
        widest = max(
            display_width(line) for line in (box.title, *(line for line, _ in lines_of(box)))
        )
        assert widest * 7.25 <= w, f"{box.title} is wider than its box"


@pytest.mark.parametrize("dark", [False, True])
def test_colours_can_be_read(dark):
    """Text on its box, and numbers beside boxes, have a contrast of 4.5 at least (WCAG 2.1,
    1.4.3).
    """

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    found = colours(dark)
    pairs = [(found[f"--{role}-text"], found[f"--{role}-fill"]) for role in ROLES]
    pairs += [(found["--flow"], found[f"--{role}-fill"]) for role in ROLES if role != "const"]
    pairs += [(found["--ink"], found["--paper"]), (found["--flow"], found["--paper"])]
    for text, ground in pairs:
        light, low = sorted((luminance(text), luminance(ground)), reverse=True)
        assert (light + 0.05) / (low + 0.05) >= 4.5, f"{text} on {ground}"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_svg_shows_any_text_as_text(text):
    tree = ElementTree.fromstring(svg(named(text)))
    assert {each.tag.removeprefix(SVG) for each in tree.iter()} <= {
        "svg", "title", "desc", "style", "defs", "marker", "path", "rect", "text", "g",
    }  # fmt: skip
    assert not [
        name
        for each in tree.iter()
        for name in each.attrib
        if name.startswith("on") or "href" in name
    ]


def test_without_the_layouts_library_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    with pytest.raises(OutputError, match="fast-sugiyama") as caught:
        svg(EXPLAINED["a product"])
    assert "pip install fast-sugiyama" in str(caught.value.help)
    assert mermaid(EXPLAINED["a product"])


# -- Mermaid
# ---------------------------------------------------------------------------------------------------------


def test_mermaid_has_only_characters_that_it_does_not_act_on():
    for text in HOSTILE.values():
        for label in re.findall(r'\["(.*)"\]|\|"(.*)"\|', mermaid(named(text))):
            assert not re.search(r"[^\w .,+=;#<>br]", "".join(label).replace("<br>", "")), text


@EACH
def test_latex_has_balanced_groups(explanation):
    text = explanation.to_latex()
    bare = re.sub(r"\\.", "", text)
    assert bare.count("{") == bare.count("}")
    assert text.count("\\begin") == text.count("\\end")
