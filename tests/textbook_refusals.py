"""Texts that have two readings in use. Names are bound to the values of test_textbook.py."""

from __future__ import annotations

REFUSED = """
1/2x
1/2 x
1/2 m v^2
a/b c
4/3πr^3
1/2(x+1)
x/y(z)
x/2y
2/3x^2
x/2 sin x
1/x sin x
3/4|x|
1/2√x
1/2πx
x // 2y
x % 2y
x^2/2y
1/n(n+1)
1/2e^x
1/xy
xy/2z
e^2x
e^3t
2^3x
π^2x
10^2x
e^-2x
e^k t
2^k t
e^x y
2^n x
a^x b
x^n(x+1)
e^x(x+1)
2^x(x-1)
e^2(x+1)
e^xy
x^x^2y
e^x 2
xy
2xy
x + xy
xe^(-x)
e^(-kt)
kt
abc
6.02x10
6.02x10^23
2x3
5 x 10^2
1.5 x 10^3
y 3
x 2
1 1/2 x
2 3/4 x
√2x
√x y
√2 y
√x(x+1)
√x^2
√x²
√(x+1)^2
sin x/2
cos 2x/3
sin πx/2
ln x/2
sin^2 x/2
tan x/3 + 1
sin x y
cos 2x y
ln x y
sin 2(x+1)
cos 2x(1-x)
sin x(x+1)
ln x(x+1)
sin 3(x-1)^2
sqrt 2x
sqrt 3y
sqrt 2πx
exp -x
sin -x
ln -x
sin x 2
sin (x+1)^2
cos (2x)^3
ln (x)^2
sqrt (x+1)^2
sin (x+1)(x-1)
sin^2(x)^3
1/sin x cos x
x/sin x cos x
1/ln x sin x
ln sin x cos x
e^sin x cos x
sin^-1(x)
sin⁻¹ x
sin⁻¹(x)
cos^-1 x
tan^-1(x)
sinh^-1(x)
ln^-1(x)
tan^(-1)(x)
|x|y|z|
|x|2|y|
|x|y + z|y|
[x y]
f(x) = x^2; f^2(x)
f(x) = x^2; sin f(x)
f(t) = t^2; x/2 f(x)
abs^2(x)
gamma = 2; gamma(1+x)
sin = 2; sin x
dy/dx
d/dx x^2 + 3x
d/dx x^2 - x
d/dx(x+3)^4
d/dx(x^2)(x+1)
d/dx(x^2) + x
d/dx(x)/x
∂/∂x x^2 + y
(x > 0)^2
(x > 0) ^ (y > 0)
""".strip().split("\n")
