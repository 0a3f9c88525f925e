"""What an exported function computes, in words: its text, shapes and dtypes, and the conventions at kinks that its operations follow."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from gradcli.exports.subject import Subject
from gradcli.graph.nodes import Expr, reachable
from gradcli.inert import clipped
from gradcli.plans.folding import constant_of

_WIDTH = 100


def described(subject: Subject, kinks: Sequence[str], identifiers: Mapping[str, str]) -> list[str]:
    """Lines of a docstring or a comment."""
    first = subject.text.strip().split("\n")
    lines = [f"Value and gradient of {clipped(first[0], 300)}" if len(first) == 1 else "Value and gradient of"]
    lines = _filled(lines[0], "") if len(first) == 1 else [*lines, *("    " + clipped(line, 300) for line in first)]
    lines.append("")
    for parameter in subject.parameters:
        own = identifiers[parameter.name]
        called = f"{own} (for {parameter.name})" if own != parameter.name else own
        shape = f"shape {parameter.shape}" if parameter.shape else "a number"
        what = {"bool": "booleans", "int": "whole numbers"}.get(parameter.leaf.kind, subject.precision)
        held = "" if parameter.name in subject.gradients else ", held constant"
        lines.append(f"{called}: {shape}, {what}{held}")
    shape = f"shape {subject.value.shape}" if subject.value.shape else "a number"
    lines.append(f"value: {shape}" + (f"; gradients are of its product with {subject.seed}" if subject.seed else ""))
    if kinks:
        lines += ["", "Where there is no derivative, one is chosen:"]
        for kink in kinks:
            lines += _filled(kink, "    ")
    for note in subject.notes:
        lines += ["", *_filled(note, "")]
    return lines


def _filled(text: str, indent: str) -> list[str]:
    found = textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "    ", break_long_words=False)
    return found or [text]


def conventions(subject: Subject) -> list[str]:
    """The convention at each kink of the operations that the value is made of."""
    found: dict[str, None] = {}
    for node in reachable([subject.value]):
        if node.op is not None and subject.gradients and not _is_plain_power(node):
            for kink in node.op.kinks:
                if node.op.public:
                    found[f"{node.op.name}, {kink.place}: {kink.convention}"] = None
    return list(found)


def _is_plain_power(node: Expr) -> bool:
    """Whether an exponent is a number other than 0, with which a power has no kink."""
    exponent = node.operands[-1] if node.op is not None and node.op.facts.exponents else None
    return exponent is not None and constant_of(exponent) not in (None, 0.0)
