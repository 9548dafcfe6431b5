#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures attention forward over tokens and writes docs/results/time-over-tokens.json, from which `fib plot` draws the
picture of README.md: our kernel, our dense kernel, LibTorch's products, ONNX Runtime's operator, and with a clone of the
first author's later repository (scripts/compare-gather.py) its gathering attention too.

scripts/time-over-tokens.py [CLONE]      the machine should have nothing else to do; ROUNDS, BUILD and ORT as in
                                         scripts/compare-onnxruntime.sh
"""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKENS = ["196", "784", "1764", "4096"]
# In the order of the columns of compare-onnxruntime.sh, whose third is a ratio.
COLUMNS = ["ONNX Runtime, dense", "dense, our kernel", None, "LibTorch, dense", "Fibottention"]
GATHER = "Fibottention, first author's backend"


def output_of(*command, **environment):
    return subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, **environment}).stdout


def measured():
    text = output_of("scripts/compare-onnxruntime.sh", "attention", TOKENS=" ".join(TOKENS))
    for line in re.findall(r"^\| (\d+ \| .*) \|$", text, re.MULTILINE):
        tokens, *cells = (float(cell) for cell in line.split(" | "))
        for name, ms in zip(COLUMNS, cells, strict=True):
            if name:
                yield name, tokens, ms


def gathered(clone):
    library = str(pathlib.Path(os.environ.get("BUILD", "build")) / "libfibottention_torch.so")
    text = output_of("/usr/bin/python3", "scripts/compare-gather.py", clone, "--library", library, "--repeats", "4",
                     "--tokens", *TOKENS)
    for tokens, ms in re.findall(r"^ *(\d+) +([\d.]+) ", text, re.MULTILINE):
        yield GATHER, float(tokens), float(ms)


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.partition(": ")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def main():
    points = {}
    for name, tokens, ms in [*measured(), *(gathered(sys.argv[1]) if sys.argv[1:] else [])]:
        points.setdefault(name, []).append([tokens, ms])
    result = {"command": "scripts/time-over-tokens.py CLONE",
              "machine": os.environ.get("MACHINE", processor()),
              "threads": os.cpu_count(),
              "note": "12 heads of 64 channels, batch 1, float32, forward; fastest runs in milliseconds.",
              "title": "Attention forward, 12 heads of 64 channels, batch 1, float32",
              "x": {"label": "patch tokens", "log": True},
              "y": {"label": "milliseconds", "log": True},
              "series": [{"name": name, "points": line} for name, line in points.items()]}
    file = ROOT / "docs/results/time-over-tokens.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
