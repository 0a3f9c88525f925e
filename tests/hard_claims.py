"""Derivatives as sympy writes them (factored, together, by trigonometric identities, by
exponentials, ...), and the same with a mistake: a factor of 1.00001, a sign, an added 1e-6 or
1e-9*x, a half, an exponent, a cosine in the place of a sine.
"""

from __future__ import annotations

# an expression, a name, its derivative by it, and what is none
CLAIMS = [
    ("a + 2*x", "x", "2", "-2"),
    ("-x**2 + x*y + x - 1", "x", "-2*x + y + 1", "-100001*x/50000 + 100001*y/100000 + "
    "100001/100000"),
    ("a*sinh(x/2) + x**x", "x", "a*cosh(x/2)/2 + x**x*(log(x) + 1)", "-a*cosh(x/2)/2 - "
    "x**x*(log(x) + 1)"),
    ("a*sinh(tanh(x**2 + 1))", "a", "sinh(tanh(x**2 + 1))", "sinh(tanh(x**2 + 1)) + 1/1000000"),
    ("a*sinh(x)", "a", "sinh(x)", "-sinh(x)"),
    ("a*log(exp(x*y) + 1)*sinh(x/2)", "y", "a*x*exp(x*y)*sinh(x/2)/(exp(x*y) + 1)", "a*x*exp(x*y)*sinh(x/2)/(2*(exp(x*y) + 1))"),
    ("(x**2 + 1)**3", "x", "6*x**5 + 12*x**3 + 6*x", "6*x**5 + 12*x**3 + 6000000001*x/1000000000"),
    ("x*(a - x**2 + x - 1)/(a + x)", "a", "x*(x**2 + 1)/(a + x)**2", "-x*(x**2 + 1)/(a + x)**2"),
    ("a*x**3*y", "y", "a*x**3", "a*x**3 + 1/1000000"),
    ("-x*y*(a + x) + (x/2)**n", "x", "-a*y - 2*x*y + n*x**n/(2**n*x)", "a*y + 2*x*y - "
    "n*x**n/(2**n*x)"),
    ("2**(2*x) + a + x*y + x", "x", "2*2**(2*x)*log(2) + y + 1", "100001*2**(2*x)*log(2)/50000 + "
    "100001*y/100000 + 100001/100000"),
    ("a*x**3", "a", "x**3", "-x**3"),
    ("1/(x**2 + 1)", "x", "-2*x/(x**2 + 1)**2", "x/1000000000 - 2*x/(x**2 + 1)**2"),
    ("1/(exp(-2*a - x) + 1)", "x", "exp(-2*a - x)/(exp(-2*a - x) + 1)**2", "exp(-2*a - "
    "x)/(exp(-2*a - x) + 1)"),
    ("1/(1 + exp(-x))", "x", "exp(x)/(exp(2*x) + 2*exp(x) + 1)", "-exp(x)/(exp(2*x) + 2*exp(x) + "
    "1)"),
    ("atan(a*x + b*x**2 + 1)", "a", "x/((a*x + b*x**2 + 1)**2 + 1)", "x/((a*x + b*x**3 + 1)**2 + "
    "1)"),
    ("1/(2*x)", "x", "-1/(2*x**2)", "1/1000000 - 1/(2*x**2)"),
    ("atan(asinh(cosh(x)))", "x", "sinh(x)/(sqrt(cosh(x)**2 + 1)*asinh(cosh(x))**2 + "
    "sqrt(cosh(x)**2 + 1))", "sinh(x)"),
    ("1/(a*sinh(2*x/(b*x**2 + 1)))", "a", "-1/(a**2*sinh(2*x/(b*x**2 + 1)))", "1/1000000 - "
    "1/(a**2*sinh(2*x/(b*x**2 + 1)))"),
    ("sqrt(2)*x**(3/2)*y/2", "x", "3*sqrt(2)*sqrt(x)*y/4", "3*sqrt(2)*sqrt(x)*y/4 + 1/1000000"),
    ("cos(2**x)", "x", "-2**x*log(2)*sin(2**x)", "2**x*log(2)*sin(2**x)"),
    ("b*x**2 + x**2 + 2", "x", "2*b*x + 2*x", "2*b*x + 2000000001*x/1000000000"),
    ("-sin(a*x) + cos(a*x)", "a", "-x*cos(a*x) - x*cos(a*x - pi/2)", "-100001*x*cos(a*x)/100000 - "
    "100001*x*cos(a*x - pi/2)/100000"),
    ("-x**2 + 1/(2*y)", "x", "-2*x", "2*x"),
    ("a - x*y + 5*x/2", "y", "-x", "-x/2"),
    ("erf(x**3*y**3)", "x", "6*x**2*y**3*exp(-x**6*y**6)/sqrt(pi)", "-6*x**2*y**3*exp(-x**6*y**6)/sqrt(pi)"),
    ("exp(-a*x)", "x", "-a*exp(-a*x)", "-a*exp(-a*x)/2"),
    ("-x**2 + x - 1", "x", "1 - 2*x", "-2*x - 1"),
    ("-x*y + x/2", "x", "1/2 - y", "100001/200000 - 100001*y/100000"),
    ("cot(a*x - x*y)", "a", "x*(-cot(a*x - x*y)**2 - 1)", "x*(-cot(a*x - x*y)**2 - 1)/2"),
    ("1/(1 + 1/x)", "x", "1/(x**2 + 2*x + 1)", "1/1000000 + 1/(x**2 + 2*x + 1)"),
    ("2**(n*(b*x**2 + x + 1))", "x", "2**(n*(b*x**2 + x + 1))*n*(2*b*x + 1)*log(2)", "2**(n*(b*x**3 + x + 1))*n*(2*b*x + 1)*log(2)"),
    ("(a*x + b*x**2 + 1)/sin(x**2 + 1)**2", "a", "x/sin(x**2 + 1)**2", "x/sin(x**2 + 1)**2 + "
    "1/1000000"),
    ("x**2*y**2", "x", "2*x*y**2", "2*x*y**3"),
    ("x", "x", "1", "x/1000000000 + 1"),
    ("8*a*x**3*sinh(a*x)", "a", "8*a*x**4*cosh(a*x) + 8*x**3*sinh(a*x)", "-8*a*x**4*cosh(a*x) - "
    "8*x**3*sinh(a*x)"),
    ("a*sinh(a*x) + x*(b*x**2 + 1)", "x", "a**2*cosh(a*x) + 3*b*x**2 + 1", "a**2*cosh(a*x) + "
    "3*b*x**2 + x/1000000000 + 1"),
    ("a*x**2*y", "y", "a*x**2", "a*x**3"),
    ("cot(a + x)", "a", "-cot(a + x)**2 - 1", "-100001*cot(a + x)**2/100000 - 100001/100000"),
]  # fmt: skip
