"""Rewrites that keep digits or finite values where the formula as it is written loses them.

Each rule looks at one node of the graph and knows an equal expression that may be better there. The text is of the language, made of
the formulas of the operands; it is proposed if the function with it in place gets a better verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.judge import Judge, scalar_operations
from gradcli.formulas.printing import formula
from gradcli.graph.indeterminate import gradients as gradients_of
from gradcli.graph.interpret import forward, rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.elementwise import arithmetic, exponential, trigonometric
from gradcli.ops.linalg.inverses import det
from gradcli.ops.nn.softmax import softmax
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op
from gradcli.ops.special.error_functions import erf, erfc
from gradcli.ops.special.gamma import sigmoid
from gradcli.report.verdicts import VariableCheck

_MOST = 3
_LARGEST = 5_000  # scalar operations of a function that is judged anew with each rewrite
_DIGITS = 2  # how many more must be right
Found = str | None
Say = Callable[[Expr], str]  # the text of an operand
Rule = Callable[[Expr, Say], Found]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node, what is written there, and what might be better, by a rule."""

    node: Expr
    written: str
    better: str
    rule: Rule

    @property
    def text(self) -> str:
        return f"{self.written} as {self.better}"


def repairs(scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed: Any) -> list[str]:
    """Rewrites that repair, those of the innermost operations first: ``log(1 + exp(x)) as softplus(x)``.

    A rewrite repairs if the function without it, but with all others, is worse: there may be several troubles at once.
    """
    if scalar_operations(reachable([root])) > _LARGEST:
        return []
    tried = candidates(root)[:_MOST]

    def standing(chosen: Sequence[Candidate]) -> tuple[int, int]:
        return _standing(scope, *_with(chosen, scope, root, wrt), seed)

    best = standing(tried) if tried else (0, 0)
    found = []
    for left_out in tried:
        verdicts, digits = standing([candidate for candidate in tried if candidate is not left_out])
        if (verdicts, digits) >= (best[0], best[1] + _DIGITS):
            found.append(left_out.text)
    return found


def candidates(root: Expr) -> list[Candidate]:
    """Rewrites worth trying, but for those that are part of another."""
    found = list(_rewritable(root))
    return [c for i, c in enumerate(found) if not any(c.written in other.written for other in found[i + 1 :])]


def _rewritable(root: Expr) -> Iterator[Candidate]:
    for node in reachable([root]):
        for rule in _RULES if node.op is not None else ():
            better = rule(node, _text)
            written = formula(node, limit=40) if better else None
            if better and written:
                yield Candidate(node, written, better, rule)
                break


def _with(chosen: Sequence[Candidate], scope: Scope, root: Expr, wrt: Mapping[str, Expr]) -> tuple[Expr, dict[str, Expr]]:
    """The function with some rewrites in place, and what it is differentiated by."""
    replaced = {candidate.node: _better(candidate, scope) for candidate in chosen}
    moved = rebuild([root, *wrt.values()], replaced, root.graph)
    return moved[0], dict(zip(wrt, moved[1:], strict=True))


def _better(candidate: Candidate, scope: Scope) -> Expr:
    """What a rewrite means: its text, read where the operands have names of their own."""
    aside = Scope(scope.limits, scope.precision)
    aside.graph = scope.graph

    def named(operand: Expr) -> str:
        name = f"operand_{len(aside.names)}"
        aside.names[name] = operand
        return name

    text = candidate.rule(candidate.node, named)
    assert text is not None
    return Program(aside).read(text, "<repair>")


def _standing(scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed: Any) -> tuple[int, int]:
    """How bad a function's value and gradients are at the bound values: the less the better."""
    values = forward([root], scope.values, scope.precision)
    with np.errstate(all="ignore"):
        found = gradients_of(reachable([root]), {root: seed}, list(wrt.values()), values.__getitem__)
    gradients = {name: np.broadcast_to(np.asarray(found.get(x, 0.0)), x.shape) for name, x in wrt.items()}
    value, variables = Judge(scope, root, dict(wrt), seed, gradients).decide(values[root])
    parts: list[VariableCheck] = [*variables.values(), *([] if value is None else [value])]
    return sum(part.verdict + 10 * part.wrong for part in parts), -min((part.digits or 0 for part in parts), default=0)


def _is(node: Any, op: Op) -> bool:
    return isinstance(node, Expr) and node.op is op


def _two(node: Expr) -> tuple[Expr, Expr]:
    x, y = node.operands
    assert x is not None
    assert y is not None
    return x, y


def _number(node: Any, value: float) -> bool:
    return isinstance(node, Expr) and node.is_constant and not node.shape and node.payload == value


def _text(node: Expr) -> str:
    return formula(node, limit=30) or "..."


def _one_plus(node: Any) -> Any:
    """What is added to 1, if anything is."""
    if not _is(node, arithmetic.add):
        return None
    x, y = node.operands
    return y if _number(x, 1) else x if _number(y, 1) else None


def _logarithm(node: Expr, say: Say) -> Found:
    if not _is(node, exponential.log):
        return None
    inside = node.operand
    rest = _one_plus(inside)
    if rest is not None:
        return f"softplus({say(rest.operand)})" if _is(rest, exponential.exp) else f"log1p({say(rest)})"
    if _is(inside, sum_) and _is(inside.operand, exponential.exp):
        return f"logsumexp({say(inside.operand.operand)})"
    if _is(inside, sigmoid):
        return f"-softplus(-({say(inside.operand)}))"
    if _is(inside, softmax):
        return f"log_softmax({say(inside.operand)})"
    if _is(inside, erfc):
        return f"log(erfcx({say(inside.operand)})) - ({say(inside.operand)})**2"
    return f"slogdet({say(inside.operand)})[1]" if _is(inside, det) else None


def _quotient(node: Expr, say: Say) -> Found:
    if not _is(node, arithmetic.div):
        return None
    above, below = _two(node)
    rest = _one_plus(below)
    if rest is not None and _is(rest, exponential.exp):
        if above is rest:
            return f"sigmoid({say(rest.operand)})"
        if _number(above, 1):
            return f"sigmoid(-({say(rest.operand)}))"
    if _is(below, sum_) and _is(above, exponential.exp) and below.operands[0] is above:
        return f"softmax({say(above.operand)})"
    if _is(above, trigonometric.sin) and above.operand is below:
        return f"sinc({say(below)}/pi)"
    return None


def _difference(node: Expr, say: Say) -> Found:
    if not _is(node, arithmetic.sub):
        return None
    x, y = _two(node)
    if _is(x, exponential.exp) and _number(y, 1):
        return f"expm1({say(x.operand)})"
    if _number(x, 1) and _is(y, trigonometric.cos):
        return f"2*sin(({say(y.operand)})/2)**2"
    if _number(x, 1) and _is(y, erf):
        return f"erfc({say(y.operand)})"
    if _number(x, 1) and _is(y, sigmoid):
        return f"sigmoid(-({say(y.operand)}))"
    return None


def _root(node: Expr, say: Say) -> Found:
    if not _is(node, exponential.sqrt) and not (_is(node, exponential.pow_) and _number(node.operands[1], 0.5)):
        return None
    inside = node.operand
    if (base := _squared(inside)) is not None:
        return f"abs({say(base)})"
    if _is(inside, arithmetic.add):
        x, y = (_squared(part) for part in inside.operands)
        if x is not None and y is not None:
            return f"hypot({say(x)}, {say(y)})"
    if _is(inside, sum_) and (base := _squared(inside.operand)) is not None and not inside.static.get("keepdims"):
        return f"norm({say(base)})"
    return None


def _squared(node: Any) -> Any:
    if _is(node, arithmetic.square):
        return node.operand
    if _is(node, exponential.pow_) and _number(node.operands[1], 2):
        return node.operand
    return node.operand if _is(node, arithmetic.mul) and node.operands[0] is node.operands[1] else None


def _product(node: Expr, say: Say) -> Found:
    if not _is(node, arithmetic.mul):
        return None
    first, second = _two(node)
    for x, y in ((first, second), (second, first)):
        if _is(y, exponential.log):
            return f"xlogy({say(x)}, {say(y.operand)})"
    return None


def _undone(node: Expr, say: Say) -> Found:
    """A root and its power, an exponential and its logarithm."""
    if _is(node, exponential.exp) and _is(node.operand, exponential.log):
        return say(node.operand.operand)
    inner = node.operand
    if inner.op is None or inner.op.accuracy.power is None or not inner.op.accuracy.power < 1:
        return None
    exponent: Any = node.op.accuracy.power if node.op is not None else None
    if _is(node, exponential.pow_):
        power = node.operands[1]
        exponent = power.payload if power is not None and power.is_constant else None
    return say(inner.operand) if exponent is not None and exponent * inner.op.accuracy.power == 1 else None


_RULES: tuple[Rule, ...] = (_undone, _logarithm, _quotient, _difference, _root, _product)
