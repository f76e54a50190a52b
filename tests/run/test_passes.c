/*
 * The planner's passes: random graphs give the same bits with any of them switched off, whatever is fetched with it; and each
 * pass does what it says, seen in the plan.
 *
 * test: timeout=300
 */
#include "run_test.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "plan/layout.h"
#include "run/session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

/* ---- Random graphs ---- */

#define MOST_VALUES 64
#define ROWS 4 /* every value is [ROWS, ROWS], so that any op fits any value; but few have shapes of their own */

typedef struct random_graph {
    weir_graph *graph;
    weir_scope s;
    weir_output x; /* fed, [?, ROWS] */
    weir_output values[MOST_VALUES];
    int count;
    weir_output variables[3];
    weir_node *init[3];
    weir_node *last_write[3];
    weir_node *writes[16];
    int num_writes;
    unsigned random;
} random_graph;

static unsigned draw(random_graph *r, unsigned limit)
{
    r->random = r->random * 1664525u + 1013904223u;
    return (r->random >> 8) % limit;
}

static weir_output any(random_graph *r)
{
    return r->values[draw(r, (unsigned)r->count)];
}

static weir_output make_constant(random_graph *r, weir_scope s)
{
    float values[ROWS * ROWS];
    for (int i = 0; i < ROWS * ROWS; i++)
        values[i] = (float)((int)draw(r, 17) - 8) / 8;
    weir_const_value value = {.dtype = WEIR_FLOAT, .shape = WEIR_SHAPE(ROWS, ROWS), .elements = values};
    return weir_const(s, value);
}

/* A variable is read only after its last write so far, and written only after all reads so far: then every order is the same. */
static weir_output read_or_write(random_graph *r)
{
    int v = (int)draw(r, 3);
    weir_scope s = r->last_write[v] != NULL ? weir_after(r->s, r->last_write[v]) : r->s;
    if (draw(r, 2) == 0 || r->num_writes == 16)
        return weir_multiply(s, r->variables[v], any(r));
    weir_node *all[MOST_VALUES];
    for (int i = 0; i < r->count; i++)
        all[i] = r->values[i].node;
    weir_output value = weir_tanh(r->s, any(r));
    weir_output written = weir_assign_add(weir_after_nodes(s, all, r->count), r->variables[v], value);
    r->last_write[v] = written.node;
    r->writes[r->num_writes++] = written.node;
    return weir_add(weir_after(r->s, written.node), r->variables[v], value);
}

static weir_output slice_and_join(random_graph *r)
{
    weir_output x = any(r);
    unsigned axis = draw(r, 2);
    weir_node *parts = weir_split(r->s, x, 2, (int)axis);
    weir_output pieces[] = {weir_out(parts, 1), weir_out(parts, 0)};
    return weir_concat(r->s, pieces, 2, (int)axis);
}

/* Shapes worked out from values: what folding and layouts live on. */
static weir_output shape_arithmetic(random_graph *r)
{
    weir_output x = any(r);
    weir_output shape = weir_out(weir_op(r->s, "Shape", WEIR_INPUTS(x)), 0);
    weir_output twice = weir_multiply(r->s, shape, weir_const(r->s, WEIR_INT32S(1, 2)));
    weir_output half = weir_out(weir_op(r->s, "FloorDiv", WEIR_INPUTS(twice, weir_const(r->s, WEIR_INT32S(1, 2)))), 0);
    weir_output flat = weir_reshape(r->s, x, WEIR_SHAPE(-1));
    return weir_out(weir_op(r->s, "Reshape", WEIR_INPUTS(flat, half)), 0);
}

static weir_output layer(random_graph *r)
{
    weir_output product = weir_matmul(r->s, any(r), draw(r, 2) ? any(r) : make_constant(r, r->s));
    weir_output bias = weir_const(r->s, WEIR_FLOATS(0.5f, -0.5f, 0.25f, 1));
    weir_output sum = draw(r, 4) ? weir_bias_add(r->s, product, bias) : weir_add(r->s, product, bias);
    weir_output y = draw(r, 3) ? weir_relu(r->s, sum) : sum;
    return weir_tanh(r->s, y);
}

static weir_output next_value(random_graph *r)
{
    weir_scope s = r->s;
    switch (draw(r, 22)) {
    case 0:
        return weir_add(s, any(r), any(r));
    case 1:
        return weir_subtract(s, any(r), any(r));
    case 2:
        return weir_multiply(s, any(r), any(r));
    case 3:
        return weir_maximum(s, any(r), any(r));
    case 4:
        return weir_negative(s, any(r));
    case 5:
        return weir_tanh(s, any(r));
    case 6:
        return weir_sigmoid(s, any(r));
    case 7:
        return weir_relu(s, any(r));
    case 8:
        return weir_exp(s, weir_negative(s, weir_square(s, any(r))));
    case 9:
    case 10:
        return layer(r);
    case 11:
        return weir_add(s, any(r), weir_reduce_sum(s, any(r), .axes = WEIR_AXES(1), .keep_dims = true));
    case 12:
        return weir_multiply(s, any(r), weir_tanh(s, weir_reduce_mean(s, any(r))));
    case 13:
        return weir_transpose(s, any(r), WEIR_AXES(1, 0));
    case 14:
        return slice_and_join(r);
    case 15:
        return shape_arithmetic(r);
    case 16:
        return make_constant(r, s);
    case 17: /* equal to a constant's twin: shared */
        return weir_add(s, weir_square(s, r->values[0]), weir_square(s, r->values[0]));
    case 18:
        return weir_identity(s, any(r));
    case 19:
        return weir_reshape(s, weir_reshape(s, any(r), WEIR_SHAPE(ROWS * ROWS)), WEIR_SHAPE(ROWS, ROWS));
    case 20:
        return weir_select(s, weir_greater(s, any(r), any(r)), any(r), any(r));
    default:
        return read_or_write(r);
    }
}

static void build_random(random_graph *r, unsigned seed)
{
    *r = (random_graph){.graph = weir_graph_new(), .random = seed * 7919 + 1};
    r->s = weir_root(r->graph);
    r->x = weir_placeholder(r->s, WEIR_FLOAT, WEIR_SHAPE(-1, ROWS));
    for (int v = 0; v < 3; v++) {
        r->variables[v] = weir_variable_v2(r->s, WEIR_FLOAT, WEIR_SHAPE(ROWS, ROWS));
        r->init[v] = weir_assign(r->s, r->variables[v], make_constant(r, r->s)).node;
    }
    r->values[r->count++] = r->x;
    r->values[r->count++] = make_constant(r, r->s);
    int wanted = 10 + (int)draw(r, 30);
    while (r->count < wanted) {
        weir_output value = next_value(r);
        weir_status status = weir_graph_error(r->graph);
        if (!weir_ok(status))
            fail_msg("seed %u, value %d: %s", seed, r->count, weir_status_text(status));
        r->values[r->count++] = value;
    }
}

/* Runs with some passes off and keeps the bits of the values. Fetching all keeps every value alive; fetching one leaves the
 * planner free with the others. */
static void run_random(const random_graph *r, const char *disabled, int only, weir_tensor **results)
{
    weir_session_options options = {.size = sizeof options, .disabled_passes = disabled, .threads = 1, .sim_gpus = -1};
    weir_session *session = NULL;
    check_ok(weir_session_new(r->graph, &options, &session));
    check_ok(weir_run(session, .targets = {r->init[0], r->init[1], r->init[2]}));
    float rows[ROWS * ROWS];
    for (int i = 0; i < ROWS * ROWS; i++)
        rows[i] = (float)(i % 7) / 7 - 0.4f;
    WEIR_AUTO(weir_tensor) *x = make_floats(WEIR_SHAPE(ROWS, ROWS), rows);
    weir_feed feed = {r->x, x};
    weir_run_arrays call = {.size = sizeof call,
                            .feeds = &feed,
                            .num_feeds = 1,
                            .fetches = only < 0 ? r->values : &r->values[only],
                            .num_fetches = only < 0 ? r->count : 1,
                            .results = results,
                            .targets = r->writes,
                            .num_targets = r->num_writes,
                            .timeout_ms = 20000};
    for (int again = 0; again < 2; again++) { /* the second run of the same plan must be as good, from the same start */
        for (int i = 0; again && i < call.num_fetches; i++)
            weir_tensor_free(results[i]);
        if (again)
            check_ok(weir_run(session, .targets = {r->init[0], r->init[1], r->init[2]}));
        check_ok(weir_run_with_arrays(session, &call));
    }
    weir_session_free(session);
}

static void compare(const random_graph *r, unsigned seed, const char *what, int index, const weir_tensor *wanted,
                    const weir_tensor *have)
{
    size_t size = weir_tensor_size_bytes(wanted);
    if (size == weir_tensor_size_bytes(have) &&
        memcmp(weir_tensor_data_const(wanted), weir_tensor_data_const(have), size) == 0)
        return;
    const float *a = weir_tensor_data_const(wanted);
    const float *b = weir_tensor_data_const(have);
    for (size_t i = 0; i < size / sizeof *a; i++) {
        if ((a[i] != b[i] || signbit(a[i]) != signbit(b[i])) && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("seed %u, %s: value %d ('%s', %s) element %zu is %.9g, not %.9g", seed, what, index,
                     weir_node_name(r->values[index].node), weir_node_op(r->values[index].node), i, (double)b[i],
                     (double)a[i]);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check_seed(unsigned seed, bool each_alone)
{
    static const char *const off[] = {"fold", "share", "fuse", "prune", "fold,share,fuse,prune"};
    random_graph r;
    build_random(&r, seed);
    weir_tensor *wanted[MOST_VALUES] = {NULL};
    run_random(&r, "fold,share,fuse,prune", -1, wanted); /* the plainest plan is the measure */
    for (size_t p = 0; p <= sizeof off / sizeof off[0]; p++) {
        const char *disabled = p < sizeof off / sizeof off[0] ? off[p] : NULL;
        weir_tensor *have[MOST_VALUES] = {NULL};
        run_random(&r, disabled, -1, have);
        for (int i = 0; i < r.count; i++) {
            compare(&r, seed, disabled != NULL ? disabled : "all passes", i, wanted[i], have[i]);
            weir_tensor_free(have[i]);
        }
    }
    for (int i = 0; i < r.count; i += each_alone ? 1 : 7) {
        for (int p = 0; p < 2; p++) {
            weir_tensor *have = NULL;
            run_random(&r, p ? "fuse" : NULL, i, &have);
            compare(&r, seed, p ? "fuse off, fetched alone" : "fetched alone", i, wanted[i], have);
            weir_tensor_free(have);
        }
    }
    for (int i = 0; i < r.count; i++)
        weir_tensor_free(wanted[i]);
    weir_graph_free(r.graph);
}

static void random_graphs_give_the_same_bits(void **state)
{
    const char *one = getenv("WEIR_TEST_SEED");
    if (one != NULL) {
        check_seed((unsigned)atoi(one), true);
        return;
    }
    double end = now() + 12;
    unsigned seed = 1;
    for (; seed <= 2000 && (seed <= 20 / (SLOWER > 1 ? 4 : 1) || now() < end); seed++)
        check_seed(seed, seed % 5 == 0);
    print_message("%u graphs\n", seed - 1);
}

/* ---- One pass at a time ---- */

typedef struct planned {
    weir_session *session;
    weir_cached_plan *cached;
} planned;

/* The plan of one fetch, with all passes but some. */
static planned plan_of(weir_graph *graph, const weir_output *feeds, int num_feeds, weir_output fetch, weir_node *target,
                       const weir_session_options *wanted)
{
    planned p = {.session = NULL};
    check_ok(weir_graph_error(graph));
    check_ok(weir_session_new(graph, wanted, &p.session));
    check_ok(weir_session_plan(p.session, feeds, num_feeds, &fetch, fetch.node != NULL, &target, target != NULL, false,
                               &p.cached));
    return p;
}

static void drop_plan(planned *p)
{
    weir_session_release_plan(p->session, p->cached);
    weir_session_free(p->session);
}

static int count_kind(const planned *p, weir_kind kind, const char *op)
{
    int count = 0;
    for (int n = 0; n < p->cached->plan->num_nodes; n++) {
        const weir_plan_node *node = &p->cached->plan->nodes[n];
        count += node->kind == kind && (op == NULL || strcmp(node->node->op->name, op) == 0);
    }
    return count;
}

static const weir_plan_node *find_node(const planned *p, weir_output output)
{
    for (int n = 0; n < p->cached->plan->num_nodes; n++) {
        const weir_plan_node *node = &p->cached->plan->nodes[n];
        if (node->kind != WEIR_KIND_FEED && node->kind != WEIR_KIND_TRANSFER && node->kind != WEIR_KIND_COPY &&
            strcmp(node->node->name, weir_node_name(output.node)) == 0)
            return node;
    }
    fail_msg("no node '%s'", weir_node_name(output.node));
    return NULL;
}

static void fold_computes_constants_once(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output sum = weir_add(s, weir_const(s, WEIR_FLOATS(1, 2)), weir_const(s, WEIR_FLOATS(3, 4)));
    weir_output y = weir_multiply(s, x, weir_negative(s, sum));
    weir_output random = weir_random_uniform(s, weir_const(s, WEIR_INT32S(2)));
    weir_output z = weir_add(s, y, random);
    weir_session_options none = {.size = sizeof none, .disabled_passes = "fold"};
    planned with = plan_of(g, &x, 1, z, NULL, NULL);
    planned without = plan_of(g, &x, 1, z, NULL, &none);
    assert_int_equal(find_node(&with, sum)->kind, WEIR_KIND_CONSTANT);
    assert_int_equal(find_node(&without, sum)->kind, WEIR_KIND_CODE);
    assert_int_equal(find_node(&with, random)->kind,
                     find_node(&without, random)->kind); /* what is stateful is never folded */
    assert_int_not_equal(find_node(&with, random)->kind, WEIR_KIND_CONSTANT);
    drop_plan(&with);
    drop_plan(&without);
}

static void share_computes_equal_nodes_once(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2, 2));
    weir_output a = weir_matmul(s, x, x);
    weir_output b = weir_matmul(s, x, x);
    weir_output c = weir_matmul(s, x, x, .transpose_b = true);
    weir_output shape = weir_const(s, WEIR_INT32S(2, 2));
    weir_output random = weir_add(s, weir_random_uniform(s, shape, .seed = WEIR_SEED(1)),
                                  weir_random_uniform(s, shape, .seed = WEIR_SEED(1)));
    weir_output y = weir_add(s, weir_add(s, a, b), weir_add(s, c, random));
    weir_session_options none = {.size = sizeof none, .disabled_passes = "share"};
    planned with = plan_of(g, &x, 1, y, NULL, NULL);
    planned without = plan_of(g, &x, 1, y, NULL, &none);
    assert_int_equal(count_kind(&with, WEIR_KIND_CODE, "MatMul"), 2);
    assert_int_equal(count_kind(&without, WEIR_KIND_CODE, "MatMul"), 3);
    assert_int_equal(count_kind(&with, WEIR_KIND_CODE, "RandomUniform"),
                     count_kind(&without, WEIR_KIND_CODE, "RandomUniform"));
    drop_plan(&with);
    drop_plan(&without);
}

static void fuse_takes_bias_and_activation(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2));
    weir_output w = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2, 2));
    weir_output b = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output product = weir_matmul(s, x, w);
    weir_output sum = weir_bias_add(s, product, b);
    weir_output h = weir_relu(s, sum);
    weir_output both = weir_add(s, h, weir_exp(s, sum));
    planned fused = plan_of(g, &x, 1, h, NULL, NULL);
    const weir_plan_node *node = find_node(&fused, h);
    assert_string_equal(node->node->op->name, "_FusedMatMul");
    assert_int_equal(node->fused->count, 3);
    assert_int_equal(count_kind(&fused, WEIR_KIND_CODE, NULL), 1);
    drop_plan(&fused);
    planned partly = plan_of(g, &x, 1, both, NULL, NULL); /* the sum is wanted elsewhere: only the bias goes along */
    assert_string_equal(find_node(&partly, sum)->node->op->name, "_FusedMatMul");
    assert_string_equal(find_node(&partly, h)->node->op->name, "Relu");
    drop_plan(&partly);
    planned fetched = plan_of(g, &x, 1, product, h.node, NULL); /* every node stays fetchable */
    assert_string_equal(find_node(&fetched, product)->node->op->name, "MatMul");
    drop_plan(&fetched);
}

static void prune_drops_what_nobody_reads(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output unread = weir_exp(s, x);
    weir_output y = weir_negative(weir_after(s, unread.node), x);
    weir_session_options none = {.size = sizeof none, .disabled_passes = "prune"};
    planned with = plan_of(g, &x, 1, y, NULL, NULL);
    planned without = plan_of(g, &x, 1, y, NULL, &none);
    planned asked = plan_of(g, &x, 1, y, unread.node, NULL);
    assert_int_equal(count_kind(&with, WEIR_KIND_CODE, "Exp"), 0);
    assert_int_equal(count_kind(&without, WEIR_KIND_CODE, "Exp"), 1);
    assert_int_equal(count_kind(&asked, WEIR_KIND_CODE, "Exp"), 1);
    drop_plan(&with);
    drop_plan(&without);
    drop_plan(&asked);
}

static void order_puts_reads_before_writes(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR);
    weir_output one = weir_const(s, WEIR_FLOAT_OF(1));
    weir_output write = weir_assign_add(s, v, one);
    weir_output read = weir_exp(s, weir_negative(s, v));
    weir_output second = weir_assign_sub(s, v, one);
    planned p = plan_of(g, NULL, 0, read, weir_group(s, (weir_node *[]){second.node, write.node}, 2, "all"), NULL);
    int at_read = find_node(&p, read)->position;
    int at_write = find_node(&p, write)->position;
    int at_second = find_node(&p, second)->position;
    assert_true(at_write < at_second);
    assert_true(find_node(&p, weir_node_input(read.node, 0))->position < at_write);
    assert_true(at_read >= 0);
    drop_plan(&p);
}

static void partition_moves_each_value_once(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_scope far = weir_on_device(s, "/cpu:1");
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output a = weir_exp(weir_on_device(s, "/cpu:0"), x);
    weir_output y = weir_add(far, weir_multiply(far, a, a), weir_tanh(far, a));
    weir_session_options two = {.size = sizeof two, .cpu_devices = 2, .sim_gpus = 1};
    planned p = plan_of(g, &x, 1, y, NULL, &two);
    assert_int_equal(count_kind(&p, WEIR_KIND_TRANSFER, NULL), 1);
    assert_false(p.cached->plan->is_simple);
    drop_plan(&p);
    weir_scope gpu = weir_on_device(s, "/gpu:0");
    weir_output z = weir_add(gpu, weir_exp(gpu, a), weir_tanh(gpu, a));
    planned q = plan_of(g, &x, 1, z, NULL, &two);
    assert_int_equal(count_kind(&q, WEIR_KIND_TRANSFER, NULL), 2); /* there, and the result back */
    drop_plan(&q);
}

static void segments_end_where_something_becomes_known(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output straight = weir_exp(s, weir_negative(s, weir_tanh(s, x)));
    planned p = plan_of(g, &x, 1, straight, NULL, NULL);
    assert_int_equal(p.cached->plan->num_segments, 1);
    assert_true(p.cached->plan->is_simple);
    drop_plan(&p);
    weir_output zero = weir_const(s, WEIR_FLOAT_OF(0));
    weir_output where = weir_out(weir_op(s, "Where", WEIR_INPUTS(weir_greater(s, x, zero))), 0); /* [?, 1] */
    weir_output after = weir_multiply(s, where, where);
    planned q = plan_of(g, &x, 1, after, NULL, NULL);
    assert_int_equal(q.cached->plan->num_segments, 2);
    assert_int_not_equal(find_node(&q, where)->segment, find_node(&q, after)->segment);
    drop_plan(&q);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    for (int positive = 0; positive < 4; positive++) {
        WEIR_AUTO(weir_tensor) *value =
            make_floats(WEIR_SHAPE(3), (float[]){positive > 0 ? 1 : -1, positive > 1 ? 1 : -1, positive > 2 ? 1 : -1});
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_run(session, .feeds = {{x, value}}, .fetches = {after}, .results = {&result}));
        assert_int_equal(weir_tensor_dim(result, 0), positive);
        for (int i = 0; i < positive; i++)
            assert_int_equal(weir_tensor_int64s(result)[i], (int64_t)i * i);
    }
}

/* Elementwise chains work in place, and what is dead lends its memory. */
static void layouts_use_memory_again(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 32));
    weir_output chain = x;
    for (int i = 0; i < 20; i++)
        chain = weir_tanh(s, chain);
    weir_output products = x;
    for (int i = 0; i < 20; i++)
        products = weir_matmul(s, products, x);
    weir_output ends[] = {weir_reduce_sum(s, chain), weir_reduce_sum(s, products)};
    const size_t one = 32 * 32 * sizeof(float);
    const size_t most[] = {one, 2 * one};
    for (int i = 0; i < 2; i++) {
        WEIR_AUTO(weir_session) *session = NULL;
        weir_session_options options = {.size = sizeof options, .threads = 1};
        check_ok(weir_session_new(g, &options, &session));
        WEIR_AUTO(weir_tensor) *value = NULL;
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(32, 32), &value));
        check_ok(weir_run(session, .feeds = {{x, value}}, .fetches = {ends[i]}, .results = {&result}));
        size_t size = session->plans->idle->layouts[0].newest->memory_size;
        if (size > most[i] + 65536 / 4) /* scratch memory of products besides */
            fail_msg("%zu bytes for what needs %zu", size, most[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_give_the_same_bits),
        cmocka_unit_test(fold_computes_constants_once),
        cmocka_unit_test(share_computes_equal_nodes_once),
        cmocka_unit_test(fuse_takes_bias_and_activation),
        cmocka_unit_test(prune_drops_what_nobody_reads),
        cmocka_unit_test(order_puts_reads_before_writes),
        cmocka_unit_test(partition_moves_each_value_once),
        cmocka_unit_test(segments_end_where_something_becomes_known),
        cmocka_unit_test(layouts_use_memory_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
