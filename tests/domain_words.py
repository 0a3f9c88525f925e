"""Domains of records, which are words, as conditions on numbers and matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.ops.spec import Composite, Op

_PART = re.compile(r"(?:(-?[\d.]+) <=? )?(\w+)(?: ([<>=])=? (-?[\d.]+))?")


def ranges(domain: str) -> list[dict[str, tuple[float, float]]]:
    """The ranges of names in each alternative of a domain; empty where its words are about none."""
    found: list[dict[str, tuple[float, float]]] = []
    for alternative in domain.split(", or "):
        found.append({})
        for part in filter(None, map(_PART.match, alternative.split(" and "))):
            lower, name, sign, number = part.groups()
            low = float(lower) if lower else float(number) if sign in (">", "=") else -math.inf
            high = float(number) if sign in ("<", "=") else math.inf
            if math.isfinite(low) or math.isfinite(high):
                found[-1][name] = low, high
    return found if any(found) else []


# What is more widely defined than its forward pass.
BEYOND = frozenset((
    "beta", "betaln", "binomial", "zeta_slope", "hurwitz_zeta", "lambertw", "scipy_kl_div", "factorial", "perm", "mvlgamma",
    "rel_entr", "boxcox", "boxcox1p", "poch", "cholesky", "qr", "lu", "eigh", "svd",
))  # fmt: skip
# Where words are shorter than the whole.
_WHOLE = {
    "pow": "x > 0, or x = 0 and y >= 0, or x < 0 and y an integer", "li": "x >= 0, x is not 1",
    "zeta_slope": "x > -5 and q > 0, x is not 1",
    "hurwitz_zeta": "x > -5 and q > 0, x is not 1, or q = 1 and x > -5, x is not 1",
}  # fmt: skip
_APART = 1e-8  # of the largest, by which values differ that are not repeated


def _rank_of(x: Any, columns: int) -> bool:
    first = np.asarray(x)[..., :columns]
    return not first.size or bool(np.all(np.linalg.matrix_rank(first) == first.shape[-1]))


def _is_symmetric(x: Any) -> bool:
    return bool(np.array_equal(x, np.swapaxes(x, -1, -2)))


def _apart(values: Any) -> bool:
    return bool(
        np.all(np.abs(np.diff(np.sort(values))) > _APART * np.max(np.abs(values), initial=0.0))
    )


def _full_rank_apart(x: Any) -> bool:
    values = np.linalg.svd(x, compute_uv=False)
    return _apart(values) and bool(np.all(values > _APART * np.max(values)))


OF_MATRICES: dict[str, Callable[[Any], bool]] = {
    "a regular matrix": lambda x: _rank_of(x, x.shape[-1]), "a regular matrix x": lambda x: _rank_of(x, x.shape[-1]),
    "a symmetric matrix": _is_symmetric,
    "a symmetric, positive definite matrix": lambda x: _is_symmetric(x) and bool(np.all(np.linalg.eigvalsh(x) > 0)),
    "a matrix with a positive determinant": lambda x: bool(np.all(np.linalg.det(x) > 0)),
    "no zeros on the diagonal": lambda x: bool(np.all(np.diagonal(x) != 0)),
    "no zeros on the diagonal of x": lambda x: bool(np.all(np.diagonal(x) != 0)),
    "independent columns (the first ones, of a wide matrix)": lambda x: _rank_of(x, x.shape[-2]),
    "independent columns (of a square or wide matrix, one fewer than it has rows)": lambda x: _rank_of(x, x.shape[-2] - 1),
    "a symmetric matrix; for gradients of vectors, one without repeated eigenvalues":
        lambda x: _is_symmetric(x) and _apart(np.linalg.eigvalsh(x)),
    "for gradients of vectors, a matrix of full rank without repeated singular values": _full_rank_apart,
}  # fmt: skip


def contains(record: Op | Composite, values: Mapping[str, Any]) -> bool:
    """Return whether operands and static parameters, by their names, belong to the domain of a
    record.
    """
    domain = _WHOLE.get(record.name, record.domain)
    if domain in OF_MATRICES:
        return OF_MATRICES[domain](np.asarray(values["x"]))
    return not domain or any(
        _all_hold(alternative, values) for alternative in domain.split(", or ")
    )


def _all_hold(alternative: str, values: Mapping[str, Any]) -> bool:
    if " is not 0, -1, " in alternative:
        return _holds(alternative, values)
    return all(_holds(part, values) for part in re.split(", | and ", alternative))


def _holds(part: str, values: Mapping[str, Any]) -> bool:
    """Floats have no multiple of pi but 0."""
    if part == "not the origin":
        return any(values.values())
    if found := re.fullmatch(r"(\w+) is not (.*)", part):
        x, lost = values[found[1]], found[2]
        if lost == "0, -1, -2, ...":
            return not (x <= 0 and x == int(x))
        return lost == "pi/2 + k*pi" or bool(x != (0 if lost == "k*pi" else float(lost)))
    if part.endswith(" an integer"):
        x = values[part.removesuffix(" an integer")]
        return bool(x == int(x))
    return bool(eval(part.replace(" = ", " == "), {"abs": abs}, dict(values)))


def borders(record: Op | Composite, values: Mapping[str, Any]) -> bool:
    """Return whether some number is an end of a range of a record's domain."""
    return any(
        values[name] in ends
        for box in ranges(_WHOLE.get(record.name, record.domain))
        for name, ends in box.items()
    )
