"""Arguments for calls, one table a family, as texts that the libraries and gradcli read alike.

A key is a function's name, or several that take the same; ``np.name`` is the spelling of one
library alone. Each library answers for the texts that it takes; what it refuses is another
library's way of saying it (``axis`` and ``dim``). A function that works entry by entry and takes
nothing but its operands needs no entry.
"""

from __future__ import annotations

from pathlib import Path

from text_tables import read_table

CALLS: dict[str, tuple[str, ...]] = {}

for _path in sorted(Path(__file__).parent.glob("*.txt")):
    for _names, _calls in read_table(_path).items():
        for _name in _names.split():
            CALLS[_name] = (*CALLS.get(_name, ()), *_calls)
