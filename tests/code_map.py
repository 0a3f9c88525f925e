"""The code map of CONTRIBUTING.md: every file with the first sentence of its docstring, room by room.

``python tests/code_map.py`` writes it anew.
"""

from __future__ import annotations

import ast
from pathlib import Path

import gradcli

ROOT = Path(gradcli.__file__).parent
GUIDE = Path(__file__).parent.parent / "CONTRIBUTING.md"  # of the checkout, whichever gradcli is installed
BEGIN, END = "<!-- code map -->\n", "<!-- end of the code map -->"
ROOMS = (  # from the lowest up
    "storage", "ops", "graph", "formulas", "plans", "chunks", "language", "tensors", "reference", "exports", "report", "files", "batch",
    "check", "plots", "query", "functions", "explanations", "cli", "autograd", "func", "nn", "testing",
)  # fmt: skip


def summary(path: Path) -> str:
    """The first sentence of a file's docstring, in one line."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split())
    assert text, f"{path.relative_to(ROOT)} has no docstring: say in its first sentence what the file is for"
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def rows(folder: Path) -> list[str]:
    """A line for each file of a folder, and then its folders, each with its own."""
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    lines = [f"- `{path.relative_to(ROOT)}` {summary(path)}" for path in files]
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        lines += ["", f"**`{inner.relative_to(ROOT)}/`** {summary(inner / '__init__.py')}", "", *rows(inner)]
    return lines


def code_map() -> str:
    """The whole map, as it stands between its marks."""
    lines = [f"- `{path.name}` {summary(path)}" for path in sorted(ROOT.glob("*.py"))]
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found == set(ROOMS), f"rooms that the code map does not list, or lists and are not there: {sorted(found ^ set(ROOMS))}"
    for room in ROOMS:
        lines += ["", f"### `{room}/`", "", summary(ROOT / room / "__init__.py"), "", *rows(ROOT / room)]
    return "\n".join([*lines, ""])


def written(text: str) -> str:
    """The guide with the map of today in it."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f"CONTRIBUTING.md has no code map between {BEGIN.strip()} and {END}"
    return f"{before}{BEGIN}\n{code_map()}\n{END}{after}"


if __name__ == "__main__":
    GUIDE.write_text(written(GUIDE.read_text("utf-8")), "utf-8")
