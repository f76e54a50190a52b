#!/usr/bin/env python3
"""Turns the JSON files of make_formats.py into the C tables of this folder.

Usage: make_vectors.py OUTDIR_OF_MAKE_FORMATS
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STRUCT = """typedef struct tensor_vector {
    const char *label;
    const char *wire;  /* the message, hexadecimal */
    const char *dtype; /* NULL: TensorFlow refuses it with INVALID_ARGUMENT */
    const char *shape; /* as weir_shape_text */
    const char *value; /* elements in memory, or strings with a comma after each; hexadecimal */
} tensor_vector;
"""

def text(value):
    """dtype, shape and value of an array as C strings."""
    dtype = value["dtype"][3:].lower()
    shape = "[" + ",".join(map(str, value["shape"])) + "]"
    elements = value["hex"] if "hex" in value else "".join(s + "," for s in value["strings_hex"])
    return f'"{dtype}", "{shape}", "{elements}"'


def header(name, what, body, includes=""):
    guard = f"FORMAT_DATA_{name.upper()}_H"
    with open(os.path.join(HERE, name + ".h"), "w", encoding="ascii") as file:
        file.write(f"/*\n * {what}\n *\n * Made by make_vectors.py from what make_formats.py recorded.\n */\n")
        file.write(f"#ifndef {guard}\n#define {guard}\n\n{includes}{body}\n#endif\n")


def tensor_table(name, rows):
    lines = [f"static const tensor_vector {name}[] = {{"]
    for row in rows:
        value = text(row["value"]) if "value" in row else "NULL, NULL, NULL"
        lines.append(f'    {{"{row["label"]}", "{row["wire"]}", {value}}},')
    return "\n".join(lines + ["};\n"])


def checkpoint_rows(contents):
    for prefix, tensors in contents.items():
        if prefix.startswith("v1") or prefix == "many":
            continue
        for name, value in tensors.items():
            if "rule" not in value:
                yield f'    {{"{prefix}", "{name.encode().hex()}", {text(value)}}},'


def main(folder):
    with open(os.path.join(folder, "vectors.json"), encoding="utf-8") as file:
        vectors = json.load(file)
    with open(os.path.join(folder, "checkpoints", "checkpoints.json"), encoding="utf-8") as file:
        contents = json.load(file)
    header("tensor_vectors", "Tensors as TensorFlow 2.21 encodes constants, and what it makes of unusual messages.",
           STRUCT + "\n" + tensor_table("const_vectors", vectors["tensors"]) + "\n" +
           tensor_table("decoding_vectors", vectors["tensor_decoding"]))
    crc = [f'    {{"{v["data"]}", {v["crc32c"]}U, {v["masked"]}U}},'
           for v in vectors["crc32c"] if len(v["data"]) == 2 * v["length"]]
    keys = [f'    {{{v["start"]}, {v["length"]}, "{v["key"]}"}},' for v in vectors["slice_keys_of_n"]]
    body = ("static const struct {\n    const char *data; /* hexadecimal */\n    uint32_t crc;\n    uint32_t masked;\n"
            "} crc_vectors[] = {\n" + "\n".join(crc) + "\n};\n\n"
            "/* Keys of slices of a vector \"n\". */\nstatic const struct {\n    int64_t start;\n    int64_t length;\n"
            "    const char *key; /* hexadecimal */\n} slice_key_vectors[] = {\n" + "\n".join(keys) + "\n};\n\n"
            "/* What TensorFlow reads from the checkpoints of this folder. */\nstatic const struct {\n"
            "    const char *prefix;\n    const char *name; /* hexadecimal */\n    const char *dtype;\n"
            "    const char *shape;\n    const char *value; /* as in tensor_vectors.h */\n} checkpoint_vectors[] = {\n" +
            "\n".join(checkpoint_rows(contents)) + "\n};\n")
    header("checkpoint_vectors", "Checksums, keys and contents of checkpoints.", body, "#include <stdint.h>\n\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
