"""The kinds of findings (`Outcome.rule`): what each means, and how grave it is in the words of GitLab."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of finding."""

    description: str
    severity: str = "major"  # info, minor, major, critical or blocker


RULES = {
    "mismatch": Rule("A gradient, or a claim about it, is wrong", "critical"),
    "assert": Rule("An assert is false", "critical"),
    "undetermined": Rule("No reference could decide within the limits"),
    "undefined": Rule("The derivative does not exist as a finite real number"),
    "ill-conditioned": Rule("Rounding costs all but a few digits", "minor"),
    "kink": Rule("The function is not differentiable here; the gradient is a convention", "minor"),
    "agree": Rule("The gradient agrees with its reference", "info"),
    "skipped": Rule("There was nothing to check", "info"),
    "none": Rule("The case failed without a verdict"),
    "xpass": Rule("The case was expected to fail, but passes", "minor"),
    "error-error": Rule("The case could not be evaluated"),
    "error-syntax": Rule("The text is not an expression of the language"),
    "error-ambiguous": Rule("The expression can be read in more than one way"),
    "error-unknown-name": Rule("A function of this name is not known"),
    "error-missing-value": Rule("A variable has no value"),
    "error-argument": Rule("An argument is not usable"),
    "error-shape": Rule("Shapes do not fit"),
    "error-type": Rule("A value is of the wrong type"),
    "error-limit": Rule("A limit on the size of the input was exceeded"),
    "error-evaluation": Rule("The expression, or its gradient, has no value"),
    "error-input": Rule("The input cannot be read"),
    "error-unknown-field": Rule("A record has a field that nobody reads"),
    "error-output": Rule("The output cannot be written"),
    "error-usage": Rule("A setting is not usable"),
}


def rule_of(name: str) -> Rule:
    return RULES.get(name, RULES["error-error"])
