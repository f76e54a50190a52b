/*
 * The state file of a folder of checkpoints: which one is the latest, and which are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "format/checkpoint.h"
#include "format/file.h"
#include "format/path.h"
#include "format/text_format.h"

#define LARGEST_STATE ((size_t)1 << 26)

static weir_status state_path(const char *folder, const char *file_name, char **path)
{
    const char *name = file_name != NULL ? file_name : "checkpoint";
    if (*name == '\0' || strchr(name, '/') != NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' cannot be the name of a state file: it must not contain a path",
                         name);
    return weir_path_join(folder, name, path);
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static weir_status parse_state(const char *path, const char *text, size_t length, weir_arena *arena,
                               Weir__CheckpointState **out)
{
    ProtobufCMessage *message = NULL;
    WEIR_TRY(weir_fail_in(weir_message_from_text(&weir__checkpoint_state__descriptor, text, length, arena, &message),
                          "%s", path));
    *out = (Weir__CheckpointState *)message;
    return WEIR_STATUS_OK;
}

static weir_status fill_state(const Weir__CheckpointState *proto, const char *folder, weir_checkpoint_state *state)
{
    WEIR_TRY(weir_path_join(folder, proto->model_checkpoint_path, &state->latest));
    WEIR_TRY(weir_new(&state->all, proto->n_all_model_checkpoint_paths));
    for (size_t i = 0; i < proto->n_all_model_checkpoint_paths; i++) {
        WEIR_TRY(weir_path_join(folder, proto->all_model_checkpoint_paths[i], &state->all[i]));
        state->count++;
    }
    state->last_preserved_timestamp = proto->last_preserved_timestamp;
    if (proto->n_all_model_checkpoint_timestamps == 0 || proto->n_all_model_checkpoint_timestamps != state->count)
        return WEIR_STATUS_OK;
    WEIR_TRY(weir_new(&state->timestamps, state->count));
    memcpy(state->timestamps, proto->all_model_checkpoint_timestamps, state->count * sizeof *state->timestamps);
    return WEIR_STATUS_OK;
}

static weir_status make_state(const Weir__CheckpointState *proto, const char *folder, weir_checkpoint_state **out)
{
    weir_checkpoint_state *state = NULL;
    if (*proto->model_checkpoint_path == '\0')
        return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid checkpoint state loaded from %s: it names no checkpoint",
                         folder);
    WEIR_TRY(weir_new(&state, 1));
    weir_status status = fill_state(proto, folder, state);
    if (!weir_ok(status)) {
        weir_checkpoint_state_free(state);
        return status;
    }
    *out = state;
    return WEIR_STATUS_OK;
}

/* *parsed tells a file that is no state file from one that names no checkpoint. */
static weir_status read_state(const char *folder, const char *path, bool *parsed, weir_checkpoint_state **out)
{
    char *text = NULL;
    size_t length = 0;
    weir_arena arena = {0};
    Weir__CheckpointState *proto = NULL;
    WEIR_TRY(weir_file_read(path, LARGEST_STATE, &text, &length));
    weir_status status = parse_state(path, text, length, &arena, &proto);
    *parsed = weir_ok(status);
    if (weir_ok(status))
        status = make_state(proto, folder, out);
    weir_arena_clear(&arena);
    weir_release(text);
    return status;
}

weir_status weir_checkpoint_state_read(const char *folder, const char *file_name, weir_checkpoint_state **out)
{
    char *path = NULL;
    bool parsed = false;
    WEIR_TRY(state_path(folder, file_name, &path));
    weir_status status = read_state(folder, path, &parsed, out);
    weir_release(path);
    return status;
}

void weir_checkpoint_state_free(weir_checkpoint_state *state)
{
    if (state == NULL)
        return;
    for (size_t i = 0; i < state->count; i++)
        weir_release(state->all[i]);
    weir_release(state->all);
    weir_release(state->timestamps);
    weir_release(state->latest);
    weir_release(state);
}

/* ---- the latest ---------------------------------------------------------------------------------------------------- */

static weir_status latest_of(weir_checkpoint_state *state, char **path)
{
    if (!weir_checkpoint_exists(state->latest) && !weir_file_exists(state->latest)) { /* V1: a file of that name */
        weir_log_error("Couldn't match files for checkpoint %s", state->latest);
        return WEIR_STATUS_OK;
    }
    *path = strdup(state->latest);
    return *path != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(state->latest));
}

weir_status weir_checkpoint_latest(const char *folder, const char *file_name, char **path)
{
    char *state_file = NULL;
    weir_checkpoint_state *state = NULL;
    bool parsed = false;
    WEIR_TRY(state_path(folder, file_name, &state_file));
    *path = NULL;
    weir_status status = WEIR_STATUS_OK;
    if (weir_file_exists(state_file)) {
        status = read_state(folder, state_file, &parsed, &state);
        if (weir_ok(status)) {
            status = latest_of(state, path);
        } else if (!parsed) {
            weir_log_warning("%s: Checkpoint ignored", weir_status_text(status));
            status = WEIR_STATUS_OK;
        }
    }
    weir_checkpoint_state_free(state);
    weir_release(state_file);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

struct state_writer {
    const char *folder;
    const weir_checkpoint_state_options *options;
    weir_arena arena;
};

/* The path as the file holds it. */
static weir_status stored_path(struct state_writer *writer, const char *path, char **out)
{
    bool both_relative = path[0] != '/' && writer->folder[0] != '/';
    bool make_relative = writer->options->relative_paths && path[0] == '/';
    char *relative = NULL;
    if (both_relative || make_relative)
        WEIR_TRY(weir_path_relative(path, writer->folder, &relative));
    const char *stored = relative != NULL ? relative : path;
    char *copy = weir_arena_text(&writer->arena, stored, strlen(stored));
    weir_release(relative);
    if (copy == NULL)
        return weir_fail_memory(strlen(path));
    *out = copy;
    return WEIR_STATUS_OK;
}

static weir_status add_path(struct state_writer *writer, const char *path, Weir__CheckpointState *proto)
{
    char *stored = NULL;
    WEIR_TRY(stored_path(writer, path, &stored));
    if (!weir_message_add(&writer->arena, proto->all_model_checkpoint_paths, proto->n_all_model_checkpoint_paths,
                          stored))
        return weir_fail_memory(strlen(path));
    return WEIR_STATUS_OK;
}

static weir_status make_proto(struct state_writer *writer, const char *latest, const char *const *all, size_t count,
                              Weir__CheckpointState *proto)
{
    WEIR_TRY(stored_path(writer, latest, &proto->model_checkpoint_path));
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(add_path(writer, all[i], proto));
    if (count == 0 || strcmp(all[count - 1], latest) != 0)
        WEIR_TRY(add_path(writer, latest, proto));
    if (writer->options->timestamps != NULL) {
        proto->n_all_model_checkpoint_timestamps = count;
        proto->all_model_checkpoint_timestamps = (double *)(uintptr_t)writer->options->timestamps;
    }
    proto->last_preserved_timestamp = writer->options->last_preserved_timestamp;
    return WEIR_STATUS_OK;
}

static weir_status write_state(struct state_writer *writer, const char *latest, const char *const *all, size_t count,
                               const char *path)
{
    Weir__CheckpointState proto = WEIR__CHECKPOINT_STATE__INIT;
    weir_text text = {0};
    WEIR_TRY(make_proto(writer, latest, all, count, &proto));
    if (strcmp(path, proto.model_checkpoint_path) == 0 || strcmp(path, latest) == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Save path '%s' conflicts with path used for checkpoint state.  Please use a different save "
                         "path.",
                         latest);
    weir_status status = weir_message_to_text(&proto.base, &text);
    if (weir_ok(status))
        status = weir_file_replace(path, weir_text_get(&text), text.length);
    weir_text_clear(&text);
    return status;
}

weir_status weir_checkpoint_state_write(const char *folder, const char *latest, const char *const *all, size_t count,
                                        const weir_checkpoint_state_options *options)
{
    static const weir_checkpoint_state_options defaults;
    struct state_writer writer = {.folder = folder, .options = options != NULL ? options : &defaults};
    char *path = NULL;
    WEIR_TRY(state_path(folder, writer.options->file_name, &path));
    weir_status status = write_state(&writer, latest, all, count, path);
    weir_arena_clear(&writer.arena);
    weir_release(path);
    return status;
}
