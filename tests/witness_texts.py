"""The programs of data/witness_programs.txt, and the arrays that their names stand for."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from oracles.libraries import used
from oracles.texts import TEXTS as LIBRARY_TEXTS
from oracles.values import VALUES

from gradcli.ops.calling.classes import class_of
from gradcli.ops.calling.prefixes import SCIPY
from gradcli.ops.calling.signatures import declared_names
from gradcli.ops.registry import load

RANDOM = np.random.default_rng(31)


def some(*shape: int) -> np.ndarray:
    """Entries of both signs, away from 0 and from each other."""
    return (RANDOM.uniform(0.3, 2.0, shape) * RANDOM.choice([-1.0, 1.0], shape)).round(6)


X, Y, A = some(3, 4), some(3, 4), some(3, 3) + 3 * np.eye(3)
ARRAYS: dict[str, Any] = {
    "X": X, "Y": Y, "Z": some(3, 4), "WEIGHTS": np.abs(some(4)), "P": np.abs(some(5)), "A": A, "B": some(3, 2), "S": A @ A.T,
    "CUBE": some(2, 3, 4), "IMAGE": some(1, 2, 4, 5), "BLOCK": some(1, 2, 3, 4, 5), "STEPS": some(4, 3), "SEQUENCES": some(3, 2, 3),
    "PLANE": some(1, 2, 3), "SPACE": some(1, 3, 4), "SHARES": np.abs(X) / 2.1, "CHANCES": np.abs(Y) / 2.1,
    "HOLES": np.where(np.arange(12).reshape(3, 4) % 5 == 2, math.nan, X),
    "EQUAL": np.array([[1.0, 2.0, 2.0, 1.0, 1.0], [3.0, 3.0, 2.0, 2.0, 1.0]]),
    "GRID": RANDOM.uniform(-1.4, 1.4, (1, 3, 2, 2)).round(6), "GRID3": RANDOM.uniform(-1.4, 1.4, (1, 2, 2, 1, 3)).round(6),
}  # fmt: skip


def programs() -> list[tuple[str, dict[str, Any]]]:
    """Each program with the values of its names."""
    found: list[tuple[str, dict[str, Any]]] = []
    values: dict[str, Any] = {}
    for line in (Path(__file__).parent / "data" / "witness_programs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            values = {name: ARRAYS[array] for name, array in (pair.split("=") for pair in line.strip("[]").split())}
        elif line and not line.startswith("#"):
            found.append((line, values))
    return found


def of_libraries() -> list[tuple[str, dict[str, Any]]]:
    """The texts of the oracles: distributions, modules and parts of libraries."""
    found = []
    for written in (text for texts in LIBRARY_TEXTS.values() for text in texts):
        text = written
        names = [name for name in used(text) if VALUES[name].dtype.kind == "f"]
        for name in set(used(text)) - set(names):  # labels and masks are no operands
            text = re.sub(rf"(?<![.\w]){name}(?!\w)", str(VALUES[name].tolist()), text)
        found.append((text, {name: VALUES[name] for name in names}))
    return found


_SCALES = {"x": np.array([-0.4, 0.3, 1.7, 6.3]), "q": np.array([0.2, 0.5, 0.9]), "m": 0.25, "s": 1.3}
_SHAPES = {
    "gamma": (1.7,), "beta": (1.6, 2.4), "t": (4.5,), "chi2": (3.5,), "f": (3.5, 6.5), "lognorm": (0.7,), "pareto": (3.4,),
    "weibull_min": (1.6,),
    "invgamma": (3.3,), "powerlaw": (1.7,), "skewnorm": (1.4,), "truncnorm": (-0.7, 1.6), "vonmises": (1.4,), "poisson": (2.6,),
    "binom": (5.0, 0.3),
    "bernoulli": (0.3,), "geom": (0.3,), "nbinom": (2.5, 0.3),
}  # fmt: skip
_FEW = {"t": (0.7,), "f": (1.5, 1.7), "pareto": (0.6,), "invgamma": (0.7,)}  # shapes for which moments are infinite
_COUNTS = frozenset({"poisson", "binom", "bernoulli", "geom", "nbinom"})


def of_families() -> list[tuple[str, dict[str, Any]]]:
    """Every function of scipy.stats' families, with shapes, loc and scale, and without these two."""
    found = []
    for full in sorted(declared_names()):
        name, _, function = full.partition(".")
        if not function or named_class(name) is None or name in ("multivariate_normal", "dirichlet", "multinomial"):
            continue
        given = "x" if function in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf") else "q" if function in ("ppf", "isf") else ""
        given = "k" if function in ("pmf", "logpmf") else "k + 0.5" if given == "x" and name in _COUNTS else given
        for shapes in (_SHAPES.get(name, ()), *([_FEW[name]] if name in _FEW and not given else [])):
            values = {**{f"a{i}": value for i, value in enumerate(shapes)}, **_SCALES}
            values["k"] = np.array([0, 1, 3, 6])
            first = ", ".join([*([given] if given else []), *(f"a{i}" for i in range(len(shapes)))])
            places = ["", "m"] if name in _COUNTS else ["", "m, s"] if first else ["m, s"]
            for place in places:
                arguments = ", ".join(part for part in (first, place) if part)
                if name in _COUNTS and place:
                    arguments = arguments.replace("m", "2")
                text = f"scipy.stats.{name}.{function}({arguments})"
                words = set(re.findall(r"[a-z]\d?", text.partition("(")[2]))
                found.append((text, {key: value for key, value in values.items() if key in words}))
    return found


def named_class(name: str) -> Any:
    return class_of(name, SCIPY)


load()
TEXTS = [*programs(), *of_libraries(), *of_families()]
