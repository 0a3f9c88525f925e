/* The functions of C that texts of operations call (Text.c), for float64; float.h has those for float32 under the same names.

   Each is one expression without branches, so that a loop over entries is carried out in vector registers. NaN, infinities and the
   signs of zeros are NumPy's. */

#ifndef real
#define real double
#endif

/* Parts of numbers */
static inline double g_largest(void) { return __DBL_MAX__; }
static inline double g_fabs(double x) { return __builtin_fabs(x); }
static inline double g_sqrt(double x) { return __builtin_sqrt(x); }
static inline double g_floor(double x) { return __builtin_floor(x); }
static inline double g_ceil(double x) { return __builtin_ceil(x); }
static inline double g_trunc(double x) { return __builtin_trunc(x); }
static inline double g_rint(double x) { return __builtin_rint(x); }
static inline double g_copysign(double x, double y) { return __builtin_copysign(x, y); }
static inline int g_isnan(double x) { return x != x; }
static inline int g_isinf(double x) { return __builtin_fabs(x) > __DBL_MAX__; }
static inline int g_isfinite(double x) { return __builtin_fabs(x) <= __DBL_MAX__; }
static inline int g_signbit(double x) { return __builtin_copysign(1.0, x) < 0; }
static inline double g_sign(double x) { return x != x ? x : (double)(x > 0) - (double)(x < 0); }
static inline double g_heaviside(double x, double y) { return x != x ? x : x < 0 ? 0.0 : x > 0 ? 1.0 : y; }
static inline double g_square(double x) { return x * x; }
static inline double g_maximum(double x, double y) { return x != x ? x : x > y ? x : y; }
static inline double g_minimum(double x, double y) { return x != x ? x : x < y ? x : y; }
static inline double g_chain(double c, double p) { double t = c * p; return (c == 0) & (t != 0) ? 0.0 : t; }

static inline double g_nan_to_num(double x, double nan, double high, double low) {
  return x != x ? nan : x > __DBL_MAX__ ? high : x < -__DBL_MAX__ ? low : x;
}
static inline double g_lerp(double x, double end, double weight) { return x + weight * (end - x); }
static inline double g_angle(double x) { return x != x ? x : x < 0 ? 0x1.921fb54442d18p+1 : 0.0; }
static inline double g_leaky(double x, double slope) { return x > 0 ? x : x * slope; }
static inline double g_hardswish(double x) { return x * g_minimum(g_maximum(x + 3, 0), 6) / 6; }
static inline double g_hardshrink(double x, double width) { return (-width <= x) & (x <= width) ? 0.0 : x; }
static inline double g_softshrink(double x, double width) { return x - g_minimum(g_maximum(x, -width), width); }
static inline double g_softsign(double x) { return x / (1 + g_fabs(x)); }

/* Of the C library */
static inline double g_exp(double x) { return __builtin_exp(x); }
static inline double g_exp2(double x) { return __builtin_exp2(x); }
static inline double g_expm1(double x) { return __builtin_expm1(x); }
static inline double g_log(double x) { return __builtin_log(x); }
static inline double g_log2(double x) { return __builtin_log2(x); }
static inline double g_log10(double x) { return __builtin_log10(x); }
static inline double g_log1p(double x) { return __builtin_log1p(x); }
static inline double g_sin(double x) { return __builtin_sin(x); }
static inline double g_cos(double x) { return __builtin_cos(x); }
static inline double g_tan(double x) { return __builtin_tan(x); }
static inline double g_asin(double x) { return __builtin_asin(x); }
static inline double g_acos(double x) { return __builtin_acos(x); }
static inline double g_atan(double x) { return __builtin_atan(x); }
static inline double g_sinh(double x) { return __builtin_sinh(x); }
static inline double g_cosh(double x) { return __builtin_cosh(x); }
static inline double g_tanh(double x) { return __builtin_tanh(x); }
static inline double g_asinh(double x) { return __builtin_asinh(x); }
static inline double g_acosh(double x) { return __builtin_acosh(x); }
static inline double g_atanh(double x) { return __builtin_atanh(x); }
static inline double g_atan2(double y, double x) { return __builtin_atan2(y, x); }
static inline double g_hypot(double x, double y) { return __builtin_hypot(x, y); }
static inline double g_pow(double x, double y) { return __builtin_pow(x, y); }
static inline double g_cbrt(double x) { return __builtin_cbrt(x); }
static inline double g_fmod(double x, double y) { return __builtin_fmod(x, y); }
static inline double g_erf(double x) { return __builtin_erf(x); }
static inline double g_erfc(double x) { return __builtin_erfc(x); }

/* Made of these */
static inline double g_sech(double x) {
  double small = g_exp(-g_fabs(x));
  return 2 * small / (1 + small * small);
}
static inline double g_csch(double x) {
  double size = g_fabs(x);
  return g_copysign(-2 * g_exp(-size) / g_expm1(-2 * size), x);
}
static inline double g_coth(double x) { return 1 / g_tanh(x); }
static inline double g_asech(double x) { return g_log1p((1 - x + g_sqrt((1 - x) * (1 + x))) / x); }
static inline double g_acoth(double x) { return g_copysign(g_log1p(2 / (g_fabs(x) - 1)) / 2, x); }
static inline double g_asec(double x) { return g_atan2(g_sqrt(g_fabs(x) - 1) * g_sqrt(g_fabs(x) + 1), g_sign(x)); }
static inline double g_acsc(double x) { return g_atan2(g_sign(x), g_sqrt(g_fabs(x) - 1) * g_sqrt(g_fabs(x) + 1)); }
static inline double g_sigmoid(double x) {
  double small = g_exp(-g_fabs(x));
  return (x >= 0 ? 1.0 : small) / (1 + small);
}
static inline double g_softplus(double x) { return g_maximum(x, 0.0) + g_log1p(g_exp(-g_fabs(x))); }
static inline double g_exp_square(double x, double c) {
  double limited = g_maximum(g_minimum(x, 1000.0), -1000.0), high = g_rint(limited * 0x1p20) * 0x1p-20;
  return g_exp(c * (high * high)) * g_exp(c * ((limited - high) * (limited + high)));
}
static inline double g_ndtr(double x) { return 0.5 * g_erfc(x * -0x1.6a09e667f3bcdp-1); }
static inline double g_log_ndtr(double x) {
  double near = g_log(g_ndtr(g_maximum(x, -20.0))), r = 1 / (x * x);
  double far = x * x * -0.5 - g_log(g_fabs(x) * 0x1.40d931ff62705p+1) + g_log1p(r * (-1 + r * (3 + r * (-15 + r * (105 - 945 * r)))));
  return x < -20.0 ? far : x > 1.0 ? g_log1p(-g_ndtr(-x)) : near;
}
static inline double g_gelu(double x) { return x * g_ndtr(x); }
static inline double g_gelu_by_tanh(double x) {
  return x * g_sigmoid(0x1.9884533d43651p-1 * (2 * x + 44715 * x * x * x / 500000));
}
static inline double g_silu(double x) { return x * g_sigmoid(x); }
static inline double g_exponential_below(double x, double scale, double alpha, double width) {
  return x > 0 ? x * scale : g_expm1((width > 0 ? g_minimum(x, 0) : x) / width) * alpha;
}
static inline double g_mish(double x) { return x * g_tanh(g_softplus(x)); }
static inline double g_tanhshrink(double x) {
  double y = g_maximum(g_minimum(x, 1.0), -1.0), s = y * y, tail = 0.0;
  tail = s / (19 + tail), tail = s / (17 + tail), tail = s / (15 + tail), tail = s / (13 + tail), tail = s / (11 + tail);
  tail = s / (9 + tail), tail = s / (7 + tail), tail = s / (5 + tail), tail = s / (3 + tail);
  return g_fabs(x) < 1 ? x * (tail / (1 + tail)) : x - g_tanh(x);
}
static inline double g_logaddexp(double x, double y) {
  double d = x - y;
  return x == y ? x + 0x1.62e42fefa39efp-1 : d != d ? d : g_maximum(x, y) + g_log1p(g_exp(-g_fabs(d)));
}
static inline double g_logaddexp2(double x, double y) {
  double d = x - y;
  return x == y ? x + 1 : d != d ? d : g_maximum(x, y) + g_log1p(g_exp2(-g_fabs(d))) * 0x1.71547652b82fep+0;
}
static inline double g_logit(double x) { return g_log(x / (1 - x)); }
static inline double g_xlogy(double x, double y) { return (x == 0) & (y == y) ? 0.0 : x * g_log(y); }
static inline double g_xlog1py(double x, double y) { return (x == 0) & (y == y) ? 0.0 : x * g_log1p(y); }
static inline double g_entr(double x) { return x == 0 ? 0.0 : x < 0 ? -__builtin_inf() : -x * g_log(x); }
static inline double g_sinc(double x) {
  double nearest = g_rint(x), odd = nearest - 2 * g_rint(nearest * 0.5), turned = g_sin(0x1.921fb54442d18p+1 * (x - nearest));
  return x == 0 ? 1.0 : (odd == 0 ? turned : -turned) / (0x1.921fb54442d18p+1 * x);
}
static inline double g_remainder(double x, double y) {
  double rest = g_fmod(x, y), lifted = rest + y;
  return rest == 0 ? g_copysign(0.0, y) : (rest < 0) != (y < 0) ? lifted : rest;
}
static inline double g_floor_divide(double x, double y) {
  double rest = g_fmod(x, y), whole = (x - rest) / y, below = (rest != 0) & ((rest < 0) != (y < 0)) ? whole - 1 : whole;
  double floored = g_floor(below), nearest = below - floored > 0.5 ? floored + 1 : floored;
  return y == 0 ? x / y : below == 0 ? g_copysign(0.0, x / y) : nearest;
}
