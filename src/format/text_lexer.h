/*
 * The tokens of protobuf's text form, with their places.
 */
#ifndef FORMAT_TEXT_LEXER_H
#define FORMAT_TEXT_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

typedef enum weir_token_kind {
    WEIR_TOKEN_END,
    WEIR_TOKEN_NAME,   /* letters, digits, underscores, not beginning with a digit */
    WEIR_TOKEN_NUMBER, /* without sign */
    WEIR_TOKEN_STRING, /* with its quotes */
    WEIR_TOKEN_SYMBOL, /* one character */
} weir_token_kind;

typedef struct weir_text_lexer {
    const char *what; /* name of the message, for errors */
    const char *at;   /* behind the token */
    const char *end;
    const char *line_start;
    int line; /* of at, from 1 */
    weir_token_kind kind;
    const char *token;
    size_t length;
    int token_line, token_column; /* from 1 */
} weir_text_lexer;

/* Begins at the first token of length bytes of text; all are borrowed. */
WEIR_WARN_UNUSED weir_status weir_lexer_start(weir_text_lexer *lexer, const char *what, const char *text,
                                              size_t length);

/* Goes to the next token. */
WEIR_WARN_UNUSED weir_status weir_lexer_next(weir_text_lexer *lexer);

/* True when the token is this symbol. */
static inline bool weir_lexer_at(const weir_text_lexer *lexer, char symbol)
{
    return lexer->kind == WEIR_TOKEN_SYMBOL && *lexer->token == symbol;
}

/* True when the token is this name. */
bool weir_lexer_at_name(const weir_text_lexer *lexer, const char *name);

/* INVALID_ARGUMENT with the place of the token. */
WEIR_WARN_UNUSED weir_status weir_lexer_fail(const weir_text_lexer *lexer, const char *format, ...) WEIR_PRINTF(2, 3);

/* The token for an error: quoted, shortened, "the end of the text" at the end. Written into text, which is returned. */
#define WEIR_TOKEN_TEXT_SIZE 80
const char *weir_lexer_show(const weir_text_lexer *lexer, char text[WEIR_TOKEN_TEXT_SIZE]);

/* Appends the bytes that the string token stands for. */
WEIR_WARN_UNUSED weir_status weir_lexer_unescape(const weir_text_lexer *lexer, weir_text *out);

#endif
