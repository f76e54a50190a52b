/*
 * Finding the kernel of a node: only the family whose table holds the node's op is searched.
 */
#include "exec/kernel.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static const weir_op_family *family_of(const weir_op_def *op)
{
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *at = (*family)->ops; at->name != NULL; at++) {
            if (at == op)
                return *family;
        }
    }
    return NULL;
}

static bool has_type(const weir_dtype *types, weir_dtype type)
{
    for (; *types != WEIR_INVALID_DTYPE; types++) {
        if (*types == type)
            return true;
    }
    return false;
}

static bool matches(const weir_kernel *kernel, const weir_node *node)
{
    for (size_t i = 0; i < sizeof kernel->types / sizeof kernel->types[0] && kernel->types[i].attr != NULL; i++) {
        if (!has_type(kernel->types[i].types, weir_node_type(node, kernel->types[i].attr)))
            return false;
    }
    return true;
}

static bool is_of_op(const weir_kernel *kernel, const weir_op_def *op)
{
    return kernel->op == op->name || strcmp(kernel->op, op->name) == 0;
}

/* "DT_FLOAT" */
static void append_type(weir_text *text, weir_dtype type)
{
    weir_text_append(text, "DT_");
    for (const char *c = weir_dtype_name(type); *c != '\0'; c++)
        weir_text_append(text, "%c", toupper((unsigned char)*c));
}

static void append_node_types(weir_text *text, const weir_node *node)
{
    const char *separator = "";
    for (int i = 0; i < node->num_attrs; i++) {
        if (node->attrs[i].value.kind != WEIR_ATTR_TYPE || node->attrs[i].name[0] == '_')
            continue;
        weir_text_append(text, "%s%s=", separator, node->attrs[i].name);
        append_type(text, node->attrs[i].value.type);
        separator = ", ";
    }
}

static void append_kernel_types(weir_text *text, const weir_kernel *kernel)
{
    weir_text_append(text, "\n  device='CPU'");
    for (size_t i = 0; i < sizeof kernel->types / sizeof kernel->types[0] && kernel->types[i].attr != NULL; i++) {
        weir_text_append(text, "; %s in [", kernel->types[i].attr);
        for (const weir_dtype *type = kernel->types[i].types; *type != WEIR_INVALID_DTYPE; type++) {
            if (type != kernel->types[i].types)
                weir_text_append(text, ", ");
            append_type(text, *type);
        }
        weir_text_append(text, "]");
    }
}

static weir_status fail_without_kernel(const weir_node *node, const weir_op_family *family)
{
    weir_text text = {0};
    weir_text_append(&text, "No OpKernel was registered to support Op '%s' used by {{node %s}} with these attrs: [",
                     node->op->name, node->name);
    append_node_types(&text, node);
    weir_text_append(&text, "]\nRegistered kernels:");
    bool has_some = false;
    for (const weir_kernel *kernel = family != NULL ? family->kernels : NULL; kernel != NULL && kernel->op != NULL;
         kernel++) {
        if (!is_of_op(kernel, node->op))
            continue;
        append_kernel_types(&text, kernel);
        has_some = true;
    }
    if (!has_some)
        weir_text_append(&text, "\n  <no registered kernels>");
    weir_status status = weir_fail(WEIR_UNIMPLEMENTED, "%s", weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

weir_status weir_kernel_find(const weir_node *node, const weir_kernel **out)
{
    const weir_op_family *family = family_of(node->op);
    for (const weir_kernel *kernel = family != NULL ? family->kernels : NULL; kernel != NULL && kernel->op != NULL;
         kernel++) {
        if (is_of_op(kernel, node->op) && matches(kernel, node)) {
            *out = kernel;
            return WEIR_STATUS_OK;
        }
    }
    return fail_without_kernel(node, family);
}
