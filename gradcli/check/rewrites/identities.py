"""Identities by which digits are kept: a pattern, what equals it, and where. The letters a, b, c stand for any expressions.

A pattern that is a sum or a product is looked for among the terms or factors of longer ones, in any order and of either sign. None is
believed: what they make is proved equal anew at the point where it is proposed, and measured there; so a condition says only where to
try. Text of the language, as everything that is proposed is.
"""

from __future__ import annotations

from typing import NamedTuple


class Identity(NamedTuple):
    """What equals a pattern, under a condition on what its letters stand for; an empty one is none."""

    pattern: str
    equal: str
    condition: str = ""


def _differences() -> tuple[Identity, ...]:
    """Sums whose terms cancel, as products and quotients of what does not."""
    return (
        Identity("sqrt(a) - sqrt(b)", "(a - b)/(sqrt(a) + sqrt(b))"),
        Identity("a - sqrt(b)", "(a**2 - b)/(a + sqrt(b))"),
        Identity("a + sqrt(b)", "(a**2 - b)/(a - sqrt(b))"),
        Identity("a - c*sqrt(b)", "(a**2 - c**2*b)/(a + c*sqrt(b))"),
        Identity("a + c*sqrt(b)", "(a**2 - c**2*b)/(a - c*sqrt(b))"),
        Identity("hypot(a, b) - a", "b*(b/(hypot(a, b) + a))"),
        Identity("hypot(a, b) + a", "b*(b/(hypot(a, b) - a))"),
        Identity("hypot(a, b) - hypot(a, c)", "(b - c)*((b + c)/(hypot(a, b) + hypot(a, c)))"),
        Identity("cbrt(a) - cbrt(b)", "(a - b)/(cbrt(a)**2 + cbrt(a)*cbrt(b) + cbrt(b)**2)"),
        Identity("cbrt(a) + cbrt(b)", "(a + b)/(cbrt(a)**2 - cbrt(a)*cbrt(b) + cbrt(b)**2)"),
        Identity("a**2 - b**2", "(a - b)*(a + b)"),
        Identity("a**3 - b**3", "(a - b)*(a**2 + a*b + b**2)"),
        Identity("a**c - b**c", "b**c*expm1(c*log1p((a - b)/b))", "a > 0 and b > 0"),
        Identity("a**c - b**c", "b**c*expm1(c*log(a/b))", "a > 0 and b > 0"),
        Identity("a**c - a**b", "a**b*expm1((c - b)*log(a))", "a > 0"),
        Identity("a**c - 1", "expm1(c*log(a))", "a > 0"),
        Identity("sqrt(a) - 1", "(a - 1)/(sqrt(a) + 1)"),
        Identity("1/sqrt(a) - 1/sqrt(b)", "(b - a)/(sqrt(a)*sqrt(b)*(sqrt(a) + sqrt(b)))"),
        Identity("1/sqrt(a) - 1", "(1 - a)/(sqrt(a)*(1 + sqrt(a)))"),
        Identity("1/a - 1/b", "(b - a)/(a*b)"),
        Identity("1/a + 1/b", "(a + b)/(a*b)"),
        Identity("1 - a/(a + b)", "b/(a + b)"),
    )


def _exponentials() -> tuple[Identity, ...]:
    return (
        Identity("exp(a) - 1", "expm1(a)"),
        Identity("c*exp(a) - c", "c*expm1(a)"),
        Identity("c*exp(a) - c*exp(b)", "c*exp(b)*expm1(a - b)"),
        Identity("exp(a) - exp(-a)", "2*sinh(a)"),
        Identity("exp(a) + exp(-a)", "2*cosh(a)"),
        Identity("exp(a) - 2 + exp(-a)", "4*sinh(a/2)**2"),
        Identity("exp(a) + 2 + exp(-a)", "4*cosh(a/2)**2"),
        Identity("exp(a) - exp(b)", "exp(b)*expm1(a - b)"),
        Identity("exp(a) - exp(b)", "2*exp((a + b)/2)*sinh((a - b)/2)"),
        Identity("expm1(a) - expm1(b)", "exp(b)*expm1(a - b)"),
        Identity("expm1(a) + 1", "exp(a)"),
        Identity("exp2(a) - 1", "expm1(a*log(2))"),
        Identity("cosh(a) - 1", "2*sinh(a/2)**2"),
        Identity("cosh(a) + 1", "2*cosh(a/2)**2"),
        Identity("cosh(a) - cosh(b)", "2*sinh((a + b)/2)*sinh((a - b)/2)"),
        Identity("sinh(a) - sinh(b)", "2*cosh((a + b)/2)*sinh((a - b)/2)"),
        Identity("tanh(a) - tanh(b)", "sinh(a - b)/(cosh(a)*cosh(b))"),
        Identity("cosh(a) - sinh(a)", "exp(-a)"),
        Identity("cosh(a) + sinh(a)", "exp(a)"),
        Identity("cosh(a)**2 - sinh(a)**2", "1"),
        Identity("cosh(a)**2 - 1", "sinh(a)**2"),
        Identity("2/(1 + exp(a)) - 1", "-tanh(a/2)"),
        Identity("2/(1 + exp(-a)) - 1", "tanh(a/2)"),
        Identity("1/(1 + exp(a)) - 1/2", "-tanh(a/2)/2"),
        Identity("1/(1 + exp(-a)) - 1/2", "tanh(a/2)/2"),
        Identity("1 - tanh(a)", "2/(1 + exp(2*a))"),
        Identity("1 + tanh(a)", "2/(1 + exp(-(2*a)))"),
        Identity("1 - tanh(a)**2", "1/cosh(a)**2"),
        Identity("(exp(a) - exp(-a))/(exp(a) + exp(-a))", "tanh(a)"),
        Identity("(exp(a) - 1)/(exp(a) + 1)", "tanh(a/2)"),
        Identity("sinh(a)/cosh(a)", "tanh(a)"),
        Identity("exp(a)*exp(b)", "exp(a + b)"),
        Identity("exp(a)/exp(b)", "exp(a - b)"),
        Identity("exp(a)/b", "exp(a - log(b))", "b > 0"),
        Identity("exp(a)*b", "exp(a + log(b))", "b > 0"),
        Identity("b/exp(a)", "b*exp(-a)"),
        Identity("exp(a)**b", "exp(a*b)"),
        Identity("exp(log(a))", "a"),
        Identity("exp(b*log(a))", "a**b"),
        Identity("exp(a + log(b))", "b*exp(a)"),
        Identity("sqrt(exp(a))", "exp(a/2)"),
        Identity("a**b", "exp(b*log(a))", "a > 0"),
        Identity("(1 + a)**b", "exp(b*log1p(a))", "a > -1"),
        Identity("a**b*a**c", "a**(b + c)", "a > 0"),
        Identity("a**b/a**c", "a**(b - c)", "a > 0"),
        Identity("a**c*b**c", "(a*b)**c"),
        Identity("a**c/b**c", "(a/b)**c"),
        Identity("(a/b)**c", "a**c/b**c"),
        Identity("(a**b)**c", "a**(b*c)", "a > 0"),
        Identity("exp(a)/(1 + exp(a))", "sigmoid(a)"),
        Identity("1/(1 + exp(-a))", "sigmoid(a)"),
        Identity("1/(1 + exp(a))", "sigmoid(-a)"),
        Identity("1 - sigmoid(a)", "sigmoid(-a)"),
        Identity("sigmoid(a) - sigmoid(b)", "sigmoid(a)*sigmoid(-b)*-expm1(b - a)"),
        Identity("exp(a)/(exp(a) + exp(b))", "sigmoid(a - b)"),
        Identity("exp(a)/(exp(a) - 1)", "-1/expm1(-a)"),
        Identity("exp(a)/(exp(a) + b)", "1/(1 + b*exp(-a))"),
        Identity("exp(a)/(exp(a) - b)", "1/(1 - b*exp(-a))"),
        Identity("exp(a)/sum(exp(a))", "softmax(a)"),
    )


def _logarithms() -> tuple[Identity, ...]:
    return (
        Identity("log(1 + exp(a))", "softplus(a)"),
        Identity("log(exp(a) + exp(b))", "logaddexp(a, b)"),
        Identity("log(exp(a) + b)", "a + log1p(b*exp(-a))"),
        Identity("log(sum(exp(a)))", "logsumexp(a)"),
        Identity("log(1 + a)", "log1p(a)"),
        Identity("log(1 - a)", "log1p(-a)"),
        Identity("log(a)", "log1p(a - 1)"),
        Identity("log((1 + a)/(1 - a))", "2*atanh(a)"),
        Identity("log((1 - a)/(1 + a))", "-2*atanh(a)"),
        Identity("log((1 - a)/(1 + b))", "log1p(-a) - log1p(b)", "a < 1 and b > -1"),
        Identity("log((1 + a)/(1 + b))", "log1p(a) - log1p(b)", "a > -1 and b > -1"),
        Identity("log(a/b)", "log(a) - log(b)", "a > 0"),
        Identity("log(a/b)", "log(-a) - log(-b)", "a < 0"),
        Identity("log(a/b)", "log1p((a - b)/b)"),
        Identity("log(a*b)", "log(a) + log(b)", "a > 0"),
        Identity("log(a*b)", "log(-a) + log(-b)", "a < 0"),
        Identity("log(a**b)", "b*log(a)", "a > 0"),
        Identity("log(sqrt(a))", "log(a)/2"),
        Identity("log(sqrt(a**2 + b**2))", "log(hypot(a, b))"),
        Identity("log(exp(a))", "a"),
        Identity("log(a) - log(b)", "log(a/b)"),
        Identity("log(a) - log(b)", "log1p((a - b)/b)"),
        Identity("log(a) + log(b)", "log(a*b)"),
        Identity("c*log(a) - c*log(b)", "c*log1p((a - b)/b)"),
        Identity("log1p(a) - log1p(b)", "log1p((a - b)/(1 + b))"),
        Identity("log1p(a) - log1p(-a)", "2*atanh(a)"),
        Identity("log1p(exp(a))", "softplus(a)"),
        Identity("log(expm1(a))", "a + log(-expm1(-a))"),
        Identity("log(a + sqrt(a**2 + 1))", "asinh(a)"),
        Identity("log(sqrt(a**2 + 1) - a)", "-asinh(a)"),
        Identity("log(a + sqrt(a**2 - 1))", "acosh(a)"),
        Identity("log(a + sqrt(a - 1)*sqrt(a + 1))", "acosh(a)"),
        Identity("acosh(a)", "2*asinh(sqrt((a - 1)/2))"),
        Identity("log(cosh(a))", "abs(a) + log1p(exp(-(2*abs(a)))) - log(2)"),
        Identity("log(cosh(a))", "log1p(2*sinh(a/2)**2)"),
        Identity("log(sigmoid(a))", "-softplus(-a)"),
        Identity("log(softmax(a))", "log_softmax(a)"),
        Identity("log(erfc(a))", "log(erfcx(a)) - a**2"),
        Identity("log(det(a))", "slogdet(a)[1]"),
        Identity("log(gamma(a))", "lgamma(a)", "a > 0"),
        Identity("log(cos(a))", "log1p(-2*sin(a/2)**2)"),
        Identity("log10(1 + a)", "log1p(a)/log(10)"),
        Identity("log2(1 + a)", "log1p(a)/log(2)"),
        Identity("log10(a)", "log1p(a - 1)/log(10)"),
        Identity("log2(a)", "log1p(a - 1)/log(2)"),
        Identity("a*log(b)", "xlogy(a, b)"),
    )


def _trigonometry() -> tuple[Identity, ...]:
    return (
        Identity("1 - cos(a)", "2*sin(a/2)**2"),
        Identity("1 + cos(a)", "2*cos(a/2)**2"),
        Identity("(1 - cos(a))/sin(a)", "tan(a/2)"),
        Identity("sin(a)/(1 + cos(a))", "tan(a/2)"),
        Identity("1 - cos(a)**2", "sin(a)**2"),
        Identity("1 - sin(a)**2", "cos(a)**2"),
        Identity("1 - sin(a)", "cos(a)**2/(1 + sin(a))"),
        Identity("1 + sin(a)", "cos(a)**2/(1 - sin(a))"),
        Identity("cos(a)**2 - sin(a)**2", "cos(2*a)"),
        Identity("cos(a)**2 + sin(a)**2", "1"),
        Identity("c - c*cos(a)", "2*c*sin(a/2)**2"),
        Identity("c*cos(a) - c*cos(b)", "-2*c*sin((a + b)/2)*sin((a - b)/2)"),
        Identity("c*sin(a) - c*sin(b)", "2*c*cos((a + b)/2)*sin((a - b)/2)"),
        Identity("1/cos(a) - 1", "2*sin(a/2)**2/cos(a)"),
        Identity("cos(a) - cos(b)", "-2*sin((a + b)/2)*sin((a - b)/2)"),
        Identity("cos(a) + cos(b)", "2*cos((a + b)/2)*cos((a - b)/2)"),
        Identity("sin(a) - sin(b)", "2*cos((a + b)/2)*sin((a - b)/2)"),
        Identity("sin(a) + sin(b)", "2*sin((a + b)/2)*cos((a - b)/2)"),
        Identity("tan(a) - tan(b)", "sin(a - b)/(cos(a)*cos(b))"),
        Identity("tan(a) + tan(b)", "sin(a + b)/(cos(a)*cos(b))"),
        Identity("1/tan(a) - 1/tan(b)", "sin(b - a)/(sin(a)*sin(b))"),
        Identity("1/sin(a) - 1/tan(a)", "tan(a/2)"),
        Identity("sin(a)/cos(a)", "tan(a)"),
        Identity("cos(a)/sin(a)", "1/tan(a)"),
        Identity("tan(a)/sin(a)", "1/cos(a)"),
        Identity("tan(a)*cos(a)", "sin(a)"),
        Identity("sin(a)*cos(a)", "sin(2*a)/2"),
        Identity("tan(a) - sin(a)", "2*tan(a)*sin(a/2)**2"),
        Identity("sin(a)**2/sin(2*a)", "tan(a)/2"),
        Identity("sin(a)", "2*sin(a/2)*cos(a/2)"),
        Identity("sin(a)/a", "sinc(a/pi)"),
        Identity("cos(a + b)", "cos(a)*cos(b) - sin(a)*sin(b)"),
        Identity("sin(a + b)", "sin(a)*cos(b) + cos(a)*sin(b)"),
        Identity("atan(a) - atan(b)", "atan2(a - b, 1 + a*b)", "a*b > -1"),
        Identity("atan(a) - atan(b)", "atan((a - b)/(1 + a*b))", "a*b > -1"),
        Identity("atan(a) + atan(b)", "atan2(a + b, 1 - a*b)", "a*b < 1"),
        Identity("asin(a) - asin(b)", "asin(a*sqrt((1 - b)*(1 + b)) - b*sqrt((1 - a)*(1 + a)))"),
        Identity("atanh(a) - atanh(b)", "atanh((a - b)/(1 - a*b))"),
        Identity("asinh(a) - asinh(b)", "asinh((a - b)*(a + b)/(a*sqrt(1 + b**2) + b*sqrt(1 + a**2)))"),
        Identity("pi/2 - acos(a)", "asin(a)"),
        Identity("pi/2 - asin(a)", "acos(a)"),
        Identity("pi/2 - atan(a)", "atan2(1, a)"),
        Identity("pi - 2*atan(a)", "2*atan2(1, a)"),
        Identity("pi/2 - 2*asin(sqrt((1 - a)/2))", "asin(a)"),
        Identity("2*atan(sqrt((1 - a)/(1 + a)))", "acos(a)"),
        Identity("acos(1 - a)", "2*asin(sqrt(a/2))"),
        Identity("acos(a)", "2*asin(sqrt((1 - a)/2))"),
        Identity("acos(a)", "atan2(sqrt((1 - a)*(1 + a)), a)"),
        Identity("asin(a)", "atan2(a, sqrt((1 - a)*(1 + a)))"),
        Identity("acos(a/sqrt(a**2 + b**2))", "atan2(abs(b), a)"),
        Identity("tan(a)", "sin(a)/cos(a)"),
    )


def _special() -> tuple[Identity, ...]:
    return (
        Identity("1 - erf(a)", "erfc(a)"),
        Identity("1 + erf(a)", "erfc(-a)"),
        Identity("1 - erfc(a)", "erf(a)"),
        Identity("erf(a) - erf(b)", "erfc(b) - erfc(a)"),
        Identity("exp(a**2)*erfc(a)", "erfcx(a)"),
        Identity("gamma(a)/gamma(b)", "exp(lgamma(a) - lgamma(b))", "a > 0 and b > 0"),
        Identity("gamma(a)*gamma(b)/gamma(a + b)", "beta(a, b)"),
        Identity("gamma(a + 1)/gamma(a)", "a"),
        Identity("gamma(a)*gamma(b)", "exp(lgamma(a) + lgamma(b))", "a > 0 and b > 0"),
        Identity("lgamma(a + 1) - lgamma(a)", "log(a)", "a > 0"),
        Identity("lgamma(a) + lgamma(b) - lgamma(a + b)", "betaln(a, b)", "a > 0 and b > 0"),
    )


def _roots() -> tuple[Identity, ...]:
    """What overflows or underflows on the way to a number of moderate size."""
    return (
        Identity("sqrt(a**2 + b**2)", "hypot(a, b)"),
        Identity("sqrt(a**2 + b)", "hypot(a, sqrt(b))", "b > 0"),
        Identity("sqrt(a**2 + b)", "abs(a)*sqrt(1 + b/a/a)"),
        Identity("sqrt(a**2 - b**2)", "sqrt(a - b)*sqrt(a + b)", "a > abs(b)"),
        Identity("sqrt(a**2 - b**2)", "sqrt((a - b)*(a + b))"),
        Identity("sqrt(a**2 - b)", "sqrt(a - sqrt(b))*sqrt(a + sqrt(b))", "b > 0 and a > 0"),
        Identity("sqrt(a**2 - b)", "abs(a)*sqrt(1 - b/a/a)"),
        Identity("sqrt(a + b)", "sqrt(a)*sqrt(1 + b/a)", "a > 0"),
        Identity("sqrt(a**2)", "abs(a)"),
        Identity("sqrt(a*b)", "sqrt(a)*sqrt(b)", "a > 0"),
        Identity("sqrt(a*b)", "sqrt(-a)*sqrt(-b)", "a < 0"),
        Identity("sqrt(a/b)", "sqrt(a)/sqrt(b)", "a > 0"),
        Identity("sqrt(a/b)", "sqrt(-a)/sqrt(-b)", "a < 0"),
        Identity("sqrt(a)*sqrt(b)", "sqrt(a*b)"),
        Identity("sqrt(a)/sqrt(b)", "sqrt(a/b)"),
        Identity("a/sqrt(a**2 + b**2)", "cos(atan2(b, a))"),
        Identity("a/hypot(a, b)", "cos(atan2(b, a))"),
        Identity("a/sqrt(a**2 + b)", "1/sqrt(1 + b/a/a)", "a > 0"),
        Identity("a/sqrt(a**2 + b)", "-1/sqrt(1 + b/a/a)", "a < 0"),
        Identity("cbrt(a*b)", "cbrt(a)*cbrt(b)"),
        Identity("cbrt(a/b)", "cbrt(a)/cbrt(b)"),
        Identity("cbrt(a**3)", "a"),
        Identity("sqrt(sum(a**2))", "norm(a)"),
        Identity("sqrt(sum(a*a))", "norm(a)"),
        Identity("sqrt(a @ a)", "norm(a)"),
        Identity("log(prod(a))", "sum(log(a))", "a > 0"),
        Identity("abs(a)*abs(b)", "abs(a*b)"),
        Identity("sqrt(a)*sqrt(a)", "a"),
    )


WIDER: tuple[Identity, ...] = (
    Identity("sqrt(a**2)", "abs(a)"),
    Identity("sqrt(a**2 + b**2)", "hypot(a, b)"),
    Identity("sqrt(sum(a**2))", "norm(a)"),
    Identity("a*log(b)", "xlogy(a, b)"),
    Identity("a*log1p(b)", "xlog1py(a, b)"),
    Identity("sin(a)/a", "sinc(a/pi)"),
    Identity("exp(log(a))", "a"),
    Identity("exp(b*log(a))", "a**b"),
    Identity("log(det(a))", "slogdet(a)[1]"),
)  # what has a value, or a derivative, where the pattern has none

IDENTITIES: tuple[Identity, ...] = (
    *_differences(), *_exponentials(), *_logarithms(), *_trigonometry(), *_special(), *_roots(),
)  # fmt: skip
