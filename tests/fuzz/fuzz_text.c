/*
 * Bytes as the text form of a GraphDef, and as a state file of checkpoints. What was accepted is written and read again,
 * with the same result.
 */
#include <string.h>

#include "base/text.h"
#include "format/text_format.h"
#include "fuzz/fuzz.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/graph.pb-c.h"

static void there_and_back(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size)
{
    weir_arena arena = {0};
    weir_text first = {0};
    weir_text second = {0};
    ProtobufCMessage *message = NULL;
    if (weir_ok(weir_message_from_text(descriptor, (const char *)data, size, &arena, &message))) {
        FUZZ_CHECK(weir_ok(weir_message_to_text(message, &first)));
        FUZZ_CHECK(weir_ok(weir_message_from_text(descriptor, weir_text_get(&first), first.length, &arena, &message)));
        FUZZ_CHECK(weir_ok(weir_message_to_text(message, &second)));
        FUZZ_CHECK(strcmp(weir_text_get(&first), weir_text_get(&second)) == 0);
    }
    weir_text_clear(&first);
    weir_text_clear(&second);
    weir_arena_clear(&arena);
}

FUZZ_TARGET(text)
{
    there_and_back(&weir__graph_def__descriptor, data, size);
    there_and_back(&weir__checkpoint_state__descriptor, data, size);
    return 0;
}
