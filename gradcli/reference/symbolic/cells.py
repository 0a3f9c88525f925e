"""Operations as cells: sympy's expression of each single operation, and sympy's derivatives of its functions, as cells of ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import sympy
from flint import fmpq

from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.reference.ranges.cells import ANY, EQUAL, LESS, UNIT, Call, Cell, Cells, Number, Signs

_SMALL = 64  # bits of a number that sympy is told, rather than being given a name for it


def of_operation(cells: Cells, op: Op, static: Mapping[str, Any], arguments: Sequence[Cell | None]) -> Cell:
    """A smooth operation on cells. Numbers are told to sympy: x**2 is no power with a variable in its exponent."""
    given: list[Any] = []
    table: dict[Any, Cell] = {}
    for place, argument in enumerate(arguments):
        if argument is None:
            given.append(None)
        elif isinstance(argument, Number) and ((op.rewriting.algebra == "power" and place) or argument.value.p.bit_length() < _SMALL):
            given.append(sympy.Rational(int(argument.value.p), int(argument.value.q)))
        else:
            symbol = _symbol(place)
            given.append(symbol)
            table[symbol] = argument
    try:
        expression = _expression(op, tuple(sorted(static.items())), tuple(given))
    except (TypeError, ValueError, AttributeError) as error:
        raise Unsupported(f"{op.name}: {error}") from None
    made = of_expression(cells, expression, table)
    return made if op.domain else cells.filled(made)


@cache
def _symbol(place: int) -> Any:
    return sympy.Dummy(f"v{place}", real=True)


@cache
def _expression(op: Op, static: tuple[tuple[str, Any], ...], given: tuple[Any, ...]) -> Any:
    return (op.symbolic or op.reference)(sympy, *given, **dict(static))


def partial(cells: Cells, call: Call, place: int) -> Cell:
    """sympy's derivative of a function by one of its arguments."""
    symbols = tuple(_symbol(i) for i in range(len(call.args)))
    if call.function is None:
        raise Unsupported(f"the derivative of {call.name}")
    given = [_told(a) if isinstance(a, Number) and i != place else s for i, (a, s) in enumerate(zip(call.args, symbols, strict=True))]
    return of_expression(cells, _slope(call.function, tuple(given), symbols[place]), dict(zip(symbols, call.args, strict=True)))


@cache
def _slope(function: Any, given: tuple[Any, ...], symbol: Any) -> Any:
    return sympy.diff(function(*given), symbol)


def _told(x: Number) -> Any:
    return sympy.Rational(int(x.value.p), int(x.value.q))


def of_expression(cells: Cells, root: Any, table: Mapping[Any, Cell]) -> Cell:
    """A sympy expression as cells, its symbols being cells already."""

    def run() -> Any:
        found: dict[Any, Any] = dict(table)
        stack = [root]
        while stack:
            node = stack.pop()
            missing = [part for part in _parts(node) if part not in found]
            if missing:
                stack += [node, *missing]
            elif node not in found:
                found[node] = _made(cells, node, [found[part] for part in _parts(node)])
        return found[root]

    made: Cell = cells.recorder.branching(run)
    return made


def _parts(node: Any) -> tuple[Any, ...]:
    if node.is_Atom or isinstance(node, (sympy.Derivative, sympy.DiracDelta)):
        return ()
    if type(node) in _REWRITTEN:
        return (node.rewrite(_REWRITTEN[type(node)]),)
    if isinstance(node, (sympy.tan, sympy.cot)):
        quotient = sympy.sin(node.args[0]) / sympy.cos(node.args[0])
        return (quotient if isinstance(node, sympy.tan) else 1 / quotient,)
    if node.is_Pow and node.exp.is_Rational:
        return (node.base,)
    if isinstance(node, sympy.Piecewise):
        return tuple(part for pair in node.args for part in pair.args)
    return tuple(node.args)


def _made(cells: Cells, node: Any, parts: list[Any]) -> Any:
    if node.is_Rational or node.is_Float:
        exact = sympy.Rational(node)
        return cells.number(fmpq(int(exact.p), int(exact.q)))
    if type(node) in _REWRITTEN or isinstance(node, (sympy.tan, sympy.cot)):
        return parts[0]
    if node in _CONSTANTS:
        return cells.call(_CONSTANTS[node], None, ())
    if isinstance(node, sympy.logic.boolalg.BooleanAtom):
        return bool(node)
    if node.is_Add:
        return cells.sum([(UNIT, part) for part in parts])
    if node.is_Mul:
        return cells.product([(part, UNIT) for part in parts])
    if node.is_Pow and node.exp.is_Rational:
        return cells.power(parts[0], fmpq(int(node.exp.p), int(node.exp.q)))
    if node.is_Pow and node.base is sympy.E:
        return cells.call("exp", sympy.exp, parts[1:])
    if node.is_Pow:
        return cells.call("pow", sympy.Pow, parts)
    if isinstance(node, (sympy.DiracDelta, sympy.Derivative)):
        return _of_jump(cells, node)
    make = _OTHERS.get(type(node))
    if make is not None:
        return make(cells, *parts)
    if not isinstance(node, sympy.Function) and not isinstance(node, sympy.exp):
        raise Unsupported(type(node).__name__)
    return cells.call(type(node).__name__.lower(), type(node), parts)


def _of_jump(cells: Cells, node: Any) -> Cell:
    if isinstance(node, sympy.Derivative) and not isinstance(node.expr, (sympy.floor, sympy.ceiling, sympy.sign)):
        raise Unsupported("a derivative that sympy does not know")
    return cells.zero


def _piecewise(cells: Cells, *parts: Any) -> Any:
    for value, truth in zip(parts[::2], parts[1::2], strict=True):
        if truth:
            return value
    raise Unsupported("a piece that is missing")


def _truth(signs: Signs) -> Callable[..., Any]:
    return lambda cells, x, y: cells.compared(x, y, signs)


_CONSTANTS = {sympy.pi: "pi", sympy.E: "e", sympy.EulerGamma: "euler"}
_REWRITTEN = {
    sympy.sec: sympy.cos, sympy.csc: sympy.sin, sympy.sech: sympy.cosh, sympy.csch: sympy.sinh, sympy.coth: sympy.tanh,
    sympy.asec: sympy.acos, sympy.acsc: sympy.asin, sympy.asech: sympy.acosh, sympy.acsch: sympy.asinh, sympy.acoth: sympy.atanh,
    sympy.acot: sympy.atan,
}  # fmt: skip
_OTHERS: dict[Any, Callable[..., Any]] = {
    sympy.Abs: lambda cells, x: x if x >= 0 else -x,
    sympy.sign: lambda cells, x: cells.of(1 if x > 0 else -1 if x < 0 else 0),
    sympy.floor: lambda cells, x: cells.recorder.floor(x),
    sympy.ceiling: lambda cells, x: cells.recorder.ceil(x),
    sympy.Max: lambda cells, *parts: max(parts), sympy.Min: lambda cells, *parts: min(parts), sympy.Piecewise: _piecewise,
    sympy.StrictLessThan: _truth(LESS), sympy.LessThan: _truth(LESS | EQUAL), sympy.StrictGreaterThan: _truth(ANY - LESS - EQUAL),
    sympy.GreaterThan: _truth(ANY - LESS), sympy.Equality: _truth(EQUAL), sympy.Unequality: _truth(ANY - EQUAL),
    sympy.And: lambda cells, *truths: all(truths), sympy.Or: lambda cells, *truths: any(truths),
}  # fmt: skip
