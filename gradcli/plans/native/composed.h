/* Functions that are made of others alike for both types of numbers, and in exported code. Both sides of a choice are computed. */


static double chain(double cotangent, double partial) { /* a product in which a zero cotangent wins */
    double product = cotangent * partial;
    return choose((cotangent == 0) & (product != 0), 0, product);
}


static double sign(double x) {
    return choose(x > 0, 1, choose(x < 0, -1, x + 0));
}


static double heaviside(double x, double at_zero) {
    return choose(x < 0, 0, choose(x > 0, 1, choose(x != x, x, at_zero)));
}


static double square(double x) {
    return x * x;
}


static double maximum(double x, double y) { /* NaN if one of them is */
    return choose((x <= y) | (y != y), y, x);
}


static double minimum(double x, double y) { /* NaN if one of them is */
    return choose((x >= y) | (y != y), y, x);
}


static double nan_to_num(double x, double nan, double high, double low) {
    return choose(x != x, nan, choose(x > largest(), high, choose(x < -largest(), low, x)));
}


static double limited(double x, double limit) { /* the size of x, at most a limit; NaN stays */
    double size = fabs(x);
    return choose(limit < size, limit, size);
}


static double sigmoid(double x) { /* without overflow */
    double small = decay(x), inverse = 1 / (1 + small);
    return choose(x < 0, small * inverse, inverse);
}


static double softplus(double x) { /* log(1 + exp(x)) without overflow */
    return choose(x < 0, 0, x) + log1p_of_unit(decay(x));
}


static double logaddexp(double x, double y) {
    return choose(x > y, x, y) + log1p_of_unit(decay(choose(x == y, 0, x - y)));
}


static double xlogy(double x, double y) {
    return choose((x == 0) & (y == y), 0, x * log(y));
}


static double xlog1py(double x, double y) {
    return choose((x == 0) & (y == y), 0, x * log1p(y));
}


static double entr(double x) {
    return choose(x < 0, -INFINITY, choose(x == 0, 0, -x * log(x)));
}
