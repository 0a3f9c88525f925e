/* The functions for float64, without branches, so that loops run in vector registers. NaN, infinities and signs of zeros are NumPy's, errors
   within the bounds of records (`Op.ulps`). What functions of one argument have in common is written alike: compilers make it once.
   Minimax polynomials are by Remez's algorithm. Exponentials and log(1 + s) are faster here than the C library's, or shared. */

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
/* Of the widest registers, for a number alone, too: what is computed of one does not depend on its place in an array. Names are our own: of a
   sine and a cosine GCC would make one call, which has no form in vectors. */
#if defined(__AVX512F__)
#define G_WIDEST(name) _ZGVeN8##name
#define G_BYTES 64
#elif defined(__AVX2__)
#define G_WIDEST(name) _ZGVdN4##name
#define G_BYTES 32
#elif defined(__AVX__)
#define G_WIDEST(name) _ZGVcN4##name
#define G_BYTES 32
#else
#define G_WIDEST(name) _ZGVbN2##name
#define G_BYTES 16
#endif
typedef double g_wide __attribute__((vector_size(G_BYTES)));
#define G_ALL(x) ((x) - (g_wide){0})
#define G_SIMD __attribute__((simd("notinbranch"), nothrow, leaf, const)) double
#define G_HIDDEN __attribute__((visibility("hidden"))) double
#define G_VECTOR(name) \
  g_wide G_WIDEST(v_##name)(g_wide); \
  G_SIMD g_##name(double) __asm__(#name); \
  G_HIDDEN g_one_##name(double) __asm__(#name); \
  double g_one_##name(double x) { return G_WIDEST(v_##name)(G_ALL(x))[0]; }
#define G_VECTOR_2(name) \
  g_wide G_WIDEST(vv_##name)(g_wide, g_wide); \
  G_SIMD g_##name(double, double) __asm__(#name); \
  G_HIDDEN g_one_##name(double, double) __asm__(#name); \
  double g_one_##name(double x, double y) { return G_WIDEST(vv_##name)(G_ALL(x), G_ALL(y))[0]; }
#else
#define G_VECTOR G_SCALAR
#define G_VECTOR_2 G_SCALAR_2
#endif
#if G_VECTORS_SINCE(2, 35)
#define G_LATER G_VECTOR
#define G_LATER_2 G_VECTOR_2
#else
#define G_LATER G_SCALAR
#define G_LATER_2 G_SCALAR_2
#endif
G_VECTOR(log) G_VECTOR(sin) G_VECTOR(cos) G_VECTOR_2(pow)
G_LATER(exp2) G_LATER(log2) G_LATER(log10) G_LATER(log1p) G_LATER(tan) G_LATER(asin) G_LATER(acos) G_LATER(atan) G_LATER(sinh)
G_LATER(cosh) G_LATER(asinh) G_LATER(acosh) G_LATER(atanh) G_LATER(cbrt) G_LATER(erf) G_LATER_2(atan2) G_LATER_2(hypot)
G_SCALAR_2(fmod)

/* Arithmetic on bits */

G_INLINE double g_fma(double x, double y, double z) {
#ifdef __FMA__
  return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}

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
#define g_remainder g_remainder_of

/* Exponentials */

/* exp(x) = 2**n * (1 + part), n the whole number nearest to x/log(2): adding 1.5 * 2**52 rounds to it, and leaves it in the last bits. */
typedef struct {
  double count, part;
} g_power;

/* For x + rest of up to 2**10: |r| <= log(2)/2, and exp(r) - 1 as r + r**2 times a minimax polynomial, off by less than 2e-17 * |r|. */
G_INLINE g_power g_power_of(double x, double rest) {
  double count = g_fma(x, 0x1.71547652b82fep+0, 0x1.8p+52), n = count - 0x1.8p+52;
  double r = g_fma(n, -0x1.a39ef35793c76p-33, g_fma(n, -0x1.62e42feep-1, x) + rest), s = r * r;
  double odd = 0x1.af76d02a112cap-26, even = 0x1.28a2d2333ab7ap-22;
  odd = g_fma(odd, s, 0x1.71dde9f0a6356p-19), even = g_fma(even, s, 0x1.a019a660ac9a9p-16);
  odd = g_fma(odd, s, 0x1.a01a01b5e0686p-13), even = g_fma(even, s, 0x1.6c16c17f43264p-10);
  odd = g_fma(odd, s, 0x1.111111110e6c0p-7), even = g_fma(even, s, 0x1.55555555520c9p-5);
  odd = g_fma(odd, s, 0x1.555555555555cp-3), even = g_fma(even, s, 0x1.0000000000005p-1);
  g_power power = {count, g_fma(s, g_fma(odd, r, even), r)};
  return power;
}
/* 2**n * (1 + part), through exponents that are more by `up`, which a factor takes back: right among the subnormal, too. */
G_INLINE double g_scaled(g_power power, g_bits up) {
  double scale = g_of_bits((g_to_bits(power.count) << 52) + ((1023ull << 52) + up));
  return g_fma(scale, power.part, scale) * g_of_bits((1023ull << 52) - up);
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
  return g_fma(scale, power.part, scale - 1);
}
G_INLINE double g_expm1(double x) {
  double limited = __builtin_copysign(g_limited(x, 710.0), x);
  g_power power = g_power_of(g_choose(limited < -40.0, -40.0, limited), -0.0);
  double half = g_of_bits((g_to_bits(power.count) << 52) + (1022ull << 52)), result = g_fma(half, power.part, half - 0.5);
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
  odd = g_fma(odd, v, 0x1.efd2c5812cdf4p-4), even = g_fma(even, v, 0x1.106824bcc2d6dp-3);
  odd = g_fma(odd, v, 0x1.3b1dd376d9d7bp-3), even = g_fma(even, v, 0x1.745cb46c60150p-3);
  odd = g_fma(odd, v, 0x1.c71c7418d8889p-3), even = g_fma(even, v, 0x1.24924920957dap-2);
  odd = g_fma(odd, v, 0x1.99999999a05cap-2), even = g_fma(even, v, 0x1.5555555555536p-1);
  return g_fma(z * w, g_fma(odd, w, even), z + z);
}

/* Powers */

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

G_INLINE double g_tanh(double x) {
  double less = g_decay_m1(x);
  less = g_fma(less, less, 2 * less); /* exp(-2|x|) - 1 */
  return __builtin_copysign(less / (2 + less), x);
}
