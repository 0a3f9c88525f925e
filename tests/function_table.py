"""The manual's table of functions: the catalogue by families, from the records.

``python tests/function_table.py`` writes it anew, and nothing else of its page.
"""

from __future__ import annotations

import re
from pathlib import Path

from gradcli.query import catalogue

PAGE = Path(__file__).resolve().parent.parent / "docs" / "functions.md"
_TABLE = re.compile(r"(<!-- functions -->\n)(.*?)(<!-- end of functions -->)", re.DOTALL)


def table() -> str:
    """A row for each family, its functions in the order of their records."""
    families: dict[str, list[str]] = {}
    for family, record in catalogue.functions():
        families.setdefault(family.replace("_", " "), []).append(f"`{record.name}`")
    rows = [f"| {family} | {' '.join(names)} |" for family, names in families.items()]
    return "\n".join(["| family | functions |", "|---|---|", *rows]) + "\n"


def written(text: str) -> str:
    """The page with the table of today in it."""
    changed, count = _TABLE.subn(lambda match: match[1] + table() + match[3], text)
    assert count == 1, (
        f"the page has {count} tables between <!-- functions --> and <!-- end of functions -->; "
        "it should have one"
    )
    return changed


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
