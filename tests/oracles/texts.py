"""Texts that Python and gradcli read alike: modules, distributions and functions of parts of
libraries, each with all its arguments. They are the keys of data/texts_of_torch.json and of
data/texts_of_jax.json.

The names in capitals are the arrays of `values.py`. ``python -m oracles.record_texts torch`` (or
``jax``) in tests/ records what the library itself makes of them.
"""

from __future__ import annotations

from oracles.told import recorded

TEXTS: dict[str, list[str]] = {library: list(recorded(library)) for library in ("torch", "jax")}
