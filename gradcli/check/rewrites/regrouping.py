"""The same factors in another order, and quotients divided through: what neither overflows nor loses what is subtracted later."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from gradcli.check.rewrites.parts import (
    Factor,
    Inexact,
    Term,
    factors,
    is_product,
    is_sum,
    merged_factors,
    merged_terms,
    multiplied,
    product,
    scaled,
    terms,
    total,
)
from gradcli.graph.nodes import Expr, Graph

_MOST_FACTORS = 7
_MOST_PAIRINGS = 24
_MOST_TERMS = 8


def regrouped(graph: Graph, node: Expr) -> Iterator[Expr]:
    """Other groupings of a product, and a quotient of sums divided through by what occurs in it."""
    if not is_product(node) or is_sum(node):
        return
    for way in (_paired, _distributed, _divided_through, _without_whole, _shared):
        try:
            yield from way(graph, node)
        except (Inexact, ZeroDivisionError, OverflowError):
            continue


def _paired(graph: Graph, node: Expr) -> Iterator[Expr]:
    """a*b/(c*d) as (a/c)*(b/d), (a/d)*(b/c), a/c/d*b, a/(c/b)/d and so on."""
    coefficient, parts = factors(node)
    above = [base for base, exponent in parts for _ in range(exponent) if exponent <= 3]
    below = [base for base, exponent in parts for _ in range(-exponent) if exponent >= -3]
    if not 2 <= len(above) + len(below) <= _MOST_FACTORS or any(abs(e) > 3 for _, e in parts):
        return
    if not above or not below:
        return (yield from _ordered(graph, coefficient, above, below))
    pairs = min(len(above), len(below))
    found = 0
    for tops in itertools.permutations(above, pairs):
        for bottoms in itertools.combinations(below, pairs):
            quotients = [x / y for x, y in zip(tops, bottoms, strict=True)]
            left_above, left_below = _without(above, tops), _without(below, bottoms)
            for result in _chained(quotients, left_above, left_below):
                yield _signed(graph, coefficient, result)
            found += 1
            if found >= _MOST_PAIRINGS:
                return
    for x in above:
        rest = _without(above, [x])
        if len(below) == 1 and rest:
            yield _signed(graph, coefficient, x / (below[0] / multiplied(rest)))


def _ordered(graph: Graph, coefficient: Fraction, above: Sequence[Expr], below: Sequence[Expr]) -> Iterator[Expr]:
    if below:
        result = graph.constant(1) / below[0]
        for x in below[1:]:
            result = result / x
        yield _signed(graph, coefficient, result)
    elif len(above) > 2:
        for order in itertools.islice(itertools.permutations(above), 1, 7):
            yield _signed(graph, coefficient, multiplied(order))


def _chained(quotients: Sequence[Expr], above: Sequence[Expr], below: Sequence[Expr]) -> Iterator[Expr]:
    result = multiplied(quotients)
    for x in below:
        result = result / x
    yield result * multiplied(above) if above else result
    if above:
        other = multiplied(above) * multiplied(quotients)
        for x in below:
            other = other / x
        yield other
    if len(quotients) > 1 or below:
        other = quotients[0]
        for x in below:
            other = other / x
        for x in [*quotients[1:], *above]:
            other = other * x
        yield other


def _distributed(graph: Graph, node: Expr) -> Iterator[Expr]:
    """(a + b)*c/d as a*c/d + b*c/d."""
    coefficient, parts = factors(node)
    for i, (base, exponent) in enumerate(parts):
        if exponent != 1 or not is_sum(base):
            continue
        inner, rest = terms(base), [*parts[:i], *parts[i + 1 :]]
        if len(inner) > _MOST_TERMS:
            continue
        yield total(graph, merged_terms([_term(graph, coefficient * c, core, rest) for c, core in inner]))


def _term(graph: Graph, coefficient: Fraction, core: Expr | None, rest: Sequence[Factor]) -> Term:
    scale, own = factors(core) if core is not None else (Fraction(1), [])
    merged = merged_factors([*own, *rest])
    return (coefficient * scale, product(graph, Fraction(1), merged)) if merged else (coefficient * scale, None)


def _divided_through(graph: Graph, node: Expr) -> Iterator[Expr]:
    """a/(a*b + c) as 1/(b + c/a): a quotient whose divisor is a sum, divided by a factor of it or of what is divided."""
    coefficient, parts = factors(node)
    for i, (base, exponent) in enumerate(parts):
        if exponent != -1 or not is_sum(base):
            continue
        rest = [*parts[:i], *parts[i + 1 :]]
        inner = terms(base)
        if len(inner) > _MOST_TERMS:
            continue
        for divisor in _divisors(inner, rest):
            below = total(graph, [_over(graph, term, divisor) for term in inner])
            above = _divided(graph, rest, divisor)
            yield _signed(graph, coefficient, above / below)


def _divisors(inner: Sequence[Term], rest: Sequence[Factor]) -> list[list[Factor]]:
    """What a quotient may be divided by: single factors, whole terms, and all that stands above the line."""
    found: list[list[Factor]] = []
    for _, core in inner:
        if core is not None:
            own = factors(core)[1]
            found += [[(base, 1)] for base, exponent in own if exponent > 0]
            found.append(own)
    above = [(base, exponent) for base, exponent in rest if exponent > 0 and not is_sum(base)]
    if above:
        found += [above, *([(base, 1)] for base, _ in above)]
    unique: list[list[Factor]] = []
    for one in found:
        if one and one not in unique:
            unique.append(one)
    return unique


def _over(graph: Graph, term: Term, divisor: Sequence[Factor]) -> Term:
    """A term divided; the pieces of the divisor pair off with those of the term, so that neither is multiplied out first."""
    coefficient, core = term
    scale, own = factors(core) if core is not None else (Fraction(1), [])
    merged = merged_factors([*own, *((base, -exponent) for base, exponent in divisor)])
    if not merged:
        return coefficient * scale, None
    return coefficient * scale, _stepwise(graph, merged)


def _stepwise(graph: Graph, parts: Sequence[Factor]) -> Expr:
    above = [base for base, exponent in parts for _ in range(exponent)]
    below = [base for base, exponent in parts for _ in range(-exponent)]
    result = above.pop(0) if above else graph.constant(1)
    while above or below:
        if below:
            result = result / below.pop(0)
        if above:
            result = result * above.pop(0)
    return result


def _divided(graph: Graph, parts: Sequence[Factor], divisor: Sequence[Factor]) -> Expr:
    """A product divided by something, in its sum if it has one and nothing else."""
    merged = merged_factors([*parts, *((base, -exponent) for base, exponent in divisor)])
    sums = [base for base, exponent in merged if exponent == 1 and is_sum(base)]
    if len(sums) == 1 and any(exponent < 0 for _, exponent in merged):
        rest = [(base, exponent) for base, exponent in merged if base is not sums[0]]
        return total(graph, [_over(graph, term, [(base, -exponent) for base, exponent in rest]) for term in terms(sums[0])])
    return _stepwise(graph, merged) if merged else graph.constant(1)


def _without_whole(graph: Graph, node: Expr) -> Iterator[Expr]:
    """a/(a + b) as 1 - b/(a + b): a whole number, and what is left of the quotient."""
    coefficient, parts = factors(node)
    for i, (base, exponent) in enumerate(parts):
        if exponent != -1 or not is_sum(base):
            continue
        rest = [*parts[:i], *parts[i + 1 :]]
        if any(e < 0 for _, e in rest):
            continue
        above = product(graph, coefficient, rest) if rest else None
        if above is None:
            continue
        given = terms(above)
        for sign in (1, -1):
            left = merged_terms([*given, *((-sign * c, core) for c, core in terms(base))])
            if 0 < len(left) < len(given) + len(terms(base)) and len(left) <= len(terms(base)):
                one = graph.constant(1)
                quotient = total(graph, left) / base
                yield one + quotient if sign > 0 else quotient - one


def _shared(graph: Graph, node: Expr) -> Iterator[Expr]:
    """a**2*b**2 as (a*b)**2, a**2/b**2 as (a/b)**2."""
    coefficient, parts = factors(node)
    even = [(base, exponent) for base, exponent in parts if exponent % 2 == 0]
    if len(even) >= 2:
        inner = product(graph, Fraction(1), [(base, exponent // 2) for base, exponent in even])
        rest = [(base, exponent) for base, exponent in parts if exponent % 2]
        yield product(graph, coefficient, [(inner, 2), *rest])


def divided_sums(graph: Graph, node: Expr) -> Iterator[Expr]:
    """a*b + a*c as a*(b + c), and a + b as a*(1 + b/a)."""
    if not is_sum(node):
        return
    given = terms(node)
    if not 2 <= len(given) <= _MOST_TERMS:
        return
    try:
        own = [dict(factors(core)[1]) if core is not None else {} for _, core in given]
        for base in dict.fromkeys(b for part in own for b, e in part.items() if e > 0):
            having = [i for i, part in enumerate(own) if part.get(base, 0) > 0]
            if len(having) >= 2:
                inside = total(graph, [_over(graph, given[i], [(base, 1)]) for i in having])
                outside = [given[i] for i in range(len(given)) if i not in having]
                yield total(graph, [(Fraction(1), base * inside), *outside])
        yield from _over_one_line(graph, given)
    except (Inexact, ZeroDivisionError, OverflowError):
        return


def _over_one_line(graph: Graph, given: Sequence[Term]) -> Iterator[Expr]:
    """a/c + b/c as (a + b)/c."""
    below: dict[Expr, list[int]] = {}
    for i, (_, core) in enumerate(given):
        for base, exponent in factors(core)[1] if core is not None else []:
            if exponent < 0:
                below.setdefault(base, []).append(i)
    for base, places in below.items():
        if len(places) >= 2:
            inside = total(graph, [_over(graph, given[i], [(base, -1)]) for i in places])
            outside = [given[i] for i in range(len(given)) if i not in places]
            yield total(graph, [(Fraction(1), inside / base), *outside])


def reordered(graph: Graph, node: Expr) -> Iterator[Expr]:
    """The terms of a sum in another order: two of them first."""
    given = terms(node) if is_sum(node) else []
    if not 3 <= len(given) <= 6:
        return
    try:
        for i, j in itertools.combinations(range(len(given)), 2):
            first = total(graph, [given[i], given[j]])
            rest = [given[k] for k in range(len(given)) if k not in (i, j)]
            yield total(graph, rest) + first
            result = first
            for coefficient, core in rest:
                size = scaled(graph, abs(coefficient), core)
                result = result + size if coefficient > 0 else result - size
            yield result
    except Inexact:
        return


def _without(nodes: Sequence[Expr], some: Sequence[Expr]) -> list[Expr]:
    left = list(nodes)
    for node in some:
        left.remove(node)
    return left


def _signed(graph: Graph, coefficient: Fraction, node: Expr) -> Expr:
    return node if coefficient == 1 else -node if coefficient == -1 else product(graph, coefficient, [(node, 1)])
