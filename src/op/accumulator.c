/*
 * Conditional accumulators: gradients are added up until enough of them are there for whoever wants their average. Taking
 * may wait; requests are served in the order of their coming, and no thread waits. Gradients computed for an older step
 * than the accumulator's are dropped without a word, as in TensorFlow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kernel/cpu/update.h"
#include "op/state_support.h"

/* Somebody who waits for an average. */
typedef struct request {
    struct request *next;
    weir_wait *wait;
    int64_t required;
    weir_tensor *sum; /* taken for it, to be divided by ... */
    int64_t count;    /* ... the number of gradients in it */
    bool is_cancelled;
} request;

typedef struct line {
    request *first;
    request **last;
} line;

typedef struct accumulator {
    weir_resource base;
    pthread_mutex_t mutex;
    weir_dtype dtype;
    weir_shape shape; /* as declared: partly known */
    bool is_sum;      /* reduction_type SUM: no division */
    int64_t step;
    int64_t count;    /* of gradients in sum */
    weir_tensor *sum; /* NULL when count is 0 */
    line requests;
} accumulator;

static void line_init(line *line)
{
    line->first = NULL;
    line->last = &line->first;
}

static void line_add(line *line, request *request)
{
    request->next = NULL;
    *line->last = request;
    line->last = &request->next;
}

static request *line_take(line *line)
{
    request *first = line->first;
    line->first = first->next;
    if (line->first == NULL)
        line->last = &line->first;
    return first;
}

static request *line_remove(line *line, const weir_wait *wait)
{
    for (request **at = &line->first; *at != NULL; at = &(*at)->next) {
        request *found = *at;
        if (found->wait != wait)
            continue;
        *at = found->next;
        if (found->next == NULL)
            line->last = at;
        return found;
    }
    return NULL;
}

/* ---- Serving; the mutex is held ---- */

/* Hands the sum to the first request as long as there is enough for it. */
static void serve(accumulator *a, line *served)
{
    while (a->requests.first != NULL && a->count >= a->requests.first->required) {
        request *request = line_take(&a->requests);
        request->sum = a->sum;
        request->count = a->count;
        a->sum = NULL;
        a->count = 0;
        a->step++;
        line_add(served, request);
    }
}

/* ---- Ends; the mutex is not held ---- */

#define DIVIDE(type, from, to)                                                                                         \
    do {                                                                                                               \
        type *values = sum->data;                                                                                      \
        for (int64_t i = 0; i < sum->elements; i++)                                                                    \
            values[i] = to(from(values[i]) / (divisor));                                                               \
    } while (0)
#define AS_IS(value) (value)

static void divide(weir_tensor *sum, int64_t count)
{
    if (sum->dtype == WEIR_DOUBLE) {
        double divisor = (double)count;
        DIVIDE(double, AS_IS, AS_IS);
    } else if (sum->dtype == WEIR_FLOAT) {
        float divisor = (float)count;
        DIVIDE(float, AS_IS, AS_IS);
    } else {
        float divisor = weir_half_to_float(weir_half_from_float((float)count));
        DIVIDE(uint16_t, weir_half_to_float, weir_half_from_float);
    }
}

static void end_all(const accumulator *a, line *served)
{
    while (served->first != NULL) {
        request *request = line_take(served);
        weir_wait *wait = request->wait;
        bool is_cancelled = request->is_cancelled;
        if (request->sum != NULL && !a->is_sum)
            divide(request->sum, request->count);
        wait->call.outputs[0] = request->sum;
        weir_release(request);
        weir_wait_end(wait,
                      is_cancelled ? weir_fail(WEIR_CANCELLED, "TakeGrad operation was cancelled") : WEIR_STATUS_OK);
    }
}

/* ---- Life ---- */

static void destroy_accumulator(weir_resource *resource)
{
    accumulator *a = (accumulator *)resource;
    weir_tensor_free(a->sum);
    pthread_mutex_destroy(&a->mutex);
    weir_release((char *)a->base.name);
    weir_release(a);
}

static void abandon_accumulator(weir_resource *resource)
{
    accumulator *a = (accumulator *)resource;
    line abandoned;
    line_init(&abandoned);
    weir_resource_ref(resource);
    pthread_mutex_lock(&a->mutex);
    while (a->requests.first != NULL) {
        a->requests.first->is_cancelled = true;
        line_add(&abandoned, line_take(&a->requests));
    }
    pthread_mutex_unlock(&a->mutex);
    end_all(a, &abandoned);
    weir_resource_unref(resource);
}

static const weir_resource_type accumulator_type = {
    .name = "accumulator", .destroy = destroy_accumulator, .abandon = abandon_accumulator};

static weir_status create_accumulator(void *context, weir_resource **out)
{
    const weir_node *node = context;
    accumulator *a = NULL;
    WEIR_TRY(weir_new(&a, 1));
    const char *name = weir_node_resource_name(node);
    a->base.name = weir_copy_text(name, strlen(name));
    if (a->base.name == NULL || pthread_mutex_init(&a->mutex, NULL) != 0) {
        weir_release((char *)a->base.name);
        weir_release(a);
        return weir_fail_memory(sizeof *a + strlen(name));
    }
    atomic_init(&a->base.references, 1);
    a->base.type = &accumulator_type;
    a->dtype = weir_node_type(node, "dtype");
    a->shape = weir_node_shape(node, "shape");
    a->is_sum = weir_node_string_is(node, "reduction_type", "SUM");
    line_init(&a->requests);
    *out = &a->base;
    return WEIR_STATUS_OK;
}

static weir_status execute_accumulator(weir_call *call)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_node_resource(call->context->session, call->node, &accumulator_type, create_accumulator,
                                (void *)call->node, &resource));
    weir_status status = weir_handle_new(resource, &call->outputs[0]);
    weir_resource_unref(resource);
    return status;
}

static weir_status get_accumulator(const weir_call *call, accumulator **out)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_handle_get(call->inputs[0], &accumulator_type, &resource));
    *out = (accumulator *)resource;
    return WEIR_STATUS_OK;
}

static weir_status get_scalar(const weir_call *call, int index, int64_t *out)
{
    const weir_tensor *tensor = call->inputs[index];
    if (tensor->elements != 1 || tensor->shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Argument %s must be scalar, but had bad shape %s",
                         call->node->op->inputs[index].name, WEIR_SHOWN(tensor->shape));
    *out = weir_tensor_get_int(tensor, 0);
    return WEIR_STATUS_OK;
}

/* ---- Apply ---- */

static weir_status check_type(const accumulator *a, weir_dtype dtype)
{
    if (dtype == a->dtype)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Accumulator '%s' holds gradients of type %s, not %s", a->base.name,
                     weir_dtype_name(a->dtype), weir_dtype_name(dtype));
}

/* The mutex is held. */
static weir_status add_gradient(accumulator *a, const weir_tensor *gradient, weir_team *team)
{
    weir_shape expected = a->count > 0 ? a->sum->shape : a->shape;
    if (!weir_shape_compatible(expected, gradient->shape))
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s", WEIR_SHOWN(expected),
                         WEIR_SHOWN(gradient->shape));
    if (a->count == 0)
        WEIR_TRY(weir_tensor_copy(gradient, &a->sum));
    else
        weir_assign_add_find(a->dtype, false)(team, a->sum->elements, a->sum->data, gradient->data);
    a->count++;
    return WEIR_STATUS_OK;
}

static weir_status execute_apply(weir_call *call)
{
    accumulator *a = NULL;
    int64_t local_step = 0;
    line served;
    line_init(&served);
    WEIR_TRY(get_accumulator(call, &a));
    WEIR_TRY(check_type(a, call->inputs[2]->dtype));
    WEIR_TRY(get_scalar(call, 1, &local_step));
    pthread_mutex_lock(&a->mutex);
    weir_status status = WEIR_STATUS_OK;
    if (local_step >= a->step) {
        status = add_gradient(a, call->inputs[2], call->context->team);
        serve(a, &served);
    }
    pthread_mutex_unlock(&a->mutex);
    if (served.first != NULL) {
        weir_resource_ref(&a->base); /* an end may drop the last other reference */
        end_all(a, &served);
        weir_resource_unref(&a->base);
    }
    return status;
}

/* ---- Take ---- */

static void cancel_take(weir_wait *wait)
{
    accumulator *a = wait->private_data; /* the handle among the wait's inputs holds it */
    line ended;
    line_init(&ended);
    weir_resource_ref(&a->base);
    pthread_mutex_lock(&a->mutex);
    request *found = line_remove(&a->requests, wait);
    if (found != NULL) {
        found->is_cancelled = true;
        line_add(&ended, found);
        serve(a, &ended); /* it may have stood before one that needs less */
    }
    pthread_mutex_unlock(&a->mutex);
    end_all(a, &ended);
    weir_resource_unref(&a->base);
}

static weir_status start_take(weir_wait *wait)
{
    accumulator *a = NULL;
    int64_t required = 0;
    WEIR_TRY(get_accumulator(&wait->call, &a));
    WEIR_TRY(check_type(a, weir_node_type(wait->call.node, "dtype")));
    WEIR_TRY(get_scalar(&wait->call, 1, &required));
    if (required <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Argument num_required must be positive, but was %" PRId64, required);
    request *request = NULL;
    WEIR_TRY(weir_new(&request, 1));
    request->wait = wait;
    request->required = required;
    wait->private_data = a;
    wait->cancel = cancel_take;
    line served;
    line_init(&served);
    weir_resource_ref(&a->base);
    pthread_mutex_lock(&a->mutex);
    line_add(&a->requests, request);
    serve(a, &served);
    if (served.first == NULL) /* nobody else can end it as long as the mutex is held */
        snprintf(wait->what, sizeof wait->what, "accumulator '%.28s' to have %d gradients (it has %d)", a->base.name,
                 (int)required, (int)a->count);
    pthread_mutex_unlock(&a->mutex);
    end_all(a, &served);
    weir_resource_unref(&a->base);
    return WEIR_STATUS_OK;
}

/* ---- Step and count ---- */

static weir_status execute_set_step(weir_call *call)
{
    accumulator *a = NULL;
    int64_t step = 0;
    WEIR_TRY(get_accumulator(call, &a));
    WEIR_TRY(get_scalar(call, 1, &step));
    pthread_mutex_lock(&a->mutex);
    int64_t old = a->step;
    a->step = step;
    pthread_mutex_unlock(&a->mutex);
    if (step < old)
        weir_log_warning("Attempt to set current_global_step_ to smaller value: current_global_step_ = %" PRId64
                         " >= %" PRId64 " = new_global_step.",
                         old, step);
    return WEIR_STATUS_OK;
}

static weir_status execute_count(weir_call *call)
{
    accumulator *a = NULL;
    WEIR_TRY(get_accumulator(call, &a));
    pthread_mutex_lock(&a->mutex);
    int32_t count = (int32_t)a->count;
    pthread_mutex_unlock(&a->mutex);
    return weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &count, &call->outputs[0]);
}

/* ---- Shapes ---- */

static weir_status infer_handle(weir_infer *infer)
{
    infer->outputs[0] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

static weir_status infer_apply(weir_infer *infer)
{
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 0, 0, &scalar));
    return weir_infer_rank(infer, 1, 0, &scalar);
}

static weir_status infer_take(weir_infer *infer)
{
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &scalar));
    const weir_node *handle = weir_infer_handle_node(infer, 0);
    if (handle != NULL && weir_node_find_attr(handle, "reduction_type") != NULL)
        infer->outputs[0] = weir_node_shape(handle, "shape");
    return WEIR_STATUS_OK;
}

/* ---- Tables ---- */

#define HANDLE_INPUT {"handle", .type = WEIR_RESOURCE}

static const weir_op_def ops[] = {
    {.name = "ResourceConditionalAccumulator",
     .outputs = WEIR_ARGS({"handle", .type = WEIR_RESOURCE}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", WEIR_NUMBER_TYPES), {.name = "shape", .kind = WEIR_ATTR_SHAPE},
                             WEIR_A_STRING("container", ""), WEIR_A_STRING("shared_name", ""),
                             WEIR_A_CHOICE("reduction_type", "MEAN", WEIR_TEXTS("MEAN", "SUM"))),
     .infer = infer_handle,
     .is_stateful = true},
    {.name = "ResourceAccumulatorApplyGradient",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"local_step", .type = WEIR_INT64}, {"gradient", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", WEIR_NUMBER_TYPES)),
     .infer = infer_apply,
     .is_stateful = true},
    {.name = "ResourceAccumulatorTakeGradient",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"num_required", .type = WEIR_INT32}),
     .outputs = WEIR_ARGS({"average", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", WEIR_NUMBER_TYPES)),
     .infer = infer_take,
     .is_stateful = true},
    {.name = "ResourceAccumulatorSetGlobalStep",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"new_global_step", .type = WEIR_INT64}),
     .infer = infer_apply,
     .is_stateful = true},
    {.name = "ResourceAccumulatorNumAccumulated",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = WEIR_ARGS({"num_accumulated", .type = WEIR_INT32}),
     .infer = weir_infer_scalar,
     .is_stateful = true},
    {.name = NULL},
};

#define ACCUMULATED_TYPES {{"dtype", WEIR_TYPES(WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF)}}

static const weir_kernel kernels[] = {
    {.op = "ResourceConditionalAccumulator", .types = ACCUMULATED_TYPES, .execute = execute_accumulator},
    {.op = "ResourceAccumulatorApplyGradient", .types = ACCUMULATED_TYPES, .execute = execute_apply},
    {.op = "ResourceAccumulatorTakeGradient", .types = ACCUMULATED_TYPES, .start = start_take},
    {.op = "ResourceAccumulatorSetGlobalStep", .execute = execute_set_step},
    {.op = "ResourceAccumulatorNumAccumulated", .execute = execute_count},
    {.op = NULL},
};

const weir_op_family weir_family_accumulator = {.name = "accumulator", .ops = ops, .kernels = kernels};
