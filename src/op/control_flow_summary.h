/*
 * The first values of a tensor as text, as TensorFlow's Assert (and Print) write them: "1 2 3...", "[1 2][3...]...".
 */
#ifndef OP_CONTROL_FLOW_SUMMARY_H
#define OP_CONTROL_FLOW_SUMMARY_H

#include "base/text.h"
#include "tensor/tensor.h"

/* At most `most` elements; -1: all. */
void weir_tensor_summarize(const weir_tensor *tensor, int64_t most, weir_text *text);

#endif
