"""Trees of both parsers in one form: nested tuples that say what stands where, without places in
the text.
"""

from __future__ import annotations

import ast
from typing import Any

Form = tuple[Any, ...]

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
    ast.USub: "-", ast.UAdd: "+", ast.Not: "not",
}  # fmt: skip


def by_python(text: str) -> list[Form]:
    """The statements of a text as Python parses them.

    Raises SyntaxError, or TypeError for what the language has not.
    """
    return [_python_statement(statement) for statement in ast.parse(text).body]


def _python_statement(statement: ast.stmt) -> Form:
    if isinstance(statement, ast.Expr):
        return "query", _python(statement.value)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return "binding", statement.targets[0].id, _python(statement.value)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        return (
            "binding",
            name,
            ("binary", _SIGNS[type(statement.op)], ("name", name), _python(statement.value)),
        )
    raise TypeError(ast.dump(statement))


def _python(node: ast.expr) -> Form:
    match node:
        case ast.Constant(value=value):
            if value is None or isinstance(value, bool):
                return "name", str(value)
            if isinstance(value, (int, float)):
                return "number", type(value).__name__, value
            return ("dots",) if value is ... else ("text", value)
        case ast.Name(id=name):
            return "name", name
        case ast.UnaryOp(op=op, operand=operand):
            return "unary", _SIGNS[type(op)], _python(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return "binary", _SIGNS[type(op)], _python(left), _python(right)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return "binary", _SIGNS[type(op)], _python(left), _python(right)
        case ast.BoolOp(op=op, values=[first, *rest]):
            form = _python(first)
            for value in rest:
                form = "binary", _SIGNS[type(op)], form, _python(value)
            return form
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return "if", _python(test), _python(body), _python(orelse)
        case ast.Call(func=func, args=args, keywords=keywords):
            return (
                "call",
                _python(func),
                [_python(a) for a in args],
                [(k.arg, _python(k.value)) for k in keywords],
            )
        case ast.Attribute(value=value, attr=attr):
            return "attribute", _python(value), attr
        case ast.Subscript(value=value, slice=ast.Tuple(elts=items)):
            return "subscript", _python(value), True, [_python(item) for item in items]
        case ast.Subscript(value=value, slice=item):
            return "subscript", _python(value), False, [_python(item)]
        case ast.Slice(lower=lower, upper=upper, step=step):
            return "slice", *[
                None if part is None else _python(part) for part in (lower, upper, step)
            ]
        case ast.List(elts=items):
            return "list", [_python(item) for item in items]
        case ast.Tuple(elts=items):
            return "tuple", [_python(item) for item in items]
    raise TypeError(ast.dump(node))


def by_gradcli(parsed: list[Any]) -> list[Form]:
    """The statements of a program."""
    return [_statement(statement) for statement in parsed]


def _statement(statement: Any) -> Form:
    kind = type(statement).__name__
    if kind == "Query":
        return "query", _form(statement.expression.root)
    assert kind == "Binding", kind
    return "binding", statement.name, _form(statement.expression.root)


def _form(node: Any) -> Form:
    match type(node).__name__:
        case "Number":
            return "number", type(node.value).__name__, node.value
        case "Name":
            return "name", node.name
        case "Text":
            return "text", node.value
        case "Dots":
            return ("dots",)
        case "Unary":
            return "unary", node.operator, _form(node.operand)
        case "Binary":
            return "binary", node.operator, _form(node.left), _form(node.right)
        case "Conditional":
            return "if", _form(node.condition), _form(node.value), _form(node.otherwise)
        case "Call":
            assert not node.primes
            keywords = [(name, _form(value)) for name, value in node.keywords]
            return "call", _form(node.callee), [_form(a) for a in node.arguments], keywords
        case "Attribute":
            return "attribute", _form(node.base), node.name
        case "Subscript":
            items = [_form(item) for item in node.items]
            if len(items) == 1 and items[0][0] == "tuple":  # x[(i, j)] is x[i, j]
                return "subscript", _form(node.base), True, items[0][1]
            return "subscript", _form(node.base), node.tuple_ or len(items) > 1, items
        case "Slice":
            parts = [*node.parts, None, None][:3]
            return "slice", *[None if part is None else _form(part) for part in parts]
        case "Sequence":
            return ("list" if node.bracket == "[" else "tuple"), [
                _form(item) for item in node.items
            ]
    raise AssertionError(type(node).__name__)
