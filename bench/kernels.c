/*
 * The CPU kernels beside the processor's own peak, and beside oneDNN where it is installed: GFLOP/s, percent of the
 * FMA peak measured in the same run, and Weir's speed over oneDNN's. One thread, its processor time. Peers take turns;
 * the least of many short rounds counts, because neighbours on the machine can only add time.
 *
 *     kernels [family or part of a line's name, "" for all] [seconds per line, default 0.3]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef WEIR_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#include "base/memory.h"
#include "kernel/cpu/batch_norm.h"
#include "kernel/cpu/convolution.h"
#include "kernel/cpu/matmul.h"
#include "kernel/cpu/pooling.h"

/* Seconds of this thread's processor time: what others take from the processor meanwhile does not count. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds = 0.3;
static const char *wanted = "";

static bool is_wanted(const char *family, const char *name)
{
    return *wanted == 0 || strcmp(wanted, family) == 0 || strstr(name, wanted) != NULL;
}

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

/* least: Weir, then peers, of which the fastest counts. */
static void report(const char *name, double flops, double top, int count, const double *least)
{
    printf("%-38s %9.2f us %7.1f GFLOP/s", name, least[0] * 1e6, flops / least[0] * 1e-9);
    if (top > 0)
        printf(" %5.1f%%", 100 * flops / least[0] * 1e-9 / top);
    if (count > 1) {
        double peer = least[1];
        for (int i = 2; i < count; i++)
            peer = least[i] < peer ? least[i] : peer;
        printf("   oneDNN %9.2f us %7.1f GFLOP/s   x%.2f", peer * 1e6, flops / peer * 1e-9, peer / least[0]);
    }
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
    char name[64];
    snprintf(name, sizeof name, "matmul %dx%dx%d %s%s", (int)m, (int)n, (int)k, ta ? "T" : "N", tb ? "T" : "N");
    if (!is_wanted("matmul", name))
        return;
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

/* ---- convolutions ------------------------------------------------------------------------------------------------- */

typedef struct convolution {
    weir_convolution_plan plan;
    float *first, *second, *out;
    void *scratch;
} convolution;

static void convolution_weir(void *context)
{
    convolution *c = context;
    weir_convolution_run(&c->plan, NULL, c->first, c->second, NULL, c->out, c->scratch);
}

#ifdef WEIR_HAVE_ONEDNN
typedef struct onednn_peer {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t arguments[3];
} onednn_peer;

static void convolution_onednn(void *context)
{
    onednn_peer *c = context;
    dnnl_primitive_execute(c->primitive, c->stream, 3, c->arguments);
    dnnl_stream_wait(c->stream);
}

static void need(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN status %d\n", (int)status);
        exit(1);
    }
}

static dnnl_memory_t memory_for(dnnl_engine_t engine, const_dnnl_primitive_desc_t description, dnnl_query_t what)
{
    const dnnl_memory_desc_t *layout = dnnl_primitive_desc_query_md(description, what, 0);
    dnnl_memory_t memory;
    need(dnnl_memory_create(&memory, layout, engine, numbers((int64_t)dnnl_memory_desc_get_size(layout) / 4)));
    return memory;
}

/* tag: of images; filters have the layout that oneDNN likes best. */
static onednn_peer make_onednn(const weir_convolution_options *o, dnnl_format_tag_t tag)
{
    onednn_peer c;
    dnnl_engine_t engine;
    need(dnnl_engine_create(&engine, dnnl_cpu, 0));
    need(dnnl_stream_create(&c.stream, engine, dnnl_stream_default_flags));
    const dnnl_dims_t x = {o->batch, o->in_channels, o->in_height, o->in_width};
    const dnnl_dims_t y = {o->batch, o->out_channels, o->out_height, o->out_width};
    const dnnl_dims_t f = {o->out_channels, o->in_channels, o->filter_height, o->filter_width};
    dnnl_memory_desc_t dx, dy, df;
    need(dnnl_memory_desc_init_by_tag(&dx, 4, x, dnnl_f32, tag));
    need(dnnl_memory_desc_init_by_tag(&dy, 4, y, dnnl_f32, tag));
    need(dnnl_memory_desc_init_by_tag(&df, 4, f, dnnl_f32, dnnl_format_tag_any));
    const dnnl_dims_t strides = {1, 1}, before = {o->pad_top, o->pad_left};
    const dnnl_dims_t behind = {o->out_height - 1 + o->filter_height - o->in_height - o->pad_top,
                                o->out_width - 1 + o->filter_width - o->in_width - o->pad_left};
    dnnl_convolution_desc_t description;
    need(dnnl_convolution_forward_desc_init(&description, dnnl_forward_training, dnnl_convolution_direct, &dx, &df,
                                            NULL, &dy, strides, before, behind));
    dnnl_primitive_desc_t forward, chosen;
    need(dnnl_primitive_desc_create(&forward, &description, NULL, engine, NULL));
    int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_query_t parts[3] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    if (o->direction == WEIR_CONVOLUTION_FORWARD) {
        chosen = forward;
    } else if (o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT) {
        need(dnnl_convolution_backward_data_desc_init(&description, dnnl_convolution_direct, &dx, &df, &dy, strides,
                                                      before, behind));
        need(dnnl_primitive_desc_create(&chosen, &description, NULL, engine, forward));
        names[0] = DNNL_ARG_DIFF_SRC;
        names[2] = DNNL_ARG_DIFF_DST;
        parts[0] = dnnl_query_diff_src_md;
        parts[2] = dnnl_query_diff_dst_md;
    } else {
        need(dnnl_convolution_backward_weights_desc_init(&description, dnnl_convolution_direct, &dx, &df, NULL, &dy,
                                                         strides, before, behind));
        need(dnnl_primitive_desc_create(&chosen, &description, NULL, engine, forward));
        names[1] = DNNL_ARG_DIFF_WEIGHTS;
        names[2] = DNNL_ARG_DIFF_DST;
        parts[1] = dnnl_query_diff_weights_md;
        parts[2] = dnnl_query_diff_dst_md;
    }
    need(dnnl_primitive_create(&c.primitive, chosen));
    for (int i = 0; i < 3; i++) {
        c.arguments[i].arg = names[i];
        c.arguments[i].memory = memory_for(engine, chosen, parts[i]);
    }
    return c;
}
#endif

static void bench_convolution(double top, int batch, int size, int in, int window, int out, int direction)
{
    static const char *const names[] = {"forward", "input gradient", "filter gradient"};
    char name[80];
    snprintf(name, sizeof name, "%dx%d %d->%d at %dx%d b%d %s", window, window, in, out, size, size, batch,
             names[direction]);
    if (!is_wanted("convolution", name))
        return;
    weir_convolution_options o = {
        .type = WEIR_FLOAT, .direction = (weir_convolution_direction)direction, .batch = batch};
    o.in_height = o.in_width = size;
    o.in_channels = in;
    o.filter_height = o.filter_width = window;
    o.out_channels = out;
    o.out_height = weir_window_same(size, window, 1, 1, &o.pad_top);
    o.out_width = weir_window_same(size, window, 1, 1, &o.pad_left);
    convolution c;
    weir_convolution_prepare(weir_cpu_kernels_best(), &o, &c.plan);
    const int64_t x = (int64_t)batch * size * size * in, y = (int64_t)batch * size * size * out;
    const int64_t f = (int64_t)window * window * in * out, largest = x + y + f;
    c.first = numbers(largest);
    c.second = numbers(largest);
    c.out = numbers(largest);
    c.scratch = weir_allocate_aligned(weir_convolution_scratch(&c.plan, 1));
    work *works[3] = {convolution_weir};
    void *contexts[3] = {&c};
    int count = 1;
#ifdef WEIR_HAVE_ONEDNN
    onednn_peer peers[2] = {make_onednn(&o, dnnl_nhwc), make_onednn(&o, dnnl_format_tag_any)};
    for (int i = 0; i < 2; i++) {
        works[count] = convolution_onednn;
        contexts[count++] = &peers[i];
    }
#endif
    double least[3];
    measure(count, works, contexts, least);
    report(name, 2.0 * batch * size * size * window * window * in * out, top, count, least);
    weir_release(c.first);
    weir_release(c.second);
    weir_release(c.out);
    weir_release(c.scratch);
}

static void bench_convolutions(double top)
{
    static const int shapes[][5] = {{1024, 28, 1, 5, 6},  {1024, 14, 6, 5, 12}, {100, 28, 1, 5, 32},
                                    {100, 14, 32, 5, 64}, {16, 28, 64, 3, 64},  {100, 14, 16, 3, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int direction = 0; direction < 3; direction++)
            bench_convolution(top, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4], direction);
}

/* ---- what memory bounds ------------------------------------------------------------------------------------------- */

typedef struct layer {
    weir_pooling_options pooling;
    weir_batch_norm_options norm;
    float *x, *y, *dy, *dx, *channels[4];
    void *scratch;
} layer;

static void pool_maximum(void *context)
{
    layer *l = context;
    weir_max_pooling(weir_cpu_kernels_best(), &l->pooling, NULL, l->x, l->y);
}

static void pool_maximum_gradient(void *context)
{
    layer *l = context;
    weir_max_pool_gradient(weir_cpu_kernels_best(), &l->pooling, NULL, l->x, l->y, l->dy, l->dx);
}

static void norm_forward(void *context)
{
    layer *l = context;
    weir_batch_norm_forward(weir_cpu_kernels_best(), &l->norm, NULL, l->x, NULL, l->channels[0], l->channels[1],
                            l->channels[2], l->channels[3], l->y, l->scratch);
}

static void norm_gradient(void *context)
{
    layer *l = context;
    weir_batch_norm_gradient(weir_cpu_kernels_best(), &l->norm, NULL, l->dy, l->x, NULL, l->channels[1], l->channels[2],
                             l->dx, l->channels[0], l->channels[3], l->scratch);
}

/* floats: read and written at the least. */
static void bench_layer(const char *name, layer *l, work *run, double floats)
{
    if (!is_wanted("layer", name))
        return;
    work *works[1] = {run};
    void *contexts[1] = {l};
    double least[1];
    measure(1, works, contexts, least);
    printf("%-38s %9.2f us %7.1f GB/s\n", name, least[0] * 1e6, floats * 4 / least[0] * 1e-9);
    fflush(stdout);
}

static void bench_layers(void)
{
    static const int shapes[][3] = {{1024, 28, 6}, {64, 28, 6}, {1024, 14, 12}, {100, 28, 32}, {16, 14, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int batch = shapes[i][0], size = shapes[i][1], channels = shapes[i][2];
        const int64_t count = (int64_t)batch * size * size * channels;
        layer l = {.pooling = {.type = WEIR_FLOAT,
                               .batch = batch,
                               .in_height = size,
                               .in_width = size,
                               .channels = channels,
                               .window_height = 2,
                               .window_width = 2,
                               .out_height = size / 2,
                               .out_width = size / 2,
                               .stride_height = 2,
                               .stride_width = 2},
                   .norm = {.rows = count / channels, .channels = channels, .epsilon = 1e-3f, .training = true}};
        l.x = numbers(count);
        l.y = numbers(count);
        l.dy = numbers(count);
        l.dx = numbers(count);
        for (int c = 0; c < 4; c++)
            l.channels[c] = numbers(channels);
        l.scratch = weir_allocate_aligned(weir_batch_norm_scratch(&l.norm, 1));
        char name[80];
        snprintf(name, sizeof name, "max pool 2x2 of %dx%dx%dx%d", batch, size, size, channels);
        bench_layer(name, &l, pool_maximum, 1.25 * (double)count);
        snprintf(name, sizeof name, "max pool gradient of %dx%dx%dx%d", batch, size, size, channels);
        bench_layer(name, &l, pool_maximum_gradient, 2.5 * (double)count);
        snprintf(name, sizeof name, "batch norm of %dx%dx%dx%d", batch, size, size, channels);
        bench_layer(name, &l, norm_forward, 3.0 * (double)count);
        snprintf(name, sizeof name, "batch norm gradient of %dx%dx%dx%d", batch, size, size, channels);
        bench_layer(name, &l, norm_gradient, 5.0 * (double)count);
        weir_release(l.x);
        weir_release(l.y);
        weir_release(l.dy);
        weir_release(l.dx);
        for (int c = 0; c < 4; c++)
            weir_release(l.channels[c]);
        weir_release(l.scratch);
    }
}

int main(int count, char **arguments)
{
    if (count > 1)
        wanted = arguments[1];
    if (count > 2)
        seconds = atof(arguments[2]);
    if (getenv("OMP_NUM_THREADS") == NULL) { /* oneDNN's threads read it before main */
        setenv("OMP_NUM_THREADS", "1", 1);
        execv("/proc/self/exe", arguments);
    }
    double top = peak();
    printf("tier %s, FMA peak of one core %.1f GFLOP/s\n", weir_cpu_kernels_best()->name, top);
    bench_products(top);
    bench_convolutions(top);
    bench_layers();
    double again = peak();
    printf("FMA peak at the end %.1f GFLOP/s\n", again);
    return 0;
}
