#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of measured results in the documentation from docs/results/*.json, where the figures are kept with
the machine and the command that they come from.

scripts/results-tables.py            writes every block  <!-- table NAME -->  …  <!-- end table -->  of docs/*.md anew
scripts/results-tables.py --check    writes nothing, and fails where a table is not what its file says
scripts/results-tables.py --draw TOOL    writes tables, and with the program draw-results the drawings too: make results

NAME is that of a file in docs/results. A file holds runs as `fib runs --json` gives them, which become a row for each
attention with its seeds, interval and paired test; or {"columns": [{"title", "format"}], "rows": [[…]]}, where a column
without a format holds text and null is shown as the column's "none", by default a dash. "drawings" says what is drawn of
a file, see src/tools/draw_results.cpp.
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end table -->)", re.DOTALL)
PAPER_COLUMN = {"cifar10": "C10", "cifar100": "C100"}


def markdown(titles, right, rows):
    rule = ["---:" if r else "---" for r in right]
    return "".join("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n" for cells in [titles, rule, *rows])


def recorded_table(data):
    columns = data["columns"]

    def cell(column, value):
        if value is None:
            return column.get("none", "–")
        if "format" not in column or isinstance(value, str):
            return value
        return re.sub(r"e-0(\d)", r"e-\1", column["format"].format(value))

    rows = [[cell(c, v) for c, v in zip(columns, row, strict=True)] for row in data["rows"]]
    return markdown([c["title"] for c in columns], ["format" in c for c in columns], rows)


def papers_top1(data):
    """The paper's top-1 of ViT-B by attention; its masking is that of the equation, so `masking=zero` has none."""
    table = tomllib.loads((ROOT / "src/analysis/paper/sota.toml").read_text())
    place = table["columns"].index(PAPER_COLUMN[data])
    return {row["attention"]: row["values"][place] for row in table["rows"]}


def run_groups(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row["attention"], {})[row["seed"]] = 100 * row["test_top1"]
    return groups


def against_full(name, groups, summary):
    if name == "full":
        return ""
    if name in summary and "p" in summary[name]:
        return f"{summary[name]['difference']:+.2f}, p {summary[name]['p']:.3f}".replace("-", "−")
    shared = [seed for seed in groups[name] if seed in groups.get("full", {})]
    if not shared:
        return "–"
    return f"{statistics.mean(groups[name][s] - groups['full'][s] for s in shared):+.2f}".replace("-", "−")


def runs_table(data):
    groups, summary = run_groups(data["rows"]), {s["name"]: s for s in data.get("over_seeds", [])}
    shares = {row["attention"]: row["pair_share"] for row in data["rows"]}
    seeds = sorted({row["seed"] for row in data["rows"]})
    paper = papers_top1(data["rows"][0]["data"])
    titles = ["attention", "pairs, class token included", *(f"seed {s}" for s in seeds)]
    titles += ["mean"] * (len(seeds) > 1) + ["against full", "the paper, ViT-B"]
    order = ["full", "fibottention", "fibottention-modified", "fibottention:masking=zero"]
    names = [n for n in order if n in groups] + [n for n in groups if n not in order]
    rows = []
    for name in names:
        cells = [f"`{name}`", f"{100 * shares[name]:.1f} %"]
        cells += [f"{groups[name][s]:.2f}" if s in groups[name] else "–" for s in seeds]
        if len(seeds) > 1:
            group = summary.get(name, {"mean": statistics.mean(groups[name].values())})
            half = f" ± {group['half_width_95']:.2f}" if "half_width_95" in group else ""
            cells.append(f"{group['mean']:.2f}{half}")
        rows.append([*cells, against_full(name, groups, summary), str(paper.get(name, "–"))])
    return markdown(titles, [False] + [True] * (len(titles) - 1), rows)


def table(name, page):
    file = ROOT / "docs/results" / f"{name}.json"
    if not file.exists():
        sys.exit(f"results-tables: {page} has a table {name}, but there is no {file.relative_to(ROOT)}")
    data = json.loads(file.read_text())
    return recorded_table(data) if "columns" in data else runs_table(data)


def main():
    arguments = sys.argv[1:]
    draws = len(arguments) == 2 and arguments[0] == "--draw"
    if arguments not in ([], ["--check"]) and not draws:
        sys.exit(__doc__)
    stale = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text()
        fresh = BLOCK.sub(lambda m: m[1] + table(m[2], page.name) + m[3], text)
        if fresh == text:
            continue
        stale.append(page.name)
        if arguments != ["--check"]:
            page.write_text(fresh)
    if draws:
        files = sorted((ROOT / "docs/results").glob("*.json"))
        subprocess.run([arguments[1], *files, ROOT / "docs/images"], check=True)
    if stale and arguments == ["--check"]:
        sys.exit(f"results-tables: not what docs/results says: {', '.join(stale)}; run scripts/results-tables.py")


if __name__ == "__main__":
    main()
