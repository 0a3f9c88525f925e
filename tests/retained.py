"""What PyTorch's ``retain_grad()`` has at every part of an expression: its value and its adjoint,
by where the part stands in the text.

``python retained.py`` in `tests/` (with PyTorch at hand) records it again for the texts that are there: each is
evaluated part by part as Python reads it, on tensors. ``tests/test_explain.py`` holds explanations
to what is recorded.
"""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "data" / "retained.json"


class Parts:
    """An expression evaluated by PyTorch, with a tensor for each part that is one."""

    def __init__(self, text: str, at: dict[str, Any]) -> None:
        import torch

        self.torch, self.text = torch, text
        self.leaves = {
            name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
            for name, value in at.items()
        }
        self.found: list[tuple[int, int, Any]] = []
        self.result = self.of(ast.parse(text, mode="eval").body)

    def of(self, node: ast.AST) -> Any:
        value = self._of(node)
        if isinstance(value, self.torch.Tensor) and isinstance(node, ast.expr):
            if value.requires_grad:
                value.retain_grad()
            assert node.end_col_offset is not None
            self.found.append((node.col_offset, node.end_col_offset, value))
        return value

    def _of(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.leaves[node.id] if node.id in self.leaves else getattr(math, node.id)
            case ast.UnaryOp(op=ast.USub()):
                return -self.of(node.operand)
            case ast.BinOp():
                left, right = self.of(node.left), self.of(node.right)
                kinds = {
                    ast.Add: "+",
                    ast.Sub: "-",
                    ast.Mult: "*",
                    ast.Div: "/",
                    ast.Pow: "**",
                    ast.MatMult: "@",
                }
                return eval(f"left {kinds[type(node.op)]} right", {"left": left, "right": right})
            case ast.Compare():
                left, right = self.of(node.left), self.of(node.comparators[0])
                sign = {ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "=="}[
                    type(node.ops[0])
                ]
                return eval(f"left {sign} right", {"left": left, "right": right})
            case ast.Subscript():
                return self.of(node.value)[self._index(node.slice)]
            case ast.Attribute():
                return getattr(self.of(node.value), node.attr)
            case ast.Call():
                return self._call(node)
        raise NotImplementedError(ast.dump(node))

    def _index(self, node: ast.AST) -> Any:
        match node:
            case ast.Tuple():
                return tuple(map(self._index, node.elts))
            case ast.Slice():
                return slice(
                    *(
                        None if part is None else self._index(part)
                        for part in (node.lower, node.upper, node.step)
                    )
                )
            case ast.List():
                return [self._index(part) for part in node.elts]
        return ast.literal_eval(node)

    def _call(self, node: ast.Call) -> Any:
        keywords = {
            each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg is not None
        }
        if isinstance(node.func, ast.Attribute):
            return getattr(self.of(node.func.value), node.func.attr)(
                *map(self.of, node.args), **keywords
            )
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        arguments = [self.of(part) for part in node.args]
        for place in (self.torch, self.torch.linalg, self.torch.special, self.torch.nn.functional):
            if hasattr(place, name):
                return getattr(place, name)(*arguments, **keywords)
        raise NotImplementedError(name)


def retained(text: str, at: dict[str, Any]) -> list[dict[str, Any]]:
    """The value and the adjoint of every part of an expression (of the sum of its entries); None
    where PyTorch has no gradient.
    """
    parts = Parts(text, at)
    parts.result.sum().backward()
    return [
        {
            "span": [begin, end],
            "value": value.detach().tolist(),
            "adjoint": None if value.grad is None else value.grad.tolist(),
        }
        for begin, end, value in parts.found
    ]


if __name__ == "__main__":
    lines = [
        json.dumps({**case, "parts": retained(case["text"], case["at"])})
        for case in json.loads(RECORDED.read_text("utf-8"))
    ]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
