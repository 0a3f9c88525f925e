"""Texts to differentiate: long chains of Rosenbrock terms, and textbook expressions, all different,
from a seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

NODES_OF_A_TERM = 8  # operations of a Rosenbrock term and the sum it joins

# Names of the textbook expressions and the values that they have where a file gives values.
VALUES = {
    "x": 0.7, "y": 1.3, "z": 0.4, "s": 0.9, "a": 1.1, "b": 0.6, "m": 2.5, "v": 3.0, "r": 1.7, "k": 0.8, "w": 1.9, "q": 0.3, "T": 1.2,
}  # fmt: skip


def chain(terms: int) -> str:
    """Rosenbrock's function of ``terms + 1`` names, as a text."""
    return " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(terms))


def chain_point(terms: int) -> list[float]:
    return [0.5 + 0.001 * (i % 7) for i in range(terms + 1)]


def chain_record(terms: int) -> str:
    """The chain and its point as a record of JSON Lines."""
    return json.dumps(
        {"expr": chain(terms), "at": {f"x{i}": value for i, value in enumerate(chain_point(terms))}}
    )


def chain_program(terms: int) -> list[str]:
    """The same as a program: a line for each name, and the chain."""
    return [*(f"x{i} = {value}" for i, value in enumerate(chain_point(terms))), chain(terms)]


def chain_bindings(terms: int) -> list[str]:
    """The same as a program: a line for each name and each term, and the sum of these."""
    names = [f"x{i} = {value}" for i, value in enumerate(chain_point(terms))]
    parts = [f"t{i + 1} = 100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(terms)]
    return [*names, *parts, " + ".join(f"t{i + 1}" for i in range(terms))]


def rosenbrock(x: Sequence[Any]) -> Any:
    """The same chain of the numbers of any library."""
    total: Any = 0
    for i in range(len(x) - 1):
        total = total + 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


_Draw = Callable[[], str]
_FAMILIES: tuple[Callable[[_Draw, _Draw, _Draw], str], ...] = (
    # name, whole number, decimal number: polynomials, products and quotients
    lambda n, i, d: f"{i()}*{n()}**3 - {i()}*{n()}**2 + {d()}*{n()}",
    lambda n, i, d: f"({n()} + {i()})*({d()}*{n()} - {i()})*{n()}**2",
    lambda n, i, d: f"({i()}*{n()} + {d()})/({n()}**2 + {i()})",
    lambda n, i, d: f"1/({i()} + {n()}**2 + {d()}*{n()}**4)",
    lambda n, i, d: f"sqrt({n()}**2 + {i()}*{n()}**2 + {d()})",
    # exponentials, logarithms, Gaussians and logistic functions
    lambda n, i, d: f"{i()}*exp(-{d()}*{n()})*{n()}",
    lambda n, i, d: f"{n()}*log({i()} + {d()}*{n()}**2)",
    lambda n, i, d: f"{d()}*exp(-({n()} - {d()})**2/(2*{i()}**2))",
    lambda n, i, d: f"{i()}/(1 + exp(-{d()}*({n()} - {d()})))",
    lambda n, i, d: f"log(exp({d()}*{n()}/{i()}) + exp({n()}/{i()}))",
    # trigonometric and hyperbolic functions, waves and oscillations
    lambda n, i, d: f"sin({i()}*{n()})*cos({d()}*{n()})",
    lambda n, i, d: f"{d()}*exp(-{n()}**2/{i()})*sin({i()}*{n()})",
    lambda n, i, d: f"tanh({d()}*{n()} + {n()}/{i()})",
    lambda n, i, d: f"{n()}**2*cos({i()}*{n()} + {d()})",
    lambda n, i, d: f"atan({d()}*{n()}/{i()})*{n()}",
    lambda n, i, d: f"sin({d()}*{n()})**2 + {i()}*cosh({n()}/{i()})",
    # formulas of physics
    lambda n, i, d: f"{d()}*m*v**2/2 + m*{i()}*r + k*x**2/{i()}",
    lambda n, i, d: f"{d()}*m*k/(r**2 + {i()})",
    lambda n, i, d: f"{d()}*w**3/(exp({i()}*w/(T**2 + {d()})) + 1)",
    lambda n, i, d: f"a*exp(-{d()}*s)*cos({i()}*w*s + q)",
    lambda n, i, d: f"{i()}*k*((1 - exp(-a*(r - {d()})))**2 - 1)",
    lambda n, i, d: f"m*{i()}/sqrt(1 + v**2/{i()}**2) + {d()}*v",
)


def textbook(count: int, seed: int = 5) -> list[str]:
    """Different short expressions of all families in turn."""
    return list(_different(count, Random(seed)))


def _different(count: int, random: Random) -> Iterator[str]:
    def name() -> str:
        return random.choice("xyzsab")

    def whole() -> str:
        return str(random.randint(2, 99))

    def decimal() -> str:
        return f"{random.uniform(0.05, 3):.4g}"

    seen: set[str] = set()
    while len(seen) < count:
        text = _FAMILIES[len(seen) % len(_FAMILIES)](name, whole, decimal)
        if text not in seen:
            seen.add(text)
            yield text


def varied(count: int, seed: int = 6) -> list[str]:
    """Different short expressions, hardly two of which have one form."""
    random = Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        text = _tree(random, 3)
        if len(text) > 8 and any(name in text for name in "xyzsab"):
            found[text] = None
    return list(found)


def _tree(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.15:
        return random.choice(
            [
                "x",
                "y",
                "z",
                "s",
                "a",
                "b",
                str(random.randint(2, 99)),
                f"{random.uniform(0.05, 3):.4g}",
            ]
        )
    kind = random.random()
    if kind < 0.55:
        return f"({_tree(random, depth - 1)} {random.choice('+-*/')} {_tree(random, depth - 1)})"
    if kind < 0.7:
        return f"({_tree(random, depth - 1)})**{random.choice([2, 3])}"
    return f"{random.choice(['exp', 'sin', 'cos', 'tanh', 'sqrt', 'atan'])}({_tree(random, depth - 1)})"
