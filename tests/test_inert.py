"""Output is data: whatever stands in an id, a name, a text, a path or a reason, no reader of any
format does anything but read it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from format_readers import (
    as_seen,
    check_latex,
    commands_in,
    documented,
    is_formula,
    unseen_in,
    without_apostrophes,
)
from hostile_texts import HOSTILE, TEXTS, anything
from hypothesis import given
from hypothesis import strategies as st
from recorded import read_table

from gradcli import (
    ArgumentError,
    Bound,
    BoundRecord,
    Check,
    Claim,
    DerivativeRecord,
    Formula,
    Record,
    Step,
    Verdict,
    inert,
)
from gradcli.cli.commands import COMMANDS as REQUESTS
from gradcli.cli.decide.explanations import explanation_of
from gradcli.cli.decide.running import Writer
from gradcli.data import encode, id_text, plain
from gradcli.report.ranges import BoundNote
from gradcli.texts import Source, Span, display_width, pad

TABLES = read_table("inert.json")

# -- results
# -------------------------------------------------------------------------------------------------------------

FORMATS, FORMULA_FORMATS, BOUND_FORMATS = (
    REQUESTS[command][0].values_of("output_format") for command in ("eval", "diff", "bound")
)

PLACES = (
    "id",
    "expr",
    "name",
    "formula",
    "message",
    "help",
    "label",
    "file",
    "meta",
    "warning",
    "reason",
    "read_as",
)


def check_of(text, place, name):
    return (
        Check(
            Verdict.UNDETERMINED,
            claims=[Claim(name, "formula", Verdict.AGREE, reason=text)],
            reason=text,
        )
        if place == "reason"
        else None
    )


def failure_of(text, place, expr):
    if place not in ("message", "help", "label", "file"):
        return None
    said = {place: text} if place in ("help", "label") else {}
    source = Source(expr, text if place == "file" else None)
    return ArgumentError(
        text if place == "message" else "no", span=Span(0, len(expr)), source=source, **said
    )


def known_of(text, place):
    """What all kinds of records have in common, with a text in a place."""
    expr = text if place == "expr" else "x"
    return {
        "expr": expr, "file": text if place == "file" else None, "warnings": [text] if place == "warning" else [],
        "error": failure_of(text, place, expr), "read_as": text if place == "read_as" else None,
    }  # fmt: skip


def evaluated(text, place):
    name, failed = (text if place == "name" else "x"), place in ("message", "help", "label", "file")
    known = {
        "id": text if place == "id" else 7,
        "meta": {"a": [text], text: 1} if place == "meta" else None,
        **known_of(text, place),
    }
    if failed:
        return Record(**known, record_line=True)
    formula = {name: text if place == "formula" else "2*x"}
    return Record(
        **known, value=np.float64(-1.5), grad={name: np.array([-2.0, 3.0])}, derivative=formula, check=check_of(text, place, name),
        at={name: np.array([-1.0, 1.0])}, latex={name: "2 x"},
    )  # fmt: skip


def differentiated(text, place):
    name = text if place == "name" else "x"
    known = {
        "id": text if place == "id" else 7,
        "meta": {"a": text} if place == "meta" else None,
        **known_of(text, place),
    }
    formula = text if place == "formula" else "2*x"
    formulas = {} if known["error"] else {(name,): Formula(formula, "2 x")}
    lines = [Step("let", formula, name), Step("power rule", formula, None, "2 x")]
    return DerivativeRecord(
        **known, names=(name,), formulas=formulas, picture="x^2", check=check_of(text, place, name),
        steps={} if known["error"] else {name: lines},
    )  # fmt: skip


def bounded(text, place):
    name = text if place == "name" else "x"
    known = known_of(text, place)
    if known["error"]:
        return BoundRecord(**known)
    box = {name: (0.0, 1.0)}
    notes = [BoundNote("pole", box, text if place == "reason" else "no")]
    return BoundRecord(
        **known,
        box=box,
        value=Bound(0.0, 1.0, {name: 0.0}, {name: 1.0}),
        grad={name: Bound(1.0, 2.0)},
        notes=notes,
    )


COMMANDS = {
    "eval": (FORMATS, evaluated),
    "diff": ([*FORMULA_FORMATS, "html"], differentiated),
    "bound": (BOUND_FORMATS, bounded),
}


def shown_by(command, kind, records, color="never"):
    """What a writer puts on standard output and standard error."""
    out, err = io.StringIO(newline=""), io.StringIO(newline="")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        writer = Writer(kind, color, one_alone=command != "eval")
        for record in records:
            writer.write(explanation_of(record) if kind == "html" else record)
        writer.close()
    return out.getvalue(), err.getvalue()


SILENT = {("formula", BoundRecord)}  # what has none of it


def read_text(text, place, record, out, err):
    assert not unseen_in(out + err), (out, err)
    assert not commands_in(out + err), (out, err)
    if (
        place in ("name", "formula", "warning", "read_as", "message", "help", "label", "reason")
        and (place, type(record)) not in SILENT
    ):
        expected = re.sub(r"(?<=#)#(?=\[|vso\[|teamcity\[)", r"\\x23", as_seen(text)).strip()
        assert expected in out + err or expected.replace(":", "\\x3a", 1) in out + err


def read_json(text, place, record, out, err):
    assert err == ""
    assert not unseen_in(out)
    assert not commands_in(out)
    found = json.loads(out)
    found = found[0] if isinstance(found, list) else found
    text = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
    if place == "id" and not isinstance(record, BoundRecord):
        assert found["id"] == text
    if place in ("expr", "read_as"):
        assert found[place] == text
    if place == "meta" and isinstance(record, Record):
        assert found["meta"] == {"a": [text], text: 1}
    if place == "file":
        assert found["source"]["file"] == text
    if place == "warning":
        assert found["warnings"] == [text]
    if place in ("message", "help") and len(text) <= 400:
        assert found["error"][place] == text
    if place == "name":
        derivatives = found.get("derivative") or found["grad"]
        assert list(derivatives) == [text]


def read_csv(text, place, record, out, err):
    assert not unseen_in(out + err) - {"\t"}
    assert not commands_in(out + err)
    heading, *rows = csv.reader(io.StringIO(out, newline=""))
    assert heading == ["id", "line", "expr", "variable", "index", "at", "gradient", "value"]
    assert len(rows) == (1 if record.error is not None else 2)
    for row in rows:
        assert len(row) == len(heading)
        cells = dict(zip(heading, row, strict=True))
        for separator in (",", ";", "\t", "\n"):
            texts = [cells[name] for name in ("id", "expr", "variable")]
            assert not any(
                map(
                    is_formula,
                    [
                        part
                        for cell in texts
                        for part in (cell.split(separator) if separator != "," else [cell])
                    ],
                )
            ), row
        expected = re.sub(
            r"(?m)^(\s*):(?=:[A-Za-z])",
            r"\1\\x3a",
            documented(text.replace("\r\n", "\n"), kept="\n\t"),
        )
        expected = re.sub(r"(?<=#)#(?=\[|vso\[|teamcity\[)", r"\\x23", expected)
        where = {"id": "id", "expr": "expr", "name": "variable"}.get(place)
        if where is not None and (record.error is None or where != "variable"):
            assert without_apostrophes(cells[where]) == expected
        if record.error is None:
            assert (cells["gradient"], cells["value"]) in (("-2.0", "-1.5"), ("3.0", "-1.5"))


def read_latex(text, place, record, out, err):
    assert not unseen_in(out + err)
    assert not commands_in(out + err)
    check_latex(out)


def read_alone(text, place, record, out, err):
    """A number or an array of numbers, and nothing of the text."""
    assert out.count("\n") <= 1
    assert isinstance(json.loads(out or "null"), (float, list, type(None)))


def read_page(text, place, record, out, err):
    """The elements that a harmless text has."""
    assert not commands_in(out)
    assert elements_of(out) == harmless_elements(place)


def elements_of(page):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, *dict(attributes)))
    parser.feed(page)
    return found


@cache
def harmless_elements(place):
    return elements_of(shown_by("diff", "html", [differentiated("a", place)])[0])


READERS = {
    "html": read_page, "value": read_alone, "grad": read_alone,
    "text": read_text, "json": read_json, "jsonl": read_json, "csv": read_csv, "latex": read_latex,
}  # fmt: skip
CASES = [(command, kind) for command, (kinds, *_) in COMMANDS.items() for kind in kinds]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("command", "kind"), CASES, ids=[" ".join(case) for case in CASES])
def test_results_are_read_back(command, kind, place):
    for text in HOSTILE.values():
        record = COMMANDS[command][1](text, place)
        READERS[kind](text, place, record, *shown_by(command, kind, [record]))


@pytest.mark.parametrize(("command", "kind"), CASES, ids=[" ".join(case) for case in CASES])
def test_any_text_is_read_back(command, kind):
    @anything
    @given(TEXTS, st.sampled_from(PLACES))
    def read(text, place):
        record = COMMANDS[command][1](text, place)
        READERS[kind](text, place, record, *shown_by(command, kind, [record]))

    read()


def test_every_format_has_its_reader():
    assert set(READERS) == {*FORMATS, *FORMULA_FORMATS, *BOUND_FORMATS, "html"}


STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("place", ["expr", "name", "formula", "message", "reason"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_gets_styles_and_nothing_else(command, place):
    out, err = shown_by(
        command,
        "text",
        [COMMANDS[command][1](text, place) for text in HOSTILE.values()],
        color="always",
    )
    plain = STYLES.sub("", out + err)
    assert not unseen_in(plain)
    assert not commands_in(plain)


# -- the rules themselves
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "cell"), TABLES["cells"].items())
def test_cells(text, cell):
    assert inert.csv_text(text) == cell
    assert not is_formula(cell)
    assert without_apostrophes(cell) == without_apostrophes(
        inert.csv_text(without_apostrophes(cell))
    )


@pytest.mark.parametrize(("id", "cell"), TABLES["ids"])
def test_ids_of_every_type_in_a_table(id, cell):
    out, _ = shown_by("eval", "csv", [Record("1", id, value=np.float64(-2.0), grad={})])
    (row,) = list(csv.reader(io.StringIO(out)))[1:]
    assert (row[0], row[-1]) == (cell, "-2.0")


@pytest.mark.parametrize(("text", "columns"), TABLES["widths"])
def test_widths(text, columns):
    assert display_width(text) == columns
    assert pad(text, 6) == text + " " * (6 - columns)


def test_the_caret_stands_below_what_is_meant():
    text = "日本\x1b + e\u0301?"
    error = ArgumentError("no", span=Span(text.index("?"), len(text)), source=Source(text))
    shown = error.render().split("\n")[2:]
    assert shown[0] == "1 | 日本\\x1b + e\u0301?"
    assert display_width(shown[0][: shown[0].index("?")]) == shown[1].index("^")


@pytest.mark.parametrize("depth", [3, 64])
def test_json_of_ids(depth):
    value = -0.5
    for level in range(depth):
        value = {"a": value} if level % 3 == 0 else [value, "é"]
    text = encode(value)
    assert text.count("[") == depth - (depth + 2) // 3
    assert text.count("{") == (depth + 2) // 3
    assert json.loads(text) == json.loads(encode(value, 2)) == value
    assert text == json.dumps(value, ensure_ascii=False)
    assert id_text(value) == text == encode(plain(value))


# -- encodings
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize("kind", ["text", "json", "jsonl", "csv", "latex"])
def test_an_encoding_that_lacks_characters(monkeypatch, encoding, kind):
    out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    writer = Writer(kind)
    writer.write(Record("α + é # 😀日", "α😀é", value=np.float64(1.0), grad={"α": np.float64(1.0)}))
    writer.close()
    data = out.buffer.getvalue()
    if kind in ("json", "jsonl"):  # which are UTF-8 wherever they are read
        found = json.loads(data)
        found = found[0] if isinstance(found, list) else found
        assert (found["expr"], found["id"]) == ("α + é # 😀日", "α😀é")
    elif kind == "latex":
        check_latex(data.decode(out.encoding))
    else:
        assert ("é" in data.decode(out.encoding)) == (encoding != "ascii")
