/* Numbers as unevaluated sums of two doubles: about 2^-100 of relative error (M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error
   bounds for basic building blocks of double-word arithmetic, 2017).

   What leaves the range in which both doubles keep their bits becomes NaN, and stays so: no number here is wrong, some are missing.
   Functions have no branches, so that loops over them are vectors. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    double high, low;
} pair;

#define INLINE static inline __attribute__((always_inline))
#define LARGE 0x1p+1000
#define SMALL 0x1p-960

/* log(2)/64 and pi/32, in parts of which whole numbers times the first are exact; others as pairs */
#define C_LN2_64_1 0x1.62e42fefc0000p-7
#define C_LN2_64_2 -0x1.c610ca86c3899p-43
#define C_LN2_64_3 0x1.803f2f6af40f3p-98
#define C_PI_32_1 0x1.921fb54400000p-4
#define C_PI_32_2 0x1.0b4611a626331p-38
#define C_PI_32_3 0x1.1701b839a2520p-92
#define C_PI_32_4 0x1.27044533e63a0p-146
#define C_LN2 {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
#define C_PI {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53}
#define C_1_6 {0x1.5555555555555p-3, 0x1.5555555555555p-57}
#define C_1_24 {0x1.5555555555555p-5, 0x1.5555555555555p-59}
#define C_1_120 {0x1.1111111111111p-7, 0x1.1111111111111p-63}
#define C_1_720 {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65}
#define C_1_5040 {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73}

INLINE pair two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

/* where a is no smaller than b */
INLINE pair fast_two_sum(double a, double b) {
    double s = a + b;
    return (pair){s, b - (s - a)};
}

INLINE pair two_prod(double a, double b) {
    double p = a * b;
    return (pair){p, fma(a, b, -p)};
}

INLINE pair pair_of(double x) { return (pair){x, 0.0}; }

INLINE pair pair_if(int keep, pair x) { return (pair){keep ? x.high : NAN, keep ? x.low : NAN}; }

/* neither too large, nor so small that bits are lost, but zero */
INLINE pair in_range(pair x) {
    double size = fabs(x.high);
    return pair_if((size <= LARGE) & ((size >= SMALL) | (size == 0)), x);
}

INLINE pair pair_neg(pair a) { return (pair){-a.high, -a.low}; }

INLINE pair raw_add(pair a, pair b) {
    pair s = two_sum(a.high, b.high), t = two_sum(a.low, b.low);
    pair v = fast_two_sum(s.high, s.low + t.high);
    return fast_two_sum(v.high, t.low + v.low);
}

/* where a is at least twice as large as b */
INLINE pair near_add(pair a, pair b) {
    pair s = fast_two_sum(a.high, b.high);
    return fast_two_sum(s.high, s.low + (a.low + b.low));
}

INLINE pair raw_mul(pair a, pair b) {
    pair p = two_prod(a.high, b.high);
    double rest = fma(a.low, b.high, fma(a.high, b.low, a.low * b.low));
    return fast_two_sum(p.high, p.low + rest);
}

INLINE pair raw_div(pair a, pair b) {
    double q = a.high / b.high;
    pair p = two_prod(q, b.high);
    p = fast_two_sum(p.high, fma(q, b.low, p.low));
    double rest = (a.high - p.high) + (a.low - p.low);
    return fast_two_sum(q, rest / b.high);
}

INLINE pair times(pair a, double b) {
    pair p = two_prod(a.high, b);
    return fast_two_sum(p.high, fma(a.low, b, p.low));
}

/* times a power of 2 */
INLINE pair scaled(pair a, double by) { return (pair){a.high * by, a.low * by}; }

INLINE pair pair_add(pair a, pair b) { return in_range(raw_add(a, b)); }
INLINE pair pair_sub(pair a, pair b) { return in_range(raw_add(a, pair_neg(b))); }

INLINE pair pair_mul(pair a, pair b) {
    pair p = raw_mul(a, b);
    double size = fabs(p.high);
    return pair_if((size <= LARGE) & ((size >= SMALL) | (a.high == 0) | (b.high == 0)), p);
}

INLINE pair pair_div(pair a, pair b) {
    pair q = raw_div(a, b);
    double size = fabs(q.high);
    return pair_if((size <= LARGE) & ((size >= SMALL) | (a.high == 0)), q);
}

INLINE pair pair_sqrt(pair a) {
    double s = sqrt(a.high), rest = fma(-s, s, a.high) + a.low;
    int zero = a.high == 0;
    pair r = fast_two_sum(s, rest / (zero ? 1.0 : 2 * s));
    return in_range(r);
}

INLINE pair pair_abs(pair a) { return (pair){a.high < 0 ? -a.high : a.high, a.high < 0 ? -a.low : a.low}; }

INLINE pair pair_sign(pair a) { return pair_if(a.high == a.high, pair_of((double)(a.high > 0) - (double)(a.high < 0))); }

INLINE pair pair_floor(pair a) {
    double f = floor(a.high), low = f == a.high ? floor(a.low) : 0.0;
    return fast_two_sum(f, low);
}
INLINE pair pair_ceil(pair a) { return pair_neg(pair_floor(pair_neg(a))); }
INLINE pair pair_trunc(pair a) {
    pair up = pair_ceil(a), down = pair_floor(a);
    return (pair){a.high < 0 ? up.high : down.high, a.high < 0 ? up.low : down.low};
}

INLINE int pair_less(pair a, pair b) { return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low)); }
INLINE int pair_same(pair a, pair b) { return (a.high == b.high) & (a.low == b.low); }
INLINE double truth(int holds, pair a, pair b) { return (a.high == a.high) & (b.high == b.high) ? (double)holds : NAN; }

/* Tables, filled when the library is loaded: 2^(j/64) - 1; sine and cosine of j*pi/32. */
#define STEPS 64
static double POWER_HIGH[STEPS], POWER_LOW[STEPS];
static double SINE_HIGH[STEPS], SINE_LOW[STEPS], COSINE_HIGH[STEPS], COSINE_LOW[STEPS];

void set_tables(const double *given) {
    double *tables[6] = {POWER_HIGH, POWER_LOW, SINE_HIGH, SINE_LOW, COSINE_HIGH, COSINE_LOW};
    for (int i = 0; i < 6; i++) memcpy(tables[i], given + i * STEPS, STEPS * sizeof(double));
}

/* 2^k, in the normal range */
INLINE double two_to(double k) {
    double x = k + (0x1.8p52 + 1023);
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits <<= 52;
    memcpy(&x, &bits, 8);
    return x;
}

/* the k with x = m*2^k and m from sqrt(1/2) to sqrt(2), of positive numbers */
INLINE double exponent(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits = ((bits - 0x3fe6a09e667f3bcdULL + (0x3ffULL << 52)) >> 52) | 0x4330000000000000ULL;
    memcpy(&x, &bits, 8);
    return x - (0x1p52 + 1023);
}

/* the nearest whole number, of what is below 2^51 */
INLINE double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* x - n*c, for a constant of three doubles of which n times the first is exact */
INLINE pair reduced(pair x, double n, double c1, double c2, double c3) {
    double t = x.high - n * c1;
    pair r = raw_add((pair){t, 0.0}, pair_neg(two_prod(n, c2)));
    return raw_add(r, (pair){x.low, -n * c3});
}

/* exp(x) - 1 for |x| < 700 as scale*(1 + table)*(1 + q) - 1: scale in *power, 1 + table in *table, q in the result */
INLINE pair exp_parts(pair x, double *power, pair *table) {
    double n = nearest(x.high * 0x1.71547652b82fep+6);
    pair r = reduced(x, n, C_LN2_64_1, C_LN2_64_2, C_LN2_64_3);
    double j = n - 64 * floor(n * 0.015625);
    int at = (int)j;
    *power = two_to((n - j) * 0.015625);
    *table = (pair){POWER_HIGH[at], POWER_LOW[at]};
    double h = r.high;
    double tail = 1.0 / 720 + h * (1.0 / 5040 + h * (1.0 / 40320 + h * (1.0 / 362880 + h * (1.0 / 3628800 + h * (1.0 / 39916800)))));
    pair s = near_add((pair)C_1_120, two_prod(h, tail));
    s = near_add((pair)C_1_24, raw_mul(r, s));
    s = near_add((pair)C_1_6, raw_mul(r, s));
    s = near_add(pair_of(0.5), raw_mul(r, s));
    return near_add(r, raw_mul(r, raw_mul(r, s)));
}

INLINE pair raw_exp(pair x) {
    double power;
    pair table, q = exp_parts(x, &power, &table);
    table = raw_add(pair_of(1.0), table);
    return scaled(near_add(table, raw_mul(table, q)), power);
}

INLINE pair raw_expm1(pair x) {
    double power;
    pair table, q = exp_parts(x, &power, &table);
    pair whole = raw_add(pair_of(1.0), table);
    pair less = raw_add(scaled(whole, power), pair_of(-1.0));
    pair near = (pair){power == 1 ? table.high : less.high, power == 1 ? table.low : less.low};
    return raw_add(near, scaled(raw_mul(whole, q), power));
}

INLINE int moderate(pair x) { return fabs(x.high) < 660; }

INLINE pair pair_exp(pair x) { return pair_if(moderate(x), raw_exp(pair_if(moderate(x), x))); }

INLINE pair pair_expm1(pair x) {
    /* below -100 it is -1 but for what is far beneath its last bit */
    int low = x.high < -100;
    pair y = {low ? -100.0 : x.high, low ? 0.0 : x.low};
    int fits = moderate(y);
    return in_range(pair_if(fits, raw_expm1((pair){fits ? y.high : 0.0, fits ? y.low : 0.0})));
}

/* log(1 + x) for -0.3 < x < 0.5, or so: a series in doubles, then a step of Newton's on exp(y) - 1 = x, with its square */
INLINE pair near_log1p(pair x) {
    double s = x.high / (2 + x.high), z = s * s;
    double series = 1.0 / 25;
    for (int k = 23; k > 1; k -= 2) series = 1.0 / k + z * series;
    double y = 2 * s + 2 * s * z * series;
    pair less = raw_expm1(pair_of(y));
    pair left = raw_div(raw_add(x, pair_neg(less)), raw_add(pair_of(1.0), less));
    return near_add(pair_of(y), near_add(left, pair_of(-0.5 * left.high * left.high)));
}

/* x = m*2^k with m near 1 */
INLINE pair raw_log(pair x) {
    double k = exponent(x.high);
    pair m = scaled(x, two_to(-k));
    pair log_m = near_log1p(raw_add(m, pair_of(-1.0)));
    return raw_add(raw_mul(pair_of(k), (pair)C_LN2), log_m);
}

INLINE pair pair_log(pair x) {
    int fits = (x.high > 0) & (x.high <= LARGE);
    return in_range(pair_if(fits, raw_log((pair){fits ? x.high : 1.0, fits ? x.low : 0.0})));
}

INLINE pair pair_log1p(pair x) {
    int near = fabs(x.high) < 0.25, fits = (x.high > -1) & (x.high <= LARGE);
    pair y = {fits ? x.high : 0.0, fits ? x.low : 0.0};
    pair far = raw_add(pair_of(1.0), y);
    double k = near ? 0.0 : exponent(far.high);
    pair m = raw_add(scaled(far, two_to(-k)), pair_of(-1.0));
    m = (pair){near ? y.high : m.high, near ? y.low : m.low};
    return in_range(pair_if(fits, raw_add(raw_mul(pair_of(k), (pair)C_LN2), near_log1p(m))));
}

INLINE void raw_sincos(pair x, pair *sine, pair *cosine) {
    double n = nearest(x.high * 0x1.45f306dc9c883p+3);
    double t = x.high - n * C_PI_32_1;
    pair d = raw_add((pair){t, 0.0}, pair_neg(two_prod(n, C_PI_32_2)));
    pair third = two_prod(n, C_PI_32_3);
    third.low += n * C_PI_32_4;
    d = raw_add(raw_add(d, pair_of(x.low)), pair_neg(third));
    int at = (int)(n - 64 * floor(n * 0.015625));
    pair z = raw_mul(d, d);
    double h = z.high;
    double ts = 1.0 / 362880 + h * (-1.0 / 39916800 + h * (1.0 / 6227020800.0 + h * (-1.0 / 1307674368000.0)));
    pair s = near_add(pair_neg((pair)C_1_5040), two_prod(h, ts));
    s = near_add((pair)C_1_120, raw_mul(z, s));
    s = near_add(pair_neg((pair)C_1_6), raw_mul(z, s));
    s = near_add(d, raw_mul(d, raw_mul(z, s)));
    double tc = 1.0 / 40320 + h * (-1.0 / 3628800 + h * (1.0 / 479001600.0 + h * (-1.0 / 87178291200.0)));
    pair c = near_add(pair_neg((pair)C_1_720), two_prod(h, tc));
    c = near_add((pair)C_1_24, raw_mul(z, c));
    c = near_add(pair_of(-0.5), raw_mul(z, c));
    c = raw_mul(z, c); /* cos(d) - 1 */
    pair a = {SINE_HIGH[at], SINE_LOW[at]}, b = {COSINE_HIGH[at], COSINE_LOW[at]};
    *sine = raw_add(a, raw_add(raw_mul(b, s), raw_mul(a, c)));
    *cosine = raw_add(b, raw_add(raw_mul(b, c), pair_neg(raw_mul(a, s))));
}

INLINE int turns_few(pair x) { return fabs(x.high) < 50000; }

typedef struct {
    pair sine, cosine;
} turn;

INLINE turn pair_sincos(pair x) {
    pair s, c;
    int fits = turns_few(x);
    raw_sincos((pair){fits ? x.high : 0.0, fits ? x.low : 0.0}, &s, &c);
    return (turn){in_range(pair_if(fits, s)), in_range(pair_if(fits, c))};
}

INLINE pair pair_sin(pair x) { return pair_sincos(x).sine; }
INLINE pair pair_cos(pair x) { return pair_sincos(x).cosine; }

INLINE pair pair_tan(pair x) {
    turn t = pair_sincos(x);
    return in_range(raw_div(t.sine, t.cosine));
}

INLINE pair with_sign(pair x, double of) { return (pair){of < 0 ? -x.high : x.high, of < 0 ? -x.low : x.low}; }

INLINE pair pair_tanh(pair x) {
    pair size = pair_abs(x);
    int far = size.high > 60;
    pair less = raw_expm1((pair){far ? -120.0 : -2 * size.high, far ? 0.0 : -2 * size.low});
    pair t = pair_neg(raw_div(less, raw_add(pair_of(2.0), less)));
    return in_range(pair_if(x.high == x.high, with_sign(t, x.high)));
}

INLINE pair pair_sinh(pair x) {
    pair size = pair_abs(x);
    int fits = moderate(x);
    pair less = raw_expm1((pair){fits ? size.high : 0.0, fits ? size.low : 0.0});
    pair s = scaled(raw_add(less, raw_div(less, raw_add(pair_of(1.0), less))), 0.5);
    return in_range(pair_if(fits, with_sign(s, x.high)));
}

INLINE pair pair_cosh(pair x) {
    pair size = pair_abs(x);
    int fits = moderate(x);
    pair e = raw_exp((pair){fits ? size.high : 0.0, fits ? size.low : 0.0});
    return pair_if(fits, scaled(raw_add(e, raw_div(pair_of(1.0), e)), 0.5));
}

/* the angle of (1, x), from the double's by one step along the circle */
INLINE pair pair_atan(pair x) {
    int far = fabs(x.high) > 1;
    pair u = raw_div(pair_of(-1.0), (pair){far ? x.high : 1.0, far ? x.low : 0.0});
    u = (pair){far ? u.high : x.high, far ? u.low : x.low};
    double first = atan(u.high);
    pair s, c;
    raw_sincos(pair_of(first), &s, &c);
    pair t = raw_div(raw_add(raw_mul(u, c), pair_neg(s)), raw_add(c, raw_mul(u, s)));
    pair y = raw_add(pair_of(first), t);
    pair quarter = with_sign(scaled((pair)C_PI, 0.5), x.high);
    pair beyond = raw_add(quarter, y);
    return in_range(pair_if(x.high == x.high, (pair){far ? beyond.high : y.high, far ? beyond.low : y.low}));
}

INLINE pair pair_cbrt(pair x) {
    double y = cbrt(x.high);
    pair square = two_prod(y, y);
    pair over = raw_add(raw_mul(square, pair_of(y)), pair_neg(x));
    pair r = raw_add(pair_of(y), pair_neg(raw_div(over, times(square, 3.0))));
    return in_range((pair){x.high == 0 ? 0.0 : r.high, x.high == 0 ? 0.0 : r.low});
}

/* of positive numbers */
INLINE pair pair_pow(pair x, pair y) { return pair_exp(pair_mul(y, pair_log(x))); }
