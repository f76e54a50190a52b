/*
 * FIFO queues: order, capacity, waiting, closing, cancelling, checks. Values and texts are TensorFlow 2.21's.
 *
 * Ops: FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueCloseV2 QueueSizeV2
 * QueueIsClosedV2
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/ops.h>

#include "support/compute.h"
#include "support/pending.h"
#include "tensor/tensor.h"

#include <cmocka.h>

/* A session with a queue of int32 scalars and a node of each op on it. */
typedef struct fixture {
    weir_graph *graph;
    weir_scope scope;
    test_session session;
    weir_context context;
    weir_node *queue;
    weir_tensor *handle;
    weir_output value, batch, number, handle_input;
    weir_node *enqueue, *enqueue_many, *dequeue, *dequeue_many, *close, *cancel, *size, *is_closed;
} fixture;

static weir_node *make_queue(weir_scope s, int64_t capacity, const char *shared_name)
{
    weir_dtype type = WEIR_INT32;
    weir_shape shape = WEIR_SCALAR;
    return weir_op(s, "FIFOQueueV2",
                   WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", &type, 1), WEIR_ATTR_SHAPES("shapes", &shape, 1),
                              WEIR_ATTR_I("capacity", capacity), WEIR_ATTR_S("shared_name", shared_name)),
                   .name = "q");
}

static weir_tensor *evaluate(fixture *f, const weir_node *node, weir_tensor *const *inputs)
{
    weir_tensor *output = NULL;
    weir_status status = weir_evaluate_in(&f->context, node, inputs, NULL, &output);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
    return output;
}

static void open_fixture(fixture *f, int64_t capacity, const char *shared_name)
{
    memset(f, 0, sizeof *f);
    f->graph = weir_graph_new();
    weir_scope s = f->scope = weir_root(f->graph);
    test_session_init(&f->session);
    f->context.session = &f->session.state;
    weir_dtype type = WEIR_INT32;
    f->queue = make_queue(s, capacity, shared_name);
    weir_output handle = weir_out(f->queue, 0);
    f->value = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR);
    f->batch = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1));
    f->number = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR);
    weir_attr types = WEIR_ATTR_TYPES("component_types", &type, 1);
    f->enqueue = weir_op(s, "QueueEnqueueV2", WEIR_INPUTS(handle, f->value));
    f->enqueue_many = weir_op(s, "QueueEnqueueManyV2", WEIR_INPUTS(handle, f->batch));
    f->dequeue = weir_op(s, "QueueDequeueV2", WEIR_INPUTS(handle), WEIR_ATTRS(types));
    f->dequeue_many = weir_op(s, "QueueDequeueManyV2", WEIR_INPUTS(handle, f->number), WEIR_ATTRS(types));
    f->close = weir_op(s, "QueueCloseV2", WEIR_INPUTS(handle));
    f->cancel =
        weir_op(s, "QueueCloseV2", WEIR_INPUTS(handle), WEIR_ATTRS(WEIR_ATTR_B("cancel_pending_enqueues", true)));
    f->size = weir_op(s, "QueueSizeV2", WEIR_INPUTS(handle));
    f->is_closed = weir_op(s, "QueueIsClosedV2", WEIR_INPUTS(handle));
    assert_true(weir_ok(weir_graph_error(f->graph)));
    f->handle = evaluate(f, f->queue, NULL);
}

static void close_fixture(fixture *f)
{
    weir_tensor_free(f->handle);
    test_session_clear(&f->session);
    weir_graph_free(f->graph);
}

static weir_tensor *numbers(const int32_t *values, int64_t count)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(count), values, &tensor)));
    return tensor;
}

static weir_tensor *number(int32_t value)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &value, &tensor)));
    return tensor;
}

/* Starts node with the handle and one more input (taken; NULL: none). */
static void start(fixture *f, pending *p, const weir_node *node, weir_tensor *input)
{
    weir_tensor *inputs[] = {f->handle, input};
    pending_start(p, &f->context, node, inputs);
    weir_tensor_free(input);
}

static void enqueue_now(fixture *f, int32_t value)
{
    pending p;
    start(f, &p, f->enqueue, number(value));
    assert_int_equal(p.ends, 1);
    assert_int_equal(p.code, WEIR_OK);
    pending_clear(&p);
}

static int32_t dequeue_now(fixture *f)
{
    pending p;
    start(f, &p, f->dequeue, NULL);
    assert_int_equal(p.ends, 1);
    assert_string_equal(p.text, "");
    int32_t value = weir_tensor_int32s(p.outputs[0])[0];
    pending_clear(&p);
    return value;
}

static int32_t size_of(fixture *f)
{
    weir_tensor *size = evaluate(f, f->size, &f->handle);
    int32_t value = weir_tensor_int32s(size)[0];
    weir_tensor_free(size);
    return value;
}

static bool is_closed(fixture *f)
{
    weir_tensor *closed = evaluate(f, f->is_closed, &f->handle);
    bool value = weir_tensor_bytes(closed)[0];
    weir_tensor_free(closed);
    return value;
}

/* Starts a call that must end at once with this code and text. */
static void expect_end(fixture *f, const weir_node *node, weir_tensor *input, weir_code code, const char *text)
{
    pending p;
    start(f, &p, node, input);
    assert_int_equal(p.ends, 1);
    assert_string_equal(p.text, text);
    assert_int_equal(p.code, code);
    pending_clear(&p);
}

static void expect_ended(const pending *p, weir_code code, const char *text)
{
    assert_int_equal(p->ends, 1);
    assert_string_equal(p->text, text);
    assert_int_equal(p->code, code);
}

/* ---- Tests ---- */

static void test_first_in_first_out(void **state)
{
    fixture f;
    open_fixture(&f, 10, "q");
    for (int i = 0; i < 7; i++)
        enqueue_now(&f, i);
    assert_int_equal(size_of(&f), 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(dequeue_now(&f), i);
    for (int round = 0; round < 50; round++) { /* around the ring */
        enqueue_now(&f, round);
        enqueue_now(&f, -round);
        assert_int_equal(dequeue_now(&f), round);
        assert_int_equal(dequeue_now(&f), -round);
    }
    assert_int_equal(size_of(&f), 0);
    close_fixture(&f);
}

static void test_no_capacity_means_no_limit(void **state)
{
    fixture f;
    open_fixture(&f, -1, "q");
    for (int i = 0; i < 1000; i++)
        enqueue_now(&f, i);
    assert_int_equal(size_of(&f), 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(dequeue_now(&f), i);
    close_fixture(&f);
}

static void test_enqueue_waits_for_room(void **state)
{
    fixture f;
    pending second;
    pending third;
    open_fixture(&f, 1, "q");
    enqueue_now(&f, 1);
    start(&f, &second, f.enqueue, number(2));
    start(&f, &third, f.enqueue, number(3));
    assert_int_equal(second.ends + third.ends, 0);
    assert_string_equal(second.wait.what, "queue 'q' to have room for 1 more");
    assert_int_equal(dequeue_now(&f), 1);
    assert_int_equal(second.ends, 1);
    assert_int_equal(third.ends, 0);
    assert_int_equal(dequeue_now(&f), 2);
    assert_int_equal(third.ends, 1);
    assert_int_equal(dequeue_now(&f), 3);
    pending_clear(&second);
    pending_clear(&third);
    close_fixture(&f);
}

static void test_dequeues_are_served_in_order(void **state)
{
    fixture f;
    pending waiting[3];
    open_fixture(&f, 10, "q");
    for (int i = 0; i < 3; i++)
        start(&f, &waiting[i], f.dequeue, NULL);
    assert_string_equal(waiting[0].wait.what, "queue 'q' to get 1 more element");
    for (int i = 0; i < 3; i++) {
        enqueue_now(&f, 10 + i);
        for (int j = 0; j < 3; j++)
            assert_int_equal(waiting[j].ends, j <= i ? 1 : 0);
        assert_int_equal(weir_tensor_int32s(waiting[i].outputs[0])[0], 10 + i);
    }
    for (int i = 0; i < 3; i++)
        pending_clear(&waiting[i]);
    close_fixture(&f);
}

static void test_batches(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f, 10, "q");
    start(&f, &p, f.enqueue_many, numbers((int32_t[]){4, 5, 6, 7, 8}, 5));
    assert_int_equal(p.ends, 1);
    pending_clear(&p);
    start(&f, &p, f.dequeue_many, number(3));
    assert_int_equal(p.ends, 1);
    assert_int_equal(weir_tensor_elements(p.outputs[0]), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(weir_tensor_int32s(p.outputs[0])[i], 4 + i);
    pending_clear(&p);
    start(&f, &p, f.dequeue_many, number(0));
    assert_int_equal(p.ends, 1);
    assert_int_equal(weir_tensor_rank(p.outputs[0]), 1);
    assert_int_equal(weir_tensor_elements(p.outputs[0]), 0);
    pending_clear(&p);
    start(&f, &p, f.enqueue_many, numbers(NULL, 0));
    assert_int_equal(p.ends, 1);
    pending_clear(&p);
    assert_int_equal(size_of(&f), 2);
    close_fixture(&f);
}

/* A batch goes in as room appears, one dequeue after the other. */
static void test_batch_waits_for_room(void **state)
{
    fixture f;
    pending many;
    open_fixture(&f, 2, "q");
    start(&f, &many, f.enqueue_many, numbers((int32_t[]){1, 2, 3, 4}, 4));
    assert_int_equal(many.ends, 0);
    assert_string_equal(many.wait.what, "queue 'q' to have room for 2 more");
    assert_int_equal(dequeue_now(&f), 1);
    assert_int_equal(many.ends, 0);
    assert_int_equal(dequeue_now(&f), 2);
    assert_int_equal(many.ends, 1);
    assert_int_equal(dequeue_now(&f), 3);
    assert_int_equal(dequeue_now(&f), 4);
    pending_clear(&many);
    close_fixture(&f);
}

/* A batch takes elements as they come; those behind it wait; a close gives them back. */
static void test_batch_takes_and_gives_back(void **state)
{
    fixture f;
    pending many;
    pending one;
    open_fixture(&f, 10, "q");
    start(&f, &many, f.dequeue_many, number(5));
    start(&f, &one, f.dequeue, NULL);
    enqueue_now(&f, 7);
    enqueue_now(&f, 8);
    assert_int_equal(size_of(&f), 0);
    assert_int_equal(many.ends + one.ends, 0);
    assert_string_equal(many.wait.what, "queue 'q' to get 5 more elements");
    expect_end(&f, f.close, NULL, WEIR_OK, "");
    expect_ended(&many, WEIR_OUT_OF_RANGE,
                 "FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 0)");
    assert_int_equal(one.ends, 1); /* it gets the first of what was given back */
    assert_int_equal(weir_tensor_int32s(one.outputs[0])[0], 7);
    assert_int_equal(size_of(&f), 1);
    assert_int_equal(dequeue_now(&f), 8);
    pending_clear(&many);
    pending_clear(&one);
    close_fixture(&f);
}

static void test_closed_queue(void **state)
{
    fixture f;
    open_fixture(&f, 10, "");
    enqueue_now(&f, 1);
    assert_false(is_closed(&f));
    expect_end(&f, f.close, NULL, WEIR_OK, "");
    assert_true(is_closed(&f));
    expect_end(&f, f.enqueue, number(2), WEIR_CANCELLED, "FIFOQueue '_0_q' is closed.");
    expect_end(&f, f.enqueue_many, numbers((int32_t[]){1, 2}, 2), WEIR_CANCELLED, "FIFOQueue '_0_q' is closed.");
    assert_int_equal(dequeue_now(&f), 1);
    expect_end(&f, f.dequeue, NULL, WEIR_OUT_OF_RANGE,
               "FIFOQueue '_0_q' is closed and has insufficient elements (requested 1, current size 0)");
    expect_end(&f, f.close, NULL, WEIR_CANCELLED, "Queue '_0_q' is already closed.");
    expect_end(&f, f.cancel, NULL, WEIR_OK, "");
    close_fixture(&f);
}

/* A close lets the enqueues before it in, and waits for them; those after it fail. */
static void test_close_waits_for_enqueues(void **state)
{
    fixture f;
    pending many;
    pending close;
    pending late;
    open_fixture(&f, 1, "q7");
    enqueue_now(&f, 1);
    start(&f, &many, f.enqueue_many, numbers((int32_t[]){2, 3}, 2));
    start(&f, &close, f.close, NULL);
    start(&f, &late, f.enqueue, number(9));
    assert_string_equal(close.wait.what, "queue 'q7' to take what was enqueued before it closes");
    assert_false(is_closed(&f));
    assert_int_equal(dequeue_now(&f), 1);
    assert_int_equal(dequeue_now(&f), 2);
    expect_ended(&many, WEIR_OK, "");
    expect_ended(&close, WEIR_OK, "");
    expect_ended(&late, WEIR_CANCELLED, "FIFOQueue 'q7' is closed.");
    assert_int_equal(dequeue_now(&f), 3);
    expect_end(&f, f.dequeue, NULL, WEIR_OUT_OF_RANGE,
               "FIFOQueue 'q7' is closed and has insufficient elements (requested 1, current size 0)");
    pending_clear(&many);
    pending_clear(&close);
    pending_clear(&late);
    close_fixture(&f);
}

static void test_close_cancels_enqueues(void **state)
{
    fixture f;
    pending blocked;
    open_fixture(&f, 1, "q3");
    enqueue_now(&f, 1);
    start(&f, &blocked, f.enqueue, number(2));
    expect_end(&f, f.cancel, NULL, WEIR_OK, "");
    expect_ended(&blocked, WEIR_CANCELLED, "Enqueue operation was cancelled");
    assert_int_equal(dequeue_now(&f), 1);
    pending_clear(&blocked);
    close_fixture(&f);
}

static void test_cancelled_waits_leave_nothing(void **state)
{
    fixture f;
    pending many;
    pending one;
    pending full;
    open_fixture(&f, 2, "q");
    start(&f, &many, f.dequeue_many, number(3));
    start(&f, &one, f.dequeue, NULL);
    enqueue_now(&f, 5);
    pending_cancel(&many);
    expect_ended(&many, WEIR_CANCELLED, "Dequeue operation was cancelled");
    assert_int_equal(one.ends, 1); /* no longer behind it */
    assert_int_equal(weir_tensor_int32s(one.outputs[0])[0], 5);
    pending_cancel(&many); /* too late: nothing happens */
    assert_int_equal(many.ends, 1);
    enqueue_now(&f, 6);
    enqueue_now(&f, 7);
    start(&f, &full, f.enqueue, number(8));
    pending_cancel(&full);
    expect_ended(&full, WEIR_CANCELLED, "Enqueue operation was cancelled");
    assert_int_equal(dequeue_now(&f), 6);
    assert_int_equal(dequeue_now(&f), 7);
    assert_int_equal(size_of(&f), 0);
    pending_clear(&many);
    pending_clear(&one);
    pending_clear(&full);
    close_fixture(&f);
}

/* Clearing the container ends whoever waits; the queue lives as long as a handle does. */
static void test_cleared_container(void **state)
{
    fixture f;
    pending waiting;
    open_fixture(&f, 2, "q");
    start(&f, &waiting, f.dequeue, NULL);
    weir_container_clear(&f.session.devices);
    expect_ended(&waiting, WEIR_CANCELLED, "Dequeue operation was cancelled");
    expect_end(&f, f.enqueue, number(1), WEIR_CANCELLED, "FIFOQueue 'q' is closed.");
    pending_clear(&waiting);
    close_fixture(&f);
}

/* ---- Sharing and checks ---- */

static weir_status open_other(fixture *f, weir_node *other)
{
    weir_tensor *handle = NULL;
    weir_status status = weir_evaluate_in(&f->context, other, NULL, NULL, &handle);
    weir_tensor_free(handle);
    return status;
}

static void expect_status(weir_status status, weir_code code, const char *text)
{
    assert_string_equal(weir_ok(status) ? "" : weir_status_text(status), text);
    assert_int_equal(status.code, code);
}

static void test_shared_by_name(void **state)
{
    fixture f;
    open_fixture(&f, 5, "q4");
    weir_dtype types[] = {WEIR_FLOAT, WEIR_INT32};
    weir_shape shape = WEIR_SHAPE(3);
    weir_node *same = make_queue(f.scope, 5, "q4");
    expect_status(open_other(&f, same), WEIR_OK, "");
    expect_status(open_other(&f, make_queue(f.scope, 6, "q4")), WEIR_INVALID_ARGUMENT,
                  "Shared queue 'q4' has capacity 5 but requested capacity was 6");
    weir_node *typed = weir_op(f.scope, "FIFOQueueV2",
                               WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", types, 2), WEIR_ATTR_I("capacity", 5),
                                          WEIR_ATTR_S("shared_name", "q4")));
    expect_status(open_other(&f, typed), WEIR_INVALID_ARGUMENT,
                  "Shared queue 'q4' has component types int32 but requested component types were float, int32");
    weir_node *shaped = weir_op(f.scope, "FIFOQueueV2",
                                WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", types + 1, 1), WEIR_ATTR_I("capacity", 5),
                                           WEIR_ATTR_SHAPES("shapes", &shape, 1), WEIR_ATTR_S("shared_name", "q4")));
    expect_status(open_other(&f, shaped), WEIR_INVALID_ARGUMENT,
                  "Shared queue 'q4' has component shapes [[]] but requested component shapes were [[3]]");
    close_fixture(&f);
}

/* A queue without shared_name belongs to its session; one with it to the device. */
static void test_private_and_shared(void **state)
{
    for (int shared = 0; shared < 2; shared++) {
        fixture f;
        open_fixture(&f, 5, shared ? "q" : "");
        enqueue_now(&f, 1);
        weir_session_state other;
        assert_true(weir_ok(weir_session_state_init(&other, &f.session.devices)));
        weir_context context = {.session = &other};
        weir_tensor *handle = NULL;
        weir_tensor *size = NULL;
        assert_true(weir_ok(weir_evaluate_in(&context, f.queue, NULL, NULL, &handle)));
        assert_true(weir_ok(weir_evaluate_in(&context, f.size, &handle, NULL, &size)));
        assert_int_equal(weir_tensor_int32s(size)[0], shared ? 1 : 0);
        weir_tensor_free(size);
        weir_tensor_free(handle);
        weir_session_state_clear(&other);
        close_fixture(&f);
    }
}

static void test_signatures(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f, 5, "q");
    weir_output handle = weir_out(f.queue, 0);
    weir_output x = weir_placeholder(f.scope, WEIR_FLOAT, WEIR_SCALAR);
    weir_node *enqueue = weir_op(f.scope, "QueueEnqueueV2", WEIR_INPUTS(handle, f.value, x));
    weir_tensor *one = number(1);
    weir_tensor *real = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SCALAR, &real)));
    pending_start(&p, &f.context, enqueue, (weir_tensor *[]){f.handle, one, real});
    expect_ended(&p, WEIR_INVALID_ARGUMENT,
                 "Signature mismatch, have: resource, int32, float-> expected: resource, int32->");
    pending_clear(&p);
    weir_dtype types[] = {WEIR_FLOAT, WEIR_FLOAT};
    weir_node *dequeue = weir_op(f.scope, "QueueDequeueV2", WEIR_INPUTS(handle),
                                 WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", types, 2)));
    pending_start(&p, &f.context, dequeue, &f.handle);
    expect_ended(&p, WEIR_INVALID_ARGUMENT,
                 "Signature mismatch, have: resource->float, float expected: resource->int32");
    pending_clear(&p);
    weir_node *timed = weir_op(
        f.scope, "QueueDequeueV2", WEIR_INPUTS(handle),
        WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", (&(weir_dtype){WEIR_INT32}), 1), WEIR_ATTR_I("timeout_ms", 10)));
    pending_start(&p, &f.context, timed, &f.handle);
    expect_ended(&p, WEIR_INVALID_ARGUMENT, "Timeout not supported yet.");
    pending_clear(&p);
    expect_end(&f, f.dequeue_many, number(-1), WEIR_INVALID_ARGUMENT, "DequeueManyOp requested -1 < 0 elements");
    weir_tensor_free(one);
    weir_tensor_free(real);
    close_fixture(&f);
}

static void test_shapes_of_elements(void **state)
{
    fixture f;
    open_fixture(&f, 5, "q");
    expect_end(&f, f.enqueue, numbers((int32_t[]){1, 2, 3}, 3), WEIR_INVALID_ARGUMENT,
               "Shape mismatch in tuple component 0. Expected [], got [3]");
    weir_tensor *matrix = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_INT32, WEIR_SHAPE(2, 2), &matrix)));
    expect_end(&f, f.enqueue_many, matrix, WEIR_INVALID_ARGUMENT,
               "Shape mismatch in tuple component 0. Expected [2], got [2,2]");
    expect_end(&f, f.enqueue_many, number(1), WEIR_INVALID_ARGUMENT,
               "Shape mismatch in tuple component 0. Expected [?], got []");
    close_fixture(&f);
}

/* Components of any shape: single elements work, batches cannot be made. */
static void test_queue_without_shapes(void **state)
{
    fixture f;
    pending p;
    open_fixture(&f, 5, "q");
    weir_dtype types[] = {WEIR_STRING, WEIR_FLOAT};
    weir_attr attrs[] = {WEIR_ATTR_TYPES("component_types", types, 2)};
    weir_node *queue = weir_op(f.scope, "FIFOQueueV2", .attrs = attrs, .num_attrs = 1);
    weir_output handle = weir_out(queue, 0);
    weir_output text = weir_placeholder(f.scope, WEIR_STRING, weir_shape_unknown());
    weir_output x = weir_placeholder(f.scope, WEIR_FLOAT, weir_shape_unknown());
    weir_node *enqueue = weir_op(f.scope, "QueueEnqueueV2", WEIR_INPUTS(handle, text, x));
    weir_node *dequeue = weir_op(f.scope, "QueueDequeueV2", WEIR_INPUTS(handle), .attrs = attrs, .num_attrs = 1);
    weir_node *many =
        weir_op(f.scope, "QueueDequeueManyV2", WEIR_INPUTS(handle, f.number), .attrs = attrs, .num_attrs = 1);
    weir_tensor *inputs[3] = {evaluate(&f, queue, NULL), NULL, NULL};
    assert_true(weir_ok(weir_tensor_strings((const char *[]){"one", ""}, 2, &inputs[1])));
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(1, 3), (float[]){1, 2, 3}, &inputs[2])));
    pending_start(&p, &f.context, enqueue, inputs);
    expect_ended(&p, WEIR_OK, "");
    pending_clear(&p);
    weir_tensor_floats(inputs[2])[0] = 99; /* the caller's own memory: the queue has a copy */
    pending_start(&p, &f.context, dequeue, inputs);
    expect_ended(&p, WEIR_OK, "");
    assert_string_equal(weir_tensor_get_string(p.outputs[0], 0, NULL), "one");
    assert_int_equal(weir_tensor_rank(p.outputs[1]), 2);
    assert_true(weir_tensor_floats(p.outputs[1])[0] == 1);
    pending_clear(&p);
    weir_tensor *two[] = {inputs[0], number(3)};
    pending_start(&p, &f.context, many, two);
    expect_ended(&p, WEIR_INVALID_ARGUMENT,
                 "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
    pending_clear(&p);
    weir_tensor_free(two[1]);
    for (int i = 0; i < 3; i++)
        weir_tensor_free(inputs[i]);
    close_fixture(&f);
}

static void test_shape_rules(void **state)
{
    fixture f;
    open_fixture(&f, 5, "q");
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_string_equal(weir_shape_text(weir_output_shape(weir_out(f.dequeue, 0)), text, sizeof text), "[]");
    assert_string_equal(weir_shape_text(weir_output_shape(weir_out(f.dequeue_many, 0)), text, sizeof text), "[?]");
    weir_attr types = WEIR_ATTR_TYPES("component_types", (&(weir_dtype){WEIR_INT32}), 1);
    weir_node *four =
        weir_op(f.scope, "QueueDequeueManyV2", WEIR_INPUTS(weir_out(f.queue, 0), weir_const(f.scope, WEIR_INT32_OF(4))),
                WEIR_ATTRS(types));
    assert_string_equal(weir_shape_text(weir_output_shape(weir_out(four, 0)), text, sizeof text), "[4]");
    assert_null(weir_op(f.scope, "QueueDequeueManyV2",
                        WEIR_INPUTS(weir_out(f.queue, 0), weir_const(f.scope, WEIR_INT32_OF(-1))), WEIR_ATTRS(types)));
    weir_status status = weir_graph_take_error(f.graph);
    assert_non_null(strstr(weir_status_text(status), "Input 'n' must be >= 0, but is -1"));
    close_fixture(&f);
}

static void test_wrong_handle(void **state)
{
    fixture f;
    open_fixture(&f, 5, "q");
    weir_node *variable =
        weir_op(f.scope, "VarHandleOp",
                WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_INT32), WEIR_ATTR_SH("shape", WEIR_SCALAR)), .name = "v");
    weir_tensor *handle = evaluate(&f, variable, NULL);
    weir_tensor *size = NULL;
    expect_status(
        weir_evaluate_in(&f.context, f.size, &handle, NULL, &size), WEIR_INVALID_ARGUMENT,
        "Trying to access a handle's resource using the wrong type. The handle points to a resource (name 'v') "
        "of type 'variable' but you are trying to access the resource as type 'queue'");
    weir_tensor_free(handle);
    close_fixture(&f);
}

/* ---- Many waiters, threads ---- */

static void test_thousand_waiters_hold_no_thread(void **state)
{
    enum { MANY = 1000 };
    fixture f;
    open_fixture(&f, -1, "q");
    pending *waiting = calloc(MANY, sizeof *waiting);
    for (int i = 0; i < MANY; i++)
        start(&f, &waiting[i], f.dequeue, NULL);
    for (int i = 0; i < MANY; i++)
        enqueue_now(&f, i);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(waiting[i].ends, 1);
        assert_int_equal(weir_tensor_int32s(waiting[i].outputs[0])[0], i);
        pending_clear(&waiting[i]);
    }
    free(waiting);
    close_fixture(&f);
}

enum { TURNS = 2000, WRITERS = 3 };

static void *write_numbers(void *argument)
{
    fixture *f = argument;
    for (int i = 0; i < TURNS; i++) {
        weir_tensor *value = number(1);
        weir_tensor *inputs[] = {f->handle, value};
        pending p;
        pending_start(&p, &f->context, f->enqueue, inputs); /* the queue has no limit */
        weir_tensor_free(value);
        pending_clear(&p);
    }
    return NULL;
}

static void test_threads(void **state)
{
    fixture f;
    pthread_t threads[WRITERS];
    open_fixture(&f, -1, "q");
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_numbers, &f);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(size_of(&f), TURNS * WRITERS);
    int sum = 0;
    for (int i = 0; i < TURNS * WRITERS; i++)
        sum += dequeue_now(&f);
    assert_int_equal(sum, TURNS * WRITERS);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_no_capacity_means_no_limit),
        cmocka_unit_test(test_enqueue_waits_for_room),
        cmocka_unit_test(test_dequeues_are_served_in_order),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_batch_waits_for_room),
        cmocka_unit_test(test_batch_takes_and_gives_back),
        cmocka_unit_test(test_closed_queue),
        cmocka_unit_test(test_close_waits_for_enqueues),
        cmocka_unit_test(test_close_cancels_enqueues),
        cmocka_unit_test(test_cancelled_waits_leave_nothing),
        cmocka_unit_test(test_cleared_container),
        cmocka_unit_test(test_shared_by_name),
        cmocka_unit_test(test_private_and_shared),
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_shapes_of_elements),
        cmocka_unit_test(test_queue_without_shapes),
        cmocka_unit_test(test_shape_rules),
        cmocka_unit_test(test_wrong_handle),
        cmocka_unit_test(test_thousand_waiters_hold_no_thread),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
