/*
 * Where nodes go: two numbers are fed and added, constants too, on the devices that one names or that the planner finds.
 *
 *   device_placement [--device=/gpu:1] [--nosoft_placement]
 *
 * With --log_device_placement (on unless --nolog_device_placement) each node's line is printed when it is placed.
 */
#include <stdio.h>

#include <weir/weir.h>

static struct {
    weir_program program;
    bool soft_placement;
} flags = {.program = {.log_device_placement = true}, .soft_placement = true};

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Adds numbers on devices and says where."),
    WEIR_FLAG_BOOLEAN("soft_placement", &flags.soft_placement,
                      "let a device that is not there give way to one that is"),
    WEIR_PROGRAM_FLAGS(&flags.program),
    WEIR_FLAGS_END,
};

/* int32 placeholders, fed with 3 and 4. */
static weir_status add_fed(weir_session *session, weir_output a, weir_output b, weir_output sum)
{
    WEIR_AUTO(weir_tensor) *three = NULL;
    WEIR_AUTO(weir_tensor) *four = NULL;
    WEIR_AUTO(weir_tensor) *seven = NULL;
    WEIR_TRY(weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &(int32_t){3}, &three));
    WEIR_TRY(weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &(int32_t){4}, &four));
    WEIR_TRY(weir_run(session, .feeds = {{a, three}, {b, four}}, .fetches = {sum}, .results = {&seven}));
    return weir_tensor_print(seven, stdout);
}

static weir_status run(void)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_scope here = weir_on_device(s, "%s", flags.program.device != NULL ? flags.program.device : "/gpu:1");

    weir_output x = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR, .name = "x");
    weir_output y = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR, .name = "y");
    weir_output sum_of_fed = weir_add(s, x, y, .name = "add");

    weir_output a = weir_const(s, WEIR_FLOATS(1, 2, 3), .name = "a"); // wherever the planner wants
    weir_output b = weir_const(weir_on_device(s, "/cpu:0"), WEIR_FLOATS(1, 2, 3), .name = "b");
    weir_output c = weir_add(here, a, b, .name = "c");
    weir_output d = weir_multiply(weir_on_device(s, "/cpu:0"), c, c, .name = "d");
    WEIR_TRY(weir_program_export(&flags.program, g));

    weir_session_options options = weir_program_session(&flags.program);
    options.allow_soft_placement = flags.soft_placement;
    WEIR_AUTO(weir_session) *session = NULL;
    WEIR_AUTO(weir_tensor) *sum = NULL;
    WEIR_AUTO(weir_tensor) *squares = NULL;
    WEIR_TRY(weir_session_new(g, &options, &session));
    WEIR_TRY(add_fed(session, x, y, sum_of_fed));
    WEIR_TRY(weir_run(session, .fetches = {c, d}, .results = {&sum, &squares}));
    WEIR_TRY(weir_tensor_print(sum, stdout));
    WEIR_TRY(weir_tensor_print(squares, stdout));
    return weir_program_trace(&flags.program, session, &(weir_run_options){.targets = {d.node}});
}

int main(int argc, char **argv)
{
    bool help = false;
    weir_status status = weir_flags_parse(table, &argc, argv, stdout, &help);
    if (weir_ok(status) && !help)
        status = run();
    if (!weir_ok(status))
        fprintf(stderr, "%s\n", weir_status_text(status));
    return weir_exit_status(status);
}
