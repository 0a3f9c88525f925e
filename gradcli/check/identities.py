"""Normal form of rewriting, and nodes tidied by it.

A sum is multiples of nodes; a product is a number and powers of nodes. Floats are binary numbers,
so coefficients are exact. A node that is built equals its parts by arithmetic alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from itertools import islice, starmap
from typing import Any, NamedTuple

import numpy as np

from gradcli.formulas.products import quotient_of
from gradcli.graph.nodes import Expr, Graph, Rebuilding, forward, interpret, reachable, rebuild
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.ops.constants import Constant, E
from gradcli.ops.elementwise import exponential
from gradcli.ops.spec import Op

_SHARES = {
    "sum": {"sum": (1, 1), "difference": (1, -1), "negation": (-1,)},
    "product": {
        "product": (1, 1),
        "chain": (1, 1),
        "quotient": (1, -1),
        "square": (2,),
        "reciprocal": (-1,),
        "negation": (1,),
    },
}
_MOST = 40  # parts beyond which a normal form opens no more operands
_HIGHEST = 64
_WHOLE = 2**53


class Inexact(Exception):
    """A number that is no float, nor a simple quotient of whole numbers; or a root of a node."""


NO_NUMBER = (Inexact, ZeroDivisionError, OverflowError)


def role(node: Expr) -> str:
    return node.op.algebra if node.op is not None else ""


def shares(node: Expr, kind: str) -> tuple[int, ...]:
    """Return the coefficients of a sum's operands, or the exponents of a product's.

    Return nothing for any other node.
    """
    if kind == "product" and role(node) == "power":
        exponent = number(node.operands[1])
        is_whole = exponent and exponent.denominator == 1 and abs(exponent) <= _HIGHEST
        return (int(exponent),) if exponent and is_whole else ()
    return _SHARES[kind].get(role(node), ())


def kind_of(node: Expr) -> str:
    """Return "product" or "sum" for what has a normal form of its own, else nothing."""
    return next((kind for kind in ("product", "sum") if shares(node, kind)), "")


def number(node: Expr | None) -> Fraction | None:
    """Return the number that a constant is, exactly, or None for any other node."""
    if (
        node is None
        or not node.is_constant
        or node.shape
        or isinstance(node.payload, (Constant, bool))
    ):
        return None
    payload = node.payload
    finite = isinstance(payload, int) or (isinstance(payload, float) and payload - payload == 0)
    return Fraction(payload) if finite else None


def _alike(node: Expr) -> bool:
    """Return whether operands are numbers, or have the shape of the result."""
    return all(o is None or not o.shape or o.shape == node.shape for o in node.operands)


class Normal:
    """A sum or a product.

    kind    "sum" or "product"
    parts   nodes with their coefficients or exponents, in their order; in a sum the number is a
            multiple of 1
    number  what a product is multiplied by
    joined  whether parts stood apart that cancel, or are one term
    """

    def __init__(
        self,
        graph: Graph,
        kind: str,
        parts: Iterable[tuple[Expr, Any]] = (),
        number: Fraction = Fraction(1),
    ) -> None:
        self.graph, self.kind, self.number, self.joined = graph, kind, number, False
        self.parts: dict[Expr, Fraction] = {}
        for part, weight in parts:
            self.put(part, Fraction(weight))

    @classmethod
    def of(cls, node: Expr, kind: str) -> Normal:
        """Return a node as a sum or a product, possibly of a single part."""
        return cls(node.graph, kind, [(node, 1)])

    def put(self, node: Expr, weight: Fraction) -> None:
        """Add a multiple of a node, or multiply by its power."""
        inside = shares(node, self.kind)
        if inside and _alike(node) and len(self.parts) < _MOST:
            if self.kind == "product" and role(node) == "negation":
                self.number *= Fraction(-1) ** int(weight)
            for operand, share in zip(node.operands, inside, strict=False):
                assert operand is not None
                self.put(operand, weight * share)
        elif self.kind == "sum":
            self._put_term(node, weight)
        elif (value := number(node)) is not None and (value or weight > 0):
            self.number *= value ** int(weight)
        else:
            self._put_factor(node, weight)

    def _put_term(self, part: Expr, weight: Fraction) -> None:
        factors = Normal.of(part, "product")
        if number(part) is not None or factors.number != 1:
            weight, factors.number = weight * factors.number, Fraction(1)
            part = factors.build()
        self.joined |= part in self.parts
        self._set(part, self.parts.get(part, Fraction(0)) + weight)

    def _put_factor(self, base: Expr, exponent: Fraction) -> None:
        """Multiply by a power; squares of roots are what is under them."""
        before = self.parts.get(base, Fraction(0))
        total, power = before + exponent, base.op.degree if base.op is not None else None
        degree = round(1 / power) if power is not None and 0 < power < 1 else 0  # 0: not a root
        whole = int(total / degree) if degree else 0
        self.joined |= before * exponent < 0 or whole != 0
        self._set(base, total - whole * degree)
        if whole:
            self.put(base.operand, Fraction(whole))

    def _set(self, part: Expr, weight: Fraction) -> None:
        self.parts[part] = weight
        if not weight:
            del self.parts[part]

    def without(self, *parts: Expr) -> Normal:
        """Return the same sum or product without some of its parts."""
        return Normal(
            self.graph,
            self.kind,
            [(p, w) for p, w in self.parts.items() if p not in parts],
            self.number,
        )

    def raise_to(self, weight: Fraction) -> Normal:
        """Return a multiple of a sum or a power of a product.

        Raises Inexact where that is a root.
        """
        weights = [(part, w * weight) for part, w in self.parts.items()]
        is_root = any(w.denominator != 1 for _, w in weights) or (
            weight.denominator != 1 and self.number != 1
        )
        if self.kind == "product" and is_root:
            raise Inexact
        return Normal(self.graph, self.kind, weights, self.number ** int(weight))

    def build(self) -> Expr:
        """Build the node.

        Raises Inexact where a number is neither a float nor a quotient of two whole numbers.
        """
        if not self.number or not self.parts:
            return constant(self.graph, self.number if self.kind == "product" else Fraction(0))
        return self._sum() if self.kind == "sum" else self._product()

    def _sum(self) -> Expr:
        first = next(
            (part for part, weight in self.parts.items() if weight > 0), next(iter(self.parts))
        )
        result = self._term(first, self.parts[first])
        for part, weight in self.parts.items():
            if part is not first:
                size = self._term(part, abs(weight))
                result = result + size if weight > 0 else result - size
        return result

    def _term(self, part: Expr, weight: Fraction) -> Expr:
        if weight == 1:
            return part
        term = Normal.of(part, "product")
        term.number = weight
        return term.build()

    def _product(self) -> Expr:
        above, below = (
            [
                base if e == sign else base ** int(sign * e)
                for base, e in self.parts.items()
                if e * sign > 0
            ]
            for sign in (1, -1)
        )
        top, bottom = abs(self.number), Fraction(1)
        if (top.numerator == 1 and above) or not _is_float(top):
            top, bottom = Fraction(top.numerator), Fraction(top.denominator)
        if bottom != 1:
            below.insert(0, constant(self.graph, bottom))
        result = quotient_of(top, partial(constant, self.graph), above, below)
        return -result if self.number < 0 else result


def _is_float(value: Fraction) -> bool:
    return Fraction(float(value)) == value


def constant(graph: Graph, value: Fraction) -> Expr:
    """Return a number as a node: whole, a float, or a quotient of two whole numbers.

    Raises Inexact where it is none of these.
    """
    if value.denominator == 1 and abs(value) < _WHOLE:
        return graph.constant(int(value))
    if _is_float(value):
        return graph.constant(float(value))
    if max(abs(value.numerator), value.denominator) >= _WHOLE:
        raise Inexact
    quotient: Expr = graph.constant(value.numerator) / graph.constant(value.denominator)
    return quotient


NOTHING_KNOWN: Mapping[Expr, Expr] = {}


class Standard(Rebuilding):
    """The same expressions in a standard form.

    Like terms and like factors are put together, signs are drawn out, and powers are written in one
    way.
    """

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        inner = opposite(operands[0]) if op.parity else None  # the a in tanh(-a) = -tanh(a)
        plain = self.graph.apply(op, operands if inner is None else [inner], node.static)
        try:
            found = self._simpler(plain) if _alike(plain) else plain
        except NO_NUMBER:
            found = plain
        found = found if found.shape == node.shape and found.kind == node.kind else plain
        return found if inner is None or op.parity > 0 else -found

    def alias(self, node: Expr, x: Expr) -> Expr:
        return x

    def _simpler(self, node: Expr) -> Expr:
        kind = role(node)
        if kind == "power":
            base, exponent = node.operand, node.operands[1]
            if base.is_constant and base.payload is E:
                return self.graph.apply(exponential.exp, (exponent,))
            if number(exponent) == Fraction(1, 2):
                return self.graph.apply(exponential.sqrt, (base,))
        if not kind_of(node):
            return node
        if kind == "negation":
            x = node.operand
            opposite = role(x) in ("sum", "difference", "negation") or number(x) is not None
            return Normal.of(node, "sum").build() if opposite else node
        found = Normal.of(node, kind_of(node))
        # 1/x/x is left alone, because it overflows later than 1/x**2.
        alone = (
            len(found.parts) == 1 and found.kind == "product" and min(found.parts.values()) >= -1
        )
        if found.joined or not found.parts or not found.number or alone:
            return found.build()
        return node


def standardize(graph: Graph, node: Expr, known: Mapping[Expr, Expr] = NOTHING_KNOWN) -> Expr:
    """Return a node in standard form, with other nodes in place of the ``known`` ones."""
    found: Expr = interpret(reachable([node]), Standard(graph), dict(known))[node]
    return found


def opposite(node: Expr) -> Expr | None:
    """Return the node that another is the opposite of.

    Return None where no minus stands before it.
    """
    value = number(node)
    if value is not None and value < 0:
        return constant(node.graph, -value)
    return node.operand if role(node) == "negation" else None


# -- Identities by which digits are kept: what equals a pattern, and under which condition. The
# letters stand for any expressions.
#
# A pattern that is a sum or a product is looked for among the parts of longer ones, in any order,
# times any number or to any power. None is believed: what they make is proved equal anew at the
# point where it is proposed, and measured there; so a condition says only where to try. Text of
# the language, as everything that is proposed is.


class Identity(NamedTuple):
    """Equal of a pattern, under a condition on what its letters stand for.

    An empty condition is none.
    """

    pattern: str
    equal: str
    condition: str


_EQUATION = re.compile("^(?!#)(.+?) = (.+?)(?: if (.+))?$", re.MULTILINE)


def _identities(lines: str) -> tuple[Identity, ...]:
    """Identities that are written one a line."""
    return tuple(starmap(Identity, _EQUATION.findall(lines)))


IDENTITIES = _identities("""
# sums whose terms cancel
sqrt(a) - sqrt(b) = (a - b)/(sqrt(a) + sqrt(b))
a - sqrt(b) = (a**2 - b)/(a + sqrt(b))
a - c*sqrt(b) = (a**2 - c**2*b)/(a + c*sqrt(b))
hypot(a, b) - a = b*(b/(hypot(a, b) + a))
hypot(a, b) + a = b*(b/(hypot(a, b) - a))
cbrt(a) - cbrt(b) = (a - b)/(cbrt(a)**2 + cbrt(a)*cbrt(b) + cbrt(b)**2)
a**2 - b**2 = (a - b)*(a + b)
a**c - b**c = b**c*expm1(c*log1p((a - b)/b)) if a > 0 and b > 0
a**c - b**c = b**c*expm1(c*log(a/b)) if a > 0 and b > 0
a**c - a**b = a**b*expm1((c - b)*log(a)) if a > 0
a**c - 1 = expm1(c*log(a)) if a > 0
1/sqrt(a) - 1/sqrt(b) = (b - a)/(sqrt(a)*sqrt(b)*(sqrt(a) + sqrt(b)))
1/a - 1/b = (b - a)/(a*b)
1/sqrt(a) - 1 = (1 - a)/(sqrt(a)*(1 + sqrt(a)))
a/(a + b) = 1 - b/(a + b)
# exponentials and hyperbolic functions
exp(a) - 1 = expm1(a)
exp(a) - exp(-a) = 2*sinh(a)
exp(a) + exp(-a) = 2*cosh(a)
exp(a) - 2 + exp(-a) = 4*sinh(a/2)**2
exp(a) - exp(b) = exp(b)*expm1(a - b)
exp(a) - exp(b) = 2*exp((a + b)/2)*sinh((a - b)/2)
expm1(a) - expm1(b) = exp(b)*expm1(a - b)
exp2(a) - 1 = expm1(a*log(2))
cosh(a) - 1 = 2*sinh(a/2)**2
cosh(a) - cosh(b) = 2*sinh((a + b)/2)*sinh((a - b)/2)
sinh(a) - sinh(b) = 2*cosh((a + b)/2)*sinh((a - b)/2)
tanh(a) - tanh(b) = sinh(a - b)/(cosh(a)*cosh(b))
cosh(a) + sinh(a) = exp(a)
2/(1 + exp(a)) - 1 = -tanh(a/2)
1/(1 + exp(a)) - 1/2 = -tanh(a/2)/2
1 - tanh(a) = 2/(1 + exp(2*a))
1 - tanh(a)**2 = 1/cosh(a)**2
(exp(a) - exp(-a))/(exp(a) + exp(-a)) = tanh(a)
(exp(a) - 1)/(exp(a) + 1) = tanh(a/2)
sinh(a)/cosh(a) = tanh(a)
exp(a)*exp(b) = exp(a + b)
exp(a)/exp(b) = exp(a - b)
exp(a)*b = exp(a + log(b)) if b > 0
exp(a)/b = exp(a - log(b)) if b > 0
exp(log(a)) = a
a**b = exp(b*log(a)) if a > 0
a**b*a**c = a**(b + c) if a > 0
a**b/a**c = a**(b - c) if a > 0
a**c*b**c = (a*b)**c
a**c/b**c = (a/b)**c
(a/b)**c = a**c/b**c
(a**b)**c = a**(b*c) if a > 0
exp(a)/(1 + exp(a)) = sigmoid(a)
1/(1 + exp(a)) = sigmoid(-a)
1 - sigmoid(a) = sigmoid(-a)
sigmoid(a) - sigmoid(b) = sigmoid(a)*sigmoid(-b)*-expm1(b - a)
exp(a)/(exp(a) + exp(b)) = sigmoid(a - b)
exp(a)/sum(exp(a)) = softmax(a)
# logarithms
log(1 + exp(a)) = softplus(a)
log1p(exp(a)) = softplus(a)
log(exp(a) + exp(b)) = logaddexp(a, b)
log(exp(a) + b) = a + log1p(b*exp(-a))
log(sum(exp(a))) = logsumexp(a)
log(1 + a) = log1p(a)
log(a) = log1p(a - 1)
log((1 + a)/(1 - a)) = 2*atanh(a)
log((1 + a)/(1 + b)) = log1p(a) - log1p(b) if a > -1 and b > -1
log(a/b) = log(a) - log(b) if a > 0
log(a/b) = log(-a) - log(-b) if a < 0
log(a*b) = log(a) + log(b) if a > 0
log(a*b) = log(-a) + log(-b) if a < 0
log(a**b) = b*log(a) if a > 0
log(a) - log(b) = log(a/b)
log(a) - log(b) = log1p((a - b)/b)
log(a) + log(b) = log(a*b)
log1p(a) - log1p(b) = log1p((a - b)/(1 + b))
log1p(a) - log1p(-a) = 2*atanh(a)
log(expm1(a)) = a + log(-expm1(-a))
log(a + sqrt(a**2 + 1)) = asinh(a)
log(sqrt(a**2 + 1) - a) = -asinh(a)
log(a + sqrt(a**2 - 1)) = acosh(a)
acosh(a) = 2*asinh(sqrt((a - 1)/2))
log(cosh(a)) = abs(a) + log1p(exp(-(2*abs(a)))) - log(2)
log(cosh(a)) = log1p(2*sinh(a/2)**2)
log(sigmoid(a)) = -softplus(-a)
log(softmax(a)) = log_softmax(a)
log(erfc(a)) = log(erfcx(a)) - a**2
log(det(a)) = slogdet(a)[1]
log(gamma(a)) = lgamma(a) if a > 0
log(cos(a)) = log1p(-2*sin(a/2)**2)
log10(1 + a) = log1p(a)/log(10)
log2(1 + a) = log1p(a)/log(2)
a*log(b) = xlogy(a, b)
# trigonometric functions
1 - cos(a) = 2*sin(a/2)**2
(1 - cos(a))/sin(a) = tan(a/2)
1 - cos(a)**2 = sin(a)**2
1 - sin(a)**2 = cos(a)**2
1 - sin(a) = cos(a)**2/(1 + sin(a))
1 + sin(a) = cos(a)**2/(1 - sin(a))
1/cos(a) - 1 = 2*sin(a/2)**2/cos(a)
cos(a) - cos(b) = -2*sin((a + b)/2)*sin((a - b)/2)
sin(a) - sin(b) = 2*cos((a + b)/2)*sin((a - b)/2)
tan(a) - tan(b) = sin(a - b)/(cos(a)*cos(b))
sin(a)/cos(a) = tan(a)
tan(a) - sin(a) = 2*tan(a)*sin(a/2)**2
sin(a)/a = sinc(a/pi)
atan(a) - atan(b) = atan2(a - b, 1 + a*b) if a*b > -1
atan(a) - atan(b) = atan((a - b)/(1 + a*b)) if a*b > -1
atan(a) + atan(b) = atan2(a + b, 1 - a*b) if a*b < 1
atanh(a) - atanh(b) = atanh((a - b)/(1 - a*b))
pi/2 - acos(a) = asin(a)
pi/2 - asin(a) = acos(a)
pi/2 - atan(a) = atan2(1, a)
pi - 2*atan(a) = 2*atan2(1, a)
acos(1 - a) = 2*asin(sqrt(a/2))
acos(a) = 2*asin(sqrt((1 - a)/2))
# special functions
1 - erf(a) = erfc(a)
1 + erf(a) = erfc(-a)
erf(a) - erf(b) = erfc(b) - erfc(a)
exp(a**2)*erfc(a) = erfcx(a)
gamma(a)/gamma(b) = exp(lgamma(a) - lgamma(b)) if a > 0 and b > 0
gamma(a)*gamma(b)/gamma(a + b) = beta(a, b)
gamma(a)*gamma(b) = exp(lgamma(a) + lgamma(b)) if a > 0 and b > 0
lgamma(a) + lgamma(b) - lgamma(a + b) = betaln(a, b) if a > 0 and b > 0
# what overflows or underflows on the way
a*b/c = a/c*b
a*b/(c*d) = a/c*(b/d)
a*b/(c**2*d) = a/d*b/c/c
a/(b*c) = a/b/c
a/b**2 = a/b/b
1/a**2 = 1/a/a
a**2/b = a/b*a
a/(a**2 + b) = 1/(a + b/a)
(a - b)/(a - c) = (a/b - 1)/(a/b - c/b)
(a + b)/(a + c) = (a/b + 1)/(a/b + c/b)
(a + b*c)/(d + q*c) = (a/c + b)/(d/c + q)
(a - b*c)/(d - q*c) = (a/c - b)/(d/c - q)
sqrt(a**2 + b**2) = hypot(a, b)
sqrt(a**2 + b) = hypot(a, sqrt(b)) if b > 0
sqrt(a**2 + b) = abs(a)*sqrt(1 + b/a/a)
sqrt(a**2 - b**2) = sqrt(a - b)*sqrt(a + b) if a > abs(b)
sqrt(a + b) = sqrt(a)*sqrt(1 + b/a) if a > 0
sqrt(a**2) = abs(a)
sqrt(a*b) = sqrt(a)*sqrt(b) if a > 0
sqrt(a*b) = sqrt(-a)*sqrt(-b) if a < 0
sqrt(a/b) = sqrt(a)/sqrt(b) if a > 0
sqrt(a/b) = sqrt(-a)/sqrt(-b) if a < 0
a/sqrt(a**2 + b**2) = cos(atan2(b, a))
a/sqrt(a**2 + b) = 1/sqrt(1 + b/a/a) if a > 0
a/sqrt(a**2 + b) = -1/sqrt(1 + b/a/a) if a < 0
cbrt(a*b) = cbrt(a)*cbrt(b)
sqrt(sum(a**2)) = norm(a)
sqrt(a @ a) = norm(a)
log(prod(a)) = sum(log(a)) if a > 0
""")

# Replacements that have a value, or a derivative, where the pattern has none.
WIDER = _identities("""
sqrt(a**2) = abs(a)
sqrt(a**2 + b**2) = hypot(a, b)
sqrt(sum(a**2)) = norm(a)
a*log(b) = xlogy(a, b)
a*log1p(b) = xlog1py(a, b)
sin(a)/a = sinc(a/pi)
exp(log(a)) = a
exp(b*log(a)) = a**b
log(det(a)) = slogdet(a)[1]
""")


# -- The identities as rules on graphs: read once by the language's own reader, matched against
# nodes, and built in their place.
#
# A pattern is an expression of the language whose names are holes; a hole that is met again must
# be the same expression. Sums and products are matched in their normal form. What recurs here
# does so over a pattern, never over an expression.


_OF_VECTORS = ("sum(", "prod(", "softmax(", "@")
_EXAMPLES = (
    0.5,
    np.ones(3),
    np.eye(3),
)  # for the letters, by number of axes; within a reduction the exact shape does not matter
_MOST_PARTS = 12  # most parts among which a pattern is sought
_MOST_MATCHES = 12

Bound = dict[Expr, Expr]


class Rule(NamedTuple):
    """Identity as nodes of a graph of its own, with its letters.

    ``operations`` are those without which the identity applies nowhere.
    """

    operations: frozenset[Op | None]
    pattern: Expr
    equal: Expr
    condition: Expr | None


Table = dict[object, list[Rule]]


@cache
def rules(identities: tuple[Identity, ...] = IDENTITIES) -> Table:
    """Identities by the top of their pattern: a sum, a product, or any other operation."""
    programs = []
    for example in _EXAMPLES:
        scope = Scope()
        for letter in "abcdq":
            scope.bind_value(letter, example)
        programs.append(Program(scope))
    found: Table = {}
    for pattern, equal, condition in identities:
        axes = 2 if "det(" in pattern else int(any(word in pattern for word in _OF_VECTORS))
        wanted, result = (programs[axes].read(text, "<identity>") for text in (pattern, equal))
        only = programs[axes].read(condition, "<identity>") if condition else None
        standard = standardize(wanted.graph, wanted)
        found.setdefault(kind_of(standard) or standard.op, []).append(
            Rule(_operations(standard), standard, result, only)
        )
    return found


def _operations(node: Expr) -> frozenset[Op | None]:
    """Return the operations in a node that are not arithmetic."""
    return frozenset(
        part.op for part in reachable([node]) if part.op is not None and not kind_of(part)
    )


def apply_identities(
    node: Expr,
    value_of: Callable[[Expr], object],
    identities: tuple[Identity, ...] = IDENTITIES,
) -> Iterator[Expr]:
    """Yield what equals a node by one identity whose condition holds at the given values."""
    operations = _operations(node)
    for kind in dict.fromkeys((kind_of(node), node.op)):
        for rule in rules(identities).get(kind, ()):
            if not rule.operations <= operations:
                continue
            ways = _matches(rule.pattern, node, {}, part=True)
            for bound, times, rest in islice(ways, _MOST_MATCHES):
                if rule.condition is not None:
                    values = {letter: value_of(x) for letter, x in bound.items()}
                    if not np.all(forward([rule.condition], values)[rule.condition]):
                        continue
                try:
                    equal = standardize(node.graph, rule.equal, bound)
                    if times != 1 or rest.parts or rest.number != 1:
                        parts = [(equal, times), *rest.parts.items()]
                        equal = Normal(node.graph, rest.kind, parts, rest.number).build()
                    yield equal
                except NO_NUMBER:
                    continue


def wider(root: Expr) -> Iterator[Expr]:
    """Yield ways to write a function that may have a value or derivative where it has none.

    Each differs from it by one identity, or by arithmetic alone.
    """
    order = reachable([root])
    table = interpret(order, Standard(root.graph))
    for node in order:
        if table[node] is not node and node.kind == "float":
            yield rebuild([root], {node: table[node]})[0]
    for start in dict.fromkeys((root, table[root])):
        for node in reachable([start]):
            for better in (
                apply_identities(node, lambda _: 0.0, WIDER) if node.op is not None else ()
            ):
                if better.shape == node.shape:
                    yield rebuild([start], {node: better})[0]


# -- matching --------------------------------------------------------------------------------------


def is_same_operation(x: Expr, y: Expr) -> bool:
    """Return whether two nodes differ in their operands alone."""
    return (
        x.op is not None
        and x.op is y.op
        and dict(x.static) == dict(y.static)
        and len(x.operands) == len(y.operands)
    )


def _matches(
    pattern: Expr, node: Expr, bound: Bound, *, part: bool = False
) -> Iterator[tuple[Bound, Fraction, Normal]]:
    """Yield the ways in which a pattern matches a node, or parts of it.

    ``bound`` is what is bound already. Each way consists of what is bound then, the pattern's
    factor or exponent, and what is left.
    """
    kind = kind_of(pattern)
    if kind:
        wanted, given = Normal.of(pattern, kind), Normal.of(node, kind)
        if not part:
            given.number, wanted.number = given.number / wanted.number, Fraction(1)
        if len(given.parts) <= _MOST_PARTS:
            yield from _some(wanted, given, None if part else Fraction(1), bound, part=part)
        return
    if pattern.is_leaf:
        same = bound.setdefault(pattern, node) is node
    elif pattern.is_constant:
        same = (
            node.is_constant
            and not node.shape
            and node.payload == pattern.payload
            and number(node) == number(pattern)
        )
    else:
        same = is_same_operation(pattern, node)
    found = [bound] if same else []
    for x, y in zip(pattern.operands, node.operands if same else (), strict=False):
        if x is not None and y is not None:
            found = [further for one in found for further, *_ in _matches(x, y, dict(one))]
        elif x is not y:
            return
    yield from ((one, Fraction(1), Normal(node.graph, "product")) for one in found)


def _some(
    wanted: Normal, given: Normal, times: Fraction | None, bound: Bound, *, part: bool
) -> Iterator[tuple[Bound, Fraction, Normal]]:
    """Yield the ways in which parts of one normal form are parts of another.

    They are taken times one factor or to one power.
    """
    if not wanted.parts:
        if part or (not given.parts and given.number == 1):
            yield bound, times or Fraction(1), given
        return
    pattern = min(wanted.parts, key=lambda one: _looseness(one, bound))
    weight, others = wanted.parts[pattern], wanted.without(pattern)
    if times is not None and all(hole in bound for hole in _holes(pattern)):
        known = standardize(given.graph, pattern, bound)
        parts = [*given.parts.items(), (known, -weight * times)]
        rest = Normal(given.graph, given.kind, parts, given.number)
        less = all(0 <= w / given.parts.get(one, -w) <= 1 for one, w in rest.parts.items())
        if less and rest.parts != given.parts:
            yield from _some(others, rest, times, bound, part=part)
    elif not pattern.is_leaf:
        for node, own in given.parts.items():
            ratio = own / weight
            if times in (None, ratio) and (given.kind == "sum" or ratio.denominator == 1):
                for further, *_ in _matches(pattern, node, dict(bound)):
                    yield from _some(others, given.without(node), ratio, further, part=part)
    else:
        times = times or Fraction(1)
        for share, left in _shares(given, last=not others.parts, part=part):
            try:
                node = share.raise_to(1 / (weight * times)).build()
            except NO_NUMBER:
                continue
            yield from _some(others, left, times, {**bound, pattern: node}, part=part)


@cache
def _holes(pattern: Expr) -> list[Expr]:
    """Return the holes of a pattern.

    There are as many patterns as identities.
    """
    return [node for node in reachable([pattern]) if node.is_leaf]


def _looseness(pattern: Expr, bound: Bound) -> int:
    """Return the place of a pattern in the order of the search.

    Numbers are looked for first, then what has a form, then holes that are known, and other holes
    last.
    """
    if pattern.is_leaf:
        return 2 if pattern in bound else 3
    return int(not pattern.is_constant)


def _shares(given: Normal, *, last: bool, part: bool) -> Iterator[tuple[Normal, Normal]]:
    """Yield what a hole may stand for: all that is left, or one part, or all but one."""
    parts = list(given.parts)
    nothing = Normal(given.graph, given.kind)
    if last and (parts or given.number != 1):
        yield given, nothing
    if len(parts) > 1 and (part or not last):
        for one in parts:
            rest = given.without(one)
            single = Normal(given.graph, given.kind, [(one, given.parts[one])])
            yield single, rest
            if len(parts) > 2:
                yield rest, single
