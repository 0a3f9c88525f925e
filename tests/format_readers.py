"""Readers of the formats that gradcli writes, made after those of the programs that read them: what
these would see and do.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache

from gradcli.notation import GREEK

# -- what can be seen
# ----------------------------------------------------------------------------------------------------

_UNSEEN_KINDS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
_FILLERS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0)
_UNSEEN = {*map(chr, (*_FILLERS, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))}


@cache
def is_seen(character: str) -> bool:
    """Whether a character takes a place of its own on a screen, and only that one; by Unicode's
    categories.
    """
    if character == " ":
        return True
    return unicodedata.category(character) not in _UNSEEN_KINDS and character not in _UNSEEN


def unseen_in(text: str) -> set[str]:
    """What of a text with lines would do something to a terminal, or hide there."""
    return {c for c in set(text) if c != "\n" and not is_seen(c)}


def documented(text: str, kept: str = "") -> str:
    """The text in the notation that the manual promises for what cannot be seen."""
    codes = ((c, ord(c)) for c in text)
    return "".join(
        c
        if c in kept or is_seen(c)
        else f"\\x{n:02x}"
        if n < 256
        else f"\\u{n:04x}"
        if n < 65536
        else f"\\U{n:08x}"
        for c, n in codes
    )


# -- logs of CI systems
# --------------------------------------------------------------------------------------------------

COMMANDS = (
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice", "remove-matcher", "save-state",
    "set-env", "set-output", "stop-commands", "warning",
)  # fmt: skip


@dataclass
class Command:
    """A command as GitHub's runner understands it."""

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    data: str = ""


def as_seen(text: str) -> str:
    """Text on one line of a document for people, but for what a CI system would take for a
    command.
    """
    return documented(text.replace("\t", " "))


def runner_command(line: str) -> Command | None:
    """What the runner makes of a line of a log: a command of either form, or nothing."""
    line = line.lstrip()
    if line.startswith("::") and "::" in line[2:]:
        head, data = line[2:].split("::", 1)
        name, _, listed = head.partition(" ")
        if name in COMMANDS:
            pairs = [part.split("=", 1) for part in listed.strip().split(",") if "=" in part]
            return Command(
                name,
                {key: _unescaped(value, *_IN_PROPERTIES) for key, value in pairs},
                _unescaped(data, *_IN_DATA),
            )
    start = line.find("##[")
    if start >= 0 and "]" in line[start:]:
        head, data = line[start + 3 :].split("]", 1)
        if head.partition(" ")[0] in COMMANDS:
            return Command(head.partition(" ")[0], {}, data)
    return None


_IN_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_IN_PROPERTIES = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))


def _unescaped(text: str, *marks: tuple[str, str]) -> str:
    for mark, character in marks:
        text = text.replace(mark, character)
    return text


def commands_in(log: str) -> list[str]:
    """The lines of a log that GitHub, Azure or TeamCity takes for commands."""
    return [
        line
        for line in log.split("\n")
        if runner_command(line) or re.search(r"##(vso|teamcity)?\[", line)
    ]


# -- spreadsheets
# --------------------------------------------------------------------------------------------------------

_MARKS = "=+-@＝＋－＠﹦﹢﹣﹫"


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would calculate a cell, or take its beginning away and then calculate
    it.
    """
    return cell[:1] in ("\t", "\r", "\n") or (
        cell.lstrip(" '\"")[:1] in tuple(_MARKS) and not cell.lstrip(' "').startswith("'")
    )


def without_apostrophes(cell: str) -> str:
    """The text of a cell, by the manual's rule for having it again."""
    return re.sub(
        f"(\\A|[;\\t\\n])'(?=[ '\"]*[{_MARKS}])|\\A'(?=[\\t\\n])",
        lambda found: found[1] or "",
        cell,
    )


# -- Markdown
# ------------------------------------------------------------------------------------------------------------


def cells_of(row: str) -> list[str]:
    """The cells of a row as GitHub's parser splits it: a backslash takes the character after it
    with it.
    """
    inside = re.fullmatch(r"\|(.*)\|", row)[1]
    return re.findall(r"(?:\\.|[^|])+", inside)


def page_of(text: str) -> tuple[str, list[list[str]], str]:
    """What stands before a table, its cells (of the rows without the line below the head), and what
    stands behind it.
    """
    lines = text.split("\n")
    rows = [number for number, line in enumerate(lines) if line.startswith("| ")]
    if not rows or "```text" in lines[: rows[0]]:
        return text, [], ""
    last = next(
        number for number in range(rows[0], len(lines)) if not lines[number].startswith("|")
    )
    cells = [[cell.strip(" ") for cell in cells_of(line)] for line in lines[rows[0] : last]]
    assert set(cells.pop(1)) == {"---"}
    return "\n".join(lines[: rows[0]]), cells, "\n".join(lines[last:])


def blocks_of(text: str) -> tuple[list[str], str]:
    """The blocks of code of a document, as CommonMark finds their ends, and the document without
    them.
    """
    blocks: list[str] = []
    fence, outside = "", []
    for line in text.split("\n"):
        if fence and re.fullmatch(f" {{0,3}}{fence}`*[ \t]*", line):
            fence = ""
        elif fence:
            blocks[-1] += line + "\n"
        elif found := re.fullmatch(" {0,3}(```+)[^`]*", line):
            fence = found[1]
            blocks.append("")
        else:
            outside.append(line)
    assert not fence
    return blocks, "\n".join(outside)


def seen_in(cell: str) -> str:
    """What a reader of a cell sees that holds one piece of code."""
    if cell.startswith("<code>"):
        inside = cell.removeprefix("<code>").removesuffix("</code>")
        assert re.fullmatch(r"(?:[\w ]|&#\d+;)*", inside), inside
        return re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), inside)
    fence = re.match("`*", cell)[0]
    inside = cell[len(fence) : -len(fence)].replace("\\|", "|") if fence else ""
    assert not fence or fence not in re.findall("`+", inside)
    return inside[1:-1] if inside[:1] == inside[-1:] == " " else inside


# -- SARIF
# ---------------------------------------------------------------------------------------------------------------


def sarif_text(message: str) -> str:
    """The text of a plain message, which must hold neither placeholders nor links."""
    assert not re.search(r"\[[^\]]*\]\([^)]*\)", message), message
    assert not re.search("[{}]", message.replace("{{", "").replace("}}", "")), message
    return message.replace("{{", "{").replace("}}", "}")


# -- LaTeX
# ---------------------------------------------------------------------------------------------------------------

_WRITTEN = frozenset(
    (
        "begin", "end", "frac", "partial", "left", "right", "cdot", "text", "mathrm", "mathtt", "infty", "nabla", "dot", "backslash",
        "char", "operatorname", *GREEK, *(name.capitalize() for name in GREEK),
    )
)  # fmt: skip


def check_latex(document: str) -> None:
    """That TeX meets the commands that gradcli writes and no others, in groups that are closed, and
    comments that end with their line.
    """
    depth = 0
    for line in document.split("\n"):
        if line.startswith("%"):
            continue
        for found in re.finditer(r"\\([A-Za-z]+)|\\(.)|([{}%#~$])", line):
            word, sign, bare = found.groups()
            assert word is None or word in _WRITTEN, (word, line)
            assert sign is None or sign in "\\,{}$&#%_ ", (sign, line)
            depth += {"{": 1, "}": -1}.get(bare or "", 0)
            assert depth >= 0, line
            assert (bare or "{") in "{}", line
    assert depth == 0, document
