"""The story of an explanation: what happens in which order, forward and backward, each step in words and as an equation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradcli.inert import one_line
from gradcli.report.explanation import Contribution, ExplainedNode, Explanation
from gradcli.report.number_text import short

PHASES = {
    "start": "Start",
    "forward": "Forward",
    "seed": "Backward",
    "backward": "Backward",
    "end": "Gradient",
}
_INFIX = frozenset(["+", "-", "*", "/", "**", "@", "^", "<", ">", "<=", ">=", "==", "!="])


class Step(NamedTuple):
    """A step of the player; the last node in its focus is the one whose details are shown."""

    phase: str
    focus: Sequence[int]
    words: str
    equation: str = ""


class Story:
    """The steps of an explanation, and when each node and contribution becomes known.

    reached  by node: the step in which it has its whole adjoint
    passed   the step of each contribution, in the order of the sweep
    arrived  by node: the places of its contributions
    """

    def __init__(self, explanation: Explanation, digits: int) -> None:
        self.explanation, self.digits = explanation, digits
        self.reached: dict[int, int] = {}
        self.passed: list[int] = []
        self.arrived: dict[int, list[int]] = {}
        for place, each in enumerate(explanation.backward):
            self.arrived.setdefault(each.operand, []).append(place)
        self.steps: list[Step] = []
        for step in self._steps():
            if step.phase in ("seed", "backward"):
                self.reached[step.focus[-1]] = len(self.steps)
            if step.phase == "backward":
                self.passed.append(len(self.steps))
            self.steps.append(step)

    def number(self, value: Any) -> str:
        return short(value, self.digits) or "–"

    def label(self, id: int, limit: int = 36) -> str:
        return one_line(self.explanation.node(id).label, limit)

    def _steps(self) -> Iterator[Step]:
        explanation = self.explanation
        back = ""
        if explanation.gradients:
            names = listed([*explanation.gradients])
            back = f" Then the derivative goes back the same way, until it reaches {names}."
        first = "First the value: every part of the text is computed, the inner parts before the outer ones."
        yield Step("start", (), first + back)
        for node in explanation.nodes:  # numbers of the text come with what uses them
            if node.op != "const" or len(explanation.nodes) == 1:
                yield Step("forward", (node.id,), *self._forward(node))
        if explanation.backward:
            yield Step("seed", (explanation.result,), *self._seed())
        count: Counter[int] = Counter()
        for each in explanation.backward:
            count[each.operand] += 1
            words, equation = self._backward(each)
            words += self._arrival(each.operand, count[each.operand])
            yield Step("backward", (each.node, each.operand), words, equation)
        if explanation.gradients:
            leaves = [node.id for node in explanation.nodes if node.name in explanation.gradients and node.op == "leaf"]
            words = "The adjoints of the names are the gradient. Play shows how they come about, step by step."
            yield Step("end", leaves[::-1], words)

    def _forward(self, node: ExplainedNode) -> tuple[str, str]:
        label, value = self.label(node.id), self.number(node.value)
        if node.op in ("leaf", "frozen"):
            what = "the derivative by it is asked for" if node.op == "leaf" else "held: no derivative by it is asked for"
            return f"{label} is given, and {what}.", f"{label} = {value}"
        if not node.operands:
            return f"{label} is computed.", value
        values = [self.number(self.explanation.node(id).value) for id in node.operands]
        is_infix = node.spelling in _INFIX and len(values) == 2
        computed = f" {node.spelling} ".join(values) if is_infix else f"{node.op}({', '.join(values)})"
        names = listed([f"{self.label(id)} (node {id})" for id in node.operands])
        words = f"Node {node.id}, {label}: {node.op} of {names}."
        if node.operation:
            words += f" {node.operation.removesuffix('.')}."
        if node.inside is not None:
            words += f" This is a part of {self.label(node.inside)}."
        return words, f"{computed} = {value}"

    def _seed(self) -> tuple[str, str]:
        node = self.explanation.node(self.explanation.result)
        words = f"Backward now. The sweep starts at the result, node {node.id}"
        if node.shape:
            words += ", with the seed: the weight of each of its entries."
        else:
            words += ": the derivative of the result by itself, times the seed."
        return words, f"adjoint of {self.label(node.id)} = {self.number(node.adjoint)}"

    def _backward(self, each: Contribution) -> tuple[str, str]:
        words = f"Node {each.node}, {self.label(each.node)}, passes back to node {each.operand}, {self.label(each.operand)}: "
        if each.partial is not None:
            words += f"its adjoint times the local derivative, which is {each.partial}"
        else:
            words += "what its own rule makes of its adjoint" if each.rule is None else one_line(each.rule, 200)
        return words + (f", {each.summed}." if each.summed else "."), self.product(each)

    def product(self, each: Contribution) -> str:
        """A contribution as what it is computed from."""
        local = "" if each.partial is None else f" · {self.number(each.local)}"
        return f"{self.number(self.explanation.node(each.node).adjoint)}{local} → {self.number(each.passed)}"

    def _arrival(self, id: int, number: int) -> str:
        label, count = self.label(id), len(self.arrived[id])
        if count == 1:
            return f" That is the whole adjoint of {label}."
        if number < count:
            return f" It is contribution {number} of {count} to the adjoint of {label}; they are added."
        total = self.number(self.explanation.node(id).adjoint)
        return f" It is the last of {count} contributions; together the adjoint of {label} is {total}."


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
