"""Identities by which digits are kept: what equals a pattern, and under which condition. The letters stand for any expressions.

A pattern that is a sum or a product is looked for among the parts of longer ones, in any order, times any number or to any power. None is
believed: what they make is proved equal anew at the point where it is proposed, and measured there; so a condition says only where to
try. Text of the language, as everything that is proposed is.
"""

from __future__ import annotations

from typing import NamedTuple


class Identity(NamedTuple):
    """An equal of a pattern, under a condition on what its letters stand for; an empty one is none."""

    pattern: str
    equal: str
    condition: str


def _identities(lines: str) -> tuple[Identity, ...]:
    """Identities that are written one a line."""
    found = []
    for line in lines.splitlines():
        if line and not line.startswith("#"):
            equation, _, condition = line.partition(" if ")
            pattern, _, equal = equation.partition(" = ")
            found.append(Identity(pattern, equal, condition))
    return tuple(found)


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

# what has a value, or a derivative, where the pattern has none
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
