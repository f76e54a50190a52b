/*
 * Saving and restoring variables, in memory (tmpfs): the four of the replica program, and ten of 10 MB.
 */
#include "bench.h"

#include <stdlib.h>

#include "folder.h"

typedef struct saving {
    weir_saver *saver;
    char folder[256];
    char path[300];
} saving;

enum { small = 0, large = 1 };

static void build_variables(weir_scope s, int size)
{
    weir_initializer values = weir_uniform_initializer(-1, 1);
    if (size == small) {
        (void)weir_get_variable(s, "hid_w", WEIR_SHAPE(784, 100), .initializer = values);
        (void)weir_get_variable(s, "hid_b", WEIR_SHAPE(100), .initializer = values);
        (void)weir_get_variable(s, "sm_w", WEIR_SHAPE(100, 10), .initializer = values);
        (void)weir_get_variable(s, "sm_b", WEIR_SHAPE(10), .initializer = values);
        return;
    }
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        (void)weir_get_variable(s, name, WEIR_SHAPE(2500, 1000), .initializer = values);
    }
}

static weir_status save(bench *bench)
{
    saving *own = bench->own;
    return weir_saver_save(own->saver, bench->session, own->path);
}

static weir_status restore(bench *bench)
{
    saving *own = bench->own;
    return weir_saver_restore(own->saver, bench->session, own->path);
}

static weir_status build(bench *bench, int size)
{
    weir_scope s = weir_root(bench->graph);
    saving *own = calloc(1, sizeof *own);
    bench->own = own;
    if (own == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a bench");
    build_variables(s, size);
    own->saver = weir_saver_new(s);
    weir_node *init = weir_initialize_variables(s);
    WEIR_TRY(bench_make_folder(own->folder, sizeof own->folder));
    snprintf(own->path, sizeof own->path, "%s/model.ckpt", own->folder);
    WEIR_TRY(bench_start(bench, NULL, init));
    return save(bench);
}

static void clear(bench *bench)
{
    saving *own = bench->own;
    if (own == NULL)
        return;
    bench_remove_folder(own->folder);
    free(own);
}

const bench_kind bench_checkpoints[] = {
    {.name = "ckpt_save_318k", .build = build, .variant = small, .iterate = save, .clear = clear},
    {.name = "ckpt_restore_318k", .build = build, .variant = small, .iterate = restore, .clear = clear},
    {.name = "ckpt_save_100m", .build = build, .variant = large, .iterate = save, .clear = clear},
    {.name = "ckpt_restore_100m", .build = build, .variant = large, .iterate = restore, .clear = clear},
    {.name = NULL},
};
