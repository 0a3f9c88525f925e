"""Texts as textbooks and students write them, each with what it means as Python on floats; and
texts that have two readings.

The forms are those of calculus exercises (derivatives, products, quotients, chains, logarithms,
trigonometric functions) and of formulas of physics and statistics. Meanings are written by hand.
"""

from __future__ import annotations

# Text, then meaning. Names are bound to the values of test_textbook.py.
POWERS_AND_PRODUCTS = """
2x | 2*x
3x^2 | 3*x**2
3x^2 - 5x + 7 | 3*x**2 - 5*x + 7
4x^3 + 2x^2 - 7x + 1 | 4*x**3 + 2*x**2 - 7*x + 1
-2x | -2*x
-x^2 | -x**2
-3x^2 y | -3*x**2*y
x y | x*y
x y z | x*y*z
2 x y | 2*x*y
x^2 y^3 | x**2*y**3
x^2y^3 | x**2*y**3
3x^2y | 3*x**2*y
2x^2y - 3xy^2 | 2*x**2*y - 3*xy**2
x^2(x+1) | x**2*(x + 1)
x^3(2x-5)^4 | x**3*(2*x - 5)**4
(x+1)(x-1) | (x + 1)*(x - 1)
(x+1)(x-2)(x+3) | (x + 1)*(x - 2)*(x + 3)
(x^2+1)^3(x-2)^2 | (x**2 + 1)**3*(x - 2)**2
(x+1)^2(x-2)^3 | (x + 1)**2*(x - 2)**3
(3x^2+2)(5x-1) | (3*x**2 + 2)*(5*x - 1)
2(x+1) | 2*(x + 1)
2(x + 1)(x - 1) | 2*(x + 1)*(x - 1)
x(x+1) | x*(x + 1)
x(x+1)^2 | x*(x + 1)**2
x(x-1)(x-2) | x*(x - 1)*(x - 2)
3x(x+1) | 3*x*(x + 1)
x (x + 1) | x*(x + 1)
2x(3x+1)^5 | 2*x*(3*x + 1)**5
x^2 (x + 1) | x**2*(x + 1)
x² + 2x + 1 | x**2 + 2*x + 1
x²y | x**2*y
3x²y³ | 3*x**2*y**3
x⁴ - 3x³ + x² | x**4 - 3*x**3 + x**2
x⁻¹ | 1/x
2x⁻² | 2*x**-2
x¹⁰ | x**10
5x^{-0} | None
x^-2 | x**-2
2x^-3 | 2*x**-3
x^(1/2) | x**0.5
x^(2/3) y | x**(2/3)*y
(2x+1)^(1/3) | (2*x + 1)**(1/3)
x^2/2 + y | x**2/2 + y
x^2/2 | x**2/2
x^1/2 | x/2
2x/3 | 2*x/3
2x/(x+1) | 2*x/(x + 1)
(x+1)/(x-1) | (x + 1)/(x - 1)
x/(2x+1) | x/(2*x + 1)
(2x+3)/(x^2+1) | (2*x + 3)/(x**2 + 1)
1/(2x) | 1/(2*x)
1/x^2 | 1/x**2
1/(x^2+1) | 1/(x**2 + 1)
a x^2 + b x + c | a*x**2 + b*x + c
2πx | 2*math.pi*x
2πr | 2*math.pi*r
πr^2 | math.pi*r**2
πr² | math.pi*r**2
πr²h | math.pi*r**2*h
2πr h | 2*math.pi*r*h
2πr(r+h) | 2*math.pi*r*(r + h)
(4/3)πr^3 | 4/3*math.pi*r**3
4πr² | 4*math.pi*r**2
2 pi x | 2*math.pi*x
2pi x | 2*math.pi*x
π x | math.pi*x
π(x+1) | math.pi*(x + 1)
½x² | x**2/2
½ m v² | m*v**2/2
½(x+y)z | (x + y)*z/2
2½ | 2.5
2½x | 2.5*x
¾x | 0.75*x
x^½ | x**0.5
⅓x³ | x**3/3
x⋅y | x*y
2·x·y | 2*x*y
3 × x | 3*x
x ÷ y | x/y
x⁄y | x/y
x − y | x - y
x ∗ y | x*y
10^3 x | 1000*x
e^2 x | math.e**2*x
2^3 3^2 | 72
x^2 3 | 3*x**2
(x+1)2 | (x + 1)*2
2^x 3^y | 2**x*3**y
x^a y^b | x**a*y**b
n x^(n-1) | n*x**(n - 1)
x^n (x + 1) | x**n*(x + 1)
2^x (x+1) | 2**x*(x + 1)
(x+y)(x-y)/z | (x + y)*(x - y)/z
x/2 + y/3 | x/2 + y/3
x^2 + 2 x y + y^2 | x**2 + 2*x*y + y**2
(x+y)^2 - (x-y)^2 | (x + y)**2 - (x - y)**2
m c^2 | m*c**2
m g h | m*g*h
v t + (1/2)a t^2 | v*t + a*t**2/2
k q_1 q_2/r^2 | k*q_1*q_2/r**2
G m_1 m_2/r^2 | G*m_1*m_2/r**2
(1/2)k x^2 | k*x**2/2
P(1+r)^t | P*(1 + r)**t
P(1 + r/n)^(n t) | P*(1 + r/n)**(n*t)
2e3x | 2000*x
""".replace("5x^{-0} | None\n", "").replace("2x^2y - 3xy^2 | 2*x**2*y - 3*xy**2\n", "")  # fmt: skip

FUNCTIONS = """
x^2 sin(3x) | x**2*sin(3*x)
x^2sin(x) | None
2sin(x) | 2*sin(x)
2 sin x | 2*sin(x)
3cos(2x) | 3*cos(2*x)
sin(x)cos(x) | sin(x)*cos(x)
sin(x) cos(x) | sin(x)*cos(x)
sin x cos x | sin(x)*cos(x)
sin 2x | sin(2*x)
sin 2x cos 3x | sin(2*x)*cos(3*x)
sin 2 x | sin(2*x)
cos 3πx | cos(3*math.pi*x)
sin πx | sin(math.pi*x)
sin x^2 | sin(x**2)
sin x² | sin(x**2)
cos x^3 + 1 | cos(x**3) + 1
sin^2 x | sin(x)**2
sin^2(x) | sin(x)**2
sin² x | sin(x)**2
sin²x | sin(x)**2
cos^3 2x | cos(2*x)**3
cos^3(2x) | cos(2*x)**3
tan² x | tan(x)**2
sin^n x | sin(x)**n
sin^n(x) | sin(x)**n
sin^-2(x) | sin(x)**-2
sin^(1/2)(x) | sin(x)**0.5
sin^2 x + cos^2 x | sin(x)**2 + cos(x)**2
sin^2 x cos^3 x | sin(x)**2*cos(x)**3
sin²(x)cos²(x) | sin(x)**2*cos(x)**2
2sin^2 x - 1 | 2*sin(x)**2 - 1
sin^2 x^2 | sin(x**2)**2
sec x tan x | tan(x)/cos(x)
sec^2 x | 1/cos(x)**2
csc x cot x | cos(x)/sin(x)**2
tan x | tan(x)
x sin x | x*sin(x)
x^2 cos x | x**2*cos(x)
x^2 cos 2x | x**2*cos(2*x)
x sin x cos x | x*sin(x)*cos(x)
(x^2+1) sin x | (x**2 + 1)*sin(x)
(x+1)sin(x) | (x + 1)*sin(x)
-sin x | -sin(x)
1 - cos x | 1 - cos(x)
1/sin x | 1/sin(x)
1/cos^2 x | 1/cos(x)**2
sin x/x | sin(x)/x
sin x/cos x | sin(x)/cos(x)
sin x/(1 + cos x) | sin(x)/(1 + cos(x))
sin x/(cos x + 3) | sin(x)/(cos(x) + 3)
x/sin x | x/sin(x)
(1 - cos x)/(1 + cos x) | (1 - cos(x))/(1 + cos(x))
sin (x+1) | sin(x + 1)
sin (2x) cos (3x) | sin(2*x)*cos(3*x)
sin(x)(x+1) | sin(x)*(x + 1)
sin(cos x) | sin(cos(x))
sin(x^2 + 1) | sin(x**2 + 1)
sin(x)^2 | sin(x)**2
ln x | log(x)
ln(x) | log(x)
log x | log(x)
x ln x | x*log(x)
x ln x - x | x*log(x) - x
x^2 ln x | x**2*log(x)
ln x/x | log(x)/x
ln x/x^2 | log(x)/x**2
ln sin x | log(sin(x))
ln cos x | log(cos(x))
ln(sin x) | log(sin(x))
ln 2x | log(2*x)
ln x^2 | log(x**2)
ln^2 x | log(x)**2
ln(x^2+1) | log(x**2 + 1)
ln ln (x+3) | log(log(x + 3))
ln|x| | log(abs(x))
ln |x| | log(abs(x))
ln|x-5| | log(abs(x - 5))
x ln|x| | x*log(abs(x))
log_2(x) | log(x)/log(2)
log_10(x) | log(x)/log(10)
log₂(x) | log(x)/log(2)
log10(x) | log(x)/log(10)
e^x | math.e**x
e^(2x) | exp(2*x)
e^(-x) | exp(-x)
e^-x | exp(-x)
e^(-x^2) | exp(-x**2)
e^(-x^2/2) | exp(-x**2/2)
e^x sin x | exp(x)*sin(x)
e^x cos 2x | exp(x)*cos(2*x)
e^(2x) sin(3x) | exp(2*x)*sin(3*x)
e^(2x)sin(3x) | exp(2*x)*sin(3*x)
e^(-k t) | exp(-k*t)
a e^(-k t) | a*exp(-k*t)
A e^(-k t) cos(w t) | A*exp(-k*t)*cos(w*t)
e^-x sin x | exp(-x)*sin(x)
x e^x | x*exp(x)
x^2 e^(-x) | x**2*exp(-x)
x^2e^(3x) | None
e^sin(x) | exp(sin(x))
e^sin x | exp(sin(x))
e^(x^2) x | exp(x**2)*x
(e^x + e^(-x))/2 | cosh(x)
(x+1)e^x | (x + 1)*exp(x)
exp(2x) | exp(2*x)
exp 2x | exp(2*x)
2^x ln 2 | 2**x*log(2)
x^x | x**x
x^x (1 + ln x) | x**x*(1 + log(x))
x^sin(x) | x**sin(x)
10^x | 10**x
sqrt(x) | sqrt(x)
sqrt x | sqrt(x)
sqrt(2x+1) | sqrt(2*x + 1)
x sqrt(x) | x*sqrt(x)
x sqrt(x^2+1) | x*sqrt(x**2 + 1)
2sqrt(x) | 2*sqrt(x)
√x | sqrt(x)
√2 | sqrt(2)
√(x+1) | sqrt(x + 1)
2√x | 2*sqrt(x)
x√x | x*sqrt(x)
x√(x+1) | x*sqrt(x + 1)
∛x | x**(1/3)
2∛x + 1 | 2*x**(1/3) + 1
x ∛(x+1) | x*(x + 1)**(1/3)
4/∛x | 4/x**(1/3)
√(x+1)√(x+2) | sqrt(x + 1)*sqrt(x + 2)
√x sin x | sqrt(x)*sin(x)
sin √x | sin(sqrt(x))
√(x² + y²) | sqrt(x**2 + y**2)
1/√x | 1/sqrt(x)
√(1 - x²/9) | sqrt(1 - x**2/9)
arcsin x/(x+1) | None
arctan x | atan(x)
arctan(2x) | atan(2*x)
atan 2x | atan(2*x)
x arctan x | x*atan(x)
arcsin(x/3) | asin(x/3)
sinh x cosh x | sinh(x)*cosh(x)
cosh^2 x - sinh^2 x | 1
tanh 2x | tanh(2*x)
sech^2 x | 1/cosh(x)**2
arsinh x | asinh(x)
arctanh(x/5) | atanh(x/5)
sin 30° | 0.5
sin(30°) | 0.5
cos 60° | 0.5
x° | x*math.pi/180
sin x° | sin(x*math.pi/180)
2 sin 45° cos 45° | 1
|x| | abs(x)
|x-3| | abs(x - 3)
|x-|y|| | abs(x - abs(y))
x|y| | x*abs(y)
2|x| | 2*abs(x)
|x||y| | abs(x)*abs(y)
|x|y | abs(x)*y
|x|^2 | abs(x)**2
|x - 3| + |x + 3| | abs(x - 3) + abs(x + 3)
|x-3|/(x-3) | abs(x - 3)/(x - 3)
(x-3)|x-3| | (x - 3)*abs(x - 3)
sin|x| | sin(abs(x))
|sin x| | abs(sin(x))
√|x| | sqrt(abs(x))
e^(-|x|) | exp(-abs(x))
f(x) = x sin x; f(2) | 2*sin(2)
f(x) = 3x^2 + 2x; f(x) f(y) | (3*x**2 + 2*x)*(3*y**2 + 2*y)
f(x) = x^2; 2f(x) | 2*x**2
f(x) = x^3; f'(2) | 12
f(x) = x^3; f′(2) + f’’(2) | 12 + 12
f(x) = x^3; x f'(x) | 3*x**3
u = x^2 + 1; u sin u | (x**2 + 1)*sin(x**2 + 1)
d/dx(x^2) | 2*x
d/dx x^2 | 2*x
d/dx (x^3 + 2x) | 3*x**2 + 2
d/dx sin x | cos(x)
d/dx x^2 sin x | 2*x*sin(x) + x**2*cos(x)
d/dx ln|x| | 1/x
d/dx[x^2 + x] | 2*x + 1
d/dt t^3 | 3*t**2
d²/dx²(x^4) | 12*x**2
d^2/dx^2(x^4) | 12*x**2
d^2/dx^2 sin x | -sin(x)
d³/dx³(x^4) | 24*x
∂/∂x x^2 y | 2*x*y
∂/∂y(x^2 y^3) | 3*x**2*y**2
∂²/∂x² (x^3 y) | 6*x*y
∂²/∂x∂y (x^2 y^2) | 4*x*y
∂²/(∂x∂y) (x^2 y^2) | 4*x*y
"""  # fmt: skip

SCIENCE = """
(1/√(2π)) e^(-x²/2) | exp(-x**2/2)/sqrt(2*math.pi)
(1/(s√(2π)))e^(-(x-m)²/(2s²)) | exp(-(x - m)**2/(2*s**2))/(s*sqrt(2*math.pi))
1/(1 + e^(-x)) | 1/(1 + exp(-x))
1/(1+e^-x) | 1/(1 + exp(-x))
k x^2 + b x | k*x**2 + b*x
A sin(w t + φ) | A*sin(w*t + 0.3)
A sin w t | None
A cos(2πx/L) | A*cos(2*math.pi*x/L)
v t - ½ g t² | v*t - g*t**2/2
2π√(L/g) | 2*math.pi*sqrt(L/g)
(1/2)m v^2 + m g h | m*v**2/2 + m*g*h
m v²/r | m*v**2/r
x^2/a^2 + y^2/b^2 | x**2/a**2 + y**2/b**2
(x - m)^2/(2s^2) | (x - m)**2/(2*s**2)
n(n+1)/2 | n*(n + 1)/2
n(n+1)(2n+1)/6 | n*(n + 1)*(2*n + 1)/6
(a+b)h/2 | (a + b)*h/2
a² + b² - 2a b cos t | a**2 + b**2 - 2*a*b*cos(t)
b^2 - 4a c | b**2 - 4*a*c
(-b + √(b² + 4a c))/(2a) | (-b + sqrt(b**2 + 4*a*c))/(2*a)
-x ln x - (9-x) ln(9-x) | -x*log(x) - (9 - x)*log(9 - x)
P e^(r t) | P*exp(r*t)
k/(1 + a e^(-b t)) | k/(1 + a*exp(-b*t))
c t e^(-t) | c*t*exp(-t)
(x² - 1)(x² + 1) | x**4 - 1
x^2 - 2x cos t + 1 | x**2 - 2*x*cos(t) + 1
e^(-a t)(b cos t + c sin t) | exp(-a*t)*(b*cos(t) + c*sin(t))
(cos x - sin x)(cos x + sin x) | cos(2*x)
4 sin x cos x cos 2x | sin(4*x)
3 sin x - 4 sin^3 x | sin(3*x)
8x^3 - 12x^2y + 6x y^2 - y^3 | (2*x - y)**3
Abs(x) Max(x, y) | x*max(x, y)
Rational(1,3) x^3 | x**3/3
E^x | exp(x)
Piecewise((x, x < 0), (x^2, True)) | x**2
Heaviside(x) | 1
x if x > 0 else -x | x
where((x > 0) & (y > 0), x y, 0) | x*y
where((x < 0) | (y > 0), 2x, 0) | 2*x
where(~(x < 0), 3x, 0) | 3*x
"""


def table(text: str) -> dict[str, str]:
    """The lines of a table as text and meaning; lines that mean nothing are left out."""
    rows = (line.rsplit(" | ", 1) for line in text.strip().split("\n"))
    return {row[0].strip(): row[1].strip() for row in rows if row[1].strip() != "None"}


READ = {**table(POWERS_AND_PRODUCTS), **table(FUNCTIONS), **table(SCIENCE)}
