/* The functions for float32 that programs spend their time in, without branches; the others are those of double.h, whose names begin with d_
   here, rounded. Polynomials are of least relative error (J. Lawson's algorithm), rounded one coefficient after the other. */

#define G_ROUNDED(name) \
  G_INLINE float g_##name(float x) { return (float)d_##name((double)x); }
#define G_ROUNDED_2(name) \
  G_INLINE float g_##name(float x, float y) { return (float)d_##name((double)x, (double)y); }
G_ROUNDED(exp2) G_ROUNDED(log2) G_ROUNDED(log10) G_ROUNDED(cbrt) G_ROUNDED(sin) G_ROUNDED(cos)
G_ROUNDED(tan) G_ROUNDED(sinc) G_ROUNDED(asin) G_ROUNDED(acos)
G_ROUNDED(atan) G_ROUNDED(sinh) G_ROUNDED(cosh) G_ROUNDED(sech) G_ROUNDED(csch)
G_ROUNDED(asinh) G_ROUNDED(acosh) G_ROUNDED(atanh) G_ROUNDED(erf) G_ROUNDED(erfc) G_ROUNDED(log_ndtr) G_ROUNDED(logit)
G_ROUNDED_2(pow) G_ROUNDED_2(hypot) G_ROUNDED_2(atan2) G_ROUNDED_2(fmod) G_ROUNDED_2(remainder) G_ROUNDED_2(floor_divide)

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define G_HAS_FMA
#endif
G_INLINE float g_fma(float x, float y, float z) { /* rounded once where the processor does so at no cost; else twice */
#ifdef G_HAS_FMA
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}
G_INLINE float g_two_to(int k) { return g_of_bits((g_bits)(k + 127) << 23); }
G_INLINE int g_whole_bits(float x) { return (int)g_to_bits(x); }

/* Exponentials: 2^k exp(r), |r| <= log(2)/2; 2^k in two factors, which neither overflow nor underflow */
typedef struct { float rest, first, second, inverse; } g_powers; /* exp(r) - 1, 2^k as first * second, 1 / second */
G_INLINE g_powers g_split(float y, float more) {
  float shifted = g_fma(y, 0x1.715476p+0f, 0x1.8p+23f), k = shifted - 0x1.8p+23f;
  float r = g_fma(k, 0x1.bd0106p-13f, g_fma(k, -0x1.63p-1f, y)) + more, p = g_fma(r, 0x1.6d6622p-10f, 0x1.123c3ap-7f);
  p = g_fma(r, g_fma(r, g_fma(r, p, 0x1.5554d2p-5f), 0x1.55548ep-3f), 0.5f);
  int n = g_whole_bits(shifted) - 0x4b400000, half = n >> 1;
  g_powers powers = {g_fma(r * r, p, r), g_two_to(half), g_two_to(n - half), g_two_to(half - n)};
  return powers;
}
G_INLINE float g_exp_of(float y, float more) { /* exp(y + more), infinite only where it overflows; |y| < 106 */
  g_powers p = g_split(y, more);
  return (1 + p.rest) * p.first * p.second;
}
G_INLINE float g_within(float x, float most) { return g_choose(g_fabs(x) > most, g_copysign(most, x), x); }
G_INLINE float g_exp(float x) { return g_exp_of(g_within(x, 105), 0); }
G_INLINE float g_decay(float x) { return g_exp_of(-g_limited(x, 105), 0); }
G_INLINE float g_expm1(float x) {
  g_powers p = g_split(g_within(x, 105), 0);
  return g_choose(x == 0, x, g_fma(p.rest, p.first, p.first - p.inverse) * p.second);
}
G_INLINE float g_exp_square(float x, float c) { /* c a power of two, or its negative; the rounding error of x * x counts, too */
  float a = g_limited(x, 1000), square = a * a;
#ifdef G_HAS_FMA
  float error = __builtin_fmaf(a, a, -square);
#else
  float high = g_of_bits(g_to_bits(a) & 0xfffff000u), low = a - high, error = high * high - square + 2 * high * low + low * low;
#endif
  return g_exp_of(g_within(c * square, 105), c * error);
}

/* Logarithms: x = 2^k (1 + f), 1 + f from 2/3 to 4/3 */
G_INLINE float g_log_rest(float f) { /* log(1 + f) - f */
  float p = g_fma(f, g_fma(f, g_fma(f, 0x1.e9ba9p-4f, -0x1.06d8c8p-3f), 0x1.b9255ap-4f), -0x1.f3a648p-4f);
  p = g_fma(f, g_fma(f, g_fma(f, g_fma(f, g_fma(f, p, 0x1.24eb26p-3f), -0x1.5597e6p-3f), 0x1.9997fp-3f), -0x1.ffff16p-3f), 0x1.555556p-2f);
  return f * f * g_fma(f, p, -0.5f);
}
G_INLINE float g_log_of(float k, float f) { return g_fma(k, 0x1.63p-1f, f + g_fma(k, -0x1.bd0106p-13f, g_log_rest(f))); }
G_INLINE float g_log(float x) {
  float by = g_choose(x < 0x1p-126f, 0x1p+23f, 1), below = g_choose(x == 0, -__builtin_inff(), __builtin_nanf(""));
  int i = g_whole_bits(x * by), above = i - 0x3f2aaaab;
  float k = (float)((above - g_whole_bits(by) + 0x3f800000) >> 23), f = g_of_bits((g_bits)i - ((g_bits)above & 0xff800000u)) - 1;
  return g_choose(x > 0, g_choose(x <= __FLT_MAX__, g_log_of(k, f), x), below);
}
G_INLINE float g_log1p(float x) {
  float u = 1 + x, lost = g_choose(x < 1, x - (u - 1), 1 - (u - x));
  int k = (g_whole_bits(u) - 0x3f2aaaab) >> 23;
  float f = g_of_bits(g_to_bits(u) - ((g_bits)k << 23)) - 1 + lost * g_two_to(k < 127 ? -k : -127);
  float above = g_choose((x <= __FLT_MAX__) & (x != 0), g_log_of((float)k, f), x);
  return g_choose(x > -1, above, g_choose(x == -1, -__builtin_inff(), __builtin_nanf("")));
}
G_INLINE float g_log1p_of_unit(float x) {
  float far = g_choose(x > 0x1.555556p-2f, 1, 0);
  return g_log_of(far, (x - far) * g_fma(far, -0.5f, 1));
}

/* The hyperbolic tangent */
G_INLINE float g_tanh(float x) {
  float less = g_expm1(-2 * g_limited(x, 50));
  return g_copysign(less / (2 + less), x);
}

/* The normal distribution */
G_INLINE float g_erfc_factor(float a) { /* exp(a^2) erfc(a) of a >= 0 */
  float t = 1 / (a + 2), u = g_fma(-4, t, 1);
  float p = g_fma(u, g_fma(u, g_fma(u, 0x1.603de2p-14f, 0x1.30d242p-14f), -0x1.395294p-11f), -0x1.c2edp-11f);
  p = g_fma(u, g_fma(u, g_fma(u, g_fma(u, p, 0x1.90acf2p-9f), 0x1.a90eacp-8f), -0x1.604c0ep-6f), -0x1.2a8a84p-5f);
  return t * g_fma(u, g_fma(u, g_fma(u, p, 0x1.1e2dbap-2f), -0x1.5fd386p-1f), 0x1.058672p+0f);
}
G_INLINE float g_ndtr(float x) {
  float tail = g_exp_square(x, -0.5f) * (0.5f * g_erfc_factor(g_fabs(x) * 0x1.6a09e6p-1f));
  return g_choose(x > 0, 1 - tail, tail);
}
