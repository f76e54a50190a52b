#!/usr/bin/env python3
"""Turns recorded training runs of TensorFlow into the text that the tests of the training library read.

  convert.py RECORDED_DIR > ../data/recorded.txt

RECORDED_DIR holds a folder for each function ("optimizers", "train_mlp", "initializer_*" ...) with index.jsonl and
arrays.npy. Each case becomes "case FOLDER NUMBER TITLE" and lines "KEY COUNT VALUES..."; of arrays of more than 300
elements only the sum and the sum of absolute values are kept (KEY.sum).
"""
import json
import os
import sys

import numpy as np

FOLDERS = ["optimizers", "moving_average", "learning_rate", "dropout", "clip_by_norm", "clip_by_global_norm",
           "clip_by_value", "initializer_glorot_normal", "initializer_glorot_uniform", "initializer_he_normal",
           "initializer_lecun_normal", "initializer_random_normal_initializer",
           "initializer_random_uniform_initializer", "initializer_truncated_normal_initializer",
           "initializer_variance_scaling_fan_avg_uniform_2", "train_mlp", "train_towers", "train_cnn"]
MOST = 300


def read_array(folder, record):
    with open(os.path.join(folder, "arrays.npy"), "rb") as file:
        file.seek(record["at"])
        return np.lib.format.read_array(file)


def text(values):
    return " ".join(f"{float(value):.9g}" for value in np.asarray(values).ravel())


def write(key, array):
    array = np.asarray(array)
    if array.size > MOST:
        wide = array.astype(np.float64)
        print(f"{key}.sum 2 {wide.sum():.17g} {np.abs(wide).sum():.17g}")
    else:
        print(f"{key} {array.size} {text(array)}")


def walk(folder, key, value):
    """Writes whatever arrays and numbers stand in a field of a case."""
    if isinstance(value, dict) and set(value) == {"dtype", "shape", "at"}:
        write(key, read_array(folder, value))
        print(f"{key}.shape {len(value['shape'])} {text(value['shape'])}".rstrip())
    elif isinstance(value, dict):
        for name, inner in value.items():
            walk(folder, f"{key}.{name}".replace(" ", "_"), inner)
    elif isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        write(key, value)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            walk(folder, f"{key}.{number}", inner)
    elif isinstance(value, (int, float)):
        write(key, [value])


def main(root):
    print("# Written by record/convert.py from runs of TensorFlow 2.21; not to be edited.")
    for name in FOLDERS:
        folder = os.path.join(root, name)
        with open(os.path.join(folder, "index.jsonl"), encoding="utf-8") as index:
            for line in index:
                case = json.loads(line)
                title = case["op"].split(":", 1)[1]
                params = case.get("params", {})
                for key in ("optimizer", "mode", "dropout"):
                    title += f" {params[key]}" if key in params else ""
                title += f" {case['gradient']}" if "gradient" in case else ""
                title += f" {case['step_type']}" if "step_type" in case else ""
                print(f"case {name} {case['case']} {title}")
                for key, value in case.items():
                    if key not in ("case", "op", "title"):
                        walk(folder, key, value)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
