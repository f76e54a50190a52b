/*
 * Well-formed UTF-8.
 */
#ifndef FORMAT_UTF8_H
#define FORMAT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed character at the first of left bytes (at least one), 0 if it is none. */
static inline size_t weir_utf8_length(const uint8_t *c, size_t left)
{
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if ((c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90); /* surrogates, past the last */
    return overlong || beyond ? 0 : length;
}

#endif
