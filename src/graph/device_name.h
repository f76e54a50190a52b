/*
 * Device names: "/job:worker/replica:0/task:1/device:GPU:0", in parts, each of which may be open.
 */
#ifndef GRAPH_DEVICE_NAME_H
#define GRAPH_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define WEIR_DEVICE_NAME_SIZE 192

typedef struct weir_device_name {
    char job[64];  /* "": open */
    int replica;   /* -1: open */
    int task;      /* -1: open */
    char type[32]; /* "CPU", "GPU"; "": open */
    int id;        /* -1: open */
} weir_device_name;

#define WEIR_DEVICE_ANY ((weir_device_name){.replica = -1, .task = -1, .id = -1})

/* Parses a full, partial or legacy ("/gpu:0", "cpu:0") name; "" and "/" are open. INVALID_ARGUMENT "Malformed device
 * specification '...'". */
WEIR_WARN_UNUSED weir_status weir_device_name_parse(const char *text, weir_device_name *out);

/* Parts that inner sets win over outer's. */
weir_device_name weir_device_name_merge(const weir_device_name *outer, const weir_device_name *inner);

/* Canonical text ("/job:a/device:GPU:*" when only the type is set); returns text. */
char *weir_device_name_text(const weir_device_name *name, char text[WEIR_DEVICE_NAME_SIZE]);

/* True if every part that pattern sets is the same in name. */
bool weir_device_name_matches(const weir_device_name *pattern, const weir_device_name *name);

#endif
