#!/usr/bin/env python3
"""Puts the graphs of all recorded RegisterGraph requests into one file.

  register_graphs.py FOLDER [OUT]

FOLDER holds recordings of TensorFlow's gRPC traffic: *.jsonl and *.jsonl.gz, one JSON object per call, whose "method",
"req" (base64), "status", "n" and "link" are used. OUT (default: register_graphs.bin.gz in ../data) is, unpacked:

  "WRG1", the number of graphs, and for each: length and bytes of its name, the status TensorFlow answered, length and bytes
  of its GraphDef. Numbers are 32 bits, little-endian.

The same recordings give the same bytes.
"""
import base64
import glob
import gzip
import io
import json
import os
import struct
import sys

GRAPH_DEF = 2  # field of RegisterGraphRequest


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message_field(data, number):
    """The bytes of a message field, its occurrences put together."""
    found = b""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            _, at = read_varint(data, at)
            continue
        if key & 7 == 2:
            length, at = read_varint(data, at)
        else:
            length = {1: 8, 5: 4}[key & 7]
        if key >> 3 == number:
            found += data[at:at + length]
        at += length
    return found


def read_graphs(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl*"))):
        scenario = os.path.basename(path).split(".")[0]
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
            calls = [json.loads(line) for line in lines]
        calls = [call for call in calls if (call.get("method") or "").endswith("/RegisterGraph")]
        for call in sorted(calls, key=lambda call: call["n"]):
            if not isinstance(call["req"], str):
                sys.exit(f"{path}: request {call['n']} was not recorded whole")
            yield (f"{scenario} {call['n']} {call['link']}", call["status"],
                   message_field(base64.b64decode(call["req"]), GRAPH_DEF))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data",
                                                              "register_graphs.bin.gz")
    graphs = list(read_graphs(sys.argv[1]))
    packed = b"WRG1" + struct.pack("<I", len(graphs))
    for name, status, graph in graphs:
        name = name.encode()
        packed += struct.pack("<I", len(name)) + name + struct.pack("<II", status, len(graph)) + graph
    compressed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=compressed, mtime=0) as file:
        file.write(packed)
    with open(out, "wb") as file:
        file.write(compressed.getvalue())
    print(f"{len(graphs)} graphs, {len(packed)} bytes, {len(compressed.getvalue())} compressed")


if __name__ == "__main__":
    main()
