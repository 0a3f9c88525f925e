/* Programs on blocks of numbers: each instruction is a loop over a block that stays in the cache. */

#include <stdlib.h>

#define BLOCK 256
#define AXES 8

typedef int64_t whole;

/* An array, or the cells of a reduction: where its entries are for those of the loop's shape. low is NULL where all low parts are zero. */
typedef struct {
    double *high, *low;
    whole strides[AXES];
    whole dense; /* 1: its entries are the loop's, one after the other; 2: it has one entry */
} array;

enum { TO_SUM, TO_MAX, TO_MIN, TO_PLACE, TO_ROUGH_SUM, TO_ROUGH_MAX, TO_ROUGH_MIN };

static const double NOTHING[BLOCK];

typedef struct {
    whole place[AXES], at;
} walk;

static void begin(walk *w, whole flat, whole axes, const whole *shape, const whole *strides) {
    w->at = 0;
    for (whole d = axes - 1; d >= 0; d--) {
        w->place[d] = flat % shape[d];
        flat /= shape[d];
        w->at += w->place[d] * strides[d];
    }
}

/* count entries on, within the last axis */
static void go(walk *w, whole count, whole axes, const whole *shape, const whole *strides) {
    whole d = axes - 1;
    w->place[d] += count;
    w->at += count * strides[d];
    while (d > 0 && w->place[d] == shape[d]) {
        w->at += strides[d - 1] - shape[d] * strides[d];
        w->place[d] = 0;
        w->place[--d] += 1;
    }
}

static void load(double *to, const double *from, whole flat, whole n, whole axes, const whole *shape, const whole *strides) {
    walk w;
    begin(&w, flat, axes, shape, strides);
    whole step = strides[axes - 1];
    for (whole i = 0; i < n;) {
        whole run = shape[axes - 1] - w.place[axes - 1];
        run = run < n - i ? run : n - i;
        const double *source = from + w.at;
        if (step == 1) memcpy(to + i, source, run * sizeof(double));
        else for (whole k = 0; k < run; k++) to[i + k] = source[k * step];
        i += run;
        go(&w, run, axes, shape, strides);
    }
}

static void store(double *to, const double *from, whole flat, whole n, whole axes, const whole *shape, const whole *strides) {
    walk w;
    begin(&w, flat, axes, shape, strides);
    whole step = strides[axes - 1];
    for (whole i = 0; i < n;) {
        whole run = shape[axes - 1] - w.place[axes - 1];
        run = run < n - i ? run : n - i;
        for (whole k = 0; k < run; k++) to[w.at + k * step] = from[i + k];
        i += run;
        go(&w, run, axes, shape, strides);
    }
}

INLINE pair plus(pair a, pair b) { return raw_add(a, b); }
INLINE pair larger(pair a, pair b) {
    int keep = (a.high != a.high) | pair_less(b, a);
    return (pair){keep ? a.high : b.high, keep ? a.low : b.low};
}
INLINE pair smaller(pair a, pair b) {
    int keep = (a.high != a.high) | pair_less(a, b);
    return (pair){keep ? a.high : b.high, keep ? a.low : b.low};
}

#define LANES 16

#define FOLD(NAME, JOIN)                                                                                                  \
    static pair NAME##_of(const double *high, const double *low, whole n) {                                               \
        double h[LANES] = {0}, l[LANES] = {0};                                                                                        \
        whole first = n < LANES ? n : LANES;                                                                              \
        for (whole k = 0; k < first; k++) h[k] = high[k], l[k] = low[k];                                                  \
        whole i = first;                                                                                                  \
        for (; i + LANES <= n; i += LANES) {                                                                              \
            _Pragma("omp simd") for (int k = 0; k < LANES; k++) {                                                         \
                pair r = JOIN((pair){h[k], l[k]}, (pair){high[i + k], low[i + k]});                                       \
                h[k] = r.high;                                                                                            \
                l[k] = r.low;                                                                                             \
            }                                                                                                             \
        }                                                                                                                 \
        pair total = {h[0], l[0]};                                                                                        \
        for (whole k = 1; k < first; k++) total = JOIN(total, (pair){h[k], l[k]});                                        \
        for (; i < n; i++) total = JOIN(total, (pair){high[i], low[i]});                                                  \
        return total;                                                                                                     \
    }                                                                                                                     \
    static void NAME##_each(double *high, double *low, const double *h, const double *l, whole n) {                       \
        _Pragma("omp simd") for (whole k = 0; k < n; k++) {                                                               \
            pair r = JOIN((pair){high[k], low[k]}, (pair){h[k], l[k]});                                                   \
            high[k] = r.high;                                                                                             \
            low[k] = r.low;                                                                                               \
        }                                                                                                                 \
    }

FOLD(plus, plus)
FOLD(larger, larger)
FOLD(smaller, smaller)

/* doubles alone: what is no number makes the result none */
INLINE double rough_plus(double a, double b) { return a + b; }
INLINE double rough_larger(double a, double b) { return a != a || a > b ? a : b; }
INLINE double rough_smaller(double a, double b) { return a != a || a < b ? a : b; }

#define ROUGH_FOLD(NAME, JOIN)                                                                                            \
    static pair NAME##_of(const double *high, const double *low, whole n) {                                               \
        (void)low;                                                                                                        \
        double h[LANES] = {0};                                                                                            \
        whole first = n < LANES ? n : LANES, i = first;                                                                   \
        for (whole k = 0; k < first; k++) h[k] = high[k];                                                                 \
        for (; i + LANES <= n; i += LANES) {                                                                              \
            _Pragma("omp simd") for (int k = 0; k < LANES; k++) h[k] = JOIN(h[k], high[i + k]);                           \
        }                                                                                                                 \
        for (whole k = 1; k < first; k++) h[0] = JOIN(h[0], h[k]);                                                        \
        for (; i < n; i++) h[0] = JOIN(h[0], high[i]);                                                                    \
        return (pair){h[0], 0};                                                                                           \
    }                                                                                                                     \
    static void NAME##_each(double *high, double *low, const double *h, const double *l, whole n) {                       \
        (void)low; (void)l;                                                                                               \
        _Pragma("omp simd") for (whole k = 0; k < n; k++) high[k] = JOIN(high[k], h[k]);                                  \
    }

ROUGH_FOLD(rough_plus, rough_plus)
ROUGH_FOLD(rough_larger, rough_larger)
ROUGH_FOLD(rough_smaller, rough_smaller)

typedef struct {
    pair (*of)(const double *, const double *, whole);
    void (*each)(double *, double *, const double *, const double *, whole);
} fold;

static const fold FOLDS[] = {
    {plus_of, plus_each}, {larger_of, larger_each}, {smaller_of, smaller_each}, {NULL, NULL},
    {rough_plus_of, rough_plus_each}, {rough_larger_of, rough_larger_each}, {rough_smaller_of, rough_smaller_each},
};

/* the largest number and where it is first; of numbers that are no numbers, nothing */
static void find(const array *cell, const double *high, whole flat, whole n) {
    double top[LANES];
    for (int k = 0; k < LANES; k++) top[k] = cell->high[0];
    whole i = 0;
    for (; i + LANES <= n; i += LANES) {
        _Pragma("omp simd") for (int k = 0; k < LANES; k++) top[k] = high[i + k] > top[k] ? high[i + k] : top[k];
    }
    int more = i < n;
    for (int k = 0; k < LANES; k++) more |= top[k] > cell->high[0];
    for (i = 0; more && i < n; i++)
        if (high[i] > cell->high[0]) cell->high[0] = high[i], cell->low[0] = (double)(flat + i);
}

static void reduce(whole how, const array *cells, const double *high, const double *low, whole flat, whole n, whole axes, const whole *shape) {
    if (how == TO_PLACE) {
        find(cells, high, flat, n);
        return;
    }
    walk w;
    begin(&w, flat, axes, shape, cells->strides);
    whole step = cells->strides[axes - 1];
    for (whole i = 0; i < n;) {
        whole run = cells->dense == 2 ? n : shape[axes - 1] - w.place[axes - 1];
        run = run < n - i ? run : n - i;
        double *h = cells->high + w.at, *l = cells->low + w.at;
        if (step == 0) {
            pair part = FOLDS[how].of(high + i, low + i, run);
            FOLDS[how].each(h, l, &part.high, &part.low, 1);
        } else if (step == 1) {
            FOLDS[how].each(h, l, high + i, low + i, run);
        } else {
            for (whole k = 0; k < run; k++) FOLDS[how].each(h + k * step, l + k * step, high + i + k, low + i + k, 1);
        }
        i += run;
        if (cells->dense != 2) go(&w, run, axes, shape, cells->strides);
    }
}

typedef struct {
    double *high;
    double *low;
} block;

#define SIMD _Pragma("omp simd") for (whole i = 0; i < n; i++)
#define A ((pair){ah[i], al[i]})
#define B ((pair){bh[i], bl[i]})
#define GIVES(...) SIMD { pair r = __VA_ARGS__; rh[i] = r.high; rl[i] = r.low; }

#define LOOP(NAME, ...)                                                                                                  \
    static void NAME(whole n, double *restrict rh, double *restrict rl, const double *ah, const double *al, const double *bh, const double *bl, \
                     const double *ch, const double *cl) {                                                                 \
        (void)rl; (void)al; (void)bh; (void)bl; (void)ch; (void)cl;                                                        \
        __VA_ARGS__ \
    }

#define PAIR1(NAME) LOOP(b_##NAME, GIVES(pair_##NAME(A)))
#define PAIR2(NAME) LOOP(b_##NAME, GIVES(pair_##NAME(A, B)))
#define TRUTH(NAME, HOLDS) LOOP(b_##NAME, SIMD rh[i] = truth(HOLDS, A, B);)
#define DOUBLE1(NAME, VALUE) LOOP(b_##NAME, SIMD { double a = ah[i]; rh[i] = VALUE; })
#define DOUBLE2(NAME, VALUE) LOOP(b_##NAME, SIMD { double a = ah[i], b = bh[i]; rh[i] = VALUE; })

PAIR2(add)
PAIR2(sub)
PAIR2(mul)
PAIR2(div)
PAIR2(pow)
PAIR1(neg)
PAIR1(abs)
PAIR1(sign)
PAIR1(sqrt)
PAIR1(cbrt)
PAIR1(exp)
PAIR1(expm1)
PAIR1(log)
PAIR1(log1p)
PAIR1(sin)
PAIR1(cos)
PAIR1(tan)
PAIR1(atan)
PAIR1(sinh)
PAIR1(cosh)
PAIR1(tanh)
PAIR1(floor)
PAIR1(ceil)
PAIR1(trunc)
LOOP(b_sincos, double *restrict h2 = (double *)bh, *restrict l2 = (double *)bl; SIMD {
    turn r = pair_sincos(A);
    rh[i] = r.sine.high;
    rl[i] = r.sine.low;
    h2[i] = r.cosine.high;
    l2[i] = r.cosine.low;
})
LOOP(b_maximum, GIVES(larger(A, ((pair){ah[i] == ah[i] ? bh[i] : NAN, bl[i]}))))
LOOP(b_minimum, GIVES(smaller(A, ((pair){ah[i] == ah[i] ? bh[i] : NAN, bl[i]}))))
TRUTH(less, pair_less(A, B))
TRUTH(less_equal, pair_less(A, B) | pair_same(A, B))
TRUTH(equal, pair_same(A, B))
TRUTH(not_equal, !pair_same(A, B))
TRUTH(known, 1)
DOUBLE2(both, a * b)
DOUBLE2(either, a + b - a * b)
DOUBLE1(not, 1 - a)
LOOP(b_where, SIMD {
    double t = ah[i];
    rh[i] = t == 1 ? bh[i] : t == 0 ? ch[i] : NAN;
    rl[i] = t == 1 ? bl[i] : cl[i];
})
LOOP(b_widen, SIMD { rh[i] = ah[i]; rl[i] = 0; })
LOOP(b_rough_where, SIMD {
    double t = ah[i];
    rh[i] = t == 1 ? bh[i] : t == 0 ? ch[i] : NAN;
})
DOUBLE2(rough_add, a + b)
DOUBLE2(rough_sub, a - b)
DOUBLE2(rough_mul, a * b)
DOUBLE2(rough_div, a / b)
DOUBLE1(rough_neg, -a)
DOUBLE1(rough_abs, fabs(a))
DOUBLE1(rough_sqrt, sqrt(a))
DOUBLE2(rough_maximum, a != a ? a : a > b ? a : b)
DOUBLE2(rough_minimum, a != a ? a : a < b ? a : b)
DOUBLE2(rough_less, a != a || b != b ? NAN : (double)(a < b))
DOUBLE2(rough_less_equal, a != a || b != b ? NAN : (double)(a <= b))
DOUBLE2(rough_equal, a != a || b != b ? NAN : (double)(a == b))
DOUBLE2(rough_not_equal, a != a || b != b ? NAN : (double)(a != b))
DOUBLE1(finite, a != a ? NAN : (double)(fabs(a) <= 0x1.fffffffffffffp1023))
DOUBLE1(single, (double)(float)a)

typedef void (*loop)(whole, double *restrict, double *restrict, const double *, const double *, const double *, const double *, const double *, const double *);

#define SINCOS 54

static const loop LOOPS[] = {
    NULL, NULL, b_add, b_sub, b_mul, b_div, b_pow, b_neg, b_abs, b_sign, b_sqrt, b_cbrt, b_exp, b_expm1, b_log, b_log1p, b_sin, b_cos,
    b_tan, b_atan, b_sinh, b_cosh, b_tanh, b_floor, b_ceil, b_trunc, b_maximum, b_minimum, b_less, b_less_equal, b_equal, b_not_equal, b_known,
    b_both, b_either, b_not, b_where, b_widen, b_rough_where, b_rough_add, b_rough_sub, b_rough_mul, b_rough_div, b_rough_neg, b_rough_abs, b_rough_sqrt,
    b_rough_maximum, b_rough_minimum, b_rough_less, b_rough_less_equal, b_rough_equal, b_rough_not_equal, b_finite, b_single, b_sincos,
};

/* What parts of a loop have found in the same cells, put together. */
void merge(whole how, double *high, double *low, const double *h, const double *l, whole n) {
    if (how == TO_PLACE) {
        if (h[0] > high[0]) high[0] = h[0], low[0] = l[0];
        return;
    }
    FOLDS[how].each(high, low, h, l, n);
}

/* Rows of x from `first` to `last` times y: n terms an entry, p columns. */
void multiply(whole n, whole p, const double *xh, const double *xl, const double *yh, const double *yl, double *zh, double *zl, whole first, whole last) {
    for (whole i = first; i < last; i++) {
        for (whole start = 0; start < p; start += BLOCK) {
            whole count = p - start < BLOCK ? p - start : BLOCK;
            double *h = zh + i * p + start, *l = zl + i * p + start;
            memset(h, 0, count * sizeof(double));
            memset(l, 0, count * sizeof(double));
            for (whole k = 0; k < n; k++) {
                pair x = {xh[i * n + k], xl[i * n + k]};
                const double *a = yh + k * p + start, *b = yl + k * p + start;
                _Pragma("omp simd") for (whole j = 0; j < count; j++) {
                    pair t = two_prod(x.high, a[j]), s = two_sum(h[j], t.high);
                    double rest = l[j] + (s.low + t.low) + fma(x.high, b[j], x.low * a[j]);
                    h[j] = s.high;
                    l[j] = rest;
                }
            }
            _Pragma("omp simd") for (whole j = 0; j < count; j++) {
                pair s = in_range(two_sum(h[j], l[j]));
                h[j] = s.high;
                l[j] = s.low;
            }
        }
    }
}

/* Entries added up at their places. */
void put(whole n, const whole *places, const double *high, const double *low, double *to_high, double *to_low) {
    for (whole i = 0; i < n; i++) {
        whole at = places[i];
        pair s = raw_add((pair){to_high[at], to_low[at]}, (pair){high[i], low[i]});
        to_high[at] = s.high;
        to_low[at] = s.low;
    }
}

/* Instructions: what, register of the result, three of operands (of an array to load: its number; of a reduction: how, cells, register).

   Registers beyond `blocks` hold constants. Entries from `first` to `last` of the loop's shape. Gives 0, or 1 without memory. */
int run_program(whole length, const int32_t *program, whole blocks, whole constants, const double *numbers, const array *arrays, whole axes,
                const whole *shape, whole first, whole last) {
    whole registers = blocks + constants;
    double *memory = aligned_alloc(64, (size_t)(registers ? registers : 1) * 2 * BLOCK * sizeof(double));
    block *of = malloc((size_t)(registers ? registers : 1) * sizeof(block));
    if (!memory || !of) {
        free(memory);
        free(of);
        return 1;
    }
    for (whole r = 0; r < registers; r++) {
        of[r] = (block){memory + 2 * r * BLOCK, memory + (2 * r + 1) * BLOCK};
        double high = r < blocks ? 0.0 : numbers[2 * (r - blocks)], low = r < blocks ? 0.0 : numbers[2 * (r - blocks) + 1];
        for (int i = 0; i < BLOCK; i++) of[r].high[i] = high, of[r].low[i] = low;
    }
    for (whole flat = first; flat < last; flat += BLOCK) {
        whole n = last - flat < BLOCK ? last - flat : BLOCK;
        for (const int32_t *p = program; p < program + 5 * length; p += 5) {
            block *r = of + p[1];
            if (p[0] == 0) {
                const array *x = arrays + p[2];
                double *own = memory + 2 * p[1] * BLOCK;
                if (x->dense == 1) {
                    r->high = x->high + flat;
                    r->low = x->low ? x->low + flat : (double *)NOTHING;
                } else {
                    r->high = own;
                    load(own, x->high, flat, n, axes, shape, x->strides);
                    if (x->low) load(own + BLOCK, x->low, flat, n, axes, shape, x->strides);
                    r->low = x->low ? own + BLOCK : (double *)NOTHING;
                }
            } else if (p[0] == 1) {
                const array *cells = arrays + p[3];
                if (p[2] < 0 && cells->dense == 1) {
                    memcpy(cells->high + flat, of[p[4]].high, n * sizeof(double));
                    if (cells->low) memcpy(cells->low + flat, of[p[4]].low, n * sizeof(double));
                } else if (p[2] < 0) {
                    store(cells->high, of[p[4]].high, flat, n, axes, shape, cells->strides);
                    if (cells->low) store(cells->low, of[p[4]].low, flat, n, axes, shape, cells->strides);
                } else {
                    reduce(p[2], cells, of[p[4]].high, of[p[4]].low, flat, n, axes, shape);
                }
            } else {
                block *a = of + p[2], *b = of + p[3], *c = of + p[4];
                if (p[0] == SINCOS) b->high = memory + 2 * p[3] * BLOCK, b->low = b->high + BLOCK; /* a second result */
                r->high = memory + 2 * p[1] * BLOCK;
                r->low = r->high + BLOCK;
                LOOPS[p[0]](n, r->high, r->low, a->high, a->low, b->high, b->low, c->high, c->low);
            }
        }
    }
    free(memory);
    free(of);
    return 0;
}
