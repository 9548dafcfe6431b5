#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files, lines and files under 40 lines of each room of src/ at some commits, side by side as a Markdown table: how
large the parts are, and what a redesign has done to them.
Usage: scripts/count-rooms.py [COMMIT…]     the working commit by default
"""

import subprocess
import sys
from collections import Counter


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout


def count(commit):
    """Room -> (files, lines, files under 40 lines)."""
    files, lines, small = Counter(), Counter(), Counter()
    for path in git("ls-tree", "-r", "--name-only", commit, "src").decode().splitlines():
        if not path.endswith((".cpp", ".h")):
            continue
        room = path.split("/")[1]
        length = git("show", f"{commit}:{path}").count(b"\n")
        files[room] += 1
        lines[room] += length
        small[room] += length < 40
    return {room: (files[room], lines[room], small[room]) for room in files}


def main(commits):
    counts = [count(commit) for commit in commits]
    print("| room |", " | ".join(f"files, {c[:10]} | lines | under 40" for c in commits), "|")
    print("| --- |", " | ".join(["---: | ---: | ---:"] * len(commits)), "|")
    for room in sorted(set().union(*counts)):
        row(f"`{room}/`", [counted.get(room, (0, 0, 0)) for counted in counts])
    row("all", [[sum(numbers) for numbers in zip(*counted.values())] for counted in counts])


def row(name, cells):
    print(f"| {name} |", " | ".join(" | ".join(f"{number:,}" for number in numbers) for numbers in cells), "|")


if __name__ == "__main__":
    main(sys.argv[1:] or ["HEAD"])
