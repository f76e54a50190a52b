/*
 * Walking a segment of code: choose the layout for what comes in, fill in the addresses that changed, and go through the
 * instructions.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "run/run.h"
#include "run/session.h"

/* ---- Scratch memory ---- */

/* Address space to reserve for temporaries on the host: they never move, and only what is touched is real. */
#define HOST_RESERVE ((size_t)1 << 40)
#define SMALL_RESERVE ((size_t)1 << 32)

typedef struct reservation {
    weir_run_state *run;
    int device;
} reservation;

static void reserve_host(weir_scratch *scratch, size_t size)
{
    size_t sizes[] = {HOST_RESERVE, SMALL_RESERVE, (size + 4095) / 4096 * 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] < size)
            continue;
        void *memory = mmap(NULL, sizes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            continue;
        *scratch = (weir_scratch){memory, 0, sizes[i]};
        return;
    }
}

static weir_status reserve_device(weir_run_state *run, int device, size_t size)
{
    weir_scratch *scratch = &run->scratch[device];
    weir_allocator *allocator = run->plan->devices->items[device]->allocator;
    void *memory = NULL;
    WEIR_TRY(allocator->allocate(allocator, size, &memory));
    if (scratch->memory != NULL)
        WEIR_TRY(weir_list_add(&run->outgrown, (weir_outgrown){allocator, scratch->memory, scratch->size}));
    *scratch = (weir_scratch){memory, size, 0};
    return WEIR_STATUS_OK;
}

static weir_status reserve(void *context, size_t size, char **memory)
{
    const reservation *r = context;
    weir_scratch *scratch = &r->run->scratch[r->device];
    bool is_host = r->run->plan->devices->items[r->device]->is_host;
    if (size > scratch->size && is_host) {
        int64_t limit = r->run->session->memory_limit;
        if ((int64_t)size > limit) {
            return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                             "OOM: the step needs %zu bytes for its temporaries on %s, which has %lld", size,
                             r->run->plan->devices->items[r->device]->name, (long long)limit);
        }
        if (scratch->reserved == 0)
            reserve_host(scratch, size);
        if (size > scratch->reserved) {
            return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                             "OOM: the step needs %zu bytes for its temporaries on %s, which this process cannot get",
                             size, r->run->plan->devices->items[r->device]->name);
        }
        scratch->size = size;
    } else if (size > scratch->size) {
        WEIR_TRY(reserve_device(r->run, r->device, size));
    }
    *memory = scratch->memory;
    return WEIR_STATUS_OK;
}

/* ---- Layouts ---- */

/* Its place in the cache; -1: none fits. */
static int find_layout(const weir_layout_cache *cache, weir_tensor *const *entries)
{
    for (int i = 0; i < cache->count; i++) {
        if (weir_layout_fits(cache->items[i], entries))
            return i;
    }
    return -1;
}

/* Room for one more layout: the least recently used one goes when there are too many. */
static weir_status make_room(weir_layout_cache *cache, int most)
{
    if (cache->count < most) {
        weir_layout **grown = weir_reallocate(cache->items, (size_t)cache->count + 1, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory(sizeof *grown);
        cache->items = grown;
        return WEIR_STATUS_OK;
    }
    int oldest = 0;
    for (int i = 1; i < cache->count; i++)
        oldest = cache->items[i]->last_used < cache->items[oldest]->last_used ? i : oldest;
    if (cache->newest == cache->items[oldest])
        cache->newest = NULL; /* what comes in its place may fail */
    weir_layout_free(cache->items[oldest]);
    cache->items[oldest] = cache->items[--cache->count];
    return WEIR_STATUS_OK;
}

static weir_status choose_layout(weir_run_state *run, const weir_segment *segment, weir_tensor *const *entries,
                                 weir_layout **out)
{
    weir_layout_cache *cache = &run->layouts[segment - run->plan->segments];
    if (cache->newest != NULL && weir_layout_fits(cache->newest, entries)) {
        *out = cache->newest;
        return WEIR_STATUS_OK;
    }
    int found = find_layout(cache, entries);
    if (found < 0) {
        reservation r = {run, segment->device};
        weir_layout_request request = {.plan = run->plan,
                                       .segment = segment,
                                       .entries = entries,
                                       .session = &run->session->state,
                                       .execute = weir_run_executed,
                                       .reserve = reserve,
                                       .reserve_context = &r};
        WEIR_TRY(make_room(cache, run->session->max_layouts));
        WEIR_TRY(weir_layout_new(&request, &cache->items[cache->count]));
        found = cache->count++;
    }
    weir_layout *layout = cache->items[found];
    layout->last_used = atomic_fetch_add_explicit(&run->clock, 1, memory_order_relaxed); /* walkers of several queues */
    cache->newest = layout;
    *out = layout;
    return WEIR_STATUS_OK;
}

/* ---- What comes in and goes out ---- */

/* The elements of a slot in host memory. */
static weir_status read_contents(const weir_run_state *run, const weir_segment *segment, weir_slot *slot,
                                 weir_tensor **out)
{
    *out = slot->tensor;
    if (slot->tensor->buffer->allocator == NULL || slot->tensor->buffer->allocator->is_host)
        return WEIR_STATUS_OK;
    if (slot->in_host == NULL) {
        weir_device *device = run->plan->devices->items[segment->device];
        WEIR_TRY(weir_tensor_new(slot->tensor->dtype, slot->tensor->shape, &slot->in_host));
        WEIR_TRY(device->driver->copy(device, NULL, WEIR_COPY_TO_HOST, slot->in_host->data, slot->tensor->data,
                                      slot->tensor->size_bytes));
    }
    *out = slot->in_host;
    return WEIR_STATUS_OK;
}

static weir_status gather_entries(weir_run_state *run, weir_segment_run *segment, weir_tensor **entries)
{
    const weir_segment *plan_segment = segment->segment;
    for (int i = 0; i < plan_segment->num_entries; i++) {
        weir_slot *slot = &segment->iteration->slots[plan_segment->entries[i].slot];
        entries[i] = slot->tensor;
        if (slot->tensor == NULL) {
            const weir_plan_value *value = &run->plan->values[plan_segment->entries[i].value];
            return weir_fail(WEIR_INTERNAL, "Node '%s' has no value where it is used",
                             run->plan->nodes[value->root.node].node->name);
        }
        if (plan_segment->entries[i].by_content)
            WEIR_TRY(read_contents(run, plan_segment, slot, &entries[i]));
    }
    return WEIR_STATUS_OK;
}

static bool may_reuse(const weir_tensor *tensor, const weir_layout_exit *at)
{
    return tensor != NULL && atomic_load_explicit(&tensor->references, memory_order_acquire) == 1 &&
           tensor->size_bytes == at->size && tensor->dtype == at->dtype && weir_buffer_is_sole(tensor->buffer) &&
           tensor->shape.rank == at->shape.rank &&
           memcmp(tensor->shape.dims, at->shape.dims, (size_t)at->shape.rank * sizeof at->shape.dims[0]) == 0;
}

/* Memory that is only promised would be missed when it is written. */
static weir_status fail_too_large(const weir_run_state *run, const weir_segment *segment, const weir_layout_exit *at)
{
    char shape[WEIR_SHAPE_TEXT_SIZE];
    const weir_plan_node *node = &run->plan->nodes[run->plan->values[at->value].root.node];
    return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                     "OOM: the result of node '%s' with shape %s takes %zu bytes on %s, which has %lld",
                     node->node->name, weir_shape_text(at->shape, shape, sizeof shape), at->size,
                     run->plan->devices->items[segment->device]->name, (long long)run->session->memory_limit);
}

static weir_status prepare_exit(weir_run_state *run, weir_iteration *iteration, const weir_segment *segment,
                                weir_layout_exit *at)
{
    weir_slot *slot = &iteration->slots[at->slot];
    weir_device *device = run->plan->devices->items[segment->device];
    if (at->constant != NULL && (device->is_host || at->in_host)) {
        weir_slot_set(slot, at->constant);
        return WEIR_STATUS_OK;
    }
    if (!slot->is_kept || !may_reuse(slot->tensor, at)) {
        weir_tensor *tensor = NULL;
        weir_slot_clear(slot);
        if ((device->is_host || at->in_host) && (int64_t)at->size > run->session->memory_limit)
            return fail_too_large(run, segment, at);
        WEIR_TRY(weir_tensor_allocate(at->in_host ? weir_host_allocator() : device->allocator, at->dtype, &at->shape,
                                      &tensor));
        slot->tensor = tensor;
        slot->is_kept = true;
    }
    if (at->constant != NULL) { /* an accelerator's */
        WEIR_TRY(
            device->driver->copy(device, NULL, WEIR_COPY_TO_DEVICE, slot->tensor->data, at->constant->data, at->size));
        weir_tensor_free(slot->in_host);
        slot->in_host = weir_tensor_ref(at->constant);
        return WEIR_STATUS_OK;
    }
    weir_patch_write(&at->patch, slot->tensor->data);
    return WEIR_STATUS_OK;
}

static weir_status fill_addresses(weir_run_state *run, weir_segment_run *segment, weir_layout *layout,
                                  weir_tensor *const *entries)
{
    for (int i = 0; i < segment->segment->num_entries; i++)
        weir_patch_write(&layout->entries[i].patch, entries[i]->data);
    for (int i = 0; i < layout->num_exits; i++)
        WEIR_TRY(prepare_exit(run, segment->iteration, segment->segment, &layout->exits[i]));
    return WEIR_STATUS_OK;
}

/* ---- Failures ---- */

static weir_status fail_at(const weir_run_state *run, const weir_layout *layout, int index, weir_status status)
{
    int node = layout->info[index].node;
    if (node < 0 && index + 1 < layout->count)
        node = layout->info[index + 1].node; /* a load belongs to the node after it */
    if (node < 0)
        return status;
    weir_text text = {0};
    weir_node_describe(run->plan->nodes[node].node, &text);
    status = weir_fail(status.code, "%s\n\t [[%s]]", weir_status_text(status), weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

static int64_t find_bad(const void *data, weir_dtype dtype, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (dtype == WEIR_FLOAT ? !isfinite(((const float *)data)[i]) : !isfinite(((const double *)data)[i]))
            return i;
    }
    return -1;
}

/* Option stop_at_nan. */
static weir_status check_numbers(const weir_run_state *run, const weir_layout *layout, int index)
{
    const weir_instruction_info *info = &layout->info[index];
    for (int o = 0; o < info->num_outputs && info->node >= 0 && info->elements != NULL; o++) {
        if (info->dtypes[o] != WEIR_FLOAT && info->dtypes[o] != WEIR_DOUBLE)
            continue;
        const void *data = layout->code[index].arguments[info->first_output + o];
        int64_t bad = find_bad(data, info->dtypes[o], info->elements[o]);
        if (bad < 0)
            continue;
        double value = info->dtypes[o] == WEIR_FLOAT ? (double)((const float *)data)[bad] : ((const double *)data)[bad];
        const weir_node *node = run->plan->nodes[info->node].node;
        return weir_fail(WEIR_INVALID_ARGUMENT, "Output %d of node '%s' (op %s) has %s at element %lld%s", o,
                         node->name, node->op->name, isnan(value) ? "NaN" : "Inf", (long long)bad,
                         strcmp(node->op->name, "Log") == 0
                             ? "; weir_softmax_cross_entropy computes the loss without a logarithm of zero"
                             : "");
    }
    return WEIR_STATUS_OK;
}

/* ---- Walking ---- */

static weir_status stopped(weir_run_state *run)
{
    pthread_mutex_lock(&run->mutex);
    weir_status status = weir_error_status(&run->error);
    pthread_mutex_unlock(&run->mutex);
    return status;
}

/* Instructions between two looks at whether the run was stopped. */
#define STRIDE 16

static weir_status walk(weir_run_state *run, const weir_layout *layout, weir_context *context)
{
    const weir_instruction *code = layout->code;
    int count = layout->count;
    for (int i = 0; i < count;) {
        if (atomic_load_explicit(&run->is_stopped, memory_order_relaxed))
            return stopped(run);
        int last = count - i < STRIDE ? count : i + STRIDE;
        for (; i < last; i++) {
            weir_status status = code[i].run(code[i].state, code[i].arguments, context);
            if (__builtin_expect(status.code != WEIR_OK, 0))
                return fail_at(run, layout, i, status);
        }
    }
    return WEIR_STATUS_OK;
}

/* The same with times, and with a look at every result. */
static weir_status walk_watched(weir_run_state *run, const weir_layout *layout, weir_context *context)
{
    for (int i = 0; i < layout->count; i++) {
        if (run->is_stopped)
            return stopped(run);
        int64_t start = weir_now_ns();
        weir_status status = layout->code[i].run(layout->code[i].state, layout->code[i].arguments, context);
        if (!weir_ok(status))
            return fail_at(run, layout, i, status);
        if (layout->info[i].node >= 0)
            WEIR_TRY(weir_run_note_time(run, layout->info[i].node, layout->segment->device, start));
        if (run->session->stop_at_nan)
            WEIR_TRY(check_numbers(run, layout, i));
    }
    return WEIR_STATUS_OK;
}

/* ---- Accelerators ---- */

static void launched_done(void *context)
{
    weir_segment_run *segment = context;
    weir_run_state *run = segment->run;
    weir_batch *batch = &run->batches[segment->segment->device];
    pthread_mutex_lock(&run->mutex);
    if (atomic_load(&batch->has_failed))
        weir_run_fail(run, weir_error_status(&batch->error));
    weir_segment_done(run, segment, false);
    weir_run_unlock(run);
}

static weir_status append_code(weir_run_state *run, weir_segment_run *segment, const weir_layout *layout,
                               weir_walker *walker)
{
    weir_device *device = run->plan->devices->items[segment->segment->device];
    weir_batch *batch = &run->batches[segment->segment->device];
    for (int i = 0; i < layout->count; i++) {
        const weir_instruction *at = &layout->code[i];
        if (layout->info[i].num_arguments == 0) { /* a load: looks at the variable now */
            weir_status status = at->run(at->state, at->arguments, &walker->base);
            if (!weir_ok(status))
                return fail_at(run, layout, i, status);
            continue;
        }
        weir_launch call = {.run = at->run,
                            .state = at->state,
                            .arguments = at->arguments,
                            .num_arguments = layout->info[i].num_arguments,
                            .host_arguments = layout->info[i].host_arguments,
                            .context = &segment->walker.base,
                            .name = run->plan->nodes[layout->info[i].node].node->name};
        WEIR_TRY(device->driver->launch(device, batch, &call));
    }
    return WEIR_STATUS_OK;
}

static weir_status launch(weir_run_state *run, weir_segment_run *segment, const weir_layout *layout,
                          weir_walker *walker, bool *is_done)
{
    weir_device *device = run->plan->devices->items[segment->segment->device];
    weir_status status = append_code(run, segment, layout, walker);
    if (!weir_ok(
            status)) { /* what was appended goes on; the segment is done after that, but the run has failed before */
        pthread_mutex_lock(&run->mutex);
        weir_run_fail(run, status);
        pthread_mutex_unlock(&run->mutex);
    }
    weir_status noted = device->driver->notify(device, launched_done, segment);
    *is_done = !weir_ok(noted);
    return weir_ok(status) ? noted : status;
}

weir_status weir_run_code(weir_run_state *run, weir_segment_run *segment, bool *is_done)
{
    const weir_device *device = run->plan->devices->items[segment->segment->device];
    int queue = segment->segment->device < run->num_queues ? segment->segment->device : 0;
    weir_tensor **entries = run->entries + (ptrdiff_t)queue * run->most_entries;
    weir_layout *layout = NULL;
    *is_done = true;
    WEIR_TRY(gather_entries(run, segment, entries));
    WEIR_TRY(choose_layout(run, segment->segment, entries, &layout));
    WEIR_TRY(fill_addresses(run, segment, layout, entries));
    segment->walker = (weir_walker){.base = {.team = device->team, .run = run, .session = &run->session->state},
                                    .iteration = segment->iteration};
    if (!device->is_host)
        return launch(run, segment, layout, &segment->walker, is_done);
    if (run->metadata != NULL || run->session->stop_at_nan)
        return walk_watched(run, layout, &segment->walker.base);
    return walk(run, layout, &segment->walker.base);
}

/* ---- Executed nodes ---- */

weir_status weir_value_tensor(weir_run_state *run, weir_iteration *iteration, weir_port port, weir_tensor **out,
                              weir_tensor **owned)
{
    const weir_plan_value *value = weir_plan_value_of(run->plan, port);
    const weir_plan_value *root = weir_plan_value_of(run->plan, value->root);
    *owned = NULL;
    if (value->place == WEIR_PLACE_CONSTANT) {
        *out = value->constant;
    } else if (value->place == WEIR_PLACE_VARIABLE) {
        WEIR_TRY(weir_variable_check(value->variable));
        WEIR_TRY(weir_variable_view(value->variable, owned));
        *out = *owned;
    } else {
        *out = root->slot >= 0 ? iteration->slots[root->slot].tensor : NULL;
    }
    return WEIR_STATUS_OK;
}

weir_status weir_gather_inputs(weir_run_state *run, weir_iteration *iteration, int index, weir_tensor **inputs,
                               weir_variable **variables, weir_tensor **owned)
{
    const weir_plan_node *node = &run->plan->nodes[index];
    for (int i = 0; i < node->num_inputs; i++)
        inputs[i] = owned[i] = NULL;
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_plan_value *value = weir_plan_value_of(run->plan, node->inputs[i]);
        variables[i] = NULL;
        if (weir_plan_takes_variable(run->plan, node, i))
            variables[i] = value->variable;
        else
            WEIR_TRY(weir_value_tensor(run, iteration, node->inputs[i], &inputs[i], &owned[i]));
        if (inputs[i] == NULL && variables[i] == NULL)
            return weir_fail(WEIR_INTERNAL, "Input %d of node '%s' has no value", i, node->node->name);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_run_executed(const void *state, void *const *arguments, weir_context *context)
{
    (void)arguments;
    const weir_executed *executed = state;
    weir_walker *walker = (weir_walker *)context;
    weir_run_state *run = context->run;
    const weir_plan_node *node = &executed->plan->nodes[executed->node];
    weir_tensor **owned = executed->owned;
    weir_tensor **outputs = executed->outputs;
    for (int i = 0; i < node->num_outputs; i++)
        outputs[i] = NULL;
    weir_status status =
        weir_gather_inputs(run, walker->iteration, executed->node, executed->inputs, executed->variables, owned);
    if (weir_ok(status)) {
        weir_call call = {.node = node->node,
                          .context = context,
                          .inputs = executed->inputs,
                          .variables = executed->variables,
                          .outputs = outputs};
        status = node->kernel->execute(&call);
    }
    for (int i = 0; i < node->num_inputs; i++)
        weir_tensor_free(owned[i]);
    for (int i = 0; i < node->num_outputs; i++) {
        const weir_plan_value *value = &run->plan->values[node->first_value + i];
        if (weir_ok(status) && value->slot >= 0 && outputs[i] != NULL)
            weir_slot_set(&walker->iteration->slots[value->slot], outputs[i]);
        weir_tensor_free(outputs[i]);
    }
    return status;
}
