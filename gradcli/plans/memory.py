"""How much memory a plan holds at once: the arrays that its steps make, each until it is read for the last time."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.graph.demand import bytes_of, scratch_of, size_of
from gradcli.graph.nodes import Expr
from gradcli.plans.nests import Nest, Step


def most_held(steps: Sequence[Step], roots: Sequence[Expr], last_uses: dict[Expr, int]) -> int:
    """The most bytes that a schedule holds beside its inputs. Loops need no more than their blocks beside what they store."""
    ends: dict[int, list[Expr]] = {}
    for node, place in last_uses.items():
        ends.setdefault(place, []).append(node)
    sizes: dict[Expr, int] = {}
    live = most = 0
    for place, step in enumerate(steps):
        if isinstance(step, Nest):
            made = {node: size_of(node) for node in step.outputs}
        else:
            made = {step: bytes_of(step)}
            most = max(most, live + sum(made.values()) + scratch_of(step))
        sizes |= made
        live += sum(made.values())
        most = max(most, live)
        live -= sum(sizes.pop(node, 0) for node in ends.get(place, ()))
    copied = sum(size_of(root) for root in dict.fromkeys(roots) if sizes.get(root, 0) == 0)  # views, and inputs, are results as copies
    return max(most, live + copied)
