"""How large the package is: tokens a room, and a failure above the sum that pyproject.toml allows.

Counted are the tokens of code as `ast.unparse` writes it, without annotations, docstrings and
comments, and words and signs of what stands beside it (C, scripts, tables), so that neither line
breaks nor annotations change the sum. The number in `[tool.gradcli-size]` only goes down; a commit
that raises it says why.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
BESIDE = {".c", ".h", ".js", ".css", ".html", ".txt", ".json", ".jsonl", ".toml"}
UNCOUNTED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


class Bare(ast.NodeTransformer):
    """Code without annotations and docstrings."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        bare = ast.Assign([node.target], node.value) if node.value else ast.Expr(node.target)
        return ast.copy_location(bare, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self.without_docstring(node)

    def without_docstring(self, node: Any) -> Any:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_Module = without_docstring


def counted(path: Path) -> Counter[str]:
    """Return the number of files, tokens of code and tokens beside it of one file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return Counter(beside=len(re.findall(r"\w+|[^\w\s]", text)))
    bare = ast.unparse(ast.fix_missing_locations(Bare().visit(ast.parse(text))))
    tokens = tokenize.generate_tokens(io.StringIO(bare + "\n").readline)
    return Counter(files=1, tokens=sum(token.type not in UNCOUNTED for token in tokens))


def main() -> int:
    sys.setrecursionlimit(20_000)
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    package = PROJECT / "gradcli"
    for path in sorted(package.rglob("*")):
        if path.suffix == ".py" or path.suffix in BESIDE:
            room = path.relative_to(package).parts[0] if path.parent != package else "."
            rooms[room].update(counted(path))
    for room, count in sorted(
        rooms.items(), key=lambda pair: -(pair[1]["tokens"] + pair[1]["beside"])
    ):
        print(
            f"{room:14} {count['files']:4} files {count['tokens']:8} tokens {count['beside']:7} "
            "beside"
        )
    total = sum(rooms.values(), Counter())
    size = total["tokens"] + total["beside"]
    allowed = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "gradcli-size"
    ]["tokens"]
    print(
        f"{'all':14} {total['files']:4} files {total['tokens']:8} tokens {total['beside']:7} "
        f"beside, {size} together of {allowed}"
    )
    return int(size > allowed)


if __name__ == "__main__":
    sys.exit(main())
