/* The functions for float64.

   Each is one expression without branches, so that a loop over entries runs in vector registers. NaN, infinities and the signs of zeros
   are NumPy's. What two functions of the same argument have in common is written in the same parts, so that the compiler makes it once.
   A bound on the error of each is in its operation's record (`Accuracy.ulps`); tests/test_native_functions.py measures them in balls.

   Methods, and the largest errors that were found over all magnitudes and beside hard points, in units in the last place: with fused
   multiply-adds, and without where that is worse. Coefficients are those of minimax polynomials and quotients, by Remez's algorithm.

   exp, expm1, exp_square     x = n log(2) + r, a polynomial of degree 11 in r (P. T. P. Tang, 1989, without his table): 1.0, 2.0 (2.1), 1.2
   sigmoid                    1/(1 + s) with s = exp(-|x|): 2.5
   softplus, logaddexp        log(1 + s) as 2 atanh(s/(2 + s)), a polynomial of degree 9 in its square: 2.5
   tanh, sech, csch           quotients of expm1(-2|x|), itself of expm1(-|x|): 2.9, 2.5, 2.8
   ndtr, erfc                 exp(-x**2/2) times a quotient of degrees 9 and 10, all terms positive: 8.3 (8.6), 7.4 (9.4)
   log_ndtr                   the logarithm of that quotient less x**2/2 below -1, log(1 - ndtr(-x)) above: 7.0 (7.4)
   logit                      log(x/(1 - x)), beside 1/2 as log(1 + v) with v = (2x - 1)/(1 - x): 3.0
   sinc                       the sine of what x is beyond a whole number, a polynomial of degree 17: 2.8 (4.0)
   pow, whole exponents       products of numbers in two parts (T. J. Dekker, 1971): 0.5
   pow, of a known base       exp of a product in two parts: 1.2
   others                     the C library's, glibc's for vectors: 1.6 exp2, 1.6 log, 1.8 log1p, 1.8 log2, 1.9 log10, 3.3 sin and cos,
                              3.1 tan, 2.5 asin, 1.8 acos, 1.9 atan, 2.1 atan2, 2.0 sinh, 1.9 cosh, 2.0 asinh, 2.4 acosh, 2.0 atanh,
                              2.1 cbrt, 2.3 erf, 1.0 pow, 1.8 hypot

   Exponentials, logarithms of 1 + s and the normal distribution are faster here than glibc's functions of vectors, or as fast and shared;
   its logarithms, sines and powers are faster than what can be written without tables. */

/* -- The C library's functions: those of its vector library where it has them --------------------------------------------------------- */

#if defined(__has_include)
#if __has_include(<features.h>)
#include <features.h>
#endif
#endif
#if defined(__GNUC__) && !defined(__clang__)
/* Called entry by entry, from a loop that runs in vector registers all the same */
#define G_ONE_BY_ONE static __attribute__((noinline, const, simd("notinbranch")))
#else
#define G_ONE_BY_ONE G_INLINE
#endif
#define G_SCALAR(name) G_ONE_BY_ONE double g_##name(double x) { return __builtin_##name(x); }
#define G_SCALAR_2(name) G_ONE_BY_ONE double g_##name(double x, double y) { return __builtin_##name(x, y); }
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define G_VECTORS_SINCE(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define G_VECTORS_SINCE(major, minor) 0
#endif
#if G_VECTORS_SINCE(2, 22)
/* By the function of the widest registers, of fewer numbers as well: what is computed of a number does not depend on its place in an array.
   Under a name of our own: of a sine and a cosine GCC would make one call, which has no form in vectors. */
typedef double g_2 __attribute__((vector_size(16)));
typedef double g_4 __attribute__((vector_size(32)));
typedef double g_8 __attribute__((vector_size(64)));
#define G_HIDDEN __attribute__((visibility("hidden")))
#define G_1_TO_2(x) {x, x}
#define G_1_TO_4(x) {x, x, x, x}
#define G_1_TO_8(x) {x, x, x, x, x, x, x, x}
#define G_2_TO_4(x) {x[0], x[1], x[0], x[1]}
#define G_2_TO_8(x) {x[0], x[1], x[0], x[1], x[0], x[1], x[0], x[1]}
#define G_4_TO_8(x) {x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]}
#define G_FIRST_2(x) {x[0], x[1]}
#define G_FIRST_4(x) {x[0], x[1], x[2], x[3]}
#define G_OF_1(name, wide, filled, by) \
  G_HIDDEN double g_one_##name(double x) { \
    wide all = filled(x), found = by##v_##name(all); \
    return found[0]; \
  }
#define G_OF_1_2(name, wide, filled, by) \
  G_HIDDEN double g_one_##name(double x, double y) { \
    wide all = filled(x), others = filled(y), found = by##vv_##name(all, others); \
    return found[0]; \
  }
#define G_OF(entry, narrow, first, name, wide, filled, by) \
  G_HIDDEN narrow entry##v_vector_##name(narrow x) { \
    wide all = filled(x), found = by##v_##name(all); \
    narrow result = first(found); \
    return result; \
  }
#define G_OF_2(entry, narrow, first, name, wide, filled, by) \
  G_HIDDEN narrow entry##vv_vector_##name(narrow x, narrow y) { \
    wide all = filled(x), others = filled(y), found = by##vv_##name(all, others); \
    narrow result = first(found); \
    return result; \
  }
#define G_SAME(entry, wide, name) \
  wide entry##v_##name(wide); \
  G_HIDDEN wide entry##v_vector_##name(wide x) { return entry##v_##name(x); }
#define G_SAME_2(entry, wide, name) \
  wide entry##vv_##name(wide, wide); \
  G_HIDDEN wide entry##vv_vector_##name(wide x, wide y) { return entry##vv_##name(x, y); }
#if defined(__AVX512F__)
#define G_WIDTHS(two, name) \
  G_SAME##two(_ZGVeN8, g_8, name) G_OF##two(_ZGVdN4, g_4, G_FIRST_4, name, g_8, G_4_TO_8, _ZGVeN8) \
  G_OF##two(_ZGVbN2, g_2, G_FIRST_2, name, g_8, G_2_TO_8, _ZGVeN8) G_OF_1##two(name, g_8, G_1_TO_8, _ZGVeN8)
#elif defined(__AVX2__)
#define G_WIDTHS(two, name) \
  G_SAME##two(_ZGVdN4, g_4, name) G_OF##two(_ZGVbN2, g_2, G_FIRST_2, name, g_4, G_2_TO_4, _ZGVdN4) \
  G_OF_1##two(name, g_4, G_1_TO_4, _ZGVdN4)
#elif defined(__AVX__)
#define G_WIDTHS(two, name) \
  G_SAME##two(_ZGVcN4, g_4, name) G_OF##two(_ZGVbN2, g_2, G_FIRST_2, name, g_4, G_2_TO_4, _ZGVcN4) \
  G_OF_1##two(name, g_4, G_1_TO_4, _ZGVcN4)
#else
#define G_WIDTHS(two, name) G_SAME##two(_ZGVbN2, g_2, name) G_OF_1##two(name, g_2, G_1_TO_2, _ZGVbN2)
#endif
#define G_VECTOR(name) \
  __attribute__((simd("notinbranch"), nothrow, leaf, const)) double g_##name(double) __asm__("vector_" #name); \
  G_HIDDEN double g_one_##name(double) __asm__("vector_" #name); \
  G_WIDTHS(, name)
#define G_VECTOR_2(name) \
  __attribute__((simd("notinbranch"), nothrow, leaf, const)) double g_##name(double, double) __asm__("vector_" #name); \
  G_HIDDEN double g_one_##name(double, double) __asm__("vector_" #name); \
  G_WIDTHS(_2, name)
#endif
#if G_VECTORS_SINCE(2, 22)
G_VECTOR(log) G_VECTOR(sin) G_VECTOR(cos) G_VECTOR_2(pow)
#else
G_SCALAR(log) G_SCALAR(sin) G_SCALAR(cos) G_SCALAR_2(pow)
#endif
#if G_VECTORS_SINCE(2, 35)
G_VECTOR(exp2) G_VECTOR(log2) G_VECTOR(log10) G_VECTOR(log1p) G_VECTOR(tan) G_VECTOR(asin) G_VECTOR(acos) G_VECTOR(atan) G_VECTOR(sinh)
G_VECTOR(cosh) G_VECTOR(asinh) G_VECTOR(acosh) G_VECTOR(atanh) G_VECTOR(cbrt) G_VECTOR(erf) G_VECTOR_2(atan2) G_VECTOR_2(hypot)
#else
G_SCALAR(exp2) G_SCALAR(log2) G_SCALAR(log10) G_SCALAR(log1p) G_SCALAR(tan) G_SCALAR(asin) G_SCALAR(acos) G_SCALAR(atan) G_SCALAR(sinh)
G_SCALAR(cosh) G_SCALAR(asinh) G_SCALAR(acosh) G_SCALAR(atanh) G_SCALAR(cbrt) G_SCALAR(erf) G_SCALAR_2(atan2) G_SCALAR_2(hypot)
#endif
G_SCALAR_2(fmod)

/* -- Arithmetic on bits --------------------------------------------------------------------------------------------------------------- */

#ifdef __FMA__
#define G_FMA(x, y, z) __builtin_fma(x, y, z)
#else
#define G_FMA(x, y, z) ((x) * (y) + (z))
#endif

/* What rounding took from a product: exact, where nothing over- or underflows. */
G_INLINE double g_product_rest(double x, double y, double product) {
#ifdef __FMA__
  return __builtin_fma(x, y, -product);
#else
  double a = x * 0x1.0000002p+27, b = y * 0x1.0000002p+27, high = a - (a - x), low = x - high; /* T. J. Dekker, 1971 */
  double other = b - (b - y), rest = y - other;
  return ((high * other - product) + (high * rest + low * other)) + low * rest;
#endif
}

G_INLINE double g_remainder(double x, double y) {
  double rest = g_fmod(x, y), lifted = rest + y;
  return g_choose(rest == 0, g_copysign(0.0, y), g_choose((rest < 0) != (y < 0), lifted, rest));
}
G_INLINE double g_floor_divide(double x, double y) {
  double rest = g_fmod(x, y), whole = (x - rest) / y, ratio = x / y;
  double below = g_choose((rest != 0) & ((rest < 0) != (y < 0)), whole - 1, whole), floored = g_floor(below);
  double nearest = g_choose(below - floored > 0.5, floored + 1, floored);
  return g_choose(y == 0, ratio, g_choose(below == 0, g_copysign(0.0, ratio), nearest));
}

/* -- Exponentials --------------------------------------------------------------------------------------------------------------------- */

/* exp(x) = 2**n * (1 + part), n the whole number nearest to x/log(2): adding 1.5 * 2**52 rounds to it, and leaves it in the last bits. */
typedef struct {
  double count, part;
} g_power;

/* For x + rest of up to 2**10: |r| <= log(2)/2, and exp(r) - 1 as r + r**2 times a minimax polynomial, off by less than 2e-17 * |r|. */
G_INLINE g_power g_power_of(double x, double rest) {
  double count = G_FMA(x, 0x1.71547652b82fep+0, 0x1.8p+52), n = count - 0x1.8p+52;
  double r = G_FMA(n, -0x1.a39ef35793c76p-33, G_FMA(n, -0x1.62e42feep-1, x) + rest), s = r * r;
  double odd = 0x1.af76d02a112cap-26, even = 0x1.28a2d2333ab7ap-22;
  odd = G_FMA(odd, s, 0x1.71dde9f0a6356p-19), even = G_FMA(even, s, 0x1.a019a660ac9a9p-16);
  odd = G_FMA(odd, s, 0x1.a01a01b5e0686p-13), even = G_FMA(even, s, 0x1.6c16c17f43264p-10);
  odd = G_FMA(odd, s, 0x1.111111110e6c0p-7), even = G_FMA(even, s, 0x1.55555555520c9p-5);
  odd = G_FMA(odd, s, 0x1.555555555555cp-3), even = G_FMA(even, s, 0x1.0000000000005p-1);
  g_power power = {count, G_FMA(s, G_FMA(odd, r, even), r)};
  return power;
}
/* 2**n * (1 + part), through exponents that are more by `up`, which a factor takes back: right among the subnormal, too. */
G_INLINE double g_scaled(g_power power, g_bits up) {
  double scale = g_of_bits((g_to_bits(power.count) << 52) + ((1023ull << 52) + up));
  return G_FMA(scale, power.part, scale) * g_of_bits((1023ull << 52) - up);
}
#define G_UP (128ull << 52)

G_INLINE double g_exp(double x) {
  g_bits sign = g_to_bits(x) & (1ull << 63); /* up by 2**128 for negative numbers, down for others */
  double limited = g_of_bits(g_to_bits(g_limited(x, 746.0)) | sign);
  return g_scaled(g_power_of(limited, -0.0), (sign >> 3) - G_UP);
}
/* exp(-|x|), and exp(-|x|) - 1 */
G_INLINE g_power g_decay_of(double x) { return g_power_of(-g_limited(x, 746.0), -0.0); }
G_INLINE double g_decay(double x) { return g_scaled(g_decay_of(x), G_UP); }
G_INLINE double g_decay_m1(double x) {
  g_power power = g_decay_of(x);
  double scale = g_of_bits((g_to_bits(power.count) << 52) + ((1023ull << 52) + G_UP)) * 0x1p-128;
  return G_FMA(scale, power.part, scale - 1);
}
G_INLINE double g_expm1(double x) {
  double limited = __builtin_copysign(g_limited(x, 710.0), x);
  g_power power = g_power_of(g_choose(limited < -40.0, -40.0, limited), -0.0);
  double half = g_of_bits((g_to_bits(power.count) << 52) + (1022ull << 52)), result = G_FMA(half, power.part, half - 0.5);
  return g_choose(__builtin_fabs(x) < 0x1p-54, x, result + result);
}
/* exp(c * x**2) for c a power of 2 or its negative: what rounding took from the square is among the exponent's low part. */
G_INLINE double g_exp_square(double x, double c) {
  double size = g_limited(x, __builtin_sqrt(746.0 / __builtin_fabs(c))), square = size * size;
  return g_scaled(g_power_of(c * square, c * g_product_rest(size, size, square)), c < 0 ? G_UP : -G_UP);
}
/* log(1 + x) for x from 0 to 1: 2 atanh(z) for z = x/(2 + x) up to 1/3, a minimax polynomial off by less than 2e-18. */
G_INLINE double g_log1p_of_unit(double x) {
  double z = x / (2 + x), w = z * z, v = w * w, odd = 0x1.5c645479b0a94p-3, even = 0x1.55c808fa8ee1bp-4;
  odd = G_FMA(odd, v, 0x1.efd2c5812cdf4p-4), even = G_FMA(even, v, 0x1.106824bcc2d6dp-3);
  odd = G_FMA(odd, v, 0x1.3b1dd376d9d7bp-3), even = G_FMA(even, v, 0x1.745cb46c60150p-3);
  odd = G_FMA(odd, v, 0x1.c71c7418d8889p-3), even = G_FMA(even, v, 0x1.24924920957dap-2);
  odd = G_FMA(odd, v, 0x1.99999999a05cap-2), even = G_FMA(even, v, 0x1.5555555555536p-1);
  return G_FMA(z * w, G_FMA(odd, w, even), z + z);
}

/* -- Powers --------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  double high, low;
} g_pair;

G_INLINE g_pair g_product_of(g_pair x, g_pair y) {
  double high = x.high * y.high;
  g_pair product = {high, g_product_rest(x.high, y.high, high) + (x.high * y.low + x.low * y.high)};
  return product;
}
/* By products of numbers in two parts; the exponent is known when this is compiled. */
G_INLINE double g_whole_power(double x, int exponent) {
  int size = exponent < 0 ? -exponent : exponent;
  double inverse = 1 / x, one = inverse * x;
  g_pair power = {1.0, 0.0}, factor = {x, 0.0}, under = {inverse, ((1 - one) - g_product_rest(inverse, x, one)) * inverse};
  if (exponent < 0) factor = under;
#pragma GCC unroll 8
  for (int bit = 0; bit < 6; ++bit) {
    if (size >> bit & 1) power = size & ((1 << bit) - 1) ? g_product_of(power, factor) : factor;
    if (size >> bit >> 1) factor = g_product_of(factor, factor);
  }
  int known = (__builtin_fabs(power.low) <= __DBL_MAX__) & (power.high != 0); /* neither overflow nor a zero, whose sign counts */
  return g_choose(known, power.high + power.low, power.high);
}
/* By the base's logarithm in two parts; the base, which is positive, is known when this is compiled. */
G_INLINE double g_power_of_base(double base, double y) {
  long double log = __builtin_logl(base);
  double first = (double)log, high = y * first, low = g_product_rest(y, first, high) + y * (double)(log - first);
  g_bits sign = g_to_bits(high) & (1ull << 63);
  double limited = g_of_bits(g_to_bits(g_limited(high, 746.0)) | sign);
  return g_scaled(g_power_of(limited, g_choose(limited == high, low, 0.0)), (sign >> 3) - G_UP);
}
G_INLINE double g_raised(double x, double y) {
  if (__builtin_constant_p(y) && y == (double)(int)y && y >= -63 && y <= 63) return g_whole_power(x, (int)y);
  if (__builtin_constant_p(x) && x > 0 && x != 1 && x <= __DBL_MAX__ && __LDBL_MANT_DIG__ > 63) return g_power_of_base(x, y);
  return g_pow(x, y);
}
#define g_pow(x, y) g_raised(x, y)

/* -- Hyperbolic and logistic functions ------------------------------------------------------------------------------------------------ */

/* (e**-2|x| - 1) from e**-|x| - 1: tanh and sech have 2 more than that below the line. */
G_INLINE double g_decay_2_m1(double x) {
  double less = g_decay_m1(x);
  return G_FMA(less, less, 2 * less);
}
G_INLINE double g_tanh(double x) {
  double less = g_decay_2_m1(x);
  return __builtin_copysign(less / (2 + less), x);
}
G_INLINE double g_sech(double x) { return 2 * g_decay(x) / (2 + g_decay_2_m1(x)); }
G_INLINE double g_csch(double x) { return __builtin_copysign(2 * g_decay(x) / g_decay_2_m1(x), x); }
G_INLINE double g_asec(double x) { return g_atan2(g_sqrt(g_fabs(x) - 1) * g_sqrt(g_fabs(x) + 1), g_sign(x)); }
G_INLINE double g_acsc(double x) { return g_atan2(g_sign(x), g_sqrt(g_fabs(x) - 1) * g_sqrt(g_fabs(x) + 1)); }

/* -- The normal distribution ---------------------------------------------------------------------------------------------------------- */

#define G_FAR 0x1.3502e64db5456p+5 /* sqrt(1492): exp(-x**2/2) is 0 beyond */

/* ndtr(-t) * exp(t**2/2) for t from 0 to G_FAR, a rational minimax approximation off by 5.1e-17: all terms are positive. */
G_INLINE double g_mills(double t) {
  double over = 0x1.731a4698a33abp-20, under = 0x1.d11bb1fee6ea8p-19;
  over = G_FMA(over, t, 0x1.37e65cee00a28p-15), under = G_FMA(under, t, 0x1.86e893585d575p-14);
  over = G_FMA(over, t, 0x1.00b2f902a7bedp-11), under = G_FMA(under, t, 0x1.42a20ef49ff7bp-10);
  over = G_FMA(over, t, 0x1.0ba20f23f3375p-8), under = G_FMA(under, t, 0x1.527b74b1374f4p-7);
  over = G_FMA(over, t, 0x1.8299c27d085dbp-6), under = G_FMA(under, t, 0x1.ee877659d5388p-5);
  over = G_FMA(over, t, 0x1.8fd32eeedfc1cp-4), under = G_FMA(under, t, 0x1.04d828a040879p-2);
  over = G_FMA(over, t, 0x1.28149f83ef173p-2), under = G_FMA(under, t, 0x1.9020576be83b7p-1);
  over = G_FMA(over, t, 0x1.3003a8ceb6395p-1), under = G_FMA(under, t, 0x1.b6a90292537d2p+0);
  over = G_FMA(over, t, 0x1.8ca3f86a06ebdp-1), under = G_FMA(under, t, 0x1.47bb2c79cc194p+1);
  over = G_FMA(over, t, 0.5), under = G_FMA(under, t, 0x1.2c731104544dcp+1);
  return over / G_FMA(under, t, 1.0);
}
G_INLINE double g_normal_tail(double x) { return g_exp_square(x, -0.5) * g_mills(g_limited(x, G_FAR)); } /* ndtr(-|x|) */
G_INLINE double g_ndtr(double x) {
  double tail = g_normal_tail(x);
  return g_choose(x < 0, tail, 1 - tail);
}
G_INLINE double g_erfc(double x) {
  double tail = 2 * (g_exp_square(x, -1.0) * g_mills(g_limited(x * 0x1.6a09e667f3bcdp+0, G_FAR)));
  return g_choose(x < 0, 2 - tail, tail);
}
/* Below -1, log(mills(-x)) - x**2/2; mills has an asymptotic series where its approximation ends. */
G_INLINE double g_log_ndtr(double x) {
  double size = g_fabs(x), r = 1 / size, w = r * r, far = 0x1.9884533d43651p-2 * r * (1 + w * (-1 + w * (3 + w * (-15 + 105 * w))));
  double near = g_mills(g_limited(x, G_FAR)), lost = g_ndtr(-x), kept = g_choose(x < -1, g_choose(size > G_FAR, far, near), 1 - lost);
  return -g_fabs(g_log(kept) + g_choose(x < -1, -0.5 * (x * x), (-lost - (kept - 1)) / kept));
}

/* -- Logarithms ----------------------------------------------------------------------------------------------------------------------- */

/* log(x/(1 - x)), by log(1 + v) beside 1/2: what rounding 1 + v took is put back. */
G_INLINE double g_logit(double x) {
  int near = (x > 0.25) & (x < 0.75);
  double v = (2 * x - 1) / (1 - x), u = g_choose(near, 1 + v, x / (1 - x));
  return g_log(u) + g_choose(near, (v - (u - 1)) / u, 0.0);
}
/* sin(pi*x)/(pi*x) by what x is beyond the nearest whole number: the sine of up to pi/2, a minimax polynomial off by 2.8e-19. */
G_INLINE double g_sinc(double x) {
  double nearest = g_rint(x), odd = nearest - 2 * g_rint(nearest * 0.5), part = x - nearest, w = part * part;
  double sum = G_FMA(w, G_FMA(w, 0x1.9d37a0f869e6dp-21, -0x1.6f7a6811b07f6p-16), 0x1.e8f36544dedf7p-12);
  sum = G_FMA(w, G_FMA(w, sum, -0x1.e3074df6162e4p-8), 0x1.507834854e6f7p-4);
  sum = G_FMA(w, G_FMA(w, G_FMA(w, sum, -0x1.32d2cce627d59p-1), 0x1.466bc6775aa83p+1), -0x1.4abbce625be52p+2);
  double turned = G_FMA(part, 0x1.921fb54442d18p+1, part * G_FMA(w, sum, 0x1.1a62633145c07p-53));
  double found = g_choose(odd == 0, turned, -turned) / (0x1.921fb54442d18p+1 * x);
  return g_choose(x == 0, 1.0, g_choose(g_fabs(x) > 0x1.fffffffffffffp+1023, 0.0, found));
}
