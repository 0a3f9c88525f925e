/* What texts of operations in C call (`Op.c`), alike for both types of numbers: `real` is one, `g_bits` whole numbers of its size. */

#define G_INLINE static inline __attribute__((always_inline)) /* a loop that calls a function takes entries one by one */

G_INLINE g_bits g_to_bits(real x) {
  g_bits bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
G_INLINE real g_of_bits(g_bits bits) {
  real x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
/* One of two numbers, by their bits. At a branch compilers write what follows twice, and move into it what is needed there alone: a loop
   with calls in branches takes entries one by one. */
G_INLINE real g_choose(int holds, real x, real y) {
  g_bits mask = -(g_bits)(holds != 0);
  return g_of_bits((g_to_bits(x) & mask) | (g_to_bits(y) & ~mask));
}
G_INLINE int g_choose_truth(int holds, int x, int y) { return (holds & x) | ((holds ^ 1) & y); }
G_INLINE long long g_choose_whole(int holds, long long x, long long y) { return holds ? x : y; }
#define g_where(holds, x, y) _Generic((x) + (y), real: g_choose, int: g_choose_truth, default: g_choose_whole)((holds) != 0, x, y)

/* Exact functions: compilers take those of floats where numbers come from floats, and go back. */
#define G_EXACT(name) \
  G_INLINE real g_##name(real x) { return (real)__builtin_##name((double)x); }
G_EXACT(fabs) G_EXACT(sqrt) G_EXACT(floor) G_EXACT(ceil) G_EXACT(trunc) G_EXACT(rint)
#undef G_EXACT
G_INLINE real g_copysign(real x, real y) { return (real)__builtin_copysign((double)x, (double)y); }
G_INLINE real g_largest(void) { return sizeof(real) < 8 ? (real)__FLT_MAX__ : (real)__DBL_MAX__; }
G_INLINE int g_isnan(real x) { return x != x; }
G_INLINE int g_isinf(real x) { return g_fabs(x) > g_largest(); }
G_INLINE int g_isfinite(real x) { return g_fabs(x) <= g_largest(); }
G_INLINE int g_signbit(real x) { return g_copysign(1, x) < 0; }
