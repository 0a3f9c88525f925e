"""What PyTorch's ``retain_grad()`` has at every part of an expression: its value and its adjoint,
by where the part stands in the text.

``python retained.py`` in `tests/` (with PyTorch at hand) records it again for the texts that are there: each is
evaluated part by part as Python reads it, on tensors. ``tests/test_explain.py`` holds explanations
to what is recorded.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "data" / "retained.json"


class Kept(ast.NodeTransformer):
    """Hand on every part of an expression, with where it stands, to ``kept``."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(part) for part in node.args]
        return self.kept(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        return self.kept(node)

    def kept(self, node: Any) -> ast.expr:
        self.generic_visit(node) if isinstance(
            node, (ast.BinOp, ast.UnaryOp, ast.Compare)
        ) else None
        place = [ast.Constant(node.col_offset), ast.Constant(node.end_col_offset)]
        return ast.Call(ast.Name("kept", ast.Load()), [*place, node], [])

    visit_Name = visit_BinOp = visit_UnaryOp = visit_Compare = kept

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self.visit(node.value)
        return self.kept(node)


def retained(torch: Any, text: str, at: dict[str, Any]) -> list[dict[str, Any]]:
    """The value and the adjoint of every part of an expression (of the sum of its entries); None
    where PyTorch has no gradient.
    """
    found: list[tuple[int, int, Any]] = []

    def kept(begin: int, end: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                value.retain_grad()
            found.append((begin, end, value))
        return value

    places = (torch.nn.functional, torch.special, torch.linalg, torch)
    names = {name: value for place in places for name, value in vars(place).items()}
    leaves = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in at.items()
    }
    tree = ast.fix_missing_locations(Kept().visit(ast.parse(text, mode="eval")))
    eval(compile(tree, text, "eval"), {**names, **leaves, "kept": kept}).sum().backward()
    return [
        {
            "span": [begin, end],
            "value": value.detach().tolist(),
            "adjoint": None if value.grad is None else value.grad.tolist(),
        }
        for begin, end, value in found
    ]


if __name__ == "__main__":
    import torch

    lines = [
        json.dumps({**case, "parts": retained(torch, case["text"], case["at"])})
        for case in json.loads(RECORDED.read_text("utf-8"))
    ]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
