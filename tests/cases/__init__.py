"""The tables of cases, one module a family: `EVERY` has them all."""

from __future__ import annotations

import importlib
import pkgutil

from cases.case import Case

EVERY: list[Case] = [
    case
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    for case in getattr(importlib.import_module(f"{__name__}.{module.name}"), "CASES", [])
]
