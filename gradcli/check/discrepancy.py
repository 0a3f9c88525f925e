"""What is wrong in a claimed formula: the claim minus the truth, simplified, where that is short."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from gradcli.check.judge import Judge
from gradcli.check.proofs import Given
from gradcli.errors import GradcliError
from gradcli.formulas.printing import formula
from gradcli.formulas.simplify import simplify
from gradcli.graph import transforms
from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise.arithmetic import chain, mul
from gradcli.reference.algebra import Unsupported
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape

_LONGEST = 60  # characters
_MOST_NODES = 400  # of claim and truth


def discrepancy(m: Any, judge: Judge, claim: Given, point: Mapping[Expr, Any], place: tuple[int, ...], off: Any) -> str | None:
    """The claim minus the truth as a formula; None where there is no short one that gives the difference ``off`` at this point."""
    assert claim.formula is not None
    try:
        truth = judge.root if claim.of == "value" else _gradient(judge, claim)
        said = claim.formula if claim.formula.shape == truth.shape else broadcast_to(claim.formula, shape=truth.shape)
        difference = said - truth
        if len(reachable([difference])) > _MOST_NODES:
            return None
        simple = _simplified(difference)
        text = formula(simple, limit=_LONGEST, taken={*judge.scope.names, *judge.scope.functions})
        if text is None or len(text) > _LONGEST or not _names_mean(judge, simple):
            return None
        (printed,) = rebuild([simple], {}, simple.graph, {chain: mul})
        leaves = point if judge.seed_leaf is None else {judge.seed_leaf: judge.seed, **point}
        values = np.broadcast_to(ReferenceTape(m, leaves, judge.precision).run(printed), truth.shape)
        found = plain(values[place])
        return text if abs(found - off) <= m.mpf(10) ** -9 * abs(off) else None
    except (GradcliError, Unsupported, ValueError, ArithmeticError, RecursionError):
        return None


def _simplified(node: Expr) -> Expr:
    """The node simplified, with terms that differ in the order of their factors only taken together; broadcasting does the rest."""
    (simple,) = simplify([node], node.graph)
    (simple,) = simplify([_ordered(simple)], node.graph)
    return simple.operand if simple.op is broadcast_to else simple


def _ordered(root: Expr) -> Expr:
    """The same expression with the factors of every product in one order: names by the alphabet, then calls."""
    done: dict[Expr, Expr] = {}
    factors: dict[Expr, list[Expr]] = {}
    for node in reachable([root]):
        operands = [None if o is None else done[o] for o in node.operands]
        if node.op in (mul, chain):
            factors[node] = sorted((f for o in node.operands if o is not None for f in factors.get(o, [done[o]])), key=_rank)
            done[node] = reduce(operator.mul, factors[node])
        else:
            done[node] = node if node.op is None else node.graph.apply(node.op, operands, node.static)
    return done[root]


def _rank(node: Expr) -> tuple[bool, str]:
    text = formula(node) or ""
    return "(" in text, text


def _gradient(judge: Judge, claim: Given) -> Expr:
    """The gradient by the engine's rules, with the name ``seed`` in it unless the seed is 1."""
    ones = judge.seed_leaf is None or bool(np.all(np.asarray(judge.seed) == 1))
    seed = transforms.ones_like(judge.root) if ones else judge.seed_leaf
    assert seed is not None
    (found,) = transforms.vjp(judge.root, [judge.wrt[claim.of]], seed)
    return found


def _names_mean(judge: Judge, node: Expr) -> bool:
    """Return whether every name still means what it does in the formula (it may have been bound anew)."""
    names = judge.scope.leaves
    return all(leaf is judge.seed_leaf or names.get(leaf.payload.name) is leaf for leaf in reachable([node]) if leaf.is_leaf)
