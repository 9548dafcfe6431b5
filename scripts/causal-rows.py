#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finished runs of scripts/causal-results.sh as a table of docs/results, which scripts/results-tables.py shows.

scripts/causal-rows.py TABLE DIRECTORY > docs/results/TABLE.json
"""

import json
import pathlib
import sys

# PatchTST/42 of Nie et al. (ICLR 2023), table 3: look-back 336, by horizon.
PATCHTST = {96: (0.375, 0.399), 336: (0.431, 0.436)}


def column(title, style=None):
    return {"title": title} | ({"format": style} if style else {})


def option(run, name, otherwise):
    """Of the data, after the question mark."""
    pairs = dict(item.split("=") for item in run["data"].partition("?")[2].split("&"))
    return int(pairs.get(name, otherwise))


def pairs_left(run):
    return 100 * (1 - run["attention_cost"]["pruning_ratio"])


def shakespeare(runs):
    seeds = sorted({run["seed"] for run in runs}, key=lambda seed: (seed != 1337, seed))
    columns = [column("attention"), column("pairs", "{:.1f} %")]
    columns += [column(f"loss, seed {seed}", "{:.3f}") for seed in seeds] + [column("bits per byte, first seed", "{:.3f}")]
    rows = {}
    for run in runs:
        row = rows.setdefault(run["attention"], [f"`{run['attention']}`", pairs_left(run), *[None] * len(seeds), None])
        row[2 + seeds.index(run["seed"])] = run["test"]["loss"]
        if run["seed"] == seeds[0]:
            row[-1] = run["test"]["bits_per_byte"]
    return columns, sorted(rows.values(), key=lambda row: row[2])


def lengths(runs):
    columns = [column("context", "{}"), column("attention"), column("pairs", "{:.1f} %"), column("loss", "{:.3f}"),
               column("at 2 × the context", "{:.3f}"), column("at 4 ×", "{:.3f}")]
    rows = [[option(run, "context", 64), f"`{run['attention']}`", pairs_left(run), run["test"]["loss"],
             run["test"].get("loss_2x_context"), run["test"].get("loss_4x_context")] for run in runs]
    return columns, sorted(rows, key=lambda row: (row[0], row[3]))


def etth1(runs):
    columns = [column("horizon", "{}"), column("look-back", "{}"), column("attention"), column("pairs", "{:.1f} %"),
               column("MSE", "{:.3f}"), column("MAE", "{:.3f}"), column("PatchTST/42, look-back 336: MSE", "{:.3f}"),
               column("MAE", "{:.3f}")]
    rows = []
    for run in runs:
        horizon, back = option(run, "horizon", 96), option(run, "look_back", 336)
        published = PATCHTST.get(horizon, (None, None))
        rows.append([horizon, back, f"`{run['attention']}`", pairs_left(run), run["test"]["mse"], run["test"]["mae"],
                     *published])
    return columns, sorted(rows, key=lambda row: (row[0], row[1], row[4]))


TABLES = {"causal-shakespeare": shakespeare, "causal-lengths": lengths, "causal-etth1": etth1}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in TABLES:
        sys.exit(__doc__ + "\nTABLE is one of " + ", ".join(TABLES))
    files = sorted(pathlib.Path(sys.argv[2]).glob("*/summary.json"))
    runs = [json.loads(file.read_text()) for file in files]
    if not runs:
        sys.exit(f"causal-rows: no finished run in {sys.argv[2]}")
    columns, rows = TABLES[sys.argv[1]](runs)
    heads = [json.dumps(c, ensure_ascii=False) for c in columns]
    lines = [json.dumps([round(v, 5) if isinstance(v, float) else v for v in row], ensure_ascii=False) for row in rows]
    command = f"scripts/causal-results.sh {sys.argv[1]}; scripts/causal-rows.py {sys.argv[1]} runs/{sys.argv[1]}"
    print('{\n "machine": ' + json.dumps(runs[0]["machine"]) + ',\n "command": ' + json.dumps(command) +
          ',\n "columns": [\n  ' + ",\n  ".join(heads) + '\n ],\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}")


if __name__ == "__main__":
    main()
