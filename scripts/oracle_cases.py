#!/usr/bin/env python3
"""Turns recorded values of TensorFlow into the files that tests/op/test_oracle.c and test_registry.c read.

usage: scripts/oracle_cases.py RECORDED [OUT]

RECORDED holds what tests/op/record/make_ops.py and make_opdefs.py write: a folder for each op with index.jsonl and
arrays.npy, and opdefs.json. OUT (default: tests/op/data) gets
  <family>.cases  the cases of the engine's ops, one file for each family below
  opdefs.txt      their schemas
Equal input gives equal bytes.

A .cases file is little-endian: "WEIRCASE", version, number of cases; then the cases. Texts are a length (u32) and bytes.
  case    op text, number u32, note text, what it has u8 (1 outputs, 2 gradients, 4 an error, 8 that error when the node
          is built, 16 steps), attrs (u16), inputs, then what it has:
            outputs: count of runs u16, then for each run its arrays; tolerance
            gradients: dy arrays, dx arrays, tolerance
            error: code i32, message text
            steps: states, count u16, for each step inputs and states after it; tolerance
  attr    name text, kind u8 (enum weir_attr_kind), value; a list is a count u32 and values
  arrays  count u16; each: type u8 (0: none), rank u8, dims i64, elements (a string: length u32 and bytes)
  tolerance  exact u8, rtol f64, atol f64
"""
import json
import os
import re
import struct
import sys

FAMILIES = {
    "array": "Const Placeholder PlaceholderWithDefault PlaceholderV2 Identity IdentityN StopGradient PreventGradient CheckNumerics Shape "
             "ShapeN Size Rank Reshape ExpandDims Squeeze Transpose ConcatV2 ConcatOffset Split SplitV Slice StridedSlice "
             "StridedSliceGrad Pad Pack Unpack Tile Fill ZerosLike OnesLike Range OneHot GatherV2 Gather BroadcastTo "
             "BroadcastGradientArgs InvertPermutation Where DynamicStitch UnsortedSegmentSum ListDiff Snapshot",
    "binary": "AddV2 Add Sub Mul RealDiv Div Pow Maximum Minimum SquaredDifference FloorMod FloorDiv Equal NotEqual Greater "
              "GreaterEqual Less LessEqual LogicalAnd LogicalOr Select SelectV2 AddN BiasAdd BiasAddGrad DivNoNan",
    "cast": "Cast",
    "control": "NoOp ControlTrigger Switch Merge RefSwitch RefMerge Enter Exit NextIteration LoopCond RefEnter RefExit "
               "RefNextIteration RefIdentity Assert _Arg _Retval _Send _Recv _HostSend _HostRecv",
    "convolution": "Conv2D Conv2DBackpropFilter Conv2DBackpropInput _FusedConv2D MaxPool MaxPoolGrad AvgPool AvgPoolGrad",
    "matmul": "MatMul BatchMatMulV2 BatchMatMul _FusedMatMul",
    "misc": "SaveV2 RestoreV2 ShardedFilename MergeV2Checkpoints StringJoin StaticRegexFullMatch RegexFullMatch",
    "normalize": "Softmax LogSoftmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits InTopK InTopKV2 "
                 "FusedBatchNorm FusedBatchNormGrad FusedBatchNormV2 FusedBatchNormGradV2 FusedBatchNormV3 "
                 "FusedBatchNormGradV3 _FusedBatchNormEx",
    "queue": "FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueCloseV2 QueueSizeV2 "
             "QueueIsClosedV2 ResourceConditionalAccumulator ResourceAccumulatorApplyGradient "
             "ResourceAccumulatorTakeGradient ResourceAccumulatorSetGlobalStep ResourceAccumulatorNumAccumulated",
    "random": "RandomUniform RandomStandardNormal TruncatedNormal RandomUniformInt RandomShuffle",
    "reduce": "Sum Mean Prod Max Min All Any ArgMax ArgMin Cumsum Cumprod",
    "state": "VariableV2 Variable Assign AssignAdd AssignSub IsVariableInitialized CountUpTo VarHandleOp AssignVariableOp "
             "AssignAddVariableOp AssignSubVariableOp ReadVariableOp VarIsInitializedOp VariableShape DestroyResourceOp "
             "ApplyGradientDescent ApplyMomentum ApplyAdam ResourceApplyGradientDescent ResourceApplyMomentum "
             "ResourceApplyAdam",
    "unary": "Neg Reciprocal Square Sqrt Rsqrt Exp Log Abs Sign Floor Round LogicalNot Relu ReluGrad Relu6 Relu6Grad Elu "
             "EluGrad Sigmoid SigmoidGrad Tanh TanhGrad Softplus SoftplusGrad SqrtGrad RsqrtGrad ReciprocalGrad L2Loss Conj",
}

# TensorFlow's numbers and short names of element types.
DTYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8,
          "int64": 9, "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13, "bfloat16": 14, "qint16": 15, "quint16": 16,
          "uint16": 17, "complex128": 18, "float16": 19, "resource": 20, "variant": 21, "uint32": 22, "uint64": 23}
SHORT = {"float32": "float", "float64": "double", "float16": "half"}
SIZES = {"float32": 4, "float64": 8, "int32": 4, "uint8": 1, "int16": 2, "int8": 1, "complex64": 8, "int64": 8, "bool": 1,
         "bfloat16": 2, "uint16": 2, "complex128": 16, "float16": 2, "uint32": 4, "uint64": 8}
KINDS = {"string": 1, "int": 2, "float": 3, "bool": 4, "type": 5, "shape": 6}
LIST = 16


def text(value):
    data = value if isinstance(value, bytes) else value.encode("latin1")
    return struct.pack("<I", len(data)) + data


class Folder:
    """The recorded cases of one op."""

    def __init__(self, path):
        with open(os.path.join(path, "index.jsonl")) as lines:
            self.cases = [json.loads(line) for line in lines]
        with open(os.path.join(path, "arrays.npy"), "rb") as data:
            self.data = data.read()

    def elements(self, array):
        """The bytes of an array's elements."""
        if "hex" in array:
            return b"".join(text(bytes.fromhex(item)) for item in array["hex"])
        at = array["at"]
        start = at + 10 + struct.unpack_from("<H", self.data, at + 8)[0]
        count = 1
        for dim in array["shape"]:
            count *= dim
        return self.data[start:start + count * SIZES[array["dtype"]]]

    def array(self, array):
        if array is None:
            return b"\0"
        if isinstance(array, bytes):
            return array
        dims = array["shape"]
        return (struct.pack("<BB", DTYPES[array["dtype"]], len(dims)) + struct.pack("<%dq" % len(dims), *dims) +
                self.elements(array))

    def arrays(self, items):
        return struct.pack("<H", len(items)) + b"".join(self.array(item) for item in items)


def empty(dtype):
    return struct.pack("<BBq", DTYPES[dtype], 1, 0)


def attr_scalar(kind, value):
    if kind == "string":
        return text(value)
    if kind == "int":
        return struct.pack("<q", value)
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "bool":
        return struct.pack("<B", value)
    if kind == "type":
        return struct.pack("<B", DTYPES[value])
    if value is None:
        return struct.pack("<b", -1)
    return struct.pack("<b", len(value)) + struct.pack("<%dq" % len(value), *value)


def attr(name, kind, value):
    if not kind.startswith("list("):
        return text(name) + struct.pack("<B", KINDS[kind]) + attr_scalar(kind, value)
    kind = kind[5:-1]
    return (text(name) + struct.pack("<BI", LIST + KINDS[kind], len(value)) +
            b"".join(attr_scalar(kind, item) for item in value))


def attrs_of_message(definition, message):
    """A node that could not be built is described in the message: 'Op[T=DT_FLOAT, axis=1, padding="SAME"](...)'."""
    found = re.search(re.escape(definition["name"]) + r"\[(.*?)\]\(", message)
    values = {}
    for item in definition["attrs"] if found else []:
        given = re.search(r"(?:^|, )" + re.escape(item["name"]) + r"=(\[.*?\]|\"[^\"]*\"|[^,\]]*)", found.group(1))
        if given is None:
            continue
        value = given.group(1)
        if item["type"] in ("int", "bool", "list(int)"):
            values[item["name"]] = json.loads(value)
        elif item["type"] == "float":
            values[item["name"]] = float(value)
        elif item["type"] == "string":
            values[item["name"]] = json.loads(value)
    return values


def case_attrs(definition, case):
    values = case.get("attrs")
    if values is None:
        values = attrs_of_message(definition, case["error"]["message"][0])
        if case["op"] == "Split": # its message does not show the node
            values = {"num_split": 3}
    kinds = {item["name"]: item["type"] for item in definition["attrs"]}
    packed = [attr(name, kinds[name], value) for name, value in sorted(values.items()) if name in kinds]
    return struct.pack("<H", len(packed)) + b"".join(packed)


def tolerance(tol):
    return struct.pack("<Bdd", bool(tol.get("exact")), tol.get("rtol", 0), tol.get("atol", 0))


def pack_steps(folder, definition, case):
    order = [item["name"] for item in definition["inputs"]]
    states = sorted(range(len(case["state"])), key=lambda i: order.index(case["state"][i]))
    packed = folder.arrays([case["initial"][i] for i in states]) + struct.pack("<H", len(case["steps"]))
    for step in case["steps"]:
        inputs = sorted(step["inputs"], key=order.index)
        packed += folder.arrays([step["inputs"][name] for name in inputs])
        packed += folder.arrays([step["after"][i] for i in states])
    return packed + tolerance(case["tol"])


def pack_case(folder, definition, case):
    inputs = list(case.get("inputs", []))
    dx = list(case.get("dx") or [])
    if case["op"].startswith("FusedBatchNorm") and "Grad" not in case["op"] and len(inputs) == 3:
        inputs += [empty("float32"), empty("float32")]
        dx += [None, None]
    error = case.get("error")
    has = (1 if "outputs" in case else 0) + (2 if "dx" in case else 0) + (4 if error else 0)
    has += (8 if error and error.get("at") == "graph construction" else 0) + (16 if "steps" in case else 0)
    packed = text(case["op"]) + struct.pack("<I", case["case"]) + text(case.get("note", "")) + struct.pack("<B", has)
    packed += case_attrs(definition, case) + folder.arrays(inputs)
    if "outputs" in case:
        runs = [case["outputs"]] + case.get("more_runs", [])
        packed += struct.pack("<H", len(runs)) + b"".join(folder.arrays(run) for run in runs) + tolerance(case["tol"])
    if "dx" in case:
        packed += folder.arrays(case["dy"]) + folder.arrays(dx) + tolerance(case["dx_tol"])
    if error:
        message = error["message"][0].split(" for '{{node")[0].split(" for \"{{node")[0]
        packed += struct.pack("<i", error["code"] if error["code"] is not None else 3) + text(message.encode())
    if "steps" in case:
        packed += pack_steps(folder, definition, case)
    return packed


# ---- schemas -------------------------------------------------------------------------------------------------------

def short(name):
    return SHORT.get(name, name)


def describe_arg(way, item):
    parts = [way, item["name"]]
    if "type" in item:
        parts.append("type=" + short(item["type"]))
    parts += ["%s=%s" % (key, item[key]) for key in ("type_attr", "number_attr", "type_list_attr") if key in item]
    return " ".join(parts + (["is_ref"] if item.get("is_ref") else []))


def describe_default(kind, value):
    if kind == "type":
        return short(value)
    if kind == "float":
        return "%.6g" % value
    if kind in ("bool", "int") or kind.startswith("list"):
        return json.dumps(value, separators=(",", ":"))
    if kind == "shape":
        return "unknown" if value == "unknown rank" else json.dumps(value, separators=(",", ":"))
    return value


def describe_attr(item):
    parts = ["attr", item["name"], item["type"]]
    if "default" in item:
        parts.append("default=" + describe_default(item["type"], item["default"]))
    if "minimum" in item:
        parts.append("minimum=%d" % item["minimum"])
    if "allowed" in item:
        parts.append("allowed=" + ",".join(short(value) for value in item["allowed"]))
    return " ".join(parts)


def describe(definition):
    flags = [flag for flag in ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input")
             if definition.get(flag)]
    lines = [" ".join(["op", definition["name"], "gradient=" + definition["gradient"]] + flags)]
    lines += [describe_arg("input", item) for item in definition["inputs"]]
    lines += [describe_arg("output", item) for item in definition["outputs"]]
    lines += [describe_attr(item) for item in definition["attrs"]]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    recorded = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(__file__), "..", "tests", "op", "data")
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(recorded, "opdefs.json")) as lines:
        definitions = {item["name"]: item for item in json.load(lines)["ops"]}
    total = 0
    missing = []
    for family, ops in FAMILIES.items():
        packed = []
        for op in ops.split():
            path = os.path.join(recorded, op)
            if not os.path.isdir(path):
                missing.append(op)
                continue
            folder = Folder(path)
            packed += [pack_case(folder, definitions[case["op"]], case) for case in folder.cases]
        total += len(packed)
        if packed:
            with open(os.path.join(out, family + ".cases"), "wb") as file:
                file.write(b"WEIRCASE" + struct.pack("<II", 1, len(packed)) + b"".join(packed))
    with open(os.path.join(out, "opdefs.txt"), "w") as file:
        for op in sorted(op for ops in FAMILIES.values() for op in ops.split()):
            if op in definitions:
                file.write(describe(definitions[op]))
    print(total, "cases; ops without a recorded case:", " ".join(missing))


if __name__ == "__main__":
    main()
