"""Whether what has been typed is complete, or goes on in the next line."""

from __future__ import annotations

import re

from gradcli.language.sessions import is_head
from gradcli.limits import DEFAULT

_WORDS = re.compile(r"""(?<=[\w'])'+|'[^'\n]*'|"[^"\n]*"|\#.*|[()\[\]]""")


def is_complete(text: str) -> bool:
    """Whether Enter submits: no bracket is open, no block has begun, and no line ends with a backslash.

    A block of Python ends at an empty line. Too many closing brackets are complete: their error is told.
    """
    lines = text.split("\n")
    if text.lstrip().startswith(":"):
        return True
    if lines[-1].endswith("\\") and "#" not in lines[-1]:
        return False
    found = _WORDS.findall(text)
    if sum((word in "([") - (word in ")]") for word in found) > 0 and len(text) < DEFAULT.length:
        return not lines[-1].strip() and len(lines) > 2 and not lines[-2].strip()  # two empty lines give up
    heads = [number for number, line in enumerate(lines) if is_head(line.removeprefix(">>> "))]
    return not heads or not lines[-1].strip() or (heads[-1] < len(lines) - 1 and not lines[-1][:1].isspace() and len(lines) > 1)
