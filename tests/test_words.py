"""The words of the package: what docstrings begin with, what functions are called, how wide lines are."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import gradcli
from gradcli.texts import words

pytestmark = pytest.mark.ci  # of the source, as a linter

FILES = sorted(Path(gradcli.__file__).parent.rglob("*.py"))
FORBIDDEN = {"What", "Whether", "Whom", "Of", "Which", "Where", "By", "So", "As", "Those"}
IRREGULAR = frozenset(
    words(
        "beside begun bound built chosen done drawn found given held hidden kept known left lost"
        " made meant met said seen shown spent swept taken thought told understood won written"
    )
)
_MOST_PARTICIPLES = 25
_WIDE, _MOST_WIDE = 100, 300  # but for records and tables of operations


@cache
def definitions() -> list[tuple[Path, ast.AST]]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (path, node)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds)
    ]


def is_participle(name: str) -> bool:
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and len(word) > 4)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    found = [
        (path.name, text)
        for path, node in definitions()
        if (text := ast.get_docstring(node)) and text.split()[0] in FORBIDDEN
    ]
    assert not found


def test_few_functions_are_bare_participles() -> None:
    found = [
        (path.name, node.name)
        for path, node in definitions()
        if isinstance(node, ast.FunctionDef) and is_participle(node.name)
    ]
    assert len(found) <= _MOST_PARTICIPLES, found


def test_few_lines_are_wide() -> None:
    files = [path for path in FILES if "ops" not in path.parts]
    lines = [(path, line) for path in files for line in path.read_text("utf-8").splitlines()]
    found = [(path.name, line) for path, line in lines if len(line) > _WIDE]
    assert len(found) <= _MOST_WIDE, found
