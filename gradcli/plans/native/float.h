/* The functions of C that texts of operations call (Text.c), for float32; double.h has those for float64 under the same names.

   None branches, and all but quotients rounded to whole numbers are carried out in vector registers. They are ours, so that the same number
   has the same result in any place of an array, with what several of them compute (exp(-|x|), exp(-x^2/2)) written alike, once for the
   compiler; only sines of numbers from 2^28 are the C library's. Polynomials are of least relative error (J. Lawson's algorithm), their
   coefficients rounded to floats one after the other, the rest fitted again each time. What functions are reduced to:

   exp, expm1, exp2, sinh, cosh   k log(2), log(2) in two parts (W. Cody, W. Waite, 1980), and degree 6; 2^k in two factors
   log, log1p, log2, log10        2^k (1 + f), 1 + f from 2/3 to 4/3, and degree 11
   pow                            the logarithm by its series in f/(2 + f), in double, to 2^-37
   erf, erfc, ndtr, log_ndtr      exp(x^2) erfc(x) as 1/(x + 2) times degree 10 in 1 - 4/(x + 2) (M. Shepherd, J. Laframboise, 1981), and
                                  exp(-x^2) with the rounding error of x^2 (T. J. Dekker, 1971); erf up to 1 a polynomial of degree 15
   tanh, atanh, asinh, asin, atan polynomials of degrees 11, 13, 11, 11, 19 near 0; beyond exp, log1p, square roots, and 1/x
   x - tanh(x)                    a continued fraction up to 1.5
   cbrt                           Halley's iteration, twice, from a third of the bits

   Largest errors, in units of the last place, measured against float64 over 90 million floats of all exponents, and 7 million of usual
   sizes, with AVX-512, AVX2 and neither, of results that neither overflow nor underflow, in their parts either:

   exp 1.03, exp2 1.08, expm1 1.62, log 0.87, log1p 1.61, log2 2.24, log10 1.75, pow 1.18, cbrt 0.97, hypot 1.18, sinh 2.28, cosh 1.45,
   tanh 1.51, sech 2.29, csch 2.95, coth 2.39, asinh 1.78, acosh 1.90, atanh 1.06, acoth 1.94, sin 1.55, cos 1.55, tan 3.42 (from 2^28:
   2.24, 2.24, 3.74), sinc 3.52, asin 2.35, acos 1.12, atan 1.44, atan2 1.48, asec 2.20, acsc 2.37, sigmoid 2.31, softplus 1.85, silu
   3.14, mish 4.31, logit 1.36, entr 1.60, xlogy 1.74, xlog1py 2.90, erf 1.33, erfc 5.58, ndtr 5.64, log_ndtr 7.24, gelu 5.89, x -
   tanh(x) 4.13 */

#ifndef real
#define real float
#endif

#define G_INLINE static inline __attribute__((always_inline)) /* a loop that calls one is not carried out in vector registers */

/* Parts of numbers */
G_INLINE int g_bits(float x) {
  int i;
  __builtin_memcpy(&i, &x, sizeof i);
  return i;
}
G_INLINE float g_of_bits(unsigned i) {
  float x;
  __builtin_memcpy(&x, &i, sizeof x);
  return x;
}
G_INLINE float g_choose(int when, float x, float y) { /* without a branch, at each of which gcc may write all that follows twice */
  unsigned mask = -(unsigned)when;
  return g_of_bits(((unsigned)g_bits(x) & mask) | ((unsigned)g_bits(y) & ~mask));
}
G_INLINE int g_choose_truth(int when, int x, int y) { return (when & x) | ((when ^ 1) & y); }
G_INLINE long long g_choose_whole(int when, long long x, long long y) { return when ? x : y; }
#define g_where(when, x, y) _Generic((x) + (y), real: g_choose, int: g_choose_truth, default: g_choose_whole)((when) != 0, x, y)
G_INLINE float g_largest(void) { return __FLT_MAX__; }
G_INLINE float g_fabs(float x) { return __builtin_fabsf(x); }
G_INLINE float g_sqrt(float x) { return __builtin_sqrtf(x); }
G_INLINE float g_floor(float x) { return __builtin_floorf(x); }
G_INLINE float g_ceil(float x) { return __builtin_ceilf(x); }
G_INLINE float g_trunc(float x) { return __builtin_truncf(x); }
G_INLINE float g_rint(float x) { return __builtin_rintf(x); }
G_INLINE float g_fmod(float x, float y) { return __builtin_fmodf(x, y); }
G_INLINE float g_copysign(float x, float y) { return __builtin_copysignf(x, y); }
G_INLINE int g_isnan(float x) { return x != x; }
G_INLINE int g_isinf(float x) { return g_fabs(x) > __FLT_MAX__; }
G_INLINE int g_isfinite(float x) { return g_fabs(x) <= __FLT_MAX__; }
G_INLINE int g_signbit(float x) { return g_copysign(1.0f, x) < 0; }
G_INLINE float g_sign(float x) { return g_choose(x != x, x, (float)(x > 0) - (float)(x < 0)); }
G_INLINE float g_heaviside(float x, float y) { return g_choose(x != x, x, g_choose(x < 0, 0.0f, g_choose(x > 0, 1.0f, y))); }
G_INLINE float g_square(float x) { return x * x; }
G_INLINE float g_maximum(float x, float y) { return g_choose((x > y) | (x != x), x, y); }
G_INLINE float g_minimum(float x, float y) { return g_choose((x < y) | (x != x), x, y); }
G_INLINE float g_chain(float c, float p) {
  float t = c * p;
  return g_choose((c == 0) & (t != 0), 0.0f, t);
}
G_INLINE float g_nan_to_num(float x, float nan, float high, float low) {
  return g_choose(x != x, nan, g_choose(x > __FLT_MAX__, high, g_choose(x < -__FLT_MAX__, low, x)));
}
G_INLINE float g_lerp(float x, float end, float weight) { return x + weight * (end - x); }
G_INLINE float g_angle(float x) { return g_choose(x != x, x, g_choose(x < 0, 0x1.921fb6p+1f, 0.0f)); }
G_INLINE float g_leaky(float x, float slope) { return g_choose(x > 0, x, x * slope); }
G_INLINE float g_hardswish(float x) { return x * g_minimum(g_maximum(x + 3, 0), 6) / 6; }
G_INLINE float g_hardshrink(float x, float width) { return g_choose((-width <= x) & (x <= width), 0.0f, x); }
G_INLINE float g_softshrink(float x, float width) { return x - g_minimum(g_maximum(x, -width), width); }
G_INLINE float g_softsign(float x) { return x / (1 + g_fabs(x)); }

G_INLINE float g_two_to(int k) { return g_of_bits((unsigned)(k + 127) << 23); }
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define G_FMA
#endif
G_INLINE float g_fma(float x, float y, float z) { /* rounded once where the processor does so at no cost; else twice */
#ifdef G_FMA
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}

/* Exponentials: 2^k exp(r), |r| <= log(2)/2; 2^k in two factors, which neither overflow nor underflow */
typedef struct { float rest, first, second, inverse; } g_powers; /* exp(r) - 1, 2^k as first * second, 1 / second */
G_INLINE g_powers g_split(float y, float more) {
  float shifted = g_fma(y, 0x1.715476p+0f, 0x1.8p+23f), k = shifted - 0x1.8p+23f;
  float r = g_fma(k, 0x1.bd0106p-13f, g_fma(k, -0x1.63p-1f, y)) + more, p = g_fma(r, 0x1.6d6622p-10f, 0x1.123c3ap-7f);
  p = g_fma(r, g_fma(r, g_fma(r, p, 0x1.5554d2p-5f), 0x1.55548ep-3f), 0.5f);
  int n = g_bits(shifted) - 0x4b400000, half = n >> 1;
  g_powers powers = {g_fma(r * r, p, r), g_two_to(half), g_two_to(n - half), g_two_to(half - n)};
  return powers;
}
G_INLINE float g_exp_and(float y, float more, float factor) { /* factor * exp(y + more), infinite only where it overflows; |y| < 106 */
  g_powers p = g_split(y, more);
  return (1 + p.rest) * p.first * (p.second * factor);
}
G_INLINE float g_expm1_times(float y, float factor) {
  g_powers p = g_split(y, 0.0f);
  return g_fma(p.rest, p.first, p.first - p.inverse) * (p.second * factor);
}
G_INLINE float g_below(float x, float most) { return g_choose(x > most, most, x); }
G_INLINE float g_within(float x, float most) { return g_choose(g_fabs(x) > most, g_copysign(most, x), x); }
G_INLINE float g_exp(float x) { return g_exp_and(g_within(x, 105.0f), 0.0f, 1.0f); }
G_INLINE float g_exp_less(float a) { return g_exp_and(-g_below(a, 105.0f), 0.0f, 1.0f); } /* exp(-a) of a >= 0 */
G_INLINE float g_expm1(float x) {
  float y = g_expm1_times(g_within(x, 105.0f), 1.0f);
  return g_choose(x == 0, x, y);
}
G_INLINE float g_exp2_rest(float r) { /* 2^r - 1, |r| <= 1/2 */
  float p = g_fma(r, g_fma(r, g_fma(r, 0x1.417a5cp-13f, 0x1.5f0946p-10f), 0x1.3b2dd2p-7f), 0x1.c6af7ap-5f);
  return r * g_fma(r, g_fma(r, p, 0x1.ebfbdcp-3f), 0x1.62e43p-1f);
}
G_INLINE float g_exp2(float x) {
  float y = g_within(x, 151.0f), shifted = y + 0x1.8p+23f;
  int n = g_bits(shifted) - 0x4b400000, half = n >> 1;
  return (1 + g_exp2_rest(y - (shifted - 0x1.8p+23f))) * g_two_to(half) * g_two_to(n - half);
}
G_INLINE float g_exp_square(float x, float c) { /* c a power of two, or its negative; the rounding error of x * x counts, too */
  float a = g_below(g_fabs(x), 1000.0f), square = a * a;
#ifdef G_FMA
  float error = __builtin_fmaf(a, a, -square);
#else
  float high = g_of_bits((unsigned)g_bits(a) & 0xfffff000u), low = a - high, error = high * high - square + 2 * high * low + low * low;
#endif
  return g_exp_and(g_within(c * square, 105.0f), c * error, 1.0f);
}

/* Logarithms: x = 2^k (1 + f), 1 + f from 2/3 to 4/3 */
G_INLINE float g_log_rest(float f) { /* log(1 + f) - f */
  float p = g_fma(f, g_fma(f, g_fma(f, 0x1.e9ba9p-4f, -0x1.06d8c8p-3f), 0x1.b9255ap-4f), -0x1.f3a648p-4f);
  p = g_fma(f, g_fma(f, g_fma(f, g_fma(f, g_fma(f, p, 0x1.24eb26p-3f), -0x1.5597e6p-3f), 0x1.9997fp-3f), -0x1.ffff16p-3f), 0x1.555556p-2f);
  return f * f * g_fma(f, p, -0.5f);
}
typedef struct { float k, f; } g_binary;
G_INLINE g_binary g_binary_of(float x) {
  float by = g_choose(x < 0x1p-126f, 0x1p+23f, 1.0f);
  int i = g_bits(x * by), above = i - 0x3f2aaaab;
  g_binary parts = {(float)((above - g_bits(by) + 0x3f800000) >> 23), g_of_bits((unsigned)i - ((unsigned)above & 0xff800000u)) - 1};
  return parts;
}
G_INLINE float g_of_logarithm(float x, float y) { /* y where there is a finite logarithm of x */
  float above = g_choose(x <= __FLT_MAX__, y, x), below = g_choose(x == 0, -__builtin_inff(), __builtin_nanf(""));
  return g_choose(x > 0, above, below);
}
G_INLINE float g_log(float x) {
  g_binary b = g_binary_of(x);
  return g_of_logarithm(x, g_fma(b.k, 0x1.63p-1f, b.f + g_fma(b.k, -0x1.bd0106p-13f, g_log_rest(b.f))));
}
G_INLINE float g_log2(float x) {
  g_binary b = g_binary_of(x);
  return g_of_logarithm(x, g_fma(b.f + g_log_rest(b.f), 0x1.715476p+0f, b.k));
}
G_INLINE float g_log10(float x) {
  g_binary b = g_binary_of(x);
  float y = g_fma(b.f, 0x1.bcb7b2p-2f, g_fma(g_log_rest(b.f), 0x1.bcb7b2p-2f, g_fma(b.f, -0x1.5b235ep-27f, b.k * 0x1.3509f8p-18f)));
  return g_of_logarithm(x, g_fma(b.k, 0x1.344p-2f, y));
}
G_INLINE float g_log1p(float x) {
  float u = 1 + x, lost = g_choose(x < 1, x - (u - 1), 1 - (u - x));
  int k = (g_bits(u) - 0x3f2aaaab) >> 23;
  float f = g_of_bits((unsigned)g_bits(u) - ((unsigned)k << 23)) - 1 + lost * g_two_to(k < 127 ? -k : -127), e = (float)k;
  float y = g_fma(e, 0x1.63p-1f, f + g_fma(e, -0x1.bd0106p-13f, g_log_rest(f)));
  float above = g_choose((x <= __FLT_MAX__) & (x != 0), y, x), below = g_choose(x == -1, -__builtin_inff(), __builtin_nanf(""));
  return g_choose(x > -1, above, below);
}
G_INLINE float g_log1p_unit(float x) { /* of 0 to 1 */
  float far = g_choose(x > 0x1.555556p-2f, 1.0f, 0.0f), f = (x - far) * g_fma(far, -0.5f, 1.0f);
  return g_fma(far, 0x1.63p-1f, f + g_fma(far, -0x1.bd0106p-13f, g_log_rest(f)));
}

/* Powers: y times the logarithm to base 2 of |x|, which double has to 2^-37 */
G_INLINE long long g_bits_of_double(double x) {
  long long i;
  __builtin_memcpy(&i, &x, sizeof i);
  return i;
}
G_INLINE double g_fma_of_doubles(double x, double y, double z) {
#ifdef G_FMA
  return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}
G_INLINE float g_power_of_size(float size, float y) {
  g_binary b = g_binary_of(size);
  double f = (double)b.f, s = f / (f + 2), z = s * s;
  double p = g_fma_of_doubles(z, g_fma_of_doubles(z, 0x1.5ce903e6ed878p-2, 0x1.a58d81a5ccd96p-2), 0x1.27777ff017feap-1);
  p = g_fma_of_doubles(z, g_fma_of_doubles(z, p, 0x1.ec709d12d9f11p-1), 0x1.71547652bed9cp+1);
  double power = (double)y * g_fma_of_doubles(s, p, (double)b.k), shifted = power + 0x1.8p+52;
  float rest = (float)(power - (shifted - 0x1.8p+52)), all = (float)power;
  int n = (int)g_bits_of_double(shifted);
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  float found = (1 + g_exp2_rest(rest)) * g_two_to(n >> 1) * g_two_to(n - (n >> 1));
  return g_choose(all > 200, __builtin_inff(), g_choose(all < -200, 0.0f, found));
}
G_INLINE float g_pow(float x, float y) {
  float size = g_fabs(x), half = y * 0.5f, power = g_power_of_size(size, y);
  int whole = g_floor(y) == y, odd = whole & (g_floor(half) != half);
  float edge = g_choose((y > 0) == (size > 0), __builtin_inff(), 0.0f);
  power = g_choose((size == 0) | (size > __FLT_MAX__), edge, g_choose(size == 1, 1.0f, power));
  power = g_choose((x < 0) & (whole == 0) & (size <= __FLT_MAX__), __builtin_nanf(""), g_choose((g_signbit(x) & odd) != 0, -power, power));
  return g_choose((x == 1) | (y == 0), 1.0f, g_choose((x != x) | (y != y), x + y, power));
}
G_INLINE float g_cbrt(float x) {
  float a = g_fabs(x), by = g_choose(a < 0x1p-60f, 0x1p+90f, 0x1p-30f), size = a * by;
  float y = g_of_bits((unsigned)((int)((float)g_bits(size) * 0x1.555556p-2f) + 0x2a5119f2)), cube = y * y * y;
  y = y * ((2 * size + cube) / (size + 2 * cube)), cube = y * y * y;
  y = g_fma(y, (size - cube) / (size + 2 * cube), y) * g_choose(a < 0x1p-60f, 0x1p-30f, 0x1p+10f);
  return g_choose((a > 0) & (a <= __FLT_MAX__), g_copysign(y, x), x);
}
G_INLINE float g_hypot(float x, float y) {
  float a = g_fabs(x), b = g_fabs(y), most = g_choose(a > b, a, b);
  float by = g_choose(most > 0x1p+60f, 0x1p-90f, g_choose(most < 0x1p-40f, 0x1p+90f, 1.0f));
  float back = g_choose(most > 0x1p+60f, 0x1p+90f, g_choose(most < 0x1p-40f, 0x1p-90f, 1.0f));
  a = a * by, b = b * by;
  return g_choose(g_isinf(x) | g_isinf(y), __builtin_inff(), g_sqrt(g_fma(a, a, b * b)) * back);
}

/* Sines: x = n pi/2 + r, in double, below 2^28; beyond, the C library's. glibc has them for vectors, too: by names that gcc does not
   know, or it made one call, without a version for vectors, of a sine and a cosine of one number. */
#if defined(__linux__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <features.h>
#endif
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 35)
#define G_OF_VECTORS
#endif
#endif
#ifdef G_OF_VECTORS
__attribute__((simd("notinbranch"), const, nothrow, leaf)) float g_far_sin(float) __asm__("sinf");
__attribute__((simd("notinbranch"), const, nothrow, leaf)) float g_far_cos(float) __asm__("cosf");
__attribute__((simd("notinbranch"), const, nothrow, leaf)) float g_far_tan(float) __asm__("tanf");
#else
G_INLINE float g_far_sin(float x) { return __builtin_sinf(x); }
G_INLINE float g_far_cos(float x) { return __builtin_cosf(x); }
G_INLINE float g_far_tan(float x) { return __builtin_tanf(x); }
#endif
typedef struct { int n; float r; } g_quadrant;
G_INLINE g_quadrant g_turned(float x) { /* n times the 25 bits of the first part is exact */
  double y = (double)x, shifted = y * 0x1.45f306dc9c883p-1 + 0x1.8p+52, n = shifted - 0x1.8p+52;
  g_quadrant q = {(int)g_bits_of_double(shifted), (float)(y - n * 0x1.921fb5p+0 - n * 0x1.110b4611a6263p-26)};
  return q;
}
G_INLINE int g_is_near(float x) { return g_fabs(x) < 0x1p+28f; }
G_INLINE float g_if_far(float x) { return g_choose(g_is_near(x), 0.0f, x); }
G_INLINE float g_sine_of(float r) {
  float z = r * r;
  return g_fma(r * z, g_fma(z, g_fma(z, -0x1.9955c2p-13f, 0x1.11077cp-7f), -0x1.555546p-3f), r);
}
G_INLINE float g_cosine_of(float r) {
  float z = r * r;
  return g_fma(z * z, g_fma(z, g_fma(z, 0x1.99e0ecp-16f, -0x1.6c0c1ap-10f), 0x1.55554ap-5f), g_fma(z, -0.5f, 1.0f));
}
G_INLINE float g_sine_in(int n, float r) {
  float y = g_choose(n & 1, g_cosine_of(r), g_sine_of(r));
  return g_of_bits((unsigned)g_bits(y) ^ (unsigned)(n & 2) << 30);
}
G_INLINE float g_sin(float x) {
  g_quadrant q = g_turned(x);
  return g_choose(g_is_near(x), g_choose(x == 0, x, g_sine_in(q.n, q.r)), g_far_sin(g_if_far(x)));
}
G_INLINE float g_cos(float x) {
  g_quadrant q = g_turned(x);
  return g_choose(g_is_near(x), g_sine_in(q.n + 1, q.r), g_far_cos(g_if_far(x)));
}
G_INLINE float g_tan(float x) {
  g_quadrant q = g_turned(x);
  float s = g_sine_of(q.r), c = g_cosine_of(q.r), y = g_choose(q.n & 1, -c, s) / g_choose(q.n & 1, s, c);
  return g_choose(g_is_near(x), g_choose(x == 0, x, y), g_far_tan(g_if_far(x)));
}
G_INLINE float g_times_pi(float x) { return g_fma(x, -0x1.777a5cp-24f, x * 0x1.921fb6p+1f); }
G_INLINE float g_sinc(float x) {
  float nearest = g_rint(x), a = g_fabs(x - nearest), odd = nearest - 2 * g_rint(nearest * 0.5f);
  float size = g_choose(a > 0.25f, g_cosine_of(g_times_pi(0.5f - a)), g_sine_of(g_times_pi(a)));
  float turned = g_choose((odd != 0) != (x < nearest), -size, size);
  return g_choose(x == 0, 1.0f, g_choose(g_fabs(x) > 0x1.fffffep+127f, 0.0f, turned / g_times_pi(x)));
}
G_INLINE float g_atan_unit(float t) { /* of 0 to 1 */
  float z = t * t, p = g_fma(z, g_fma(z, g_fma(z, -0x1.d49ccap-10f, 0x1.64c3f6p-7f), -0x1.fdfdbcp-6f), 0x1.da5f6ep-5f);
  p = g_fma(z, g_fma(z, g_fma(z, p, -0x1.58158p-4f), 0x1.c08f68p-4f), -0x1.2420b6p-3f);
  return g_fma(t * z, g_fma(z, g_fma(z, p, 0x1.9991e6p-3f), -0x1.55553ep-2f), t);
}
G_INLINE float g_atan(float x) {
  float a = g_fabs(x), inverse = 1 / a, t = g_atan_unit(g_choose(inverse < a, inverse, a));
  return g_copysign(g_choose(a > 1, 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f), t), x);
}
G_INLINE float g_atan2(float y, float x) {
  float a = g_fabs(x), b = g_fabs(y), most = g_choose(a > b, a, b), least = g_choose(b < a, b, a), ratio = least / most;
  float t = g_atan_unit(g_choose(ratio == ratio, ratio, g_choose(most > 0, 1.0f, 0.0f))), turned = 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f);
  t = g_choose(b - a > 0, turned, t);
  t = g_choose(g_bits(x) < 0, 0x1.921fb6p+1f - (t + 0x1.777a5cp-24f), t);
  return g_choose((x != x) | (y != y), x + y, g_copysign(t, y));
}
G_INLINE float g_asin_half(float s, float z) { /* of s, whose square is z, up to a half */
  float p = g_fma(z, g_fma(z, g_fma(z, 0x1.59c9dcp-5f, 0x1.8bb84p-6f), 0x1.7489e6p-5f), 0x1.33016cp-4f);
  return g_fma(s * z, g_fma(z, p, 0x1.5555cap-3f), s);
}
G_INLINE float g_asin(float x) {
  float a = g_fabs(x), z = g_choose(a > 0.5f, (1 - a) * 0.5f, a * a), y = g_asin_half(g_choose(a > 0.5f, g_sqrt(z), a), z);
  return g_copysign(g_choose(a > 0.5f, 0x1.921fb6p+0f - (2 * y + 0x1.777a5cp-25f), y), x);
}
G_INLINE float g_acos(float x) {
  float a = g_fabs(x), z = g_choose(a > 0.5f, (1 - a) * 0.5f, a * a), y = g_asin_half(g_choose(a > 0.5f, g_sqrt(z), a), z);
  float signed_ = g_copysign(y, x), near = 0x1.921fb6p+0f - (signed_ + 0x1.777a5cp-25f);
  return g_choose(a > 0.5f, g_choose(x > 0, 2 * y, 0x1.921fb6p+1f - (2 * y + 0x1.777a5cp-24f)), near);
}
G_INLINE float g_leg(float x) { /* sqrt(x^2 - 1) */
  float a = g_fabs(x);
  return g_choose(a > 0x1p+30f, a, g_sqrt((a - 1) * (a + 1)));
}
G_INLINE float g_asec(float x) { return g_atan2(g_leg(x), g_copysign(1.0f, x)); }
G_INLINE float g_acsc(float x) { return g_atan2(g_copysign(1.0f, x), g_leg(x)); }

/* Hyperbolic functions */
G_INLINE float g_sinh(float x) {
  float h = g_expm1_times(g_below(g_fabs(x), 105.0f), 0.5f);
  return g_choose(x == 0, x, g_copysign(h + g_below(h, __FLT_MAX__) / (2 * h + 1), x));
}
G_INLINE float g_cosh(float x) {
  float e = g_exp_and(g_below(g_fabs(x), 105.0f), 0.0f, 0.5f);
  return e + 0.25f / e;
}
G_INLINE float g_tanh(float x) {
  float a = g_fabs(x), z = x * x, e = g_exp_less(2 * a);
  float p = g_fma(z, g_fma(z, g_fma(z, -0x1.995794p-8f, 0x1.58ec9cp-6f), -0x1.b91f22p-5f), 0x1.110cfp-3f);
  float near = g_fma(a * z, g_fma(z, p, -0x1.55554ap-2f), a), far = 1 - 2 * e / (1 + e);
  return g_copysign(g_choose(a < 0.55f, near, far), x);
}
G_INLINE float g_coth(float x) {
  float m = g_expm1_times(-g_below(2 * g_fabs(x), 105.0f), 1.0f);
  return g_copysign(g_choose(x == 0, __builtin_inff(), -(2 + m) / m), x);
}
G_INLINE float g_sech(float x) {
  float e = g_exp_less(g_fabs(x));
  return 2 * e / (1 + e * e);
}
G_INLINE float g_csch(float x) {
  float a = g_below(g_fabs(x), 105.0f), e = g_exp_and(-a, 0.0f, 1.0f), m = g_expm1_times(-a, 1.0f);
  return g_copysign(g_choose(x == 0, __builtin_inff(), -2 * e / (m * (1 + e))), x);
}
G_INLINE float g_asinh(float x) {
  float a = g_fabs(x), z = a * a, far = g_choose(a > 0x1p+60f, g_log(a) + 0x1.62e43p-1f, g_log1p(a + z / (1 + g_sqrt(1 + z))));
  float p = g_fma(z, g_fma(z, g_fma(z, -0x1.b185ep-7f, 0x1.cd71f2p-6f), -0x1.6b96dep-5f), 0x1.3324f8p-4f);
  return g_copysign(g_choose(a < 0.5f, g_fma(a * z, g_fma(z, p, -0x1.555536p-3f), a), far), x);
}
G_INLINE float g_acosh(float x) {
  float t = x - 1, y = g_choose(x > 0x1p+60f, g_log(x) + 0x1.62e43p-1f, g_log1p(t + g_sqrt(2 * t + t * t)));
  return g_choose(x < 1, __builtin_nanf(""), y);
}
G_INLINE float g_atanh_half(float x) { /* up to a half */
  float z = x * x, p = g_fma(z, g_fma(z, g_fma(z, 0x1.693922p-3f, 0x1.a6be3p-5f), 0x1.e3ffcap-4f), 0x1.234d9ap-3f);
  return g_fma(x * z, g_fma(z, g_fma(z, p, 0x1.99a676p-3f), 0x1.55554p-2f), x);
}
G_INLINE float g_atanh(float x) {
  float a = g_fabs(x), far = 0.5f * g_log1p(2 * a / (1 - a));
  return g_choose(a < 0.5f, g_atanh_half(x), g_copysign(far, x));
}
G_INLINE float g_asech(float x) { return g_log1p((1 - x + g_sqrt((1 - x) * (1 + x))) / x); }
G_INLINE float g_acoth(float x) { return g_copysign(g_log1p(2 / (g_fabs(x) - 1)) / 2, x); }
G_INLINE float g_tanhshrink(float x) {
  float s = x * x, p = g_fma(s, g_fma(s, 27.0f, 2772.0f), 45045.0f);
  float near = x * s * p / g_fma(s, g_fma(s, g_fma(s, 28.0f, 3150.0f), 62370.0f), 135135.0f);
  return g_choose(g_fabs(x) < 1.5f, near, x - g_tanh(x));
}

/* Probabilities and activations */
G_INLINE float g_sigmoid(float x) {
  float e = g_exp_less(g_fabs(x));
  return g_choose(x >= 0, 1.0f, e) / (1 + e);
}
G_INLINE float g_silu(float x) { return x * g_sigmoid(x); }
G_INLINE float g_softplus(float x) { return g_choose(x > 0, x, 0.0f) + g_log1p_unit(g_exp_less(g_fabs(x))); }
G_INLINE float g_mish(float x) { /* tanh(log(1 + exp(x))) in terms of exp(-|x|) */
  float e = g_exp_less(g_fabs(x)), p = g_choose(x >= 0, g_fma(2.0f, e, 1.0f), e * (e + 2));
  return x * (p / (p + 2 * g_choose(x >= 0, e * e, 1.0f)));
}
G_INLINE float g_exponential_below(float x, float scale, float alpha, float width) {
  return g_choose(x > 0, x * scale, g_expm1(g_choose(width > 0, g_minimum(x, 0), x) / width) * alpha);
}
G_INLINE float g_logaddexp(float x, float y) {
  float d = x - y, most = g_choose(x > y, x, y);
  return g_choose(x == y, x + 0x1.62e43p-1f, most + g_log1p_unit(g_exp_less(g_fabs(d)))); /* d is a NaN where one of them is */
}
G_INLINE float g_logaddexp2(float x, float y) {
  float d = x - y, most = g_choose(x > y, x, y);
  return g_choose(x == y, x + 1, most + g_log1p_unit(g_exp2(-g_fabs(d))) * 0x1.715476p+0f);
}
G_INLINE float g_logit(float x) {
  return g_choose((x > 0.25f) & (x < 0.75f), 2 * g_atanh_half(2 * x - 1), g_log(x / (1 - x)));
}
G_INLINE float g_xlogy(float x, float y) { return g_choose((x == 0) & (y == y), 0.0f, x * g_log(y)); }
G_INLINE float g_xlog1py(float x, float y) { return g_choose((x == 0) & (y == y), 0.0f, x * g_log1p(y)); }
G_INLINE float g_entr(float x) { return g_choose(x == 0, 0.0f, g_choose(x < 0, -__builtin_inff(), -x * g_log(x))); }
G_INLINE float g_erfc_factor(float a) { /* exp(a^2) erfc(a) of a >= 0 */
  float t = 1 / (a + 2), u = g_fma(-4.0f, t, 1.0f);
  float p = g_fma(u, g_fma(u, g_fma(u, 0x1.603de2p-14f, 0x1.30d242p-14f), -0x1.395294p-11f), -0x1.c2edp-11f);
  p = g_fma(u, g_fma(u, g_fma(u, g_fma(u, p, 0x1.90acf2p-9f), 0x1.a90eacp-8f), -0x1.604c0ep-6f), -0x1.2a8a84p-5f);
  return t * g_fma(u, g_fma(u, g_fma(u, p, 0x1.1e2dbap-2f), -0x1.5fd386p-1f), 0x1.058672p+0f);
}
G_INLINE float g_erfc(float x) {
  float tail = g_exp_square(x, -1.0f) * g_erfc_factor(g_fabs(x));
  return g_choose(x < 0, 2 - tail, tail);
}
G_INLINE float g_erf(float x) {
  float tail = g_exp_square(x, -1.0f) * g_erfc_factor(g_fabs(x)), z = x * x;
  float p = g_fma(z, g_fma(z, g_fma(z, 0x1.4771fep-14f, -0x1.a3515ep-11f), 0x1.53f224p-8f), -0x1.b7f71ap-6f);
  float near = g_fma(x, g_fma(z, g_fma(z, g_fma(z, p, 0x1.ce2ce6p-4f), -0x1.81273ep-2f), 0x1.06eba8p-3f), x);
  return g_choose(g_fabs(x) < 1, near, g_copysign(1 - tail, x));
}
G_INLINE float g_ndtr(float x) {
  float tail = g_exp_square(x, -0.5f) * (0.5f * g_erfc_factor(g_fabs(x) * 0x1.6a09e6p-1f));
  return g_choose(x > 0, 1 - tail, tail);
}
G_INLINE float g_log_ndtr(float x) {
  float factor = 0.5f * g_erfc_factor(g_fabs(x) * 0x1.6a09e6p-1f), tail = g_exp_square(x, -0.5f) * factor;
  return g_choose(x > -1, g_log1p(g_choose(x > 0, -tail, tail - 1)), g_log(factor) - x * (x * 0.5f));
}
G_INLINE float g_gelu(float x) { return x * g_ndtr(x); }
G_INLINE float g_gelu_by_tanh(float x) {
  return x * g_sigmoid(0x1.988454p-1f * (2 * x + 44715 * x * x * x / 500000));
}

/* Quotients rounded to whole numbers */
G_INLINE float g_remainder(float x, float y) {
  float rest = g_fmod(x, y), lifted = rest + y;
  return g_choose(rest == 0, g_copysign(0.0f, y), g_choose((rest < 0) != (y < 0), lifted, rest));
}
G_INLINE float g_floor_divide(float x, float y) {
  float rest = g_fmod(x, y), whole = (x - rest) / y, below = g_choose((rest != 0) & ((rest < 0) != (y < 0)), whole - 1, whole);
  float floored = g_floor(below), nearest = g_choose(below - floored > 0.5f, floored + 1, floored);
  return g_choose(y == 0, x / y, g_choose(below == 0, g_copysign(0.0f, x / y), nearest));
}
