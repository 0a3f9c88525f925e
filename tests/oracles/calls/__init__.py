"""Arguments for calls, one module a family, as texts that the libraries and gradcli read alike.

A key is a function's name, or several that take the same; ``np.name`` is the spelling of one
library alone. Each library answers for the texts that it takes; what it refuses is another
library's way of saying it (``axis`` and ``dim``). A function that works entry by entry and takes
nothing but its operands needs no entry.
"""

from __future__ import annotations

import importlib
import pkgutil

CALLS: dict[str, tuple[str, ...]] = {}

for _module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
    _table: dict[str, tuple[str, ...]] = importlib.import_module(f"{__name__}.{_module.name}").CALLS
    for _names, _calls in _table.items():
        for _name in _names.split():
            CALLS[_name] = (*CALLS.get(_name, ()), *_calls)
