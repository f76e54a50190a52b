/*
 * The registry against TensorFlow's: every op has the schema that data/opdefs.txt states, a shape rule, a gradient
 * exactly where TensorFlow has one, a kernel, and a recorded case or a test of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "exec/kernel.h"
#include "support/cases.h"

#include <cmocka.h>

/* Ops that no recorded case can hold, and the test that stands in for one. */
static const struct {
    const char *test;
    const char *ops;
} stand_ins[] = {
    {"op/test_state",
     " VariableV2 Variable IsVariableInitialized CountUpTo VarHandleOp ReadVariableOp VarIsInitializedOp VariableShape "
     "DestroyResourceOp "},
    {"op/test_control_flow",
     " NoOp ControlTrigger Switch Merge RefSwitch RefMerge Enter Exit NextIteration LoopCond RefEnter RefExit "
     "RefNextIteration RefIdentity _Arg _Retval _Send _Recv _HostSend _HostRecv Const Placeholder PlaceholderV2 "},
    {"op/test_queue",
     " FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueCloseV2 QueueSizeV2 "
     "QueueIsClosedV2 "},
    {"op/test_accumulator",
     " ResourceConditionalAccumulator ResourceAccumulatorApplyGradient ResourceAccumulatorTakeGradient "
     "ResourceAccumulatorSetGlobalStep ResourceAccumulatorNumAccumulated "},
    {"op/test_save", " SaveV2 RestoreV2 MergeV2Checkpoints "},
};

/* ---- Schemas as text, in the form of opdefs.txt ---- */

static void describe_arg(weir_text *text, const char *way, const weir_arg_def *arg)
{
    weir_text_append(text, "%s %s", way, arg->name);
    if (arg->type != WEIR_INVALID_DTYPE)
        weir_text_append(text, " type=%s", weir_dtype_name(arg->type));
    if (arg->type_attr != NULL)
        weir_text_append(text, " type_attr=%s", arg->type_attr);
    if (arg->number_attr != NULL)
        weir_text_append(text, " number_attr=%s", arg->number_attr);
    if (arg->type_list_attr != NULL)
        weir_text_append(text, " type_list_attr=%s", arg->type_list_attr);
    weir_text_append(text, "%s\n", arg->is_ref ? " is_ref" : "");
}

static const char *kind_name(weir_attr_kind kind)
{
    static const char *const names[] = {"", "string", "int", "float", "bool", "type", "shape", "tensor", "func"};
    return names[(int)kind % WEIR_ATTR_LIST];
}

static void describe_list(weir_text *text, const weir_attr_value *value)
{
    weir_text_append(text, "[");
    for (int64_t i = 0; i < value->list.count; i++) {
        weir_text_append(text, "%s", i > 0 ? "," : "");
        if ((int)value->kind == WEIR_ATTR_LIST + WEIR_ATTR_INT)
            weir_text_append(text, "%lld", (long long)value->list.i[i]);
        else
            weir_text_append(text, "?");
    }
    weir_text_append(text, "]");
}

static void describe_shape(weir_text *text, weir_shape shape)
{
    if (shape.rank < 0) {
        weir_text_append(text, "unknown");
        return;
    }
    weir_text_append(text, "[");
    for (int i = 0; i < shape.rank; i++)
        weir_text_append(text, "%s%lld", i > 0 ? "," : "", (long long)shape.dims[i]);
    weir_text_append(text, "]");
}

static void describe_default(weir_text *text, const weir_attr_value *value)
{
    weir_text_append(text, " default=");
    switch ((int)value->kind) {
    case WEIR_ATTR_STRING:
        weir_text_append(text, "%.*s", (int)value->s.size, value->s.data);
        break;
    case WEIR_ATTR_INT:
        weir_text_append(text, "%lld", (long long)value->i);
        break;
    case WEIR_ATTR_FLOAT:
        weir_text_append(text, "%.6g", (double)value->f);
        break;
    case WEIR_ATTR_BOOL:
        weir_text_append(text, "%s", value->b ? "true" : "false");
        break;
    case WEIR_ATTR_TYPE:
        weir_text_append(text, "%s", weir_dtype_name(value->type));
        break;
    case WEIR_ATTR_SHAPE:
        describe_shape(text, value->shape);
        break;
    default:
        describe_list(text, value);
    }
}

static void describe_attr(weir_text *text, const weir_attr_def *attr)
{
    bool is_list = (int)attr->kind >= WEIR_ATTR_LIST;
    weir_text_append(text, "attr %s %s%s%s", attr->name, is_list ? "list(" : "", kind_name(attr->kind),
                     is_list ? ")" : "");
    if (attr->has_default)
        describe_default(text, &attr->value);
    if (attr->has_minimum)
        weir_text_append(text, " minimum=%lld", (long long)attr->minimum);
    if (attr->allowed_types != NULL || attr->allowed_texts != NULL)
        weir_text_append(text, " allowed=");
    for (const weir_dtype *type = attr->allowed_types; type != NULL && *type != WEIR_INVALID_DTYPE; type++)
        weir_text_append(text, "%s%s", type != attr->allowed_types ? "," : "", weir_dtype_name(*type));
    for (const char *const *choice = attr->allowed_texts; choice != NULL && *choice != NULL; choice++)
        weir_text_append(text, "%s%s", choice != attr->allowed_texts ? "," : "", *choice);
    weir_text_append(text, "\n");
}

static const char *gradient_name(weir_gradient_kind kind)
{
    return kind == WEIR_GRADIENT_FUNCTION ? "yes" : kind == WEIR_GRADIENT_NONE ? "none" : "unregistered";
}

static void describe_op(weir_text *text, const weir_op_def *op)
{
    weir_text_append(text, "op %s gradient=%s%s%s%s%s\n", op->name, gradient_name(op->gradient_kind),
                     op->is_stateful ? " is_stateful" : "", op->is_commutative ? " is_commutative" : "",
                     op->is_aggregate ? " is_aggregate" : "",
                     op->allows_uninitialized_input ? " allows_uninitialized_input" : "");
    for (const weir_arg_def *arg = op->inputs; arg != NULL && arg->name != NULL; arg++)
        describe_arg(text, "input", arg);
    for (const weir_arg_def *arg = op->outputs; arg != NULL && arg->name != NULL; arg++)
        describe_arg(text, "output", arg);
    for (const weir_attr_def *attr = op->attrs; attr != NULL && attr->name != NULL; attr++)
        describe_attr(text, attr);
}

/* ---- The file ---- */

static char *read_schemas(void)
{
    FILE *file = fopen(WEIR_TEST_SOURCE_DIR "/tests/op/data/opdefs.txt", "r");
    assert_non_null(file);
    weir_text text = {0};
    char line[4096];
    while (fgets(line, sizeof line, file) != NULL)
        weir_text_append(&text, "%s", line);
    fclose(file);
    char *schemas = NULL;
    assert_true(weir_ok(weir_text_take(&text, &schemas)));
    return schemas;
}

/* Where the schema of an op begins, and its length; NULL when there is none. */
static const char *find_schema(const char *schemas, const char *op, size_t *length)
{
    char head[128];
    snprintf(head, sizeof head, "op %s gradient=", op);
    const char *at = strncmp(schemas, head, strlen(head)) == 0 ? schemas : NULL;
    if (at == NULL) {
        snprintf(head, sizeof head, "\nop %s gradient=", op);
        at = strstr(schemas, head);
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL)
        return NULL;
    const char *end = strstr(at, "\nop ");
    *length = end != NULL ? (size_t)(end + 1 - at) : strlen(at);
    return at;
}

/* ---- Tests; each reports all faults before it fails ---- */

#define EACH_OP(family, op)                                                                                            \
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++)                            \
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++)

/* The first line that differs, of each side. */
static void show_difference(const char *op, const char *ours, const char *theirs)
{
    while (*ours != '\0' && *theirs != '\0') {
        size_t a = strcspn(ours, "\n");
        size_t b = strcspn(theirs, "\n");
        if (a != b || memcmp(ours, theirs, a) != 0)
            break;
        ours += a + 1;
        theirs += b + 1;
    }
    print_error("%s:\n  Weir:       %.*s\n  TensorFlow: %.*s\n", op, (int)strcspn(ours, "\n"), ours,
                (int)strcspn(theirs, "\n"), theirs);
}

static void test_schemas(void **state)
{
    char *schemas = read_schemas();
    int faults = 0;
    EACH_OP(family, op)
    {
        size_t length = 0;
        const char *theirs = find_schema(schemas, op->name, &length);
        weir_text ours = {0};
        describe_op(&ours, op);
        if (theirs == NULL) {
            print_error("%s (%s): no schema of TensorFlow's is recorded\n", op->name, (*family)->name);
            faults++;
        } else if (ours.length != length || memcmp(ours.data, theirs, length) != 0) {
            char *copy = strndup(theirs, length);
            show_difference(op->name, ours.data, copy);
            free(copy);
            faults++;
        }
        weir_text_clear(&ours);
    }
    weir_release(schemas);
    assert_int_equal(faults, 0);
}

static void test_every_recorded_schema_has_an_op(void **state)
{
    char *schemas = read_schemas();
    int faults = 0;
    for (const char *at = schemas; at != NULL && *at != '\0';
         at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : NULL) {
        char name[128];
        if (sscanf(at, "op %127s", name) == 1 && weir_op_find(name) == NULL) {
            print_error("%s: the registry lacks it\n", name);
            faults++;
        }
    }
    weir_release(schemas);
    assert_int_equal(faults, 0);
}

static void test_shape_rules_and_gradients(void **state)
{
    int faults = 0;
    EACH_OP(family, op)
    {
        if (op->infer == NULL) {
            print_error("%s: no shape rule\n", op->name);
            faults++;
        }
        if ((op->gradient_kind == WEIR_GRADIENT_FUNCTION) != (op->gradient != NULL)) {
            print_error("%s: gradient function and kind disagree\n", op->name);
            faults++;
        }
    }
    assert_int_equal(faults, 0);
}

static void test_names_are_unique(void **state)
{
    EACH_OP(family, op)
    assert_ptr_equal(weir_op_find(op->name), op);
}

static bool has_kernel(const weir_op_family *family, const char *op)
{
    for (const weir_kernel *kernel = family->kernels; kernel != NULL && kernel->op != NULL; kernel++) {
        if (strcmp(kernel->op, op) == 0)
            return true;
    }
    return false;
}

static void test_kernels(void **state)
{
    int faults = 0;
    EACH_OP(family, op)
    {
        if (!has_kernel(*family, op->name)) {
            print_error("%s: no kernel in family '%s'\n", op->name, (*family)->name);
            faults++;
        }
    }
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_kernel *kernel = (*family)->kernels; kernel != NULL && kernel->op != NULL; kernel++) {
            int functions = (kernel->bind != NULL) + (kernel->execute != NULL) + (kernel->start != NULL);
            if (functions != (kernel->role == WEIR_ROLE_COMPUTE ? 1 : 0)) {
                print_error("%s: a kernel of role %d with %d functions\n", kernel->op, (int)kernel->role, functions);
                faults++;
            }
            if (weir_op_find(kernel->op) == NULL) {
                print_error("%s: a kernel without op\n", kernel->op);
                faults++;
            }
        }
    }
    assert_int_equal(faults, 0);
}

static bool has_stand_in(const char *op)
{
    char word[128];
    snprintf(word, sizeof word, " %s ", op);
    for (size_t i = 0; i < sizeof stand_ins / sizeof stand_ins[0]; i++) {
        if (strstr(stand_ins[i].ops, word) != NULL)
            return true;
    }
    return false;
}

static bool is_in(const case_file *files, const char *op)
{
    for (int f = 0; case_families[f] != NULL; f++) {
        for (int i = 0; i < files[f].count; i++) {
            if (strcmp(files[f].cases[i].op, op) == 0)
                return true;
        }
    }
    return false;
}

static void test_every_op_is_tested(void **state)
{
    case_file files[32];
    int faults = 0;
    for (int f = 0; case_families[f] != NULL; f++)
        files[f] = cases_read(case_families[f]);
    EACH_OP(family, op)
    {
        if (!is_in(files, op->name) && !has_stand_in(op->name)) {
            print_error("%s: neither a recorded case nor a test of its own\n", op->name);
            faults++;
        }
    }
    assert_int_equal(faults, 0);
}

static void test_stand_ins_exist(void **state)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof stand_ins[0]; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/tests/%s.c", WEIR_TEST_SOURCE_DIR, stand_ins[i].test);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            print_error("%s does not exist\n", path);
        assert_non_null(file);
        weir_text text = {0};
        char line[1024];
        while (fgets(line, sizeof line, file) != NULL)
            weir_text_append(&text, "%s", line);
        fclose(file);
        char *ops = strdup(stand_ins[i].ops);
        int faults = 0;
        for (char *op = strtok(ops, " "); op != NULL; op = strtok(NULL, " ")) {
            if (strstr(weir_text_get(&text), op) == NULL) {
                print_error("%s does not mention %s\n", path, op);
                faults++;
            }
        }
        free(ops);
        weir_text_clear(&text);
        assert_int_equal(faults, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_every_recorded_schema_has_an_op),
        cmocka_unit_test(test_shape_rules_and_gradients),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_every_op_is_tested),
        cmocka_unit_test(test_stand_ins_exist),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
