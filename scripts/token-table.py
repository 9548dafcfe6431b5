#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/results/tokens.json from what scripts/token-results.sh has left in a directory: accuracy, time and work of
each model, by resolution and precision. Usage: scripts/token-table.py DIRECTORY"""

import json
import pathlib
import sys

NAMES = {
    "dense": "dense",
    "tome": "ToMe, a few",
    "tome-more": "ToMe",
    "evit": "EViT, keep 0.7",
    "sparse": "sparse",
    "sparse-tome": "sparse and ToMe, a few",
    "sparse-evit": "sparse and EViT",
}


def rows_of(speed):
    _, resolution, precision = speed.stem.split("-")
    timed = json.loads(speed.read_text())["rows"]
    files = [pathlib.Path(row["engine"]) for row in timed]
    dense = next(row["ms"] for row, file in zip(timed, files) if file.name.startswith("dense-"))
    for row, file in zip(timed, files):
        name = file.name.removesuffix(f"-{resolution}-{precision}.fib")
        top1 = json.loads((speed.parent / f"{file.name}.json").read_text())["top1"]
        yield [int(resolution), precision, NAMES[name], 100 * top1, row["ms"], row["ms"] / dense]


def main():
    directory = pathlib.Path(sys.argv[1])
    columns = [
        {"title": "pixels", "format": "{:d}"},
        {"title": "precision"},
        {"title": "model"},
        {"title": "top-1", "format": "{:.1f}"},
        {"title": "ms", "format": "{:.2f}"},
        {"title": "over dense", "format": "{:.2f}"},
    ]
    rows = [row for speed in sorted(directory.glob("speed-*.json")) for row in rows_of(speed)]
    machine = next(json.loads(s.read_text())["machine"] for s in directory.glob("speed-*.json"))
    command = "scripts/token-results.sh DENSE.safetensors SPARSE.safetensors IMAGES"
    print(json.dumps({"machine": machine, "command": command, "columns": columns, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
