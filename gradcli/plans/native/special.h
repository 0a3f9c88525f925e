/* Further functions, of doubles alone. */


static double remainder_of(double x, double y) { /* signed as y, like NumPy's */
    double rest = fmod(x, y);
    return choose(rest == 0, copysign(0.0, y), choose((rest < 0) != (y < 0), rest + y, rest));
}


static double floor_divide(double x, double y) {
    double rest = fmod(x, y), whole = (x - rest) / y;
    double below = choose((rest != 0) & ((rest < 0) != (y < 0)), whole - 1, whole), floored = floor(below);
    double nearest = choose(below - floored > 0.5, floored + 1, floored);
    return choose(y == 0, x / y, choose(below == 0, copysign(0.0, x / y), nearest));
}


static double sech(double x) { /* without overflow */
    double small = decay(x);
    return 2 * small / (1 + small * small);
}


static double csch(double x) { /* without overflow */
    return copysign(2 * decay(x) / expm1(-2 * fabs(x)), x);
}


static double mills(double t) { /* ndtr(-t)*exp(t*t/2) from 0 to 38.6, a rational minimax approximation off by 5.1e-17 */
    double over = 1.3824650634569867e-06, under = 3.4653260167614233e-06;
    over = fma(over, t, 3.7181360184508204e-05);
    under = fma(under, t, 9.31998487255415e-05);
    over = fma(over, t, 0.0004896147005019037);
    under = fma(under, t, 0.0012307473781731626);
    over = fma(over, t, 0.00408375615729716);
    under = fma(under, t, 0.010329658487928196);
    over = fma(over, t, 0.023596229486548253);
    under = fma(under, t, 0.060367327837105356);
    over = fma(over, t, 0.09761350949519038);
    under = fma(under, t, 0.2547308299837208);
    over = fma(over, t, 0.2891411709095088);
    under = fma(under, t, 0.7814967459890941);
    over = fma(over, t, 0.593777919038177);
    under = fma(under, t, 1.7135163886300586);
    over = fma(over, t, 0.7746884946277174);
    under = fma(under, t, 2.5603995890343842);
    over = fma(over, t, 0.5);
    under = fma(under, t, 2.34726155005829);
    return over / fma(under, t, 1);
}


static double normal_tail(double x) { /* ndtr(-abs(x)), 0 beyond 38.6 */
    return exp_square(x, -0.5) * mills(limited(x, 38.62641583165593));
}


static double ndtr(double x) { /* the normal distribution */
    double tail = normal_tail(x);
    return choose(x < 0, tail, 1 - tail);
}


static double erfc(double x) {
    double tail = 2 * (exp_square(x, -1) * mills(limited(x * 1.4142135623730951, 38.62641583165593)));
    return choose(x < 0, 2 - tail, tail);
}


static double far_mills(double t) { /* by its asymptotic series where the approximation ends */
    double w = 1 / (t * t), far = 0.3989422804014327 / t * (1 + w * (-1 + w * (3 + w * (-15 + 105 * w))));
    return choose(t > 38.62641583165593, far, mills(limited(t, 38.62641583165593)));
}


static double log_ndtr(double x) { /* below -1, log(mills(-x)) - x*x/2 */
    double lost = ndtr(-x), kept = choose(x < -1, far_mills(fabs(x)), 1 - lost);
    return -fabs(log(kept) + choose(x < -1, -0.5 * (x * x), (-lost - (kept - 1)) / kept));
}


static double erfcx(double x) { /* exp(x*x)*erfc(x) */
    double far = 2 * far_mills(1.4142135623730951 * fabs(x));
    return choose(x < 0, 2 * exp_square(x, 1) - far, far);
}


static double logit(double x) { /* log(x/(1 - x)), by log(1 + v) beside 1/2: what rounding 1 + v took is put back */
    int near = (x > 0.25) & (x < 0.75);
    double v = (2 * x - 1) / (1 - x), u = choose(near, 1 + v, x / (1 - x));
    return log(u) + choose(near, (v - (u - 1)) / u, 0);
}


static double sinc(double x) { /* sin(pi*x)/(pi*x), by what x is beyond a whole number */
    double nearest = rint(x), odd = nearest - 2 * rint(nearest * 0.5), turned = sin(3.141592653589793 * (x - nearest));
    double found = choose(odd == 0, turned, -turned) / (3.141592653589793 * x);
    return choose(x == 0, 1, choose(fabs(x) > largest(), 0, found));
}
