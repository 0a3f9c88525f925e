/* Functions that are made of others alike for both types of numbers; `g_decay` is exp(-|x|). */

G_INLINE real g_sigmoid(real x) {
  real small = g_decay(x), inverse = 1 / (1 + small);
  return g_choose(x < 0, small * inverse, inverse);
}
G_INLINE real g_softplus(real x) { return g_choose(x < 0, 0, x) + g_log1p_of_unit(g_decay(x)); }
/* The difference is a NaN where one of them is. */
G_INLINE real g_logaddexp(real x, real y) {
  return g_choose(x == y, x + (real)0x1.62e42fefa39efp-1, g_choose(x > y, x, y) + g_log1p_of_unit(g_decay(x - y)));
}
G_INLINE real g_logaddexp2(real x, real y) {
  return g_choose(x == y, x + 1, g_choose(x > y, x, y) + g_log1p_of_unit(g_exp2(-g_fabs(x - y))) * (real)0x1.71547652b82fep+0);
}
G_INLINE real g_xlogy(real x, real y) { return g_choose((x == 0) & (y == y), 0, x * g_log(y)); }
G_INLINE real g_xlog1py(real x, real y) { return g_choose((x == 0) & (y == y), 0, x * g_log1p(y)); }
G_INLINE real g_entr(real x) {
  return g_choose(x > 0, -x * g_log(x), g_choose(x == 0, 0, g_choose(x < 0, -(real)__builtin_inf(), x)));
}
G_INLINE real g_asech(real x) { return g_log1p((1 - x + g_sqrt((1 - x) * (1 + x))) / x); }
G_INLINE real g_acoth(real x) { return g_copysign(g_log1p(2 / (g_fabs(x) - 1)) / 2, x); }
