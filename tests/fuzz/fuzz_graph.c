/*
 * Bytes as a GraphDef (and, by the first byte, as other messages): scanned, unpacked, walked, written again as bytes and
 * as text, tensors decoded. What was accepted must be accepted again after writing.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "format/message.h"
#include "format/tensor_proto.h"
#include "format/text_format.h"
#include "fuzz/fuzz.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/config.pb-c.h"
#include "proto/graph.pb-c.h"
#include "proto/meta_graph.pb-c.h"
#include "tensor/tensor.h"

#define MOST_ELEMENTS (1 << 16)

static void decode_tensor(const Weir__TensorProto *proto)
{
    weir_shape shape = weir_shape_unknown();
    weir_tensor *tensor = NULL;
    weir_arena arena = {0};
    Weir__TensorProto *again = NULL;
    /* A few bytes may rightly stand for many elements; not here. */
    if (!weir_ok(weir_shape_from_proto(proto->tensor_shape, &shape)) || weir_shape_elements(shape) > MOST_ELEMENTS)
        return;
    if (weir_ok(weir_tensor_from_proto(proto, &tensor))) {
        weir_status written = weir_tensor_to_proto(tensor, WEIR_PROTO_CONTENT, &arena, &again);
        FUZZ_CHECK(weir_ok(written));
        written = weir_tensor_to_proto(tensor, WEIR_PROTO_CONST, &arena, &again);
        FUZZ_CHECK(weir_ok(written) || tensor->dtype == WEIR_VARIANT);
    }
    weir_tensor_free(tensor);
    weir_arena_clear(&arena);
}

static void decode_tensors(const Weir__GraphDef *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        for (size_t j = 0; j < graph->node[i]->n_attr; j++) {
            const Weir__AttrValue *value = graph->node[i]->attr[j]->value;
            FUZZ_CHECK(value != NULL);
            if (value->value_case == WEIR__ATTR_VALUE__VALUE_TENSOR)
                decode_tensor(value->tensor);
        }
    }
}

static void write_again(const ProtobufCMessageDescriptor *descriptor, const ProtobufCMessage *message)
{
    weir_arena arena = {0};
    weir_text text = {0};
    void *packed = NULL;
    size_t length = 0;
    ProtobufCMessage *again = NULL;
    if (weir_ok(weir_message_pack(message, &packed, &length)))
        FUZZ_CHECK(weir_ok(weir_message_unpack(descriptor, packed, length, &arena, &again)));
    FUZZ_CHECK(weir_ok(weir_message_to_text(message, &text)));
    FUZZ_CHECK(weir_ok(weir_message_from_text(descriptor, weir_text_get(&text), text.length, &arena, &again)));
    weir_text_clear(&text);
    weir_release(packed);
    weir_arena_clear(&arena);
}

FUZZ_TARGET(graph)
{
    const ProtobufCMessageDescriptor *const descriptors[] = {
        &weir__graph_def__descriptor,          &weir__meta_graph_def__descriptor, &weir__config_proto__descriptor,
        &weir__bundle_entry_proto__descriptor, &weir__run_metadata__descriptor,   &weir__tensor_proto__descriptor,
    };
    /* The first byte of a graph is 0x0a, 0x12 or 0x22; others choose. */
    unsigned choice = size > 0 && data[0] >= 0xf8 ? data[0] - 0xf8U : 0;
    if (choice >= sizeof descriptors / sizeof *descriptors)
        choice = 0;
    size_t skipped = choice > 0 ? 1 : 0;
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    weir_status status = weir_message_unpack(descriptors[choice], data + skipped, size - skipped, &arena, &message);
    if (weir_ok(status)) {
        if (choice == 0)
            decode_tensors((const Weir__GraphDef *)message);
        if (choice == 5)
            decode_tensor((const Weir__TensorProto *)message);
        write_again(descriptors[choice], message);
    }
    weir_arena_clear(&arena);
    return 0;
}
