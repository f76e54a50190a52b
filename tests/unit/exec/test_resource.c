/*
 * Containers, handles, resources of nodes, state of nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/ops.h>

#include "exec/resource.h"

#include <cmocka.h>

/* A resource that counts what is done with it. */
typedef struct counted {
    weir_resource base;
    int *destroyed;
    int *abandoned;
} counted;

static void destroy_counted(weir_resource *resource)
{
    ++*((counted *)resource)->destroyed;
    free(resource);
}

static void abandon_counted(weir_resource *resource)
{
    ++*((counted *)resource)->abandoned;
}

static const weir_resource_type counted_type = {"counted", destroy_counted, abandon_counted};
static const weir_resource_type other_type = {"other", destroy_counted, NULL};

typedef struct record {
    int created, destroyed, abandoned;
} record;

static weir_status create_counted(void *context, weir_resource **out)
{
    record *r = context;
    counted *c = calloc(1, sizeof *c);
    *c =
        (counted){.base = {.type = &counted_type, .name = "c"}, .destroyed = &r->destroyed, .abandoned = &r->abandoned};
    atomic_init(&c->base.references, 1);
    r->created++;
    *out = &c->base;
    return WEIR_STATUS_OK;
}

static weir_status create_nothing(void *context, weir_resource **out)
{
    (void)context;
    (void)out;
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "nothing left");
}

static void test_container(void **state)
{
    record r = {0};
    weir_container container;
    weir_resource *first = NULL;
    weir_resource *second = NULL;
    assert_true(weir_ok(weir_container_init(&container)));
    weir_status status = weir_container_get(&container, "", &counted_type, "a", NULL, NULL, &first);
    assert_int_equal(status.code, WEIR_NOT_FOUND);
    assert_string_equal(weir_status_text(status), "Resource localhost/a/counted does not exist.");
    status = weir_container_get(&container, "box", &counted_type, "a", create_nothing, NULL, &first);
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_true(weir_ok(weir_container_get(&container, "", &counted_type, "a", create_counted, &r, &first)));
    assert_true(weir_ok(weir_container_get(&container, "", &counted_type, "a", create_counted, &r, &second)));
    assert_ptr_equal(first, second);
    assert_int_equal(r.created, 1);
    weir_resource_unref(second);
    assert_true(weir_ok(weir_container_get(&container, "box", &counted_type, "a", create_counted, &r, &second)));
    assert_ptr_not_equal(first, second); /* another container */
    weir_resource_unref(second);
    assert_true(weir_ok(weir_container_remove(&container, "box", &counted_type, "a")));
    assert_int_equal(r.abandoned, 1);
    assert_int_equal(r.destroyed, 1);
    status = weir_container_remove(&container, "box", &counted_type, "a");
    assert_int_equal(status.code, WEIR_NOT_FOUND);
    assert_string_equal(weir_status_text(status), "Resource box/a/counted does not exist.");
    weir_container_clear(&container);
    assert_int_equal(r.abandoned, 2);
    assert_int_equal(r.destroyed, 1); /* we hold one */
    assert_false(weir_container_drop(&container, first));
    weir_resource_unref(first);
    assert_int_equal(r.destroyed, 2);
    weir_container_destroy(&container);
    weir_resource_unref(NULL);
}

static void test_handles(void **state)
{
    record r = {0};
    weir_resource *resource = NULL;
    weir_resource *found = NULL;
    weir_tensor *handle = NULL;
    weir_tensor *copy = NULL;
    weir_tensor *number = NULL;
    assert_true(weir_ok(create_counted(&r, &resource)));
    assert_true(weir_ok(weir_handle_new(resource, &handle)));
    weir_resource_unref(resource);
    assert_int_equal(r.destroyed, 0);
    assert_true(weir_ok(weir_handle_get(handle, &counted_type, &found)));
    assert_ptr_equal(found, resource);
    weir_status status = weir_handle_get(handle, &other_type, &found);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status),
                           "using the wrong type. The handle points to a resource (name 'c') of "
                           "type 'counted'"));
    assert_true(weir_ok(weir_tensor_copy(handle, &copy)));
    weir_tensor_free(handle);
    assert_int_equal(r.destroyed, 0); /* the copy has a reference of its own */
    weir_tensor_free(copy);
    assert_int_equal(r.destroyed, 1);
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SCALAR, &number)));
    assert_int_equal(weir_handle_get(number, &counted_type, &found).code, WEIR_INVALID_ARGUMENT);
    weir_tensor_free(number);
    assert_true(weir_ok(weir_tensor_new(WEIR_RESOURCE, WEIR_SCALAR, &handle)));
    status = weir_handle_get(handle, &counted_type, &found);
    assert_non_null(strstr(weir_status_text(status), "refers to nothing"));
    weir_tensor_free(handle);
    assert_int_equal(weir_handle_get(NULL, &counted_type, &found).code, WEIR_INVALID_ARGUMENT);
}

/* ---- State of nodes ---- */

static void set_seven(void *state, const weir_node *node)
{
    (void)node;
    *(int *)state = 7;
}

static void test_node_state(void **unused)
{
    weir_graph *graph = weir_graph_new();
    weir_graph *again = weir_graph_new();
    weir_container container;
    weir_session_state state;
    int *value = NULL;
    int *same = NULL;
    int *other = NULL;
    weir_node *node = weir_no_op(weir_root(graph), "n");
    assert_int_equal(weir_node_state(NULL, node, sizeof *value, NULL, (void **)&value).code, WEIR_FAILED_PRECONDITION);
    assert_true(weir_ok(weir_container_init(&container)));
    assert_true(weir_ok(weir_session_state_init(&state, &container)));
    assert_true(weir_ok(weir_node_state(&state, node, sizeof *value, set_seven, (void **)&value)));
    assert_int_equal(*value, 7);
    *value = 8;
    assert_true(weir_ok(weir_node_state(&state, node, sizeof *value, set_seven, (void **)&same)));
    assert_ptr_equal(value, same);
    assert_int_equal(*same, 8);
    /* The node of the same name in another graph of the session, and one that is another op. */
    assert_true(
        weir_ok(weir_node_state(&state, weir_no_op(weir_root(again), "n"), sizeof *value, NULL, (void **)&same)));
    assert_ptr_equal(value, same);
    weir_graph_free(graph);
    graph = weir_graph_new();
    weir_node *variable = weir_variable_v2(weir_root(graph), WEIR_FLOAT, WEIR_SCALAR, .name = "n").node;
    assert_true(weir_ok(weir_node_state(&state, variable, sizeof *value, NULL, (void **)&other)));
    assert_ptr_not_equal(value, other);
    assert_int_equal(*other, 0);
    weir_session_state_clear(&state);
    weir_container_destroy(&container);
    weir_graph_free(graph);
    weir_graph_free(again);
}

static void test_names(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_attr attrs[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SCALAR),
                         WEIR_ATTR_S("shared_name", "shared")};
    assert_string_equal(weir_node_resource_name(weir_op(s, "VarHandleOp", .attrs = attrs, .num_attrs = 3, .name = "v")),
                        "shared");
    assert_string_equal(weir_node_resource_name(weir_op(s, "VarHandleOp", .attrs = attrs, .num_attrs = 2, .name = "v")),
                        "v_1");
    assert_string_equal(weir_node_resource_name(weir_no_op(s, "n")), "n");
    weir_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_node_state),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}
