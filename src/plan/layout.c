/*
 * Binds the nodes of a segment one after another, each with the shapes and the known values of its inputs, and then gives
 * every temporary its place in memory.
 */
#include "plan/layout.h"

#include <string.h>

#include "plan/memory.h"

/* What is known of a value in this segment. */
typedef struct bound {
    weir_shape shape;
    weir_tensor *constant;   /* known contents; NULL */
    int memory;              /* value whose memory it is: itself, or that of an input it shares; -1: not bound yet */
    int entry;               /* comes in as this entry; -1 */
    int exit;                /* goes out as this exit; -1 */
    size_t size;             /* bytes */
    size_t offset;           /* in the block of temporaries */
    int pending;             /* uses still to come while binding goes on, counted where the memory is */
    int first_use, last_use; /* instructions */
} bound;

typedef enum address_kind {
    ADDRESS_MEMORY,
    ADDRESS_ENTRY,
    ADDRESS_EXIT,
    ADDRESS_VARIABLE,
    ADDRESS_FIXED,
    ADDRESS_SCRATCH
} address_kind;

/* Where an argument's address comes from. */
typedef struct address {
    address_kind kind;
    int index;   /* value, entry or exit */
    void *fixed; /* ADDRESS_FIXED; the variable for ADDRESS_VARIABLE */
    size_t size; /* ADDRESS_SCRATCH */
    size_t offset;
} address;

/* An instruction on its way. */
typedef struct draft {
    weir_run_function *run;
    const void *state;
    int node;
    int first_address;
    int num_addresses;
    int first_output;
    int num_outputs;
    struct load *load; /* not NULL: loads a variable's address */
} draft;

/* Loads the address of a variable's memory into the arguments that follow. */
typedef struct load {
    weir_variable *variable;
    weir_patch patch;
    WEIR_LIST(int) addresses; /* in maker->addresses */
} load;

typedef struct variable_use {
    weir_variable *variable;
    weir_shape shape;  /* what it has from here on in this segment; rank -1: as it is */
    struct load *load; /* the newest one that still holds; NULL */
} variable_use;

typedef struct node_binding {
    weir_argument *inputs;
    weir_shape *outputs;
    int *same_memory;
    uint32_t *may_overwrite;
    weir_bind bind;
} node_binding;

typedef struct maker {
    const weir_layout_request *request;
    const weir_plan *plan;
    const weir_device *device;
    weir_layout *layout;
    bound *values; /* [plan values] */
    WEIR_LIST(draft) drafts;
    WEIR_LIST(address) addresses;
    WEIR_LIST(variable_use) variables;
    WEIR_LIST(load *) loads;
    char *memory;      /* where temporaries lie */
    node_binding room; /* see make_room */
    int most_inputs, most_outputs;
} maker;

/* ---- Values ---- */

static int root_value(const maker *m, weir_port port)
{
    weir_port root = weir_plan_value_of(m->plan, port)->root;
    return m->plan->nodes[root.node].first_value + root.output;
}

static int memory_value(const maker *m, int value)
{
    return m->values[value].memory;
}

static weir_status set_shape(maker *m, int value, const weir_shape *shape)
{
    bound *b = &m->values[value];
    int64_t elements = 0;
    b->shape = *shape;
    b->memory = value;
    b->last_use = -1;
    WEIR_TRY(weir_tensor_extent(m->plan->values[value].dtype, shape, &elements, &b->size));
    return WEIR_STATUS_OK;
}

static weir_status keep_constant(maker *m, int value, weir_tensor *tensor)
{
    weir_status status = weir_list_add(&m->layout->constants, tensor);
    if (!weir_ok(status)) {
        weir_tensor_free(tensor);
        return status;
    }
    m->values[value].constant = tensor;
    return WEIR_STATUS_OK;
}

static variable_use *use_of(maker *m, weir_variable *variable)
{
    for (size_t i = 0; i < m->variables.count; i++) {
        if (m->variables.items[i].variable == variable)
            return &m->variables.items[i];
    }
    weir_status status = weir_list_add(&m->variables, (variable_use){variable, weir_shape_unknown(), NULL});
    return weir_ok(status) ? &m->variables.items[m->variables.count - 1] : NULL;
}

static weir_status note_variable_shape(maker *m, weir_variable *variable, const weir_shape *shape)
{
    weir_layout *layout = m->layout;
    size_t count = (size_t)layout->num_variable_shapes + 1;
    typeof(layout->variable_shapes) grown = weir_reallocate(layout->variable_shapes, count, sizeof *grown);
    if (grown == NULL)
        return weir_fail_memory(count * sizeof *grown);
    grown[count - 1].variable = variable;
    grown[count - 1].shape = *shape;
    layout->variable_shapes = grown;
    layout->num_variable_shapes = (int)count;
    return WEIR_STATUS_OK;
}

/* The shape a variable has when the segment reads it here. */
static weir_status variable_shape(maker *m, weir_variable *variable, bool is_reference, weir_shape *out)
{
    variable_use *use = use_of(m, variable);
    if (use == NULL)
        return weir_fail_memory(sizeof *use);
    if (use->shape.rank != WEIR_UNKNOWN_RANK && weir_shape_known(use->shape)) {
        *out = use->shape;
        return WEIR_STATUS_OK;
    }
    if (weir_shape_known(variable->declared)) {
        *out = variable->declared;
        return WEIR_STATUS_OK;
    }
    if (is_reference) { /* a writer looks for itself */
        *out = variable->declared;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_variable_check(variable));
    pthread_mutex_lock(&variable->mutex);
    *out = variable->shape;
    pthread_mutex_unlock(&variable->mutex);
    return note_variable_shape(m, variable, out);
}

/* ---- Arguments ---- */

static weir_status describe_input(maker *m, const weir_plan_node *node, int input, weir_argument *out)
{
    const weir_plan_value *value = weir_plan_value_of(m->plan, node->inputs[input]);
    if (value->place == WEIR_PLACE_VARIABLE) {
        bool is_reference = weir_plan_takes_variable(m->plan, node, input);
        out->dtype =
            is_reference ? (weir_dtype)((int)value->variable->dtype + WEIR_REF_OFFSET) : value->variable->dtype;
        out->constant = NULL;
        return variable_shape(m, value->variable, is_reference, &out->shape);
    }
    out->dtype = value->dtype;
    if (value->place == WEIR_PLACE_CONSTANT) {
        out->shape = value->constant->shape;
        out->constant = value->constant;
        return WEIR_STATUS_OK;
    }
    const bound *b = &m->values[root_value(m, node->inputs[input])];
    out->shape = b->shape;
    out->constant = b->constant;
    return WEIR_STATUS_OK;
}

static weir_status add_address(maker *m, address made)
{
    return weir_list_add(&m->addresses, made);
}

/* The argument is the memory of a variable: loads its address if no load before this one still holds. */
static weir_status add_variable_memory(maker *m, weir_variable *variable)
{
    variable_use *use = use_of(m, variable);
    if (use == NULL)
        return weir_fail_memory(sizeof *use);
    if (use->load == NULL)
        return weir_fail(WEIR_INTERNAL, "Variable '%s' is read without a load", variable->base.name);
    WEIR_TRY(weir_list_add(&use->load->addresses, (int)m->addresses.count));
    return add_address(m, (address){.kind = ADDRESS_VARIABLE, .fixed = variable});
}

static weir_status constant_address(maker *m, const weir_tensor *tensor, bool in_host, void **out)
{
    *out = tensor->data;
    if (in_host || m->device->is_host)
        return WEIR_STATUS_OK;
    *out = NULL;
    if (tensor->size_bytes == 0)
        return WEIR_STATUS_OK; /* nothing to upload, nothing to read */
    weir_buffer *buffer = NULL;
    WEIR_TRY(weir_buffer_new(m->device->allocator, tensor->size_bytes, &buffer));
    weir_status status = weir_list_add(&m->layout->uploads, buffer);
    if (!weir_ok(status)) {
        weir_buffer_unref(buffer);
        return status;
    }
    *out = buffer->data;
    return m->device->driver->copy((weir_device *)m->device, NULL, WEIR_COPY_TO_DEVICE, buffer->data, tensor->data,
                                   tensor->size_bytes);
}

static bool input_in_host(const maker *m, const weir_plan_node *node, int input)
{
    if (m->device->is_host)
        return true;
    return node->kernel != NULL && input < 32 &&
           ((node->kernel->host_inputs | node->kernel->shape_inputs) >> input & 1) != 0;
}

static weir_status add_input(maker *m, const weir_plan_node *node, int input, int instruction)
{
    const weir_plan_value *value = weir_plan_value_of(m->plan, node->inputs[input]);
    if (value->place == WEIR_PLACE_VARIABLE) {
        if (weir_plan_takes_variable(m->plan, node, input))
            return add_address(m, (address){.kind = ADDRESS_FIXED, .fixed = value->variable});
        return add_variable_memory(m, value->variable);
    }
    const weir_tensor *constant =
        value->place == WEIR_PLACE_CONSTANT ? value->constant : m->values[root_value(m, node->inputs[input])].constant;
    if (constant != NULL) {
        address made = {.kind = ADDRESS_FIXED};
        WEIR_TRY(constant_address(m, constant, input_in_host(m, node, input), &made.fixed));
        return add_address(m, made);
    }
    int memory = memory_value(m, root_value(m, node->inputs[input]));
    bound *b = &m->values[memory];
    b->last_use = instruction;
    if (b->entry >= 0)
        return add_address(m, (address){.kind = ADDRESS_ENTRY, .index = b->entry});
    if (b->exit >= 0)
        return add_address(m, (address){.kind = ADDRESS_EXIT, .index = b->exit});
    return add_address(m, (address){.kind = ADDRESS_MEMORY, .index = memory});
}

static weir_status add_output(maker *m, int value, int instruction)
{
    bound *b = &m->values[memory_value(m, value)];
    if (b->first_use < 0)
        b->first_use = instruction;
    if (b->last_use < instruction)
        b->last_use = instruction;
    if (b->exit >= 0)
        return add_address(m, (address){.kind = ADDRESS_EXIT, .index = b->exit});
    return add_address(m, (address){.kind = ADDRESS_MEMORY, .index = memory_value(m, value)});
}

/* ---- Loads ---- */

static weir_status run_load(const void *state, void *const *arguments, weir_context *context)
{
    (void)arguments;
    (void)context;
    load *l = (load *)state;
    void *data = atomic_load_explicit(&l->variable->data, memory_order_acquire);
    if (__builtin_expect(data == NULL, 0))
        return weir_variable_check(l->variable);
    weir_patch_write(&l->patch, data);
    return WEIR_STATUS_OK;
}

static weir_status ensure_load(maker *m, weir_variable *variable)
{
    variable_use *use = use_of(m, variable);
    if (use == NULL)
        return weir_fail_memory(sizeof *use);
    if (use->load != NULL)
        return WEIR_STATUS_OK;
    load *made = weir_arena_take(&m->layout->arena, 1, sizeof *made);
    if (made == NULL)
        return weir_fail_memory(sizeof *made);
    made->variable = variable;
    WEIR_TRY(weir_list_add(&m->loads, made));
    use->load = made;
    return weir_list_add(&m->drafts, (draft){.run = run_load, .state = made, .node = -1, .load = made});
}

/* Loads for all inputs of a node that are memory of variables. */
static weir_status load_inputs(maker *m, const weir_plan_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_plan_value *value = weir_plan_value_of(m->plan, node->inputs[i]);
        if (value->place == WEIR_PLACE_VARIABLE && !weir_plan_takes_variable(m->plan, node, i))
            WEIR_TRY(ensure_load(m, value->variable));
    }
    return WEIR_STATUS_OK;
}

/* After a writer the address may be another one, and the shape is that of its output. */
static void note_writes(maker *m, const weir_plan_node *node, const weir_shape *output)
{
    for (int i = 0; i < node->num_inputs && i < 32 && node->kernel != NULL; i++) {
        if ((node->kernel->writes >> i & 1) == 0)
            continue;
        const weir_plan_value *value = weir_plan_value_of(m->plan, node->inputs[i]);
        variable_use *use = value->variable != NULL ? use_of(m, value->variable) : NULL;
        if (use == NULL)
            continue;
        use->load = NULL;
        if (i == 0 && output != NULL && node->num_outputs > 0)
            use->shape = *output;
    }
}

/* ---- One node ---- */

/* Room for what bind is shown, used again for every node. */
static weir_status make_room(maker *m, const weir_plan_node *node)
{
    if (node->num_inputs <= m->most_inputs && node->num_outputs <= m->most_outputs && m->room.inputs != NULL)
        return WEIR_STATUS_OK;
    m->most_inputs = node->num_inputs > m->most_inputs ? node->num_inputs * 2 : m->most_inputs;
    m->most_outputs = node->num_outputs > m->most_outputs ? node->num_outputs * 2 : m->most_outputs;
    weir_arena *arena = &m->layout->arena;
    m->room.inputs = weir_arena_take(arena, (size_t)m->most_inputs, sizeof *m->room.inputs);
    m->room.outputs = weir_arena_take(arena, (size_t)m->most_outputs, sizeof *m->room.outputs);
    m->room.same_memory = weir_arena_take(arena, (size_t)m->most_outputs, sizeof *m->room.same_memory);
    m->room.may_overwrite = weir_arena_take(arena, (size_t)m->most_outputs, sizeof *m->room.may_overwrite);
    bool has_memory = m->room.inputs && m->room.outputs && m->room.same_memory && m->room.may_overwrite;
    return has_memory ? WEIR_STATUS_OK : weir_fail_memory((size_t)m->most_inputs * sizeof *m->room.inputs);
}

static weir_status prepare_binding(maker *m, const weir_plan_node *node, node_binding *b)
{
    WEIR_TRY(make_room(m, node));
    *b = m->room;
    for (int i = 0; i < node->num_inputs; i++)
        WEIR_TRY(describe_input(m, node, i, &b->inputs[i]));
    for (int i = 0; i < node->num_outputs; i++) {
        b->outputs[i].rank = WEIR_UNKNOWN_RANK;
        b->same_memory[i] = WEIR_OWN_MEMORY;
        b->may_overwrite[i] = 0;
    }
    b->bind = (weir_bind){.node = node->node,
                          .inputs = b->inputs,
                          .arena = &m->layout->arena,
                          .session = m->request->session,
                          .lanes = weir_team_size(m->device->team),
                          .outputs = b->outputs,
                          .same_memory = b->same_memory,
                          .may_overwrite = b->may_overwrite};
    return WEIR_STATUS_OK;
}

/* Small values that follow from what is known are worked out now, once. */
#define LARGEST_FOLDED (1 << 16)

static bool may_work_out(const maker *m, const weir_plan_node *node, const node_binding *b)
{
    if (!node->is_foldable)
        return false;
    if (node->kernel->is_shape_function)
        return true;
    for (int i = 0; i < node->num_inputs; i++) {
        if (b->inputs[i].constant == NULL)
            return false;
    }
    for (int i = 0; i < node->num_outputs; i++) {
        int64_t elements = weir_shape_elements(b->outputs[i]);
        if (elements < 0 || elements > LARGEST_FOLDED ||
            weir_dtype_is_object(m->plan->values[node->first_value + i].dtype))
            return false;
    }
    return true;
}

static weir_status work_out(maker *m, const weir_plan_node *node, const node_binding *b)
{
    void **arguments =
        weir_arena_take(&m->layout->arena, (size_t)(node->num_inputs + node->num_outputs) + 1, sizeof *arguments);
    if (arguments == NULL)
        return weir_fail_memory(sizeof *arguments);
    for (int i = 0; i < node->num_inputs; i++)
        arguments[i] = b->inputs[i].constant != NULL ? b->inputs[i].constant->data : NULL;
    for (int i = 0; i < node->num_outputs; i++) {
        int value = node->first_value + i;
        weir_tensor *tensor = NULL;
        if (b->same_memory[i] != WEIR_OWN_MEMORY && b->inputs[b->same_memory[i]].constant != NULL) {
            weir_tensor *shared = (weir_tensor *)b->inputs[b->same_memory[i]].constant;
            WEIR_TRY(weir_tensor_reshaped(shared, &b->outputs[i], &tensor));
        } else {
            WEIR_TRY(weir_tensor_new(m->plan->values[value].dtype, b->outputs[i], &tensor));
        }
        arguments[node->num_inputs + i] = tensor->data;
        WEIR_TRY(keep_constant(m, value, tensor));
        WEIR_TRY(set_shape(m, value, &b->outputs[i]));
    }
    if (b->bind.run == NULL)
        return WEIR_STATUS_OK;
    if (b->bind.scratch_size > 0) {
        arguments[node->num_inputs + node->num_outputs] =
            weir_arena_take(&m->layout->arena, 1, b->bind.scratch_size + WEIR_ALIGNMENT);
        if (arguments[node->num_inputs + node->num_outputs] == NULL)
            return weir_fail_memory(b->bind.scratch_size);
    }
    weir_context context = {.session = m->request->session};
    return b->bind.run(b->bind.state, arguments, &context);
}

/* An output may take over the memory of an input that nobody needs any more. */
static void overwrite_input(maker *m, const weir_plan_node *node, const node_binding *b, int output, int instruction)
{
    int value = node->first_value + output;
    if (m->values[value].exit >= 0)
        return;
    for (int i = 0; i < node->num_inputs && i < 32; i++) {
        const weir_plan_value *input = weir_plan_value_of(m->plan, node->inputs[i]);
        if ((b->may_overwrite[output] >> i & 1) == 0 || input->place != WEIR_PLACE_ARENA ||
            b->inputs[i].constant != NULL)
            continue;
        int memory = memory_value(m, root_value(m, node->inputs[i]));
        const bound *from = &m->values[memory];
        if (from->entry >= 0 || from->exit >= 0 || from->constant != NULL || from->size != m->values[value].size)
            continue;
        if (from->last_use > instruction || from->pending != 1)
            continue;
        m->values[value].memory = memory;
        m->values[memory].pending += m->values[value].pending; /* its users are users of that memory now */
        return;
    }
}

/* Counts down the uses of what a node took. */
static void count_uses(maker *m, const weir_plan_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_plan_value *input = weir_plan_value_of(m->plan, node->inputs[i]);
        if (input->place != WEIR_PLACE_ARENA)
            continue;
        int memory = memory_value(m, root_value(m, node->inputs[i]));
        m->values[memory].pending--;
    }
}

static weir_status copy_elements(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    if (arguments[0] != arguments[1])
        memcpy(arguments[1], arguments[0], *(const size_t *)state);
    return WEIR_STATUS_OK;
}

/* Strings and handles belong to the place they lie in. */
typedef struct object_copy {
    weir_dtype dtype;
    int64_t count;
} object_copy;

static weir_status copy_objects(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    const object_copy *copy = state;
    return arguments[0] != arguments[1] ? weir_elements_copy(copy->dtype, arguments[1], arguments[0], copy->count)
                                        : WEIR_STATUS_OK;
}

/* An instruction that copies a value's memory into the exit of another one. */
static weir_status add_copy(maker *m, const weir_plan_node *node, int index, int from_input, int value)
{
    struct {
        size_t size;
        object_copy objects;
    } *state = weir_arena_take(&m->layout->arena, 1, sizeof *state);
    if (state == NULL)
        return weir_fail_memory(sizeof *state);
    weir_dtype dtype = m->plan->values[value].dtype;
    bool are_objects = weir_dtype_is_object(dtype);
    state->size = m->values[value].size;
    state->objects = (object_copy){dtype, weir_shape_elements(m->values[value].shape)};
    int instruction = (int)m->drafts.count;
    draft made = {.run = are_objects ? copy_objects : copy_elements,
                  .state = are_objects ? (const void *)&state->objects : &state->size,
                  .node = index,
                  .first_address = (int)m->addresses.count,
                  .first_output = 1,
                  .num_outputs = 1,
                  .num_addresses = 2};
    WEIR_TRY(add_input(m, node, from_input, instruction));
    WEIR_TRY(add_output(m, value, instruction));
    return weir_list_add(&m->drafts, made);
}

static weir_status set_outputs(maker *m, const weir_plan_node *node, int index, const node_binding *b)
{
    int instruction = (int)m->drafts.count;
    for (int i = 0; i < node->num_outputs; i++) {
        int value = node->first_value + i;
        if (m->plan->values[value].place == WEIR_PLACE_VARIABLE)
            continue;
        WEIR_TRY(set_shape(m, value, &b->outputs[i]));
        m->values[value].first_use = -1;
        m->values[value].pending = m->plan->values[value].uses;
        int same = b->same_memory[i];
        if (same == WEIR_OWN_MEMORY) {
            overwrite_input(m, node, b, i, instruction);
            continue;
        }
        if (b->inputs[same].constant != NULL && !weir_dtype_is_object(b->inputs[same].dtype)) {
            weir_tensor *view = NULL;
            WEIR_TRY(weir_tensor_reshaped((weir_tensor *)b->inputs[same].constant, &b->outputs[i], &view));
            WEIR_TRY(keep_constant(m, value, view));
            continue;
        }
        const weir_plan_value *input = weir_plan_value_of(m->plan, node->inputs[same]);
        if (m->values[value].exit >= 0 || input->place == WEIR_PLACE_VARIABLE) {
            WEIR_TRY(add_copy(m, node, index, same, value));
            continue;
        }
        int memory = memory_value(m, root_value(m, node->inputs[same]));
        m->values[value].memory = memory;
        m->values[memory].pending += m->values[value].pending; /* its users are users of that memory now */
    }
    return WEIR_STATUS_OK;
}

static bool has_own_output(const weir_plan_node *node, const node_binding *b)
{
    for (int i = 0; i < node->num_outputs; i++) {
        if (b->same_memory[i] == WEIR_OWN_MEMORY)
            return true;
    }
    return node->num_outputs == 0;
}

static weir_status add_code(maker *m, const weir_plan_node *node, int index, const node_binding *b)
{
    int instruction = (int)m->drafts.count;
    draft made = {.run = b->bind.run,
                  .state = b->bind.state,
                  .node = index,
                  .first_address = (int)m->addresses.count,
                  .first_output = node->num_inputs,
                  .num_outputs = node->num_outputs};
    for (int i = 0; i < node->num_inputs; i++)
        WEIR_TRY(add_input(m, node, i, instruction));
    for (int i = 0; i < node->num_outputs; i++) {
        int value = node->first_value + i;
        if (m->plan->values[value].place == WEIR_PLACE_VARIABLE)
            WEIR_TRY(add_address(m, (address){.kind = ADDRESS_FIXED, .fixed = m->plan->values[value].variable}));
        else
            WEIR_TRY(add_output(m, value, instruction));
    }
    if (b->bind.scratch_size > 0)
        WEIR_TRY(
            add_address(m, (address){.kind = ADDRESS_SCRATCH, .size = b->bind.scratch_size, .index = instruction}));
    made.num_addresses = (int)m->addresses.count - made.first_address;
    return weir_list_add(&m->drafts, made);
}

static weir_status bind_code(maker *m, int index)
{
    const weir_plan_node *node = &m->plan->nodes[index];
    node_binding b;
    WEIR_TRY(prepare_binding(m, node, &b));
    WEIR_TRY(node->kernel->bind(&b.bind));
    if (may_work_out(m, node, &b)) {
        count_uses(m, node); /* a shape may be all that is asked of an input */
        return work_out(m, node, &b);
    }
    WEIR_TRY(load_inputs(m, node));
    WEIR_TRY(set_outputs(m, node, index, &b));
    if (b.bind.run != NULL && (has_own_output(node, &b) || node->is_writer))
        WEIR_TRY(add_code(m, node, index, &b));
    count_uses(m, node);
    note_writes(m, node, node->num_outputs > 0 ? &b.outputs[0] : NULL);
    return WEIR_STATUS_OK;
}

static weir_status bind_copy(maker *m, int index)
{
    const weir_plan_node *node = &m->plan->nodes[index];
    weir_argument input;
    WEIR_TRY(describe_input(m, node, 0, &input));
    WEIR_TRY(load_inputs(m, node));
    WEIR_TRY(set_shape(m, node->first_value, &input.shape));
    m->values[node->first_value].first_use = -1;
    m->values[node->first_value].pending = m->plan->values[node->first_value].uses;
    return add_copy(m, node, index, 0, node->first_value);
}

static weir_status bind_executed(maker *m, int index)
{
    const weir_plan_node *node = &m->plan->nodes[index];
    weir_arena *arena = &m->layout->arena;
    weir_executed *state = weir_arena_take(arena, 1, sizeof *state);
    weir_tensor **tensors =
        weir_arena_take(arena, 2 * (size_t)node->num_inputs + (size_t)node->num_outputs, sizeof *tensors);
    weir_variable **variables = weir_arena_take(arena, (size_t)node->num_inputs, sizeof *variables);
    if (state == NULL || tensors == NULL || variables == NULL)
        return weir_fail_memory(sizeof *state);
    *state = (weir_executed){.plan = m->plan,
                             .node = index,
                             .inputs = tensors,
                             .owned = tensors + node->num_inputs,
                             .outputs = tensors + 2 * node->num_inputs,
                             .variables = variables};
    note_writes(m, node, NULL);
    return weir_list_add(&m->drafts, (draft){.run = m->request->execute, .state = state, .node = index});
}

static weir_status bind_node(maker *m, int index)
{
    const weir_plan_node *node = &m->plan->nodes[index];
    weir_status status = WEIR_STATUS_OK;
    if (node->kind == WEIR_KIND_CODE)
        status = bind_code(m, index);
    else if (node->kind == WEIR_KIND_COPY)
        status = bind_copy(m, index);
    else if (node->kind == WEIR_KIND_EXECUTE)
        status = bind_executed(m, index);
    if (weir_ok(status))
        return status;
    weir_text text = {0};
    weir_node_describe(node->node, &text);
    status = weir_fail(status.code, "%s\n\t [[%s]]", weir_status_text(status), weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

/* ---- The whole ---- */

static weir_status take_entries(maker *m)
{
    const weir_segment *segment = m->request->segment;
    weir_layout *layout = m->layout;
    layout->entries = weir_arena_take(&layout->arena, (size_t)segment->num_entries, sizeof *layout->entries);
    layout->exits = weir_arena_take(&layout->arena, (size_t)segment->num_exits, sizeof *layout->exits);
    if (layout->entries == NULL || layout->exits == NULL)
        return weir_fail_memory(sizeof *layout->entries);
    for (int i = 0; i < segment->num_entries; i++) {
        const weir_tensor *tensor = m->request->entries[i];
        int value = segment->entries[i].value;
        WEIR_TRY(set_shape(m, value, &tensor->shape));
        m->values[value].entry = i;
        layout->entries[i].shape = tensor->shape;
        if (!segment->entries[i].by_content)
            continue;
        WEIR_TRY(weir_tensor_copy(tensor, &layout->entries[i].content));
        m->values[value].constant = layout->entries[i].content;
    }
    for (int i = 0; i < segment->num_exits; i++) {
        int value = segment->exits[i];
        if (m->plan->values[value].place != WEIR_PLACE_SLOT)
            continue; /* a constant or a variable, which everybody finds */
        const weir_plan_value *plan_value = &m->plan->values[value];
        const weir_plan_node *producer = &m->plan->nodes[plan_value->root.node];
        bool in_host = producer->kernel != NULL && plan_value->root.output < 32 &&
                       (producer->kernel->host_outputs >> plan_value->root.output & 1) != 0;
        m->values[value].exit = layout->num_exits;
        layout->exits[layout->num_exits++] = (weir_layout_exit){
            .value = value, .slot = plan_value->slot, .dtype = plan_value->dtype, .in_host = in_host};
    }
    return WEIR_STATUS_OK;
}

/* Exits of executed nodes are made by those themselves. */
static void settle_exits(maker *m)
{
    weir_layout *layout = m->layout;
    int kept = 0;
    int *moved = weir_arena_take(&layout->arena, (size_t)layout->num_exits, sizeof *moved);
    for (int i = 0; i < layout->num_exits; i++) {
        weir_layout_exit *at = &layout->exits[i];
        const bound *b = &m->values[at->value];
        if (moved != NULL)
            moved[i] = kept;
        if (b->memory < 0)
            continue; /* nothing was bound for it: an executed node's */
        at->shape = b->shape;
        at->size = b->size;
        at->constant = b->constant;
        layout->exits[kept++] = *at;
    }
    layout->num_exits = kept;
    for (size_t i = 0; moved != NULL && i < m->addresses.count; i++) {
        if (m->addresses.items[i].kind == ADDRESS_EXIT)
            m->addresses.items[i].index = moved[m->addresses.items[i].index];
    }
}

static weir_status lay_out_memory(maker *m)
{
    weir_memory_plan memory = {0};
    weir_status status = WEIR_STATUS_OK;
    for (size_t i = 0; weir_ok(status) && i < m->drafts.count; i++) {
        const draft *d = &m->drafts.items[i];
        for (int a = d->first_address; weir_ok(status) && a < d->first_address + d->num_addresses; a++) {
            address *at = &m->addresses.items[a];
            if (at->kind == ADDRESS_SCRATCH) {
                status = weir_memory_take(&memory, at->size, &at->offset);
                continue;
            }
            bound *b = at->kind == ADDRESS_MEMORY ? &m->values[at->index] : NULL;
            if (b != NULL && b->first_use == (int)i) {
                status = weir_memory_take(&memory, b->size, &b->offset);
                b->first_use = -2; /* has its place */
            }
        }
        for (int a = d->first_address; weir_ok(status) && a < d->first_address + d->num_addresses; a++) {
            const address *at = &m->addresses.items[a];
            if (at->kind == ADDRESS_SCRATCH)
                status = weir_memory_give(&memory, at->offset, at->size);
            bound *b = at->kind == ADDRESS_MEMORY ? &m->values[at->index] : NULL;
            if (b != NULL && b->last_use == (int)i && b->first_use == -2) {
                status = weir_memory_give(&memory, b->offset, b->size);
                b->first_use = -3; /* given back */
            }
        }
    }
    m->layout->memory_size = memory.size;
    weir_memory_plan_clear(&memory);
    return status;
}

static weir_status add_place(weir_arena *arena, weir_patch *patch, void **place, int *capacity)
{
    if (patch->count == *capacity) {
        int larger = *capacity * 2 + 4;
        void ***grown = weir_arena_take(arena, (size_t)larger, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory((size_t)larger * sizeof *grown);
        if (patch->count > 0)
            memcpy(grown, patch->places, (size_t)patch->count * sizeof *grown);
        patch->places = grown;
        *capacity = larger;
    }
    patch->places[patch->count++] = place;
    return WEIR_STATUS_OK;
}

/* Where each argument stands, and the lists of places to be rewritten. */
static weir_status write_arguments(maker *m)
{
    weir_layout *layout = m->layout;
    const weir_segment *segment = layout->segment;
    size_t total = m->addresses.count;
    void **arguments = weir_arena_take(&layout->arena, total, sizeof *arguments);
    int *entry_capacity = weir_arena_take(&layout->arena, (size_t)segment->num_entries, sizeof *entry_capacity);
    int *exit_capacity = weir_arena_take(&layout->arena, (size_t)layout->num_exits, sizeof *exit_capacity);
    layout->code = weir_arena_take(&layout->arena, m->drafts.count, sizeof *layout->code);
    layout->info = weir_arena_take(&layout->arena, m->drafts.count, sizeof *layout->info);
    if (!arguments || !entry_capacity || !exit_capacity || !layout->code || !layout->info)
        return weir_fail_memory(total * sizeof *arguments);
    layout->count = (int)m->drafts.count;
    for (size_t a = 0; a < total; a++) {
        const address *at = &m->addresses.items[a];
        if (at->kind == ADDRESS_MEMORY)
            arguments[a] = m->memory + m->values[at->index].offset;
        else if (at->kind == ADDRESS_SCRATCH)
            arguments[a] = m->memory + at->offset;
        else if (at->kind == ADDRESS_FIXED)
            arguments[a] = at->fixed;
        else if (at->kind == ADDRESS_ENTRY)
            WEIR_TRY(add_place(&layout->arena, &layout->entries[at->index].patch, &arguments[a],
                               &entry_capacity[at->index]));
        else if (at->kind == ADDRESS_EXIT)
            WEIR_TRY(
                add_place(&layout->arena, &layout->exits[at->index].patch, &arguments[a], &exit_capacity[at->index]));
    }
    for (size_t i = 0; i < m->drafts.count; i++) {
        const draft *d = &m->drafts.items[i];
        layout->code[i] = (weir_instruction){d->run, d->state, arguments + d->first_address};
        layout->info[i] = (weir_instruction_info){.node = d->node,
                                                  .num_arguments = d->num_addresses,
                                                  .first_output = d->first_output,
                                                  .num_outputs = d->num_outputs};
    }
    for (size_t l = 0; l < m->loads.count; l++) {
        int capacity = 0;
        for (size_t i = 0; i < m->loads.items[l]->addresses.count; i++) {
            void **place = &arguments[m->loads.items[l]->addresses.items[i]];
            WEIR_TRY(add_place(&layout->arena, &m->loads.items[l]->patch, place, &capacity));
        }
    }
    return WEIR_STATUS_OK;
}

/* Sizes of outputs, and which arguments are in host memory on an accelerator. */
static weir_status note_outputs(maker *m)
{
    weir_layout *layout = m->layout;
    for (size_t i = 0; i < m->drafts.count; i++) {
        const draft *d = &m->drafts.items[i];
        if (d->node < 0 || d->num_addresses == 0)
            continue;
        const weir_plan_node *node = &m->plan->nodes[d->node];
        int64_t *elements = weir_arena_take(&layout->arena, (size_t)d->num_outputs, sizeof *elements);
        weir_dtype *dtypes = weir_arena_take(&layout->arena, (size_t)d->num_outputs, sizeof *dtypes);
        if (elements == NULL || dtypes == NULL)
            return weir_fail_memory((size_t)d->num_outputs * sizeof *elements);
        for (int o = 0; o < d->num_outputs; o++) {
            int value = node->first_value + o;
            bool is_variable = m->plan->values[value].place == WEIR_PLACE_VARIABLE;
            elements[o] = is_variable ? 0 : weir_shape_elements(m->values[value].shape);
            dtypes[o] = m->plan->values[value].dtype;
        }
        layout->info[i].elements = elements;
        layout->info[i].dtypes = dtypes;
        for (int a = 0; a < d->num_addresses && a < 64; a++) {
            const address *at = &m->addresses.items[d->first_address + a];
            bool is_input = a < d->first_output && a < node->num_inputs;
            bool is_variable = is_input ? weir_plan_takes_variable(m->plan, node, a) : at->kind == ADDRESS_FIXED;
            int output = a - d->first_output;
            bool host_output = !is_input && node->kernel != NULL && output >= 0 && output < 32 &&
                               (node->kernel->host_outputs >> output & 1) != 0;
            if (is_variable || host_output || (is_input && input_in_host(m, node, a)))
                layout->info[i].host_arguments |= 1ull << a;
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status make(maker *m)
{
    const weir_segment *segment = m->request->segment;
    for (int i = 0; i < m->plan->num_values; i++)
        m->values[i].memory = m->values[i].entry = m->values[i].exit = m->values[i].first_use = -1;
    WEIR_TRY(take_entries(m));
    for (int at = segment->first; at < segment->first + segment->count; at++)
        WEIR_TRY(bind_node(m, m->plan->order[at]));
    settle_exits(m);
    WEIR_TRY(lay_out_memory(m));
    WEIR_TRY(m->request->reserve(m->request->reserve_context, m->layout->memory_size, &m->memory));
    WEIR_TRY(write_arguments(m));
    return note_outputs(m);
}

weir_status weir_layout_new(const weir_layout_request *request, weir_layout **out)
{
    weir_layout *layout = NULL;
    WEIR_TRY(weir_new(&layout, 1));
    layout->segment = request->segment;
    maker m = {.request = request,
               .plan = request->plan,
               .device = request->plan->devices->items[request->segment->device],
               .layout = layout};
    m.values = weir_allocate((size_t)request->plan->num_values, sizeof *m.values);
    weir_status status =
        m.values != NULL ? make(&m) : weir_fail_memory((size_t)request->plan->num_values * sizeof *m.values);
    weir_release(m.values);
    for (size_t i = 0; i < m.loads.count; i++)
        weir_list_clear(&m.loads.items[i]->addresses);
    weir_list_clear(&m.loads);
    weir_list_clear(&m.drafts);
    weir_list_clear(&m.addresses);
    weir_list_clear(&m.variables);
    if (weir_ok(status))
        *out = layout;
    else
        weir_layout_free(layout);
    return status;
}

void weir_layout_free(weir_layout *layout)
{
    if (layout == NULL)
        return;
    for (int i = 0; layout->entries != NULL && i < layout->segment->num_entries; i++)
        weir_tensor_free(layout->entries[i].content);
    for (size_t i = 0; i < layout->constants.count; i++)
        weir_tensor_free(layout->constants.items[i]);
    weir_list_clear(&layout->constants);
    for (size_t i = 0; i < layout->uploads.count; i++)
        weir_buffer_unref(layout->uploads.items[i]);
    weir_list_clear(&layout->uploads);
    weir_release(layout->variable_shapes);
    weir_arena_clear(&layout->arena);
    weir_release(layout);
}

static bool variables_fit(const weir_layout *layout)
{
    for (int i = 0; i < layout->num_variable_shapes; i++) {
        weir_variable *variable = layout->variable_shapes[i].variable;
        pthread_mutex_lock(&variable->mutex);
        bool is_equal = variable->buffer != NULL && weir_shape_equal(variable->shape, layout->variable_shapes[i].shape);
        pthread_mutex_unlock(&variable->mutex);
        if (!is_equal)
            return false;
    }
    return true;
}

bool weir_layout_fits(const weir_layout *layout, weir_tensor *const *entries)
{
    for (int i = 0; i < layout->segment->num_entries; i++) {
        const weir_layout_entry *entry = &layout->entries[i];
        const weir_tensor *tensor = entries[i];
        if (tensor->shape.rank != entry->shape.rank ||
            memcmp(tensor->shape.dims, entry->shape.dims, (size_t)entry->shape.rank * sizeof entry->shape.dims[0]) != 0)
            return false;
        if (entry->content != NULL && memcmp(tensor->data, entry->content->data, tensor->size_bytes) != 0)
            return false;
    }
    return layout->num_variable_shapes == 0 || variables_fit(layout);
}
