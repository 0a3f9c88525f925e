"""A record as a sheet to read: the same content for a terminal and for a pipe, before any styling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import text_lines
from gradcli.inert import printable
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.report.verdicts import VariableCheck, Verdict

_THRESHOLD = 1000  # entries above which an array is summarized, as NumPy does


@dataclass(eq=False, repr=False)
class Row:
    """What is known of one derivative."""

    name: str
    numbers: str
    formula: str
    verdict: Verdict | None
    remark: str

    @property
    def verdict_text(self) -> str:
        word = "" if self.verdict is None else self.verdict.word
        return f"{word}, {self.remark}" if self.remark else word


@dataclass(eq=False, repr=False)
class Sheet:
    """Everything that is shown of a record."""

    title: str
    value: str
    kind: str  # shape and dtype
    seed: str | None
    heading: str  # what the numbers of the rows are
    rows: list[Row] = field(default_factory=list)
    verdict: Verdict | None = None
    verdict_text: str = ""
    notes: list[str] = field(default_factory=list)
    read_as: str | None = None  # how a textbook's notation was read
    dialect: str | None = None  # by which the text was read, if not NumPy's


_HEADINGS = {"grad": "gradient", "jacobian": "Jacobian", "hessian": "Hessian", "jvp": "", "hvp": "Hessian · v", "assert": ""}


def array_text(array: Any, digits: int | None, width: int | None = None) -> str:
    """Numbers as they are, shortest round-trip; with digits rounded, and then marked by ≈ where that changed them."""
    value = np.asarray(array)
    if value.dtype.kind != "f":
        return str(value) if value.ndim else str(value[()])
    rounded = {} if digits is None else {"formatter": {"float_kind": lambda v: f"{v:.{digits}g}"}}
    if not value.ndim:
        exact = str(value[()])
        text = exact if digits is None else f"{float(value):.{digits}g}"
    else:
        finite = np.abs(value[np.isfinite(value) & (value != 0)])
        without_exponents = bool(finite.size) and finite.min() >= 1e-5 and finite.max() < 1e16
        text = np.array2string(
            value,
            suppress_small=without_exponents,
            separator=", ",
            floatmode="unique",
            threshold=_THRESHOLD,
            max_line_width=width or 10**9,
            **rounded,  # type: ignore[arg-type]
        )
        if value.ndim == 1 and "\n" not in text:
            text = re.sub(r" +(?=[,\]])", "", re.sub(r"(?<=\[) +|(?<=,) +(?= )", "", text))
    if digits is None:
        return text
    shown = np.vectorize(lambda v: float(f"{v:.{digits}g}"), otypes=[float])(value) if value.size else value
    return text if np.array_equal(shown, value, equal_nan=True) else f"≈ {text}" if "\n" not in text else "≈\n" + text


def sheet_of(record: Record, digits: int | None, width: int | None = None) -> Sheet:
    """The sheet of a record without an error."""
    shape = f", shape {record.shape}" if record.shape else ""
    title = "\n".join(printable(line) for line in text_lines(record.expr, keepends=False))
    sheet = Sheet(title, array_text(record.value, digits, width), f"{record.dtype}{shape}", None, _HEADINGS[record.mode])
    sheet.read_as = None if record.read_as is None else printable(record.read_as)
    sheet.dialect = record.dialect
    if record.uncertainty is not None:
        from gradcli.report.uncertainty import told

        sheet.value, lines = told(
            record.uncertainty, sheet.value, lambda array: array_text(array, 2, width).replace("≈\n", "").replace("≈ ", "")
        )
        sheet.notes += lines
    checks = record.check.variables if record.check is not None else {}
    formulas = record.formulas()
    for name, numbers in record.derivatives().items():
        check = checks.get(name)
        sheet.rows.append(
            Row(
                printable(name),
                array_text(numbers, digits, width),
                printable(formulas.get(name, "")),
                None if check is None else check.verdict,
                _remark(check, 12 if record.dtype == "float64" else 5),
            )
        )
        sheet.notes += _details(name, check)
    if record.mode == "grad" and record.grad:
        if record.seed_given:
            sheet.seed = array_text(record.seed, digits, width)
        else:
            sheet.seed = record.seed_chosen
    if record.asserted is not None:
        sheet.value = {True: "true", False: "false", None: "undetermined"}[record.asserted.holds]
        sheet.kind = ""
        for part in record.relations or [record.asserted]:
            if not part.holds and part.worst is not None:
                sheet.notes.append(part.difference)
            elif part.holds is None and part.open_box:
                sheet.notes.append(part.open_box)
    if record.check is not None:
        sheet.verdict = record.check.verdict
        sheet.verdict_text = printable(_verdict(record))
        sheet.notes += _details("the value", record.check.value)
    for name, written in (record.precise or {}).items():
        what = name if name == "value" else f"d/d{printable(name)}"
        sheet.notes.append(f"{what} = {str(written).replace(chr(39), '')}")
    if record.check is not None:
        if record.check.departs is not None:
            sheet.notes.append(record.check.departs.text)
        sheet.notes += [f"write {repair}" for repair in record.check.repairs]
        if record.check.rewrite is not None:
            sheet.notes.append(record.check.rewrite.told)
    sheet.notes = [printable(note) for note in sheet.notes + record.warnings]
    return sheet


def _remark(check: VariableCheck | None, usual: int) -> str:
    if check is None:
        return ""
    from gradcli.report.verdicts import Verdict

    if check.verdict is Verdict.AGREE and check.digits is not None and check.digits < usual:
        return f"{check.digits} digits" if check.digits else "no digit"
    return ""


def _details(name: str, check: VariableCheck | None) -> list[str]:
    if check is None:
        return []
    from gradcli.report.verdicts import Verdict

    if check.verdict in (Verdict.AGREE, Verdict.SKIPPED):
        index = () if check.worst is None else check.worst.index
        if check.digits == 0 and check.worst is not None:
            return [f"{_entry(name, index)}: the true value is 0, {check.worst.engine!r} is rounding"]
        return [] if check.lost is None else [f"{_entry(name, index)}: rounding costs {check.lost} bits, {check.digits} digits are right"]
    if check.kinks:
        return [
            f"{_entry(name, k.index)}: {check.verdict.word}, {f'the function {k.jump}; ' if k.jump else ''}{k.sides}; "
            f"chosen is {k.chosen:g}" + (f" (convention: {k.convention})" if k.convention else "")
            for k in check.kinks[:3]
        ] + ([f"{name}: and {len(check.kinks) - 3} more kinks"] if len(check.kinks) > 3 else [])
    lines = []
    where = _entry(name, check.worst.index) if check.worst is not None else name
    if check.verdict is Verdict.MISMATCH and check.worst is not None:
        count = f"; {check.wrong} of {check.entries[1]} entries are wrong" if check.entries and check.entries[1] > 1 else ""
        if (check.reason or "").startswith("the result is"):
            return [f"{where}: MISMATCH, {check.reason}"]
        lines.append(f"{where}: MISMATCH, the engine has {check.worst.engine!r}, the reference {check.worst.reference!r}{count}")
    if check.reason:
        lines.append(f"{where}: {check.verdict.word}, {check.reason}" if not lines else f"{where}: {check.reason}")
    return lines


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(str(i) for i in index)}]" if index else name


def _what_was_held(parts: Sequence[VariableCheck]) -> str:
    """What a check of large arrays may have missed: entries that were not looked at, rules that were held along directions only."""
    fewest = min((c.entries for c in parts if c.entries), key=lambda entries: entries[0] / max(1, entries[1]), default=(1, 1))
    text = f", {fewest[0]:,} of {fewest[1]:,} entries" if fewest[0] < fewest[1] else ""
    directions = min((c.directions for c in parts if c.directions), default=0)
    return text + (f", rules held along {directions} random directions" if directions else "")


def judgement(verdict: Verdict, text: str) -> str:
    """A verdict and what is said of it, which may go on after a comma."""
    return f"{verdict.word}{'' if text.startswith(',') else ' '}{text}".rstrip()


def _verdict(record: Record) -> str:
    from gradcli.report.verdicts import Verdict, certainty

    check = record.check
    assert check is not None
    parts = [*check.variables.values()] or ([check.value] if check.value else [])
    sources = sorted({c.decided_by for c in parts if c.decided_by})
    names = {"symbolic": "sympy's derivative", "composed": "the composed reference"}
    text = " and ".join(names.get(s, s) for s in sources)
    digits = [c.digits for c in parts if c.digits is not None]
    digitless = f", no digit of {', '.join(check.without_digits)} is right" if check.without_digits else ""
    if record.asserted is not None and record.asserted.over is not None and check.verdict is Verdict.AGREE:
        return "proved"
    if check.verdict is Verdict.AGREE and text:
        proof = certainty([*parts, *([check.value] if check.value else [])])
        text = f"{proof}with {text}, to {min(digits)} digits" if digits and not digitless else f"{proof}with {text}{digitless}"
        return text + _what_was_held(parts)
    if check.verdict is Verdict.SKIPPED:
        return "" if record.warnings else check.reason or "nothing to check"
    if check.verdict is Verdict.UNDETERMINED:
        return check.reason or ""
    if check.verdict is Verdict.MISMATCH and all(c.certified for c in parts if c.verdict is Verdict.MISMATCH) and sources:
        return f"(proved by {text})"
    if check.verdict is Verdict.ILL_CONDITIONED and digitless:
        return f"{digitless} (decided by {text})" if text else digitless
    return f"(decided by {text})" if text else ""
