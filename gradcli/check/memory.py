"""Verdicts remembered between runs.

A verdict follows from the graph, the values, what the engine computed, the claims and the versions of the libraries: they are the key,
so that an entry can never be out of date. Entries are small JSON files in the user's cache folder (never in the project under test,
which could bring verdicts of its own), written whole or not at all, and ignored where they cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine.graph import Expr
from gradcli.engine.transforms import Derivation, definition_order
from gradcli.ops.shapes import StaticArray
from gradcli.report.verdicts import Check, Claim, Departure, OneSided, VariableCheck, Verdict, Worst

if TYPE_CHECKING:
    from gradcli.check.claims import Given

_FORMAT = "2"


@cache
def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = [_FORMAT]
    for package in ("gradcli", "numpy", "sympy", "mpmath", "scipy"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(package)
    # while gradcli itself is being worked on, its files count
    root = Path(__file__).parent.parent
    found.append(str(max(path.stat().st_mtime_ns for path in root.rglob("*.py"))))
    return "; ".join(found)


def folder() -> Path:
    """Where entries are kept: GRADCLI_CACHE_DIR, or gradcli in the user's cache folder."""
    own = os.environ.get("GRADCLI_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradcli"


def key_of(
    root: Expr, wrt: Mapping[str, Expr], values: Mapping[Expr, Any], computed: Sequence[Any], precision: str, claims: Sequence[Given],
    convention: str | None,
) -> str:  # fmt: skip
    """The key of a verdict."""
    digest = hashlib.sha256(_versions().encode())
    formulas = [claim.formula for claim in claims if claim.formula is not None]
    order = definition_order(root, [*wrt.values(), *formulas])
    places = {node: i for i, node in enumerate(order)}

    def say(*parts: Any) -> None:
        digest.update(repr(parts).encode())

    for node in order:
        if node.op is not None:
            static = {name: _plain(value, places) for name, value in node.static.items()}
            say(node.op.name, [None if o is None else places.get(o, -1) for o in node.operands], static)
        elif node.is_leaf:
            _array(digest, say, node.payload.name, values[node])
        else:
            _array(digest, say, type(node.payload).__name__, node.payload)
    say(precision, convention, [(name, places[x]) for name, x in wrt.items()], places[root])
    for part in computed:
        _array(digest, say, "computed", part)
    for claim in claims:
        say(claim.of, claim.rtol, claim.atol, None if claim.formula is None else places[claim.formula])
        _array(digest, say, "numbers", claim.numbers)
    return digest.hexdigest()


def _plain(value: Any, places: Mapping[Expr, int]) -> Any:
    if isinstance(value, StaticArray):
        return value.key
    if isinstance(value, Derivation):
        return value.kind, places.get(value.y), places.get(value.x), None if value.vector is None else places.get(value.vector)
    if isinstance(value, (tuple, list)):
        return [_plain(part, places) for part in value]
    return value


def _array(digest: Any, say: Any, what: str, value: Any) -> None:
    array = np.asarray(value)
    say(what, array.dtype.str, array.shape)
    digest.update(array.tobytes() if array.dtype != object else repr(value).encode())


def recalled(key: str) -> Check | None:
    """The verdict of that key, if it is remembered and can be read."""
    try:
        data = json.loads(_path(key).read_text(encoding="utf-8"))
        return _check(data["check"]) if data["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def remember(key: str, check: Check) -> None:
    """Keep a verdict, if there is room and permission; what depends on time limits is not kept."""
    if check.worst in (Verdict.UNDETERMINED, Verdict.SKIPPED):
        return
    path = _path(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"key": key, "check": asdict(check)}, stream, default=_forgotten)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


def _forgotten(mask: Any) -> None:
    """Masks of wrong entries are as large as the arrays: they are not kept."""


def _path(key: str) -> Path:
    return folder() / key[:2] / f"{key[2:]}.json"


def _check(data: dict[str, Any]) -> Check:
    value = None if data["value"] is None else _variable(data["value"])
    variables = {name: _variable(part) for name, part in data["variables"].items()}
    claims = [_claim(part) for part in data["claims"]]
    return Check(Verdict(data["verdict"]), variables, value, claims, data["reason"], data["repairs"], _departure(data["departs"]))


def _departure(data: dict[str, Any] | None) -> Departure | None:
    if data is None:
        return None
    place = None if data["place"] is None else (data["place"][0], data["place"][1], data["place"][2])
    return Departure(**{**data, "index": tuple(data["index"]), "place": place})


def _worst(data: dict[str, Any] | None) -> Worst | None:
    return None if data is None else Worst(tuple(data["index"]), data["engine"], data["reference"])


def _variable(data: dict[str, Any]) -> VariableCheck:
    kinks = [OneSided(**{**kink, "index": tuple(kink["index"])}) for kink in data["kinks"]]
    entries = None if data["entries"] is None else (data["entries"][0], data["entries"][1])
    fields = {**data, "verdict": Verdict(data["verdict"]), "worst": _worst(data["worst"]), "kinks": kinks, "entries": entries}
    return VariableCheck(**fields)


def _claim(data: dict[str, Any]) -> Claim:
    wrong = None if data["wrong"] is None else (data["wrong"][0], data["wrong"][1])
    return Claim(**{**data, "verdict": Verdict(data["verdict"]), "worst": _worst(data["worst"]), "wrong": wrong})
