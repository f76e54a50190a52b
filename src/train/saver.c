/*
 * Saver: the nodes that save and restore variables, the list of what was saved, and the state file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "train/train_state.h"

struct weir_saver {
    int count;
    const weir_train_variable **variables; /* sorted by name */
    weir_output path;                      /* fed with the prefix */
    weir_node *save;
    weir_node *restore;
    int max_to_keep; /* 0: all */
    char **saved;    /* oldest first; owned */
    int num_saved, room_for_saved;
};

static void free_saver(void *memory)
{
    weir_saver *saver = memory;
    for (int i = 0; i < saver->num_saved; i++)
        free(saver->saved[i]);
    free(saver->saved);
    free(saver->variables);
    free(saver);
}

/* ---- Nodes ---- */

static int compare_names(const void *a, const void *b)
{
    const weir_train_variable *const *x = a;
    const weir_train_variable *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static weir_status choose_variables(weir_scope s, weir_saver *saver, const weir_saver_options *options)
{
    weir_graph *graph = weir_scope_graph(s);
    int count =
        options->variables != NULL ? options->num_variables : weir_collection_count(graph, WEIR_VARIABLES, NULL);
    weir_item *items = calloc((size_t)count + 1, sizeof *items);
    saver->variables = calloc((size_t)count + 1, sizeof *saver->variables);
    if (items == NULL || saver->variables == NULL) {
        free(items);
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: a saver of %d variables", count);
    }
    weir_collection_items(graph, WEIR_VARIABLES, NULL, items, count);
    for (int i = 0; i < count; i++) {
        weir_output given = options->variables != NULL ? options->variables[i] : items[i].output;
        const weir_train_variable *variable = weir_train_find_variable(given);
        if (variable != NULL)
            saver->variables[saver->count++] = variable;
        else if (options->variables != NULL && given.node != NULL)
            (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is no variable and cannot be saved",
                                               weir_node_name(given.node)));
    }
    free(items);
    if (saver->count == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No variables to save");
    qsort(saver->variables, (size_t)saver->count, sizeof *saver->variables, compare_names);
    for (int i = 1; i < saver->count; i++) {
        if (strcmp(saver->variables[i]->name, saver->variables[i - 1]->name) == 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "At least two variables have the same name: %s",
                             saver->variables[i]->name);
    }
    return WEIR_STATUS_OK;
}

/* "<op>/tensor_names" and "<op>/shape_and_slices". */
static void make_names(weir_scope s, const weir_saver *saver, weir_output *names, weir_output *slices)
{
    const char **texts = calloc((size_t)saver->count, sizeof *texts);
    const char **blank = calloc((size_t)saver->count, sizeof *blank);
    for (int i = 0; texts != NULL && blank != NULL && i < saver->count; i++) {
        texts[i] = saver->variables[i]->name;
        blank[i] = "";
    }
    weir_const_value value = {.dtype = WEIR_STRING, .shape = WEIR_SHAPE(saver->count), .texts = texts};
    weir_const_value none = {.dtype = WEIR_STRING, .shape = WEIR_SHAPE(saver->count), .texts = blank};
    *names = *slices = WEIR_NO_OUTPUT;
    if (texts != NULL && blank != NULL) {
        *names = weir_const(s, value, .name = "tensor_names");
        *slices = weir_const(s, none, .name = "shape_and_slices");
    }
    free(texts);
    free(blank);
}

static weir_node *make_save(weir_scope s, const weir_saver *saver, weir_output path)
{
    weir_scope inner = weir_in_scope(s, "SaveV2");
    weir_output *inputs = calloc((size_t)saver->count + 3, sizeof *inputs);
    if (inputs == NULL)
        return NULL;
    inputs[0] = path;
    make_names(inner, saver, &inputs[1], &inputs[2]);
    for (int i = 0; i < saver->count; i++)
        inputs[3 + i] = saver->variables[i]->ref;
    weir_op_options options = {
        .size = sizeof options, .name = weir_scope_name(inner), .inputs = inputs, .num_inputs = saver->count + 3};
    weir_node *save = weir_op_build(inner, "SaveV2", &options);
    free(inputs);
    return save;
}

static weir_node *make_restore_op(weir_scope s, const weir_saver *saver, weir_output path)
{
    weir_scope inner = weir_on_device(weir_in_scope(s, "RestoreV2"), "/cpu:0");
    weir_dtype *dtypes = calloc((size_t)saver->count, sizeof *dtypes);
    weir_output names, slices;
    if (dtypes == NULL)
        return NULL;
    for (int i = 0; i < saver->count; i++)
        dtypes[i] = weir_dtype_base(weir_output_dtype(saver->variables[i]->ref));
    make_names(inner, saver, &names, &slices);
    weir_node *restore =
        weir_op(inner, "RestoreV2", WEIR_INPUTS(path, names, slices),
                WEIR_ATTRS(WEIR_ATTR_TYPES("dtypes", dtypes, saver->count)), .name = weir_scope_name(inner));
    free(dtypes);
    return restore;
}

static weir_node *make_restore(weir_scope s, const weir_saver *saver, weir_output path)
{
    weir_node *restore = make_restore_op(s, saver, path);
    weir_node **assigns = calloc((size_t)saver->count, sizeof *assigns);
    weir_node *all = NULL;
    if (restore != NULL && assigns != NULL) {
        for (int i = 0; i < saver->count; i++) {
            weir_output ref = saver->variables[i]->ref;
            assigns[i] = weir_assign(weir_colocated_with(s, ref.node), ref, weir_out(restore, i)).node;
        }
        all = weir_group(s, assigns, saver->count, "restore_all");
    }
    free(assigns);
    return all;
}

static weir_status build(weir_scope s, weir_saver *saver, const weir_saver_options *options)
{
    WEIR_TRY(choose_variables(s, saver, options));
    weir_scope inner = weir_in_scope(s, "%s", options->name != NULL ? options->name : "save");
    weir_scope file = weir_in_scope(inner, "filename");
    weir_output name = weir_const(file, WEIR_STRING_OF("model"), .name = "input");
    weir_output given = weir_out(weir_op(file, "PlaceholderWithDefault", WEIR_INPUTS(name),
                                         WEIR_ATTRS(WEIR_ATTR_SH("shape", WEIR_SCALAR)), .name = weir_scope_name(file)),
                                 0);
    saver->path = weir_out(weir_op(inner, "PlaceholderWithDefault", WEIR_INPUTS(given),
                                   WEIR_ATTRS(WEIR_ATTR_SH("shape", WEIR_SCALAR)), .name = "Const"),
                           0);
    weir_node *save = make_save(inner, saver, saver->path);
    saver->save = weir_with_dependency(inner, save, saver->path, "control_dependency").node;
    saver->restore = make_restore(inner, saver, saver->path);
    return WEIR_STATUS_OK;
}

weir_saver *(weir_saver_new)(weir_scope s, const weir_saver_options *options)
{
    static const weir_saver_options none = {0};
    if (s.record == NULL)
        return NULL;
    options = options != NULL ? options : &none;
    weir_saver *saver = calloc(1, sizeof *saver);
    if (saver == NULL)
        return NULL;
    weir_status status = weir_graph_own(weir_scope_graph(s), saver, free_saver);
    if (!weir_ok(status)) {
        (void)weir_scope_fail(s, status);
        return NULL;
    }
    saver->max_to_keep = options->max_to_keep == 0 ? 5 : options->max_to_keep > 0 ? options->max_to_keep : 0;
    status = weir_scope_fail(s, build(s, saver, options));
    return weir_ok(status) && saver->save != NULL && saver->restore != NULL ? saver : NULL;
}

/* ---- Paths ---- */

/* Makes the folders above a file. */
static weir_status make_folders(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %zu bytes", strlen(path));
    weir_status status = WEIR_STATUS_OK;
    for (char *slash = strchr(copy + 1, '/'); weir_ok(status) && slash != NULL && copy[0] != '\0';
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        struct stat there;
        bool exists = mkdir(copy, 0777) == 0 || (errno == EEXIST && stat(copy, &there) == 0 && S_ISDIR(there.st_mode));
        if (!exists)
            status = weir_fail(errno == EACCES || errno == EROFS ? WEIR_PERMISSION_DENIED : WEIR_FAILED_PRECONDITION,
                               "Folder '%s' for checkpoint '%s' cannot be made: %s", copy, path, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return status;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Appends a path that is not there yet, or moves it to the end. Takes path. */
static weir_status note_saved(weir_saver *saver, char *path)
{
    for (int i = 0; i < saver->num_saved; i++) {
        if (strcmp(saver->saved[i], path) != 0)
            continue;
        free(saver->saved[i]);
        memmove(saver->saved + i, saver->saved + i + 1, (size_t)(saver->num_saved - i - 1) * sizeof *saver->saved);
        saver->num_saved--;
        break;
    }
    if (saver->num_saved == saver->room_for_saved) {
        int room = saver->room_for_saved > 0 ? 2 * saver->room_for_saved : 8;
        char **grown = realloc(saver->saved, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            free(path);
            return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: a list of %d checkpoints", room);
        }
        saver->saved = grown;
        saver->room_for_saved = room;
    }
    saver->saved[saver->num_saved++] = path;
    return WEIR_STATUS_OK;
}

/* The state file with the newest checkpoints, then the end of the oldest ones. */
static weir_status publish(weir_saver *saver, const char *folder, const char *state_name)
{
    int surplus = saver->max_to_keep > 0 ? saver->num_saved - saver->max_to_keep : saver->num_saved - 1;
    surplus = surplus > 0 ? surplus : 0;
    const char *latest = saver->saved[saver->num_saved - 1];
    weir_checkpoint_state_options options = {.file_name = state_name};
    WEIR_TRY(weir_checkpoint_state_write(folder, latest, (const char *const *)saver->saved + surplus,
                                         (size_t)(saver->num_saved - surplus), &options));
    weir_status status = WEIR_STATUS_OK;
    for (int i = 0; i < surplus; i++) {
        weir_status removed = saver->max_to_keep > 0 ? weir_checkpoint_remove(saver->saved[i]) : WEIR_STATUS_OK;
        status = weir_ok(status) ? removed : status;
        free(saver->saved[i]);
    }
    saver->num_saved -= surplus;
    memmove(saver->saved, saver->saved + surplus, (size_t)saver->num_saved * sizeof *saver->saved);
    return status;
}

static weir_status run(weir_saver *saver, weir_session *session, weir_node *target, const char *path)
{
    WEIR_AUTO(weir_tensor) *text = NULL;
    WEIR_TRY(weir_tensor_string(path, strlen(path), &text));
    return weir_run(session, .feeds = {{saver->path, text}}, .targets = {target});
}

static weir_status save_as(weir_saver *saver, weir_session *session, char *path, const char *state_name)
{
    weir_status status = make_folders(path);
    if (weir_ok(status))
        status = weir_fail_in(run(saver, session, saver->save, path), "while saving '%s'", path);
    if (!weir_ok(status)) {
        free(path);
        return status;
    }
    char *folder = folder_of(path);
    status = note_saved(saver, path);
    if (weir_ok(status))
        status =
            folder != NULL ? publish(saver, folder, state_name) : weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory");
    free(folder);
    return status;
}

weir_status(weir_saver_save)(weir_saver *saver, weir_session *session, const char *path,
                             const weir_save_options *options)
{
    if (saver == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "There is no saver: building it failed");
    const char *state_name = options != NULL ? options->latest_filename : NULL;
    if (state_name != NULL && strchr(state_name, '/') != NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'latest_filename' collides with a path: '%s'", state_name);
    char *full = NULL;
    bool has_step = options != NULL && options->global_step.is_set;
    int length = has_step ? asprintf(&full, "%s-%lld", path, (long long)options->global_step.value)
                          : asprintf(&full, "%s", path);
    if (length < 0)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: a path of %zu bytes", strlen(path));
    if (options != NULL && options->path != NULL && options->path_size > 0)
        snprintf(options->path, options->path_size, "%s", full);
    return save_as(saver, session, full, state_name);
}

/* ---- Restoring ---- */

static void append(char *text, size_t size, const char *before, const char *name)
{
    size_t at = strlen(text);
    snprintf(text + at, size - at, "%s%s", before, name);
}

static void check_one(const weir_train_variable *variable, const weir_checkpoint_entry *entry, char *text, size_t size)
{
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(variable->ref));
    weir_shape shape = weir_output_shape(variable->ref);
    if (dtype == entry->dtype && weir_shape_equal(shape, entry->shape))
        return;
    char wished[WEIR_SHAPE_TEXT_SIZE], there[WEIR_SHAPE_TEXT_SIZE], line[1024];
    snprintf(line, sizeof line, "%s is %s %s, in the checkpoint %s %s", variable->name, weir_dtype_name(dtype),
             weir_shape_text(shape, wished, sizeof wished), weir_dtype_name(entry->dtype),
             weir_shape_text(entry->shape, there, sizeof there));
    append(text, size, text[0] != '\0' ? "; " : "", line);
}

/* Everything that does not fit, before anything is changed. */
static weir_status check_checkpoint(const weir_saver *saver, weir_checkpoint *checkpoint, const char *path)
{
    char missing[2048] = "";
    char different[4096] = "";
    int num_missing = 0;
    for (int i = 0; i < saver->count; i++) {
        weir_checkpoint_entry entry;
        weir_status status = weir_checkpoint_find(checkpoint, saver->variables[i]->name, &entry);
        if (status.code == WEIR_NOT_FOUND) {
            append(missing, sizeof missing, num_missing++ > 0 ? ", " : "", saver->variables[i]->name);
            continue;
        }
        WEIR_TRY(status);
        check_one(saver->variables[i], &entry, different, sizeof different);
    }
    if (num_missing == 1)
        return weir_fail(WEIR_NOT_FOUND, "Key %s not found in checkpoint '%s' (1 of %d variables)", missing, path,
                         saver->count);
    if (num_missing > 1)
        return weir_fail(WEIR_NOT_FOUND, "%d of %d variables not found in checkpoint '%s': Keys %s", num_missing,
                         saver->count, path, missing);
    if (different[0] != '\0')
        return weir_fail(WEIR_INVALID_ARGUMENT, "Checkpoint '%s' does not fit the graph: %s", path, different);
    return WEIR_STATUS_OK;
}

weir_status weir_saver_restore(weir_saver *saver, weir_session *session, const char *path)
{
    if (saver == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "There is no saver: building it failed");
    weir_checkpoint *checkpoint = NULL;
    WEIR_TRY(weir_checkpoint_open(path, &checkpoint));
    weir_status status = check_checkpoint(saver, checkpoint, path);
    weir_checkpoint_close(checkpoint);
    WEIR_TRY(status);
    return weir_fail_in(run(saver, session, saver->restore, path), "while restoring '%s'", path);
}
