/*
 * Paths are made absolute and cut into their parts; what both share is left out.
 */
#include "format/path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"

weir_status weir_path_join(const char *folder, const char *path, char **out)
{
    weir_text joined = {0};
    size_t length = strlen(folder);
    if (path[0] == '/' || length == 0)
        weir_text_append(&joined, "%s", path);
    else
        weir_text_append(&joined, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", path);
    return weir_text_take(&joined, out);
}

typedef WEIR_LIST(char *) part_list;

/* Cuts text at its slashes, in place; "." and ".." are resolved. */
static weir_status cut(char *text, part_list *parts)
{
    char *rest = NULL;
    for (char *part = strtok_r(text, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, "..") == 0)
            parts->count -= parts->count > 0;
        else if (strcmp(part, ".") != 0)
            WEIR_TRY(weir_list_add(parts, part));
    }
    return WEIR_STATUS_OK;
}

static weir_status absolute(const char *path, char **out)
{
    char working[4096];
    if (getcwd(working, sizeof working) == NULL)
        return weir_fail(WEIR_UNKNOWN, "The working directory is unknown: %s", strerrordesc_np(errno));
    return weir_path_join(working, path, out);
}

static weir_status relate(const part_list *path, const part_list *folder, char **out)
{
    weir_text text = {0};
    size_t common = 0;
    while (common < path->count && common < folder->count && strcmp(path->items[common], folder->items[common]) == 0)
        common++;
    for (size_t i = common; i < folder->count; i++)
        weir_text_append(&text, "%s..", text.length == 0 ? "" : "/");
    for (size_t i = common; i < path->count; i++)
        weir_text_append(&text, "%s%s", text.length == 0 ? "" : "/", path->items[i]);
    if (text.length == 0)
        weir_text_append(&text, ".");
    return weir_text_take(&text, out);
}

weir_status weir_path_relative(const char *path, const char *folder, char **out)
{
    char *path_text = NULL;
    char *folder_text = NULL;
    part_list path_parts = {0};
    part_list folder_parts = {0};
    weir_status status = absolute(path, &path_text);
    if (weir_ok(status))
        status = absolute(folder, &folder_text);
    if (weir_ok(status))
        status = cut(path_text, &path_parts);
    if (weir_ok(status))
        status = cut(folder_text, &folder_parts);
    if (weir_ok(status))
        status = relate(&path_parts, &folder_parts, out);
    weir_list_clear(&path_parts);
    weir_list_clear(&folder_parts);
    weir_release(path_text);
    weir_release(folder_text);
    return status;
}
