/*
 * Reads every tensor of a checkpoint and writes them into another one, in the order of their names.
 *
 *   copy_checkpoint FROM TO
 */
#include <stdio.h>

#include <weir/checkpoint.h>

static weir_status copy(const char *from, const char *to)
{
    weir_checkpoint *source = NULL;
    weir_checkpoint_writer *target = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    WEIR_TRY(weir_checkpoint_open(from, &source));
    weir_status status = weir_checkpoint_list(source, &entries, &count);
    if (weir_ok(status))
        status = weir_checkpoint_create(to, &target);
    for (size_t i = 0; weir_ok(status) && i < count; i++) {
        weir_tensor *tensor = NULL;
        status = weir_checkpoint_read(source, entries[i].name, &tensor);
        if (weir_ok(status))
            status = weir_checkpoint_add(target, entries[i].name, tensor);
        weir_tensor_free(tensor);
    }
    if (weir_ok(status))
        status = weir_checkpoint_commit(target);
    weir_checkpoint_writer_free(target);
    weir_checkpoint_close(source);
    return status;
}

int main(int argc, char **argv)
{
    weir_status status =
        argc == 3 ? copy(argv[1], argv[2]) : weir_fail(WEIR_INVALID_ARGUMENT, "usage: copy_checkpoint FROM TO");
    if (!weir_ok(status))
        fprintf(stderr, "copy_checkpoint: %s\n", weir_status_text(status));
    return weir_exit_status(status);
}
