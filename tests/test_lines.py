"""A line ends at a newline and nowhere else, whichever way a text comes in."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from helpers import parsed

import gradcli
from gradcli import ParseError
from gradcli.texts import text_lines

# What str.splitlines cuts at, but for \n: a vertical tab, a form feed, separators of files, groups
# and records, NEL, LS, PS, a lone CR.
OTHERS = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r"]
named = pytest.mark.parametrize("end", OTHERS, ids=[f"U+{ord(c):04X}" for c in OTHERS])


@named
def test_a_comment_goes_to_the_end_of_its_line(end, call_cli, tmp_path, monkeypatch):
    text = f"x**2 # was:{end}x**3"
    assert gradcli.evaluate(text, x=2.0).grad == {"x": 4.0}
    assert gradcli.value_and_grad(text)(x=2.0)[1] == {"x": 4.0}
    assert gradcli.compile(text)(x=2.0) == 4.0
    assert [statement.text for statement in parsed(text)] == ["x**2"]
    monkeypatch.chdir(tmp_path)
    Path("file.grad").write_bytes(f"x = 2.\n{text}\n".encode())
    Path("records.jsonl").write_bytes(
        (json.dumps({"expr": text, "at": {"x": 2.0}}, ensure_ascii=False) + "\n").encode()
    )
    given = [(text, "x=2."), ("-f", "file.grad"), ("-f", "records.jsonl")]
    for arguments in given:
        (line,) = call_cli("eval", *arguments, "--format", "jsonl", "--no-check").stdout.split(
            "\n"
        )[:-1]
        assert json.loads(line)["grad"] == {"x": 4.0}, arguments
    for arguments in (["-e", text, "x=2.", "--grad", "x=4"], ["file.grad"], ["records.jsonl"]):
        assert call_cli("check", *arguments).returncode == 0, arguments


@pytest.mark.parametrize("end", ["\x1c", "\x85", "\u2028", "\r"], ids=lambda c: f"U+{ord(c):04X}")
def test_outside_of_a_comment_it_is_refused_by_name(end):
    with pytest.raises(ParseError) as caught:
        gradcli.evaluate(f"x**2{end}x**3", x=2.0)
    assert f"U+{ord(end):04X}" in caught.value.message
    assert caught.value.place() == (1, 5, 6)


def test_a_carriage_return_within_a_line():
    with pytest.raises(ParseError) as caught:
        gradcli.evaluate("x**2\rx**3", x=2.0)
    assert caught.value.render() == (
        "error[syntax]: a carriage return (U+000D) alone ends no line\n"
        "  --> <expression>:1:5\n"
        "1 | x**2\\x0dx**3\n"
        "  |     ^^^^\n"
        "  = help: end lines with \\n or \\r\\n; in one line, separate statements with ;"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"], ids=repr)
def test_ends_of_lines(end):
    text = f"y = x**2 # one{end}# two{end}sum([y,{end} x]){end}"
    assert gradcli.evaluate(text, x=2.0).grad == {"x": 5.0}
    assert [statement.span.start for statement in parsed(text)] == [0, 0]


@pytest.mark.parametrize("text", ["", "x", "x\n", "\n", "x\r\ny", "x\n\ny\n"], ids=repr)
def test_lines_are_those_of_python_where_only_newlines_are(text):
    assert text_lines(text) == text.splitlines(keepends=True)
    assert text_lines(text, keepends=False) == text.splitlines()


def test_a_comment_of_latex_is_not_ended_by_the_text():
    record = gradcli.evaluate("[x, # was:\r\\input{y}\nx]", x=2.0, seed=[1, 1])
    assert record.to_latex().split("\\begin")[0] == "% [x, # was:\\x0d\\input{y}\n% x]\n"


def test_nothing_cuts_text_in_another_way():
    root = Path(gradcli.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    used = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path, text in texts.items()
        if "splitlines" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]
    assert used == [], "text_lines is the one place that knows where a line ends"
