r"""Text of other people, made inert.

Characters that a terminal, a log, a spreadsheet or a format's reader would act on are shown
instead.

Expressions, names, ids, reasons, paths and messages that quote them are data, whatever they
contain. Each format and each other program that such text goes to has its function here, terminals,
logs and messages have theirs in `texts.py`, and no other module escapes anything. One notation
serves all of them. A character that cannot be seen, or that makes other characters
appear elsewhere (controls, directions, zero widths, line separators, halves of surrogate pairs), is
written as Python writes it: ``\x1b``, ``\u202e``, ``\U000e0001``. Formats that can hold every
character, such as JSON, hold it by their own escapes, so that their readers get the original text.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable
from typing import Any

from gradcli.texts import (
    COMMAND,
    disarm,
    in_python,
    inert_lines,
    is_plain,
    is_seen,
    one_line,
    printable,
    printable_lines,
)

_SURROGATE = re.compile("[\ud800-\udfff]")


# -- HTML


_IN_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_IN_HTML = _IN_XML | str.maketrans({"'": "&#x27;", "$": "&#x24;"})


def html_text(text: str) -> str:
    """Lines of text in HTML, also in quotes of an attribute."""
    return printable_lines(text).translate(_IN_HTML)


# -- JSON


def well_formed(text: str) -> str:
    """Return text that every encoding of Unicode has.

    Each half of a surrogate pair, which readers of JSON refuse, becomes U+FFFD.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def json_text(text: str) -> str:
    """Return JSON with the same texts, all of whose characters can be seen.

    JSON's own escapes stand for those that cannot.
    """
    if text.isascii():
        if "\x7f" in text:
            text = text.replace("\x7f", "\\u007f")
    elif not is_plain(text.replace("\n", "")):
        text = "".join(c if c == "\n" or is_seen(c) else _in_json(c) for c in text)
    return (
        COMMAND.sub(lambda found: found[0] if ":" in found[0] else "\\u0023", text)
        if "##" in text
        else text
    )


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


# -- tables

_MARKS = "=+\\-@＝＋－＠﹦﹢﹣﹫"  # characters that begin a formula
_FORMULA = re.compile(f"(?:\\A|(?<=[;\\t\\n]))(?=[ '\"]*[{_MARKS}])|\\A(?=[\\t\\n])")


def csv_text(text: str) -> str:
    """Return text for a table cell that no spreadsheet takes for a formula.

    An apostrophe stands before what might begin a formula.

    Formulas may begin at the beginning of a cell, and after ``;``, a tab and a line end, which
    begin a cell for a spreadsheet that expects another separator. Line ends and tabs are left to
    the quotes around the cell. Other characters that cannot be seen are escaped.
    """
    if not is_plain(text):
        text = "".join(
            c if c in "\n\t" or is_seen(c) else in_python(c) for c in text.replace("\r\n", "\n")
        )
    if "::" in text or "##" in text:
        text = COMMAND.sub(disarm, text)
    return _FORMULA.sub("'", text)


# -- documents


def markdown_code(text: str, limit: int) -> str:
    """Return text as code in a table cell, on one line.

    None of it is read as Markdown, as HTML, or as a mention of somebody.
    """
    text = one_line(text, limit)
    if not text:
        return ""
    # A code span in a table cannot hold these: the backslash would be read as an escape.
    if "\\|" in text or "##" in text:
        return f"<code>{''.join(c if c.isalnum() or c == ' ' else f'&#{ord(c)};' for c in text)}</code>"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    escaped = text.replace("|", "\\|")
    return f"{fence}{padding}{escaped}{padding}{fence}"


def markdown_block(text: str, language: str = "text") -> str:
    """Lines of text as a block of code, which nothing in them ends."""
    seen = inert_lines(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", seen)), default=0))
    return f"{fence}{language}\n{seen}\n{fence}\n"


_IN_LATEX = str.maketrans(
    {
        "\\": "\\backslash ", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "%": "\\%", "_": "\\_",
        "^": "\\char94 ", "~": "\\char126 ",
    }
)  # fmt: skip


def latex_text(text: str) -> str:
    """Text within a formula in LaTeX, where no character of it is a command's."""
    seen = (
        text if is_plain(text) else "".join(c if is_seen(c) else f"[U+{ord(c):04X}]" for c in text)
    )
    return seen.translate(_IN_LATEX)


def latex_comment(text: str) -> str:
    """Lines of text as comments in LaTeX."""
    return "".join(f"% {line}\n" for line in inert_lines(text).split("\n"))


def xml_text(text: str) -> str:
    """Lines of text in an element; on one line, in an attribute.

    What XML cannot hold, not even by a name of its own, cannot be seen.
    """
    return printable_lines(text).translate(_IN_XML).replace("##", "#&#35;")


def html_page(title: str, style: str, content: Iterable[str], program: str = "") -> str:
    """Return a page that fetches nothing, and runs no program but ours.

    It is in ASCII, which is part of every encoding.
    """
    scripts = icon = script = ""
    if program:
        scripts, icon = " script-src 'unsafe-inline';", '<link rel="icon" href="data:,"/>'
        script = f"<script>{program}</script>\n"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline';{scripts} img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    body = "\n".join(content)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="referrer" content="no-referrer"/>
{icon}
<title>{xml_text(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<footer>Made by gradcli. This file is complete: it loads nothing, and works offline.</footer>
{script}</body>
</html>
"""
    return page.encode("ascii", "xmlcharrefreplace").decode()


# -- other programs


def workflow_command(name: str, text: str, **properties: str | int) -> str:
    """Return a command to GitHub Actions.

    Each line of the text and each property is shown as it is.
    """
    listed = ",".join(
        f"{key}={workflow_property(printable(str(value)))}" for key, value in properties.items()
    )
    return f"::{name} {listed}::{workflow_data(inert_lines(text))}"


def workflow_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def sarif_message(text: str) -> str:
    """Return lines of text as a SARIF message.

    Readers of SARIF would fill in text in braces, and make links of ``[text](address)``.
    """
    return inert_lines(text).replace("](", "] (").replace("{", "{{").replace("}", "}}")


def uri(path: str) -> str:
    """Return a path as a reference.

    A file on another machine, or from the root of this one, has its scheme.
    """
    from urllib.parse import quote

    try:
        name = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        name = well_formed(path).encode()
    if path.startswith("//"):  # a share on another machine (UNC), which is the host of the address
        return f"file:{quote(name)}"
    return f"file:///{quote(name.lstrip(b'/'), safe='/:')}" if os.path.isabs(path) else quote(name)


def shell_command(*words: str) -> str:
    """Words as a command line, which a shell reads as these words."""
    return " ".join(map(shell_word, words))


def shell_word(text: str) -> str:
    """Return text as one word of a command line, visible and on one line.

    Other characters are written by escapes of bash and zsh.
    """
    if is_plain(text) and "##" not in text:
        from shlex import quote

        return quote(text)
    return f"$'{''.join(map(_in_shell, text))}'"


def _in_shell(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if is_seen(character) and character != "#":
        return character
    code = ord(character)
    content = (
        bytes([code - 0xDC00])
        if 0xDC80 <= code <= 0xDCFF
        else character.encode("utf-8", "surrogatepass")
    )  # a byte of a file name (surrogateescape)
    return "".join(f"\\x{byte:02x}" for byte in content)


# -- what an encoding lacks


def _missing_from_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_in_json, error.object[error.start : error.end])), error.end


def _missing_from_latex(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(f"[U+{ord(c):04X}]" for c in error.object[error.start : error.end]), error.end


codecs.register_error("gradcli.json", _missing_from_json)
codecs.register_error("gradcli.latex", _missing_from_latex)
# How formats write what an encoding other than UTF-8 does not have, by their names; the others as
# Python does, ``\xe9``.
LACKING: dict[str, Any] = {
    **dict.fromkeys(("json", "jsonl", "gitlab", "sarif"), "gradcli.json"), "latex": "gradcli.latex",
    **dict.fromkeys(("junit", "html"), "xmlcharrefreplace"),
}  # fmt: skip
