/*
 * Growing texts, and the nearest word for "did you mean".
 */
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static bool reserve(weir_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (more < text->capacity && text->length < text->capacity - more) /* one byte for the zero */
        return true;
    bool is_huge = more > SIZE_MAX / 8 || text->length > SIZE_MAX / 8;
    size_t capacity = (text->length + more + 1) * 2;
    char *data = is_huge ? NULL : weir_reallocate(text->data, capacity, 1);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void weir_text_append_bytes(weir_text *text, const void *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void weir_text_append_list(weir_text *text, const char *format, va_list arguments)
{
    weir_count_text();
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void weir_text_append(weir_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weir_text_append_list(text, format, arguments);
    va_end(arguments);
}

const char *weir_text_get(const weir_text *text)
{
    return text->data != NULL ? text->data : "";
}

weir_status weir_text_take(weir_text *text, char **out)
{
    if (!reserve(text, 0)) {
        weir_status failure = weir_fail_memory(text->length);
        weir_text_clear(text);
        return failure;
    }
    text->data[text->length] = '\0';
    *out = text->data;
    *text = (weir_text){0};
    return WEIR_STATUS_OK;
}

void weir_text_clear(weir_text *text)
{
    weir_release(text->data);
    *text = (weir_text){0};
}

#define WORD 63

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

int weir_text_distance(const char *a, const char *b)
{
    int rows[3][WORD + 1]; /* the last two rows of the table, and the one being made */
    int length_a = (int)strnlen(a, WORD);
    int length_b = (int)strnlen(b, WORD);
    for (int j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3];
        const int *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

const char *weir_text_nearest(const char *word, const char *const *candidates)
{
    const char *nearest = NULL;
    int nearest_distance = INT_MAX;
    for (; *candidates != NULL; candidates++) {
        int distance = weir_text_distance(word, *candidates);
        if (distance < nearest_distance) {
            nearest = *candidates;
            nearest_distance = distance;
        }
    }
    int limit = (int)strnlen(word, WORD) / 3 + 1;
    return nearest_distance <= limit ? nearest : NULL;
}
