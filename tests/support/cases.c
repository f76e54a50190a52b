/*
 * The reader of recorded cases. What it takes from the heap stays there until the process ends.
 */
#include "support/cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

const char *const case_families[] = {"array",     "binary", "cast",   "control", "convolution", "matmul", "misc",
                                     "normalize", "random", "reduce", "state",   "unary",       NULL};

typedef struct reader {
    const char *path;
    const unsigned char *data;
    size_t size;
    size_t at;
} reader;

/* Memory until the end of the process; all of it hangs on one chain, so that leak checkers see it in use. */
static void *keep(size_t count, size_t size)
{
    static struct link {
        struct link *next;
        size_t unused;
    } * chain;
    struct link *link = calloc(1, sizeof *link + (count > 0 ? count : 1) * size);
    if (link == NULL) {
        fprintf(stderr, "no memory for recorded cases\n");
        exit(1);
    }
    link->next = chain;
    chain = link;
    return link + 1;
}

static const void *take(reader *r, size_t size)
{
    if (r->size - r->at < size) {
        fprintf(stderr, "%s: ends in the middle of a case\n", r->path);
        exit(1);
    }
    const void *bytes = r->data + r->at;
    r->at += size;
    return bytes;
}

#define TAKE(r, type)                                                                                                  \
    ({                                                                                                                 \
        type taken_value;                                                                                              \
        memcpy(&taken_value, take((r), sizeof(type)), sizeof(type));                                                   \
        taken_value;                                                                                                   \
    })

static weir_bytes take_bytes(reader *r)
{
    uint32_t size = TAKE(r, uint32_t);
    char *copy = keep(size + 1, 1);
    memcpy(copy, take(r, size), size);
    return (weir_bytes){copy, size};
}

static const char *take_text(reader *r)
{
    return take_bytes(r).data;
}

static void must(weir_status status)
{
    if (weir_ok(status))
        return;
    fprintf(stderr, "recorded cases: %s\n", weir_status_text(status));
    exit(1);
}

static weir_tensor *take_tensor(reader *r)
{
    weir_dtype dtype = (weir_dtype)TAKE(r, uint8_t);
    if (dtype == WEIR_INVALID_DTYPE)
        return NULL;
    weir_shape shape = {.rank = TAKE(r, uint8_t)};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = TAKE(r, int64_t);
    weir_tensor *tensor = NULL;
    must(weir_tensor_new(dtype, shape, &tensor));
    if (dtype != WEIR_STRING) {
        const void *elements = take(r, tensor->size_bytes);
        if (tensor->size_bytes > 0)
            memcpy(tensor->data, elements, tensor->size_bytes);
        return tensor;
    }
    for (int64_t i = 0; i < tensor->elements; i++) {
        weir_bytes bytes = take_bytes(r);
        must(weir_tensor_set_string(tensor, i, bytes.data, bytes.size));
    }
    return tensor;
}

static tensors take_tensors(reader *r)
{
    tensors list = {.count = TAKE(r, uint16_t)};
    list.items = keep((size_t)list.count, sizeof(weir_tensor *));
    for (int i = 0; i < list.count; i++)
        list.items[i] = take_tensor(r);
    return list;
}

static tolerance take_tolerance(reader *r)
{
    tolerance tol = {.exact = TAKE(r, uint8_t) != 0};
    tol.rtol = TAKE(r, double);
    tol.atol = TAKE(r, double);
    return tol;
}

static weir_shape take_shape(reader *r)
{
    weir_shape shape = {.rank = TAKE(r, int8_t)};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = TAKE(r, int64_t);
    return shape;
}

static void take_scalar_attr(reader *r, weir_attr_kind kind, weir_attr_value *out)
{
    switch (kind) {
    case WEIR_ATTR_STRING:
        out->s = take_bytes(r);
        break;
    case WEIR_ATTR_INT:
        out->i = TAKE(r, int64_t);
        break;
    case WEIR_ATTR_FLOAT:
        out->f = TAKE(r, float);
        break;
    case WEIR_ATTR_BOOL:
        out->b = TAKE(r, uint8_t) != 0;
        break;
    case WEIR_ATTR_TYPE:
        out->type = (weir_dtype)TAKE(r, uint8_t);
        break;
    case WEIR_ATTR_SHAPE:
        out->shape = take_shape(r);
        break;
    default:
        fprintf(stderr, "%s: attribute of kind %d\n", r->path, (int)kind);
        exit(1);
    }
}

static void take_list_attr(reader *r, weir_attr_kind kind, weir_attr_value *out)
{
    size_t count = TAKE(r, uint32_t);
    out->list.count = (int64_t)count;
    weir_bytes *texts = keep(count, sizeof *texts);
    int64_t *numbers = keep(count, sizeof *numbers);
    weir_dtype *types = keep(count, sizeof *types);
    weir_shape *shapes = keep(count, sizeof *shapes);
    for (size_t i = 0; i < count; i++) {
        weir_attr_value value;
        take_scalar_attr(r, kind, &value);
        if (kind == WEIR_ATTR_STRING)
            texts[i] = value.s;
        else if (kind == WEIR_ATTR_INT)
            numbers[i] = value.i;
        else if (kind == WEIR_ATTR_TYPE)
            types[i] = value.type;
        else
            shapes[i] = value.shape;
    }
    if (kind == WEIR_ATTR_STRING)
        out->list.s = texts;
    else if (kind == WEIR_ATTR_INT)
        out->list.i = numbers;
    else if (kind == WEIR_ATTR_TYPE)
        out->list.type = types;
    else
        out->list.shape = shapes;
}

static void take_attrs(reader *r, recorded_case *c)
{
    c->num_attrs = TAKE(r, uint16_t);
    c->attrs = keep((size_t)c->num_attrs, sizeof *c->attrs);
    for (int i = 0; i < c->num_attrs; i++) {
        weir_attr *attr = &c->attrs[i];
        attr->name = take_text(r);
        attr->value.kind = (weir_attr_kind)TAKE(r, uint8_t);
        if ((int)attr->value.kind < WEIR_ATTR_LIST)
            take_scalar_attr(r, attr->value.kind, &attr->value);
        else
            take_list_attr(r, (weir_attr_kind)((int)attr->value.kind - WEIR_ATTR_LIST), &attr->value);
    }
}

static void take_outputs(reader *r, recorded_case *c)
{
    c->num_runs = TAKE(r, uint16_t);
    c->runs = keep((size_t)c->num_runs, sizeof *c->runs);
    for (int i = 0; i < c->num_runs; i++)
        c->runs[i] = take_tensors(r);
    c->tol = take_tolerance(r);
}

static void take_steps(reader *r, recorded_case *c)
{
    c->states = take_tensors(r);
    c->num_steps = TAKE(r, uint16_t);
    c->steps = keep((size_t)c->num_steps, sizeof *c->steps);
    for (int i = 0; i < c->num_steps; i++) {
        c->steps[i].inputs = take_tensors(r);
        c->steps[i].after = take_tensors(r);
    }
    c->step_tol = take_tolerance(r);
}

static void take_case(reader *r, recorded_case *c)
{
    c->op = take_text(r);
    c->number = (int)TAKE(r, uint32_t);
    c->note = take_text(r);
    int has = TAKE(r, uint8_t);
    take_attrs(r, c);
    c->inputs = take_tensors(r);
    if (has & 1)
        take_outputs(r, c);
    if (has & 2) {
        c->has_gradient = true;
        c->dy = take_tensors(r);
        c->dx = take_tensors(r);
        c->dx_tol = take_tolerance(r);
    }
    if (has & 4) {
        c->fails = true;
        c->fails_when_built = (has & 8) != 0;
        c->code = TAKE(r, int32_t);
        c->message = take_text(r);
    }
    if (has & 16)
        take_steps(r, c);
}

static void read_file(reader *r)
{
    FILE *file = fopen(r->path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be opened\n", r->path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    r->size = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    unsigned char *data = keep(r->size, 1);
    if (fread(data, 1, r->size, file) != r->size) {
        fprintf(stderr, "%s: cannot be read\n", r->path);
        exit(1);
    }
    fclose(file);
    r->data = data;
}

case_file cases_read(const char *family)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/op/data/%s.cases", WEIR_TEST_SOURCE_DIR, family);
    reader r = {.path = path};
    read_file(&r);
    if (memcmp(take(&r, 8), "WEIRCASE", 8) != 0 || TAKE(&r, uint32_t) != 1) {
        fprintf(stderr, "%s: no file of recorded cases\n", path);
        exit(1);
    }
    case_file file = {.count = (int)TAKE(&r, uint32_t)};
    file.cases = keep((size_t)file.count, sizeof *file.cases);
    for (int i = 0; i < file.count; i++)
        take_case(&r, &file.cases[i]);
    return file;
}
