"""The page of a check: what is wrong, each with its explanation where there is one, whatever
process decided it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_page_of_expressions_and_functions(
    call_cli: Callable[..., Any], tmp_path: Path, jobs: str
) -> None:
    (tmp_path / "a.grad").write_text("x = 2\nx**3\nassert x == 3\nsqr(x)\n", "utf-8")
    claims = (
        '{"id": "thrice", "expr": "3*x**2", "at": {"x": 5}, "expect": {"grad": {"x": 5}}}',
        '{"expr": "x", "at": {"x": 5}}',
    )
    (tmp_path / "b.jsonl").write_text("\n".join(claims) + "\n", "utf-8")
    (tmp_path / "mine.py").write_text("def f(x): return x*x\ndef g(x): return x\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.gradcli.functions]]\nfunction = "mine:f"\ngradient = "mine:g"\nat = { x = 2.0 }\n',
        "utf-8",
    )
    done = call_cli(
        "check", "a.grad", "b.jsonl", "--functions", "-j", jobs, "--report", "html=out.html"
    )
    assert done.returncode == 2
    page = (tmp_path / "out.html").read_text("ascii")
    assert '<h1 class="bad">gradcli check: 4 of 6 cases failed</h1>' in page
    articles = re.findall("<article>.*?</article>", page, re.DOTALL)
    told = {
        unescape(re.findall("<h2>(.*?)</h2>", article)[0]).partition(" (off")[0]: article
        for article in articles
    }
    assert list(told) == [
        "assert is false: right 3.0, left 2.0",
        "mismatch: claim of d/dx: claimed 5.0, true 30.0",
        "mismatch: d/dx: computed 2.0, true 4.0",
        "error[unknown-name]: unknown function 'sqr'",
    ]  # fmt: skip
    assert "<p>b.jsonl:1 (thrice)</p>" in articles[1]
    assert "<p>mine.py:1 (mine:f)</p>" in articles[2]
    explained = [
        "<svg" in article and "Where the numbers come from" in article for article in articles
    ]
    assert explained == [False, True, False, False]
    assert "6*x" in unescape(re.sub("<svg.*?</svg>", "", articles[1], flags=re.DOTALL)), (
        "the right derivative"
    )
    assert all("gradcli check" in article for article in articles), "the command that repeats each"
    assert not re.search(r"(src|href)=\"(?!data:,)", page), "nothing is fetched"
    assert "<script" not in page
