/*
 * Conditional accumulators: averages, stale gradients, order of requests, cancelling. Rules and texts are TensorFlow's.
 *
 * Ops: ResourceConditionalAccumulator ResourceAccumulatorApplyGradient ResourceAccumulatorTakeGradient
 * ResourceAccumulatorSetGlobalStep ResourceAccumulatorNumAccumulated
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/log.h>
#include <weir/ops.h>

#include "support/compute.h"
#include "support/pending.h"
#include "tensor/tensor.h"

#include <cmocka.h>

typedef struct fixture {
    weir_graph *graph;
    test_session session;
    weir_context context;
    weir_tensor *handle;
    weir_node *accumulator, *apply, *take, *set_step, *count;
} fixture;

static void open_typed(fixture *f, weir_dtype dtype, weir_shape shape, const char *reduction)
{
    memset(f, 0, sizeof *f);
    f->graph = weir_graph_new();
    weir_scope s = weir_root(f->graph);
    test_session_init(&f->session);
    f->context.session = &f->session.state;
    f->accumulator = weir_op(s, "ResourceConditionalAccumulator",
                             WEIR_ATTRS(WEIR_ATTR_T("dtype", dtype), WEIR_ATTR_SH("shape", shape),
                                        WEIR_ATTR_S("shared_name", "acc"), WEIR_ATTR_S("reduction_type", reduction)));
    weir_output handle = weir_out(f->accumulator, 0);
    weir_output step = weir_placeholder(s, WEIR_INT64, WEIR_SCALAR);
    weir_output gradient = weir_placeholder(s, dtype, weir_shape_unknown());
    weir_output required = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR);
    f->apply = weir_op(s, "ResourceAccumulatorApplyGradient", WEIR_INPUTS(handle, step, gradient));
    f->take = weir_op(s, "ResourceAccumulatorTakeGradient", WEIR_INPUTS(handle, required),
                      WEIR_ATTRS(WEIR_ATTR_T("dtype", dtype)));
    f->set_step = weir_op(s, "ResourceAccumulatorSetGlobalStep", WEIR_INPUTS(handle, step));
    f->count = weir_op(s, "ResourceAccumulatorNumAccumulated", WEIR_INPUTS(handle));
    assert_true(weir_ok(weir_graph_error(f->graph)));
    assert_true(weir_ok(weir_evaluate_in(&f->context, f->accumulator, NULL, NULL, &f->handle)));
}

static void open_fixture(fixture *f)
{
    open_typed(f, WEIR_FLOAT, WEIR_SHAPE(-1, 2), "MEAN");
}

static void close_fixture(fixture *f)
{
    weir_tensor_free(f->handle);
    test_session_clear(&f->session);
    weir_graph_free(f->graph);
}

static weir_tensor *scalar(weir_dtype dtype, int64_t value)
{
    weir_tensor *tensor = NULL;
    int32_t narrow = (int32_t)value;
    const void *element = dtype == WEIR_INT64 ? (const void *)&value : (const void *)&narrow;
    assert_true(weir_ok(weir_tensor_from(dtype, WEIR_SCALAR, element, &tensor)));
    return tensor;
}

static weir_status apply_tensor(fixture *f, int64_t step, weir_tensor *gradient)
{
    weir_tensor *inputs[] = {f->handle, scalar(WEIR_INT64, step), gradient};
    weir_status status = weir_evaluate_in(&f->context, f->apply, inputs, NULL, NULL);
    weir_tensor_free(inputs[1]);
    weir_tensor_free(gradient);
    return status;
}

static weir_status apply(fixture *f, int64_t step, float a, float b)
{
    weir_tensor *gradient = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(1, 2), (float[]){a, b}, &gradient)));
    return apply_tensor(f, step, gradient);
}

static void take(fixture *f, pending *p, int32_t required)
{
    weir_tensor *inputs[] = {f->handle, scalar(WEIR_INT32, required)};
    pending_start(p, &f->context, f->take, inputs);
    weir_tensor_free(inputs[1]);
}

static void set_step(fixture *f, int64_t step)
{
    weir_tensor *inputs[] = {f->handle, scalar(WEIR_INT64, step)};
    assert_true(weir_ok(weir_evaluate_in(&f->context, f->set_step, inputs, NULL, NULL)));
    weir_tensor_free(inputs[1]);
}

static int count_of(fixture *f)
{
    weir_tensor *count = NULL;
    assert_true(weir_ok(weir_evaluate_in(&f->context, f->count, &f->handle, NULL, &count)));
    int value = weir_tensor_int32s(count)[0];
    weir_tensor_free(count);
    return value;
}

static void expect_average(const pending *p, float a, float b)
{
    assert_int_equal(p->ends, 1);
    assert_string_equal(p->text, "");
    assert_true(weir_tensor_floats(p->outputs[0])[0] == a);
    assert_true(weir_tensor_floats(p->outputs[0])[1] == b);
}

static void expect_text(weir_status status, weir_code code, const char *text)
{
    assert_string_equal(weir_status_text(status), text);
    assert_int_equal(status.code, code);
}

static void test_average(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f);
    assert_true(weir_ok(apply(&f, 0, 1, 2)));
    assert_true(weir_ok(apply(&f, 0, 3, 7)));
    assert_int_equal(count_of(&f), 2);
    take(&f, &p, 2);
    expect_average(&p, 2, 4.5f);
    pending_clear(&p);
    assert_int_equal(count_of(&f), 0);
    close_fixture(&f);
}

/* More gradients than required are all in the average. */
static void test_more_than_required(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f);
    for (int i = 0; i < 4; i++)
        assert_true(weir_ok(apply(&f, 0, (float)i, 1)));
    take(&f, &p, 2);
    expect_average(&p, 1.5f, 1);
    pending_clear(&p);
    close_fixture(&f);
}

static void test_take_waits(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f);
    assert_true(weir_ok(apply(&f, 0, 1, 1)));
    take(&f, &p, 2);
    assert_int_equal(p.ends, 0);
    assert_string_equal(p.wait.what, "accumulator 'acc' to have 2 gradients (it has 1)");
    assert_true(weir_ok(apply(&f, 0, 3, 5)));
    expect_average(&p, 2, 3);
    pending_clear(&p);
    close_fixture(&f);
}

/* Each take is a step: gradients of earlier ones are dropped without a word, of later ones accepted. */
static void test_stale_gradients(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f);
    assert_true(weir_ok(apply(&f, 0, 1, 1)));
    take(&f, &p, 1);
    pending_clear(&p);
    assert_true(weir_ok(apply(&f, 0, 5, 5)));
    assert_int_equal(count_of(&f), 0);
    assert_true(weir_ok(apply(&f, 1, 5, 5)));
    assert_true(weir_ok(apply(&f, 7, 7, 7)));
    assert_int_equal(count_of(&f), 2);
    set_step(&f, 8);
    assert_true(weir_ok(apply(&f, 7, 1, 1)));
    assert_int_equal(count_of(&f), 2);
    take(&f, &p, 1);
    expect_average(&p, 6, 6);
    pending_clear(&p);
    assert_true(weir_ok(apply(&f, 8, 1, 1))); /* taking has made it 9 */
    assert_int_equal(count_of(&f), 0);
    close_fixture(&f);
}

static void count_line(void *context, weir_log_level level, const char *file, int line, const char *text)
{
    (void)level;
    (void)file;
    (void)line;
    *(int *)context += strstr(text, "Attempt to set current_global_step_ to smaller value") != NULL;
}

static void test_step_may_go_back(void **state)
{
    fixture f;
    int lines = 0;
    open_fixture(&f);
    set_step(&f, 5);
    weir_log_to(count_line, &lines);
    set_step(&f, 2);
    weir_log_to(NULL, NULL);
    assert_int_equal(lines, 1);
    assert_true(weir_ok(apply(&f, 2, 1, 1)));
    assert_int_equal(count_of(&f), 1);
    close_fixture(&f);
}

static void test_requests_in_order(void **state)
{
    fixture f;
    pending first;
    pending second;
    open_fixture(&f);
    take(&f, &first, 2);
    take(&f, &second, 1);
    assert_true(weir_ok(apply(&f, 0, 1, 1)));
    assert_int_equal(first.ends + second.ends, 0); /* the second stands behind the first */
    assert_true(weir_ok(apply(&f, 0, 3, 3)));
    expect_average(&first, 2, 2);
    assert_int_equal(second.ends, 0);
    assert_true(weir_ok(apply(&f, 1, 9, 9)));
    expect_average(&second, 9, 9);
    pending_clear(&first);
    pending_clear(&second);
    close_fixture(&f);
}

static void test_cancelled_take(void **state)
{
    fixture f;
    pending first;
    pending second;
    open_fixture(&f);
    take(&f, &first, 2);
    take(&f, &second, 1);
    assert_true(weir_ok(apply(&f, 0, 1, 1)));
    pending_cancel(&first);
    assert_int_equal(first.ends, 1);
    assert_int_equal(first.code, WEIR_CANCELLED);
    assert_string_equal(first.text, "TakeGrad operation was cancelled");
    expect_average(&second, 1, 1);
    pending_cancel(&second);
    assert_int_equal(second.ends, 1);
    pending_clear(&first);
    pending_clear(&second);
    take(&f, &first, 3);
    weir_container_clear(&f.session.devices);
    assert_int_equal(first.code, WEIR_CANCELLED);
    pending_clear(&first);
    close_fixture(&f);
}

static void test_shapes(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f);
    weir_tensor *two = NULL;
    weir_tensor *vector = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2, 2), &two)));
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(3), &vector)));
    expect_text(apply_tensor(&f, 0, weir_tensor_ref(vector)), WEIR_INVALID_ARGUMENT,
                "Shape mismatch: expected [?,2], got [3]");
    assert_true(weir_ok(apply(&f, 0, 1, 2)));
    expect_text(apply_tensor(&f, 0, weir_tensor_ref(two)), WEIR_INVALID_ARGUMENT,
                "Shape mismatch: expected [1,2], got [2,2]");
    take(&f, &p, 1);
    pending_clear(&p);
    assert_true(weir_ok(apply_tensor(&f, 1, two))); /* a new sum, a new shape */
    take(&f, &p, 0);
    assert_string_equal(p.text, "Argument num_required must be positive, but was 0");
    pending_clear(&p);
    weir_tensor_free(vector);
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_string_equal(weir_shape_text(weir_output_shape(weir_out(f.take, 0)), text, sizeof text), "[?,2]");
    close_fixture(&f);
}

static void test_sum(void **state)
{
    fixture f;
    pending p;
    open_typed(&f, WEIR_FLOAT, WEIR_SHAPE(1, 2), "SUM");
    assert_true(weir_ok(apply(&f, 0, 1, 2)));
    assert_true(weir_ok(apply(&f, 0, 3, 7)));
    take(&f, &p, 2);
    expect_average(&p, 4, 9);
    pending_clear(&p);
    close_fixture(&f);
}

static void test_other_types(void **state)
{
    fixture f;
    pending p;
    open_typed(&f, WEIR_DOUBLE, weir_shape_unknown(), "MEAN");
    for (int i = 0; i < 3; i++) {
        weir_tensor *gradient = NULL;
        double value = i;
        assert_true(weir_ok(weir_tensor_from(WEIR_DOUBLE, WEIR_SCALAR, &value, &gradient)));
        assert_true(weir_ok(apply_tensor(&f, 0, gradient)));
    }
    take(&f, &p, 3);
    assert_true(weir_tensor_doubles(p.outputs[0])[0] == 1.0);
    pending_clear(&p);
    close_fixture(&f);
    open_typed(&f, WEIR_HALF, weir_shape_unknown(), "MEAN");
    for (int i = 0; i < 2; i++) {
        weir_tensor *gradient = NULL;
        uint16_t value = weir_half_from_float(1.5f + (float)i);
        assert_true(weir_ok(weir_tensor_from(WEIR_HALF, WEIR_SCALAR, &value, &gradient)));
        assert_true(weir_ok(apply_tensor(&f, 0, gradient)));
    }
    take(&f, &p, 2);
    assert_true(weir_tensor_get_double(p.outputs[0], 0) == 2.0);
    pending_clear(&p);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_more_than_required),
        cmocka_unit_test(test_take_waits),
        cmocka_unit_test(test_stale_gradients),
        cmocka_unit_test(test_step_may_go_back),
        cmocka_unit_test(test_requests_in_order),
        cmocka_unit_test(test_cancelled_take),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_other_types),
    };
    return cmocka_run_group_tests_name("accumulator", tests, NULL, NULL);
}
