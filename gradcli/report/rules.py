"""The kinds of findings (`Outcome.rule`).

For each kind, the file says what it means, what to do about it, and how grave it is in the words of
GitLab and of SARIF.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of finding."""

    description: str
    advice: str  # what to do about it, in Markdown: for `gradcli help` and code scanning
    severity: str = "major"  # info, minor, major, critical or blocker
    # How often a finding of this kind is right: low, medium, high or very-high.
    precision: str = "very-high"

    @property
    def level(self) -> str:
        """The severity in the words of SARIF."""
        return {"info": "note", "minor": "warning"}.get(self.severity, "error")


RULES = {
    "mismatch": Rule(
        "A gradient, or a claim about it, is wrong",
        'Either the claim is wrong, or the engine is: both values and the entry are said, and for '
        'claims what kind of mistake '
        'it looks like. A mismatch without a claim is a bug of gradcli, to be reported.',
        "critical",
    ),
    "assert": Rule(
        "An assert is false",
        'Both sides are evaluated at the bound values, and an assert about names without values '
        'is decided at points of its '
        'domain. Allow rounding by `within 1e-9`.',
        "critical",
    ),
    "undetermined": Rule(
        "No reference could decide within the limits",
        'The work that a check may take is counted. Ask for less at once (`--wrt`), check parts '
        'of the expression, or check it at '
        'fewer entries.',
        precision="medium",
    ),
    "undefined": Rule(
        "The derivative does not exist as a finite real number",
        'Somewhere a value is outside of the domain, infinite or too large: a note says in which '
        'part of the expression it '
        'begins. `where(condition, ...)` keeps a branch that is not taken out of it.',
    ),
    "ill-conditioned": Rule(
        "Rounding costs all but a few digits",
        'The gradient is the right one of these floats, but numbers that nearly cancel have lost '
        'its digits. A note has a '
        'rewrite where one is known; `--precision N` computes more digits.',
        "minor",
    ),
    "kink": Rule(
        "The function is not differentiable here; the gradient is a convention",
        "Both one-sided derivatives are said, and which value is given: PyTorch's, as a rule. "
        "Claims may be held to another "
        'choice by `--convention`.',
        "minor",
    ),
    "agree": Rule(
        "The gradient agrees with its reference",
        "The derivative of the function, computed without the engine's rules, is the gradient to "
        "within rounding.",
        "info",
    ),
    "skipped": Rule(
        "There was nothing to check",
        'The result is no number that depends on a name, or the case is marked with `# skip`.',
        "info",
    ),
    "none": Rule(
        "The case failed without a verdict",
        'What is checked gave neither a value nor an error.',
    ),
    "xpass": Rule(
        "The case was expected to fail, but passes",
        'It is marked as xfail, or stands in the baseline: take it out there.',
        "minor",
    ),
    "error-error": Rule(
        "The case could not be evaluated",
        'The message says what, and the help what to write.',
    ),
    "error-syntax": Rule(
        "The text is not an expression of the language",
        'The caret stands where the text could not go on. A line is a statement; a newline inside '
        'brackets does not end it.',
    ),
    "error-ambiguous": Rule(
        "The expression can be read in more than one way",
        'Both readings are in use, so that neither is guessed: write the one that is meant.',
    ),
    "error-unknown-name": Rule(
        "A function of this name is not known",
        '`gradcli functions WORD` looks for a function by words of its description; a function of '
        'your own is written `f(x) = x**2`.',
    ),
    "error-missing-value": Rule(
        "A variable has no value",
        'Bind it: `NAME=2`, `NAME=2,3` or `NAME=@data.npy` after the expression, or `NAME = ...` '
        'above it. `gradcli diff` and `check '
        '-e` need no values.',
    ),
    "error-argument": Rule(
        "An argument is not usable",
        '`gradcli functions NAME` shows how a function is called, in gradcli, NumPy and PyTorch.',
    ),
    "error-shape": Rule(
        "Shapes do not fit",
        'Shapes go together as in NumPy, from the last axis backwards; a seed has the shape of '
        'the result.',
    ),
    "error-type": Rule(
        "A value is of the wrong type",
        'Numbers, booleans, strings and pairs stand for each other nowhere.',
    ),
    "error-limit": Rule(
        "A limit on the size of the input was exceeded",
        '`--limit NAME=SIZE` raises the limit that is named: length, entries, dimensions, nodes, '
        'calls, tangents, derivatives, memory '
        'or work.',
    ),
    "error-internal": Rule(
        "gradcli failed, by a bug or for want of memory",
        'The message says where in gradcli. Other records are not touched by it. Please report it '
        'with the input; `GRADCLI_TRACEBACK=1` '
        'shows the traceback.',
        "critical",
    ),
    "error-evaluation": Rule(
        "The expression, or its gradient, has no value",
        'A matrix may be singular, or an index out of range, at these values.',
    ),
    "error-input": Rule(
        "The input cannot be read",
        'The message names the file, the line, and what is wrong there.',
    ),
    "error-unknown-field": Rule(
        "A record has a field that nobody reads",
        'A misspelt claim would pass for ever. Fields of your own go under `"meta"`, which is '
        'copied to the output.',
    ),
    "error-native": Rule(
        "Nothing can be compiled here",
        'Native code needs gcc or clang (CC names another one, with options); NumPy computes the '
        'same without one: `--backend numpy`.',
    ),
    "error-output": Rule(
        "The output cannot be written",
        'The disk may be full, or the folder not there; nothing is left half written.',
    ),
    "error-unsupported-in-target": Rule(
        "The language lacks a function",
        'What is exported needs a function that the target does not have: choose another target, '
        'or write it with other functions.',
    ),
    "error-usage": Rule(
        "A setting is not usable",
        'Options that contradict each other, or that nothing would come of, are refused rather '
        'than ignored; `--help` lists them.',
    ),
}  # fmt: skip


def rule_of(name: str) -> Rule:
    return RULES.get(name, RULES["error-error"])
