/*
 * The CPU kernels beside the processor's own peak, and beside oneDNN where it is installed: GFLOP/s, percent of the
 * FMA peak measured in the same run, and Weir's speed over oneDNN's. One thread. Peers take turns; the least time of
 * many short rounds counts, because neighbours on the machine can only add time.
 *
 *     kernels [matmul|convolution|pooling|batch_norm] [seconds per line, default 0.3]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WEIR_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#include "base/memory.h"
#include "kernel/cpu/batch_norm.h"
#include "kernel/cpu/convolution.h"
#include "kernel/cpu/matmul.h"
#include "kernel/cpu/pooling.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds = 0.3;

/* ---- the peak ----------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define CHAINS(op, a, b, r)                                                                                            \
    op " " a "," b "," r "0\n" op " " a "," b "," r "1\n" op " " a "," b "," r "2\n" op " " a "," b "," r "3\n" op     \
       " " a "," b "," r "4\n" op " " a "," b "," r "5\n" op " " a "," b "," r "6\n" op " " a "," b "," r "7\n" op     \
       " " a "," b "," r "8\n" op " " a "," b "," r "9\n" op " " a "," b "," r "10\n" op " " a "," b "," r "11\n"

__attribute__((target("avx512f"))) static void chains_v4(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        __asm__ volatile(CHAINS("vfmadd213ps", "%%zmm14", "%%zmm15", "%%zmm")::
                             : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                               "xmm10", "xmm11");
}

__attribute__((target("avx2"))) static void chains_v3(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        __asm__ volatile(CHAINS("vfmadd213ps", "%%ymm14", "%%ymm15", "%%ymm")::
                             : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                               "xmm10", "xmm11");
}

/* GFLOP/s of independent fused multiply-adds; 0 if unknown. */
static double peak(void)
{
    const char *tier = weir_cpu_kernels_best()->name;
    const int lanes = strcmp(tier, "v4") == 0 ? 16 : strcmp(tier, "v3") == 0 ? 8 : 0;
    if (lanes == 0)
        return 0;
    const int64_t n = 20000;
    double best = 1;
    for (int round = 0; round < 300; round++) {
        double start = now();
        if (lanes == 16)
            chains_v4(n);
        else
            chains_v3(n);
        double time = now() - start;
        best = time < best ? time : best;
    }
    return (double)n * 12 * 2 * lanes / best * 1e-9;
}
#else
static double peak(void)
{
    return 0;
}
#endif

/* ---- rounds ------------------------------------------------------------------------------------------------------- */

typedef void work(void *context);

/* The least seconds of one call for each of count works that take turns. */
static void measure(int count, work *const *works, void *const *contexts, double *least)
{
    int repeats[4];
    for (int i = 0; i < count; i++) {
        works[i](contexts[i]);
        double start = now();
        works[i](contexts[i]);
        double time = now() - start;
        repeats[i] = time < 100e-6 ? (int)(100e-6 / (time + 1e-9)) + 1 : 1;
        least[i] = 1e9;
    }
    double end = now() + seconds * count;
    for (int round = 0; round < 5 || now() < end; round++)
        for (int i = 0; i < count; i++) {
            double start = now();
            for (int r = 0; r < repeats[i]; r++)
                works[i](contexts[i]);
            double time = (now() - start) / repeats[i];
            least[i] = time < least[i] ? time : least[i];
        }
}

static void report(const char *name, double flops, double top, int count, const double *least)
{
    printf("%-34s %9.2f us %7.1f GFLOP/s", name, least[0] * 1e6, flops / least[0] * 1e-9);
    if (top > 0)
        printf(" %5.1f%%", 100 * flops / least[0] * 1e-9 / top);
    if (count > 1)
        printf("   oneDNN %9.2f us %7.1f GFLOP/s   x%.2f", least[1] * 1e6, flops / least[1] * 1e-9,
               least[1] / least[0]);
    printf("\n");
    fflush(stdout);
}

static float *numbers(int64_t count)
{
    static uint32_t state = 1;
    float *values = weir_allocate_aligned((size_t)count * sizeof *values);
    if (values == NULL)
        exit(1);
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (float)(state >> 8) * (1.0f / 16777216) - 0.5f;
    }
    return values;
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

typedef struct product {
    weir_matmul_plan plan;
    float *a, *b, *c;
    void *scratch;
} product;

static void product_weir(void *context)
{
    product *p = context;
    weir_matmul_run(&p->plan, NULL, p->a, p->b, NULL, p->c, p->scratch);
}

#ifdef WEIR_HAVE_ONEDNN
static void product_onednn(void *context)
{
    product *p = context;
    const weir_matmul_options *o = &p->plan.options;
    dnnl_sgemm(o->transpose_a ? 'T' : 'N', o->transpose_b ? 'T' : 'N', o->m, o->n, o->k, 1, p->a, o->a_row_stride, p->b,
               o->b_row_stride, 0, p->c, o->c_row_stride);
}
#endif

static void bench_product(double top, int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    product p = {.a = numbers(m * k), .b = numbers(k * n), .c = numbers(m * n)};
    weir_matmul_options options = {.type = WEIR_FLOAT, .m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb};
    weir_matmul_prepare(weir_cpu_kernels_best(), &options, &p.plan);
    p.scratch = weir_allocate_aligned(weir_matmul_scratch(&p.plan, 1));
    product same = p;
    if (p.plan.swapped) { /* oneDNN gets the product as it was asked for */
        same.plan.options = options;
        same.plan.options.a_row_stride = ta ? m : k;
        same.plan.options.b_row_stride = tb ? k : n;
        same.plan.options.c_row_stride = n;
    }
    work *works[2] = {product_weir};
    void *contexts[2] = {&p, &same};
    int count = 1;
#ifdef WEIR_HAVE_ONEDNN
    works[count++] = product_onednn;
#endif
    double least[2];
    measure(count, works, contexts, least);
    char name[64];
    snprintf(name, sizeof name, "matmul %dx%dx%d %s%s", (int)m, (int)n, (int)k, ta ? "T" : "N", tb ? "T" : "N");
    report(name, 2.0 * (double)m * (double)n * (double)k, top, count, least);
    weir_release(p.a);
    weir_release(p.b);
    weir_release(p.c);
    weir_release(p.scratch);
}

static void bench_products(double top)
{
    static const struct {
        int m, n, k, ta, tb;
    } shapes[] = {
        {100, 100, 784, 0, 0},    {784, 100, 100, 1, 0},    {100, 784, 100, 0, 1},  {100, 10, 100, 0, 0},
        {100, 10, 100, 1, 0},     {100, 100, 10, 0, 0},     {100, 100, 10, 0, 1},   {100, 10, 784, 0, 0},
        {784, 10, 100, 1, 0},     {16, 16, 16, 0, 0},       {64, 64, 64, 0, 0},     {64, 64, 64, 0, 1},
        {256, 256, 256, 0, 0},    {256, 256, 256, 1, 0},    {256, 256, 256, 0, 1},  {1024, 1024, 1024, 0, 0},
        {1024, 1024, 1024, 1, 0}, {1024, 1024, 1024, 0, 1}, {1024, 100, 784, 0, 0}, {784, 100, 1024, 1, 0},
        {1024, 10, 100, 0, 0},    {1, 100, 784, 0, 0},      {1, 784, 100, 0, 1},    {784, 100, 1, 1, 0},
        {100, 512, 256, 0, 0},    {256, 512, 100, 1, 0},    {100, 256, 512, 0, 1},  {100, 1024, 3136, 0, 0},
        {3136, 1024, 100, 1, 0},  {100, 3136, 1024, 0, 1},  {1000, 1, 1000, 0, 0},  {1, 1000, 1000, 0, 0},
        {1, 4096, 4096, 0, 0},    {100, 588, 100, 0, 1},    {1024, 100, 588, 0, 0}, {588, 100, 1024, 1, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench_product(top, shapes[i].m, shapes[i].n, shapes[i].k, shapes[i].ta, shapes[i].tb);
}

int main(int count, char **arguments)
{
    const char *which = count > 1 ? arguments[1] : "";
    if (count > 2)
        seconds = atof(arguments[2]);
    setenv("OMP_NUM_THREADS", "1", 1);
    double top = peak();
    printf("tier %s, FMA peak of one core %.1f GFLOP/s\n", weir_cpu_kernels_best()->name, top);
    if (*which == 0 || strcmp(which, "matmul") == 0)
        bench_products(top);
    double again = peak();
    printf("FMA peak at the end %.1f GFLOP/s\n", again);
    return 0;
}
