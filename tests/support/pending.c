/*
 * Waits whose ends are written down.
 */
#include "support/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end(weir_wait *wait, weir_status status, bool is_dead)
{
    pending *p = (pending *)wait;
    (void)is_dead;
    p->ends++;
    p->code = status.code;
    snprintf(p->text, sizeof p->text, "%s", weir_ok(status) ? "" : weir_status_text(status));
}

void pending_start(pending *p, weir_context *context, const weir_node *node, weir_tensor *const *inputs)
{
    memset(p, 0, sizeof *p);
    if (node->num_inputs > PENDING_MOST || node->num_outputs > PENDING_MOST)
        abort();
    for (int i = 0; i < node->num_inputs; i++)
        p->inputs[i] = weir_tensor_ref(inputs[i]);
    p->wait.call = (weir_call){.node = node, .context = context, .inputs = p->inputs, .outputs = p->outputs};
    p->wait.end = end;
    const weir_kernel *kernel = NULL;
    weir_status status = weir_kernel_find(node, &kernel);
    if (weir_ok(status))
        status = kernel->start(&p->wait);
    if (!weir_ok(status))
        end(&p->wait, status, false);
}

void pending_cancel(pending *p)
{
    p->wait.cancel(&p->wait);
}

void pending_clear(pending *p)
{
    for (int i = 0; i < PENDING_MOST; i++) {
        weir_tensor_free(p->inputs[i]);
        weir_tensor_free(p->outputs[i]);
        p->inputs[i] = p->outputs[i] = NULL;
    }
}
