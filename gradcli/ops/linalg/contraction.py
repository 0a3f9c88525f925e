"""Einstein summation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.errors import ShapeError
from gradcli.ops import cutting
from gradcli.ops.arrays.shapes import broadcast_to, reshape, sum_to
from gradcli.ops.carrying import multilinear
from gradcli.ops.extended import Whole
from gradcli.ops.looping import labels_text, listed
from gradcli.ops.registry import structural
from gradcli.ops.room import room_for
from gradcli.ops.spec import Op
from gradcli.ops.writing import Shape, witness

_AT_ONCE = 1 << 20  # products that are formed of all operands at once


def parse_subscripts(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with "..." spelled out in letters of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ShapeError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(shapes)} operands")
    spare = [chr(c) for c in range(0x3B1, 0x3B1 + 24)]
    most = max((len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True) if "..." in t), default=0)
    named = []
    for written, shape in zip(terms, shapes, strict=True):
        term = written.replace("...", "".join(spare[most - (len(shape) - len(written) + 3) : most]))
        if len(term) != len(shape) or not all(c.isalpha() for c in term):
            raise ShapeError(f"einsum: {term!r} does not name the {len(shape)} axes of an operand of shape {shape}")
        named.append(term)
    letters = "".join(named)
    if arrow:
        result = right.replace("...", "".join(spare[:most]))
    else:
        result = "".join(spare[:most]) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in spare[:most]))
    if len(set(result)) != len(result) or not set(result) <= set(letters):
        raise ShapeError(f"einsum: the result {result!r} of {subscripts!r} does not fit its operands")
    return named, result


def _extents(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            if extents.get(letter, 1) not in (1, n) and n != 1:
                raise ShapeError(f"einsum: the axes called {letter!r} have {extents[letter]} and {n} entries")
            extents[letter] = max(n, extents.get(letter, 1)) if n else 0
    return extents


def _in_ascii(terms: Sequence[str], result: str) -> str:
    """The subscripts in the letters that NumPy takes."""
    ascii_of = {c: chr(ord("a") + i) if i < 26 else chr(ord("A") + i - 26) for i, c in enumerate(dict.fromkeys("".join(terms)))}
    return ",".join("".join(ascii_of[c] for c in term) for term in terms) + "->" + "".join(ascii_of[c] for c in result)


def _contract(subscripts: str, arrays: Sequence[Any]) -> Any:
    terms, result = parse_subscripts(subscripts, [np.shape(a) for a in arrays])
    text = _in_ascii(terms, result)
    if _every_product(*map(np.shape, arrays), subscripts=subscripts) <= _AT_ONCE:
        return np.einsum(text, *arrays)
    return np.asarray(np.einsum(text, *arrays, optimize="greedy"))[()]  # two at a time, matrices by BLAS


def _shape(*shapes: Shape, subscripts: str) -> Shape:
    terms, result = parse_subscripts(subscripts, shapes)
    extents = _extents(terms, shapes)
    return tuple(extents[c] for c in result)


def _vjp(wanted: Sequence[bool], cotangent: Any, out: Any, *arrays: Any, subscripts: str) -> tuple[Any, ...]:
    terms, result = parse_subscripts(subscripts, [a.shape for a in arrays])
    extents = _extents(terms, [a.shape for a in arrays])
    parts: list[Any] = []
    for i, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        if not wanted[i]:
            parts.append(None)
            continue
        others = [(t, a) for j, (t, a) in enumerate(zip(terms, arrays, strict=True)) if j != i]
        letters = list(dict.fromkeys(term))
        reached = "".join(c for c in letters if c in result or any(c in t for t, _ in others))
        text = ",".join([result, *(t for t, _ in others)]) + "->" + reached
        part = cotangent if not others and reached == result else einsum(cotangent, *(a for _, a in others), subscripts=text)
        whole = tuple(extents[c] for c in letters)
        if len(reached) < len(letters):
            own = dict(zip(reached, part.shape, strict=True))
            part = reshape(part, shape=tuple(own.get(c, 1) for c in letters))
        if part.shape != whole:  # what only this operand has more than one of was summed over: every entry along it gets the same
            part = broadcast_to(part, shape=whole)
        if len(letters) < len(term):
            part = _onto_diagonal(part, term, letters, extents)
        parts.append(part if array.shape == part.shape else sum_to(part, shape=array.shape))
    return tuple(parts)


def _onto_diagonal(part: Any, term: str, letters: list[str], extents: dict[str, int]) -> Any:
    """A repeated letter reads a diagonal; its transpose writes one."""
    spread = reshape(part, shape=tuple(extents[c] if c in letters and term.index(c) == i else 1 for i, c in enumerate(term)))
    grid = np.indices([extents[c] for c in term], sparse=True)
    room_for(*(extents[c] for c in term))
    mask = np.ones([extents[c] for c in term])
    for i, c in enumerate(term):
        mask = mask * (grid[i] == grid[term.index(c)])
    return spread * mask


def _products_added(out: Shape, *operands: Shape) -> int:
    """How many products are added up, at most: of a product of matrices exactly as many, its axes being those of two arrays each."""
    sizes = [math.prod(shape) for shape in (out, *operands)]
    return max(1, *sizes, math.isqrt(math.prod(sizes)))


def _every_product(*shapes: Shape, subscripts: str) -> int:
    """How many products of an entry of each operand there are."""
    return math.prod(_extents(parse_subscripts(subscripts, shapes)[0], shapes).values())


def _operations(out: Shape, *shapes: Shape, subscripts: str) -> int:
    """The products of two operands at a time, in the order that NumPy takes them in; of three and more at once where it has no room."""
    if _every_product(*shapes, subscripts=subscripts) <= _AT_ONCE:
        return _every_product(*shapes, subscripts=subscripts) * max(1, len(shapes) - 1)
    terms, result = parse_subscripts(subscripts, shapes)
    extents = _extents(terms, shapes)
    left = [set(term) for term in terms]
    total = 0
    for places in _path(subscripts, shapes)[1:]:
        taken = [left.pop(place) for place in sorted(places, reverse=True)]
        letters = set().union(*taken)
        total += math.prod(extents[c] for c in letters) * max(1, len(taken) - 1)
        left.append(letters & set(result).union(*left))
    return total


def _path(subscripts: str, shapes: Sequence[Shape]) -> list[Any]:
    terms, result = parse_subscripts(subscripts, shapes)
    path: list[Any] = np.einsum_path(_in_ascii(terms, result), *[np.broadcast_to(np.float64(0), s) for s in shapes], optimize="greedy")[0]
    return path


def _on_batch(lead: Shape, *operands: Any, subscripts: str) -> Any:
    """The axes in front have letters of their own, which stand in every term."""
    terms, result = parse_subscripts(subscripts, [tuple(x.shape[len(lead) :]) for x in operands])
    others = [c for c in map(chr, range(0x410, 0x450)) if c not in subscripts]  # which may be those of a batch already
    front = "".join(others[: len(lead)])
    written = ",".join([front + term for term in terms])
    return einsum(*operands, subscripts=f"{written}->{front}{result}")


einsum: Op = structural(
    "einsum", "*operands", lambda *arrays, subscripts: _contract(subscripts, arrays), witness("products.einsum"), vjp=_vjp, shape=_shape,
    static={"subscripts": ""}, saves=("operands",), extended=Whole("products.EINSUM"), rounding="terms", ulps=8, integral=True,
    work=_products_added, operations=_operations,
    doc="Sums of products over named axes: einsum('ij,jk->ik', a, b) is the matrix product.", written="einsum({subscripts}, {operands})",
    examples=("einsum('i,j->ij', x, y)",),
    carries=multilinear, batched=_on_batch, cut=cutting.contracted,
    numpy=lambda shapes, subscripts: f"np.einsum({labels_text(subscripts)!r}, {listed(shapes)})",
)  # fmt: skip
