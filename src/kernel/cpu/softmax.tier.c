/*
 * Softmax and cross-entropy of float rows, by tier. Rows of up to one vector stay in a register; longer ones take three
 * passes: maximum, exponentials and their sum, scaling.
 */
#include "kernel/cpu/softmax_rows.h"

#include "kernel/cpu/elementwise_math.h"

#define RUN 1024 /* elements summed in float; the totals in double */

/* The first n elements, the other lanes -Inf: they are no maximum and add nothing. */
WEIR_INLINE floats row_load(const float *x, int64_t n)
{
#if WEIR_LANES == 16
    return (floats)_mm512_mask_loadu_ps(_mm512_set1_ps(-INFINITY), (__mmask16)((1u << n) - 1u), x);
#else
    float lanes[WEIR_LANES];
    floats_store(lanes, floats_set(-INFINITY));
    memcpy(lanes, x, (size_t)n * sizeof *x);
    return floats_load(lanes);
#endif
}

WEIR_INLINE float floats_largest(floats x)
{
#if WEIR_LANES == 16
    return _mm512_reduce_max_ps((__m512)x);
#else
    float lanes[WEIR_LANES];
    floats_store(lanes, x);
    for (int half = WEIR_LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] = lanes[lane] > lanes[lane + half] ? lanes[lane] : lanes[lane + half];
    return lanes[0];
#endif
}

/* A row's maximum; whether NaN counts does not matter, the sum will be NaN. */
static float row_maximum(const float *x, int64_t n)
{
    floats best = floats_set(-INFINITY), other = best;
    int64_t i = 0;
    for (; i + 2 * WEIR_LANES <= n; i += 2 * WEIR_LANES) {
        best = floats_max(floats_load(x + i), best);
        other = floats_max(floats_load(x + i + WEIR_LANES), other);
    }
    for (; i < n; i += WEIR_LANES)
        best = floats_max(row_load(x + i, n - i < WEIR_LANES ? n - i : WEIR_LANES), best);
    return floats_largest(floats_max(best, other));
}

/* The sum of exp(x - maximum), which are stored unless out is NULL. */
static float row_exponentials(const float *x, int64_t n, float maximum, float *out)
{
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += RUN) {
        int64_t end = begin + RUN < n ? begin + RUN : n;
        floats sum = floats_zero();
        for (int64_t i = begin; i < end; i += WEIR_LANES) {
            int64_t count = end - i < WEIR_LANES ? end - i : WEIR_LANES;
            floats e = floats_exp(row_load(x + i, count) - maximum);
            sum += e;
            if (out != NULL)
                floats_store_part(out + i, e, count);
        }
        total += (double)floats_sum(sum);
    }
    return (float)total;
}

static void softmax(const void *from, int64_t rows, int64_t classes, void *to)
{
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)from + row * classes;
        float *out = (float *)to + row * classes;
        if (classes <= WEIR_LANES) {
            floats logits = row_load(x, classes);
            floats e = floats_exp(logits - floats_largest(logits));
            floats_store_part(out, e * (1.0f / floats_sum(e)), classes);
            continue;
        }
        float factor = 1.0f / row_exponentials(x, classes, row_maximum(x, classes), out);
        for (int64_t i = 0; i < classes; i += WEIR_LANES) {
            int64_t count = classes - i < WEIR_LANES ? classes - i : WEIR_LANES;
            floats_store_part(out + i, floats_load_part(out + i, count) * factor, count);
        }
    }
}

static void log_softmax(const void *from, int64_t rows, int64_t classes, void *to)
{
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)from + row * classes;
        float *out = (float *)to + row * classes;
        if (classes <= WEIR_LANES) {
            floats logits = row_load(x, classes);
            floats shifted = logits - floats_largest(logits);
            floats_store_part(out, shifted - logf(floats_sum(floats_exp(shifted))), classes);
            continue;
        }
        float maximum = row_maximum(x, classes);
        float logarithm = logf(row_exponentials(x, classes, maximum, NULL));
        for (int64_t i = 0; i < classes; i += WEIR_LANES) {
            int64_t count = classes - i < WEIR_LANES ? classes - i : WEIR_LANES;
            floats_store_part(out + i, (floats_load_part(x + i, count) - maximum) - logarithm, count);
        }
    }
}

/* sum of labels, and of labels * (x - maximum). */
static void row_labels(const float *x, const float *labels, int64_t n, float maximum, double *plain, double *weighted)
{
    *plain = *weighted = 0;
    for (int64_t begin = 0; begin < n; begin += RUN) {
        int64_t end = begin + RUN < n ? begin + RUN : n;
        floats sum = floats_zero(), product = floats_zero();
        for (int64_t i = begin; i < end; i += WEIR_LANES) {
            int64_t count = end - i < WEIR_LANES ? end - i : WEIR_LANES;
            floats label = floats_load_part(labels + i, count);
            sum += label;
            product += label * (floats_load_part(x + i, count) - maximum);
        }
        /* The lanes beyond the end hold 0 * -maximum: zero unless the maximum is infinite, where the row is NaN. */
        *plain += (double)floats_sum(sum);
        *weighted += (double)floats_sum(product);
    }
}

/* A row of up to one vector. */
WEIR_INLINE float cross_entropy_short(const float *x, const float *labels, int64_t classes, float *out)
{
    floats logits = row_load(x, classes), label = floats_load_part(labels, classes);
    floats shifted = logits - floats_largest(logits);
    floats e = floats_exp(shifted);
    float sum = floats_sum(e);
    if (out != NULL)
        floats_store_part(out, e * (1.0f / sum) - label, classes);
    float lanes[WEIR_LANES]; /* beyond the end: 0 * -Inf */
    floats_store(lanes, label * (logf(sum) - shifted));
    return floats_sum(floats_load_part(lanes, classes));
}

static void cross_entropy(const void *from, const void *label_rows, int64_t rows, int64_t classes, void *losses,
                          void *to)
{
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)from + row * classes;
        const float *labels = (const float *)label_rows + row * classes;
        float *out = to == NULL ? NULL : (float *)to + row * classes;
        if (classes <= WEIR_LANES) {
            ((float *)losses)[row] = cross_entropy_short(x, labels, classes, out);
            continue;
        }
        double plain, weighted;
        float maximum = row_maximum(x, classes);
        row_labels(x, labels, classes, maximum, &plain, &weighted);
        float sum = row_exponentials(x, classes, maximum, out);
        ((float *)losses)[row] = (float)((double)logf(sum) * plain - weighted);
        float factor = 1.0f / sum;
        for (int64_t i = 0; out != NULL && i < classes; i += WEIR_LANES) {
            int64_t count = classes - i < WEIR_LANES ? classes - i : WEIR_LANES;
            floats result = floats_load_part(out + i, count) * factor - floats_load_part(labels + i, count);
            floats_store_part(out + i, result, count);
        }
    }
}

static void sparse(const void *from, const int64_t *labels, int64_t rows, int64_t classes, void *losses, void *to)
{
    for (int64_t row = 0; row < rows; row++) {
        const float *x = (const float *)from + row * classes;
        float *out = to == NULL ? NULL : (float *)to + row * classes;
        if (classes <= WEIR_LANES) {
            floats logits = row_load(x, classes);
            float largest = floats_largest(logits), wanted = x[labels[row]] - largest;
            floats e = floats_exp(logits - largest);
            float sum = floats_sum(e);
            ((float *)losses)[row] = logf(sum) - wanted;
            if (out != NULL) {
                floats_store_part(out, e * (1.0f / sum), classes);
                out[labels[row]] -= 1.0f;
            }
            continue;
        }
        float maximum = row_maximum(x, classes);
        float shifted = x[labels[row]] - maximum;
        float sum = row_exponentials(x, classes, maximum, out);
        ((float *)losses)[row] = logf(sum) - shifted;
        float factor = 1.0f / sum;
        for (int64_t i = 0; out != NULL && i < classes; i += WEIR_LANES) {
            int64_t count = classes - i < WEIR_LANES ? classes - i : WEIR_LANES;
            floats_store_part(out + i, floats_load_part(out + i, count) * factor, count);
        }
        if (out != NULL)
            out[labels[row]] -= 1.0f;
    }
}

extern const weir_softmax_kernels WEIR_TIER_NAME(weir_softmax_kernels);
const weir_softmax_kernels WEIR_TIER_NAME(weir_softmax_kernels) = {
    .softmax = softmax,
    .log_softmax = log_softmax,
    .cross_entropy = cross_entropy,
    .sparse = sparse,
};
