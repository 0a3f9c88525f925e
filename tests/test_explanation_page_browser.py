"""The page of an explanation in a real browser: played, by keyboard alone, in both themes, and with
hostile texts.

Skipped where there is no Chromium, or no playwright to drive it (``pip install playwright``; its
own browsers are not needed).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_explanation_page import TEXTS, explain, named

from gradcli import Explanation, Step, Why
from gradcli.report.page.assembly import page as page_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((found for found in map(shutil.which, BROWSERS) if found), None)
driver = pytest.importorskip(
    "playwright.sync_api", reason="playwright, which drives the browser, is not installed"
)
pytestmark = [pytest.mark.ci, pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driver.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Open the page of explanations; what it says to the console, asks for, or wants to be answered
    is a failure.
    """
    complaints: list[str] = []
    contexts = []

    def look(explanations: list[Explanation], **options: Any) -> Any:
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(page_of(explanations), "utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda said: complaints.append(f"console: {said.text}"))
        tab.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        tab.on(
            "dialog",
            lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        )
        tab.on(
            "request",
            lambda asked: (
                complaints.append(asked.url) if asked.url not in (path.as_uri(), "data:,") else None
            ),
        )
        tab.goto(path.as_uri())
        return tab

    yield look
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def small(opened: Open) -> Any:
    return opened(explain("sum(tanh(x)*x + y)", x=[1, 2, 3], y=2))


def telling(tab: Any) -> str:
    return tab.locator(".telling").inner_text()


def slider(tab: Any) -> Any:
    return tab.get_by_role("slider", name="Step")


def test_it_opens_at_the_gradient(small: Any) -> None:
    assert "Gradient" in telling(small)
    facts = small.locator(".facts").inner_text()
    assert "value 11.6748" in facts
    assert "d/dy 3" in facts
    assert small.locator(".picture svg").count() == 1
    assert small.title() == "sum(tanh(x)*x + y), explained by gradcli"


def test_every_step_forward_and_back_by_the_keys_of_the_slider(small: Any) -> None:
    """By hand: tanh(x) * x at 1 is 0.761594, and tanh passes back x times 1 - tanh(x)**2."""
    bar = slider(small)
    bar.focus()
    small.keyboard.press("Home")
    assert "Start" in telling(small)
    told = [bar.get_attribute("aria-valuetext")]
    for _ in range(int(bar.get_attribute("max"))):
        small.keyboard.press("ArrowRight")
        told.append(bar.get_attribute("aria-valuetext"))
    assert len(set(told)) == len(told) == 6 + 6 + 3  # nodes, contributions; start, seed, end
    assert [text.split(". ")[0].split(", ")[1] for text in told] == [
        "Start",
        *["Forward"] * 6,
        *["Backward"] * 7,
        "Gradient",
    ]
    small.keyboard.press("ArrowLeft")
    small.keyboard.press("ArrowLeft")
    assert "1 of 2 to the adjoint of x" in telling(small)
    assert "[1, 1, 1] · [0.761594, 0.964028, 0.995055] → [0.761594, 0.964028, 0.995055]" in telling(
        small
    )


def test_the_step_is_announced_once(small: Any) -> None:
    region = small.locator(".telling")
    assert region.get_attribute("aria-live") == "polite"
    slider(small).focus()
    assert region.get_attribute("aria-live") == "off"  # the slider says it
    small.get_by_role("button", name="Previous step").focus()
    assert region.get_attribute("aria-live") == "polite"
    before = telling(small)
    small.keyboard.press("Enter")
    assert telling(small) != before


def test_it_plays_and_pauses(small: Any) -> None:
    small.get_by_role("button", name="Play", exact=True).press("Enter")
    assert slider(small).input_value() == "0"  # from the end it begins anew
    driver.expect(slider(small)).to_have_value(re.compile("[2-9]|1."), timeout=20_000)
    small.get_by_role("button", name="Pause").press("Enter")
    stopped = slider(small).input_value()
    small.wait_for_timeout(2500)
    assert slider(small).input_value() == stopped


def test_what_is_ahead_is_not_shown_yet(small: Any) -> None:
    slider(small).focus()
    small.keyboard.press("Home")
    assert small.locator(".picture .is-ahead[data-nodes]").count() == 6
    assert not small.locator(".picture .adjoint").first.is_visible()
    small.keyboard.press("End")
    assert small.locator(".picture .is-ahead").count() == 0
    assert small.locator(".picture .adjoint").first.is_visible()


def test_the_nodes_of_a_step_have_its_tone(small: Any) -> None:
    """Also where the node before was the same: 4 and 1, then 4 and 3."""
    slider(small).press("End")
    for _ in range(3):
        slider(small).press("ArrowLeft")
    now = small.locator(".picture .is-now.backward")
    assert [box.get_attribute("data-nodes") for box in now.all()] == ["3", "4"]


def test_text_and_graph_light_up_each_other(small: Any) -> None:
    small.locator(".part", has_text="tanh(x)").last.hover()
    lit = [each.get_attribute("data-nodes") for each in small.locator(".picture .is-lit").all()]
    assert lit == ["3"]
    small.locator('.picture [data-nodes="4"]').hover()
    assert small.locator(".part.is-lit").inner_text() == "tanh(x)*x"


def test_all_of_it_by_keyboard_alone(small: Any) -> None:
    """Tab reaches every part in order, and each box of the graph; Enter selects."""
    stops = []
    for _ in range(18):
        small.keyboard.press("Tab")
        stops.append(
            small.evaluate("document.activeElement.closest('.player,.source,.picture')?.className")
        )
    order = ["panel player scripted", "source", "picture"]
    found = [place.replace(" backward", "") for place in stops if place is not None]
    assert list(dict.fromkeys(found)) == order
    assert found.count("picture") == small.locator(".picture [data-nodes]").count()
    small.locator('.picture [data-nodes="4"]').focus()
    assert small.locator(".part.is-lit").inner_text() == "tanh(x)*x"
    small.keyboard.press("Enter")
    assert small.locator(".side h2").inner_text() == "Node 4: tanh(x)*x"
    assert "node 4, tanh(x)*x, mul" in small.locator(".unseen").inner_text()
    small.locator('.picture [data-nodes="3"]').focus()
    small.keyboard.press("Space")
    assert small.locator(".side h2").inner_text() == "Node 3: tanh(x)"
    side = small.locator(".side").inner_text()
    assert "times sech(x)**2" in side
    assert "TanhBackward0" in side


def test_heat_maps_have_their_numbers_below_them(opened: Open) -> None:
    tab = opened(explain("sum(x**2)", x=np.arange(300.0).reshape(15, 20)))
    heat = tab.locator(".side .heat").first
    assert "All its numbers" in heat.inner_text()
    tab.locator(".side").get_by_text("All its numbers").first.click()
    assert "298.0, 299.0]]" in tab.locator(".side pre").first.inner_text()


def test_several_queries_have_a_choice(opened: Open) -> None:
    tab = opened([*explain("x*3", x=2), *explain("x + (", x=2)])
    assert "d/dx 3" in tab.locator(".facts:visible").inner_text()
    tab.get_by_label("Query").select_option("q1")
    assert "error" in tab.locator(".error").inner_text()
    assert not tab.locator(".player").is_visible()


def test_stories_and_derivations(opened: Open) -> None:
    found = explain("relu(x)*x", x=-2)[0]
    found.why = [Why("x", "zero", ["it is 0: relu is flat below 0", "at -2"], node=2)]
    found.steps = {
        "x": [
            Step("product", "d/dx(relu(x))*x + relu(x)"),
            Step("relu", "where(x > 0, 1, 0)*x + relu(x)"),
        ]
    }
    found.record.warnings.append("a kink is near")
    text = opened([found]).locator("main").inner_text()
    for part in (
        "Why x is what it is",
        "it is 0: relu is flat below 0",
        "d/dx, rule by rule",
        "product",
        "a kink is near",
    ):
        assert part in text


def test_hostile_texts_do_nothing(opened: Open) -> None:
    """No dialog, no message, no request; and what cannot be seen is written out."""
    kept = (
        "a script",
        "an end",
        "a comment",
        "a bracket",
        "a picture",
        "an override",
        "separators",
        "lines",
        "selectors",
        "halves",
    )
    tab = opened([named(TEXTS[name]) for name in kept])
    for place, name in enumerate(kept):
        tab.get_by_label("Query").select_option(f"q{place}")
        tab.get_by_role("button", name="Previous step").click()
        shown = tab.locator("main").inner_text()
        assert not set(shown) & set("\u202e\u2066\u2069\u2028\u2029\x85\U000e0100"), name
        assert tab.locator("main script, main img:not([src^='data:image/png'])").count() == 0
    tab.get_by_label("Query").select_option("q0")
    assert tab.locator(".source:visible").inner_text() == "<script>alert(1)</script>"


CONTRAST = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgb = (colour, under) => {
    pen.fillStyle = `rgb(${under})`; pen.fillRect(0, 0, 1, 1);
    pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const line = []; for (let up = e; up; up = up.parentElement) line.unshift(getComputedStyle(up).backgroundColor);
    return line.reduce((under, colour) => rgb(colour, under), [255, 255, 255]);
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    const has = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!has || !e.checkVisibility() || e.closest("svg, option, :disabled") || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    const ground = behind(e);
    const [a, b] = [light(ground), light(rgb(getComputedStyle(e).color, ground))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${e.tagName}.${e.className} ${e.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return low;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_have_contrast(opened: Open, theme: str) -> None:
    found = explain("sum(x*w)", x=[[-1, 0.5, 1], [float("nan"), 0.2, -0.6]], w=3)
    found[0].record.warnings.append("a warning")
    tab = opened(found, color_scheme=theme)
    for key in ("End", "ArrowLeft", "Home", "ArrowRight"):
        slider(tab).press(key)
        assert tab.evaluate(CONTRAST) == []


def test_it_is_dark_where_the_viewer_is(opened: Open) -> None:
    fill, ground = "e => getComputedStyle(e).fill", "e => getComputedStyle(e).backgroundColor"
    tabs = [opened(explain("x**2", x=3), color_scheme=theme) for theme in ("light", "dark")]
    for wanted, colour in ((".picture .box", fill), ("body", ground)):
        assert len({tab.locator(wanted).first.evaluate(colour) for tab in tabs}) == 2


def test_a_phone_has_no_sideways_scrolling(opened: Open) -> None:
    tab = opened(explain("sum(tanh(x)*x + y + exp(x*y)*sin(x)*cos(x))", x=[1, 2, 3], y=2))
    tab.set_viewport_size({"width": 390, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_all_of_it_can_be_read(opened: Open) -> None:
    tab = opened(explain("x*y", x=2, y=3), java_script_enabled=False)
    assert not tab.locator("header").is_visible()
    tab.get_by_text("All steps").click()
    assert "adjoint of x*y = 1" in tab.locator(".steps").inner_text()
    tab.locator(".row summary").first.click()
    assert "1  x  has 3" in tab.locator(".row").first.inner_text()


LABELS = """() => {
  const rects = (wanted) => [...document.querySelectorAll(wanted)].map((e) => e.getBoundingClientRect());
  const labels = rects(".passed text"), boxes = rects(".picture .box");
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom;
  const backs = rects(".passed rect");
  const others = (i) => [...boxes, ...labels.slice(0, i)];
  return { count: labels.length, met: labels.filter((a, i) => others(i).some((b) => meet(a, b))).length,
    open: labels.filter((a, i) => a.left < backs[i].left || a.right > backs[i].right).length };
}"""


def test_numbers_on_edges_meet_neither_boxes_nor_each_other(opened: Open) -> None:
    """Each has a ground of its own, so that no edge goes through it."""
    tab = opened(
        explain(
            "sum(tanh(W @ x) * sin(x) + exp(x) * cos(x) * y / (1 + x*x))",
            x=[0.5, 2],
            y=2,
            W=[[1, 2], [3, 4]],
        )
    )
    found = tab.evaluate(LABELS)
    assert found["count"] >= 8
    assert (found["met"], found["open"]) == (0, 0)


def test_a_thousand_nodes_stay_usable(opened: Open) -> None:
    """The graph is folded, and only the boxes and the rows of a step are touched."""
    text = "x" + "".join(f" + sin(x*{i})*{i}" for i in range(1, 170))
    tab = opened(explain(text, x=0.3))
    assert tab.locator(".row").count() > 800
    assert tab.locator(".picture [data-nodes]").count() < 121
    for key in ("Home", "PageUp", "End"):
        slider(tab).press(key)
    assert "Gradient" in telling(tab)
