/*
 * Values that leave for, or come from, another device or task. Partitioning makes these nodes; the executor knows them by
 * their roles and takes the rendezvous key from their attributes.
 */
#include "exec/kernel.h"

#define KEY_ATTRS(type_attr)                                                                                           \
    WEIR_ATTR_DEFS(WEIR_A_TYPE(type_attr, NULL), {.name = "tensor_name", .kind = WEIR_ATTR_STRING},                    \
                   {.name = "send_device", .kind = WEIR_ATTR_STRING},                                                  \
                   {.name = "send_device_incarnation", .kind = WEIR_ATTR_INT},                                         \
                   {.name = "recv_device", .kind = WEIR_ATTR_STRING}, WEIR_A_BOOL("client_terminated", false))

#define SEND(op_name)                                                                                                  \
    {                                                                                                                  \
        .name = (op_name), .inputs = WEIR_ARGS({"tensor", .type_attr = "T"}), .attrs = KEY_ATTRS("T"),                 \
        .infer = weir_infer_none, .is_stateful = true                                                                  \
    }

#define RECEIVE(op_name)                                                                                               \
    {                                                                                                                  \
        .name = (op_name), .outputs = WEIR_ARGS({"tensor", .type_attr = "tensor_type"}),                               \
        .attrs = KEY_ATTRS("tensor_type"), .infer = weir_infer_unknown, .is_stateful = true                            \
    }

static const weir_op_def ops[] = {
    SEND("_Send"), RECEIVE("_Recv"), SEND("_HostSend"), RECEIVE("_HostRecv"), {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "_Send", .role = WEIR_ROLE_SEND, .on_accelerators = true},
    {.op = "_Recv", .role = WEIR_ROLE_RECEIVE, .on_accelerators = true},
    {.op = "_HostSend", .role = WEIR_ROLE_SEND, .on_accelerators = true, .host_inputs = WEIR_INPUT(0)},
    {.op = "_HostRecv", .role = WEIR_ROLE_RECEIVE, .on_accelerators = true, .host_outputs = WEIR_INPUT(0)},
    {.op = NULL},
};

const weir_op_family weir_family_send_receive = {.name = "send and receive", .ops = ops, .kernels = kernels};
