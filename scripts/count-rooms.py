#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files, lines and files under 40 lines of each room of src/ at some commits, side by side: how large the parts are, and
what a redesign has done to them.
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
    rooms = sorted(set().union(*counts))
    print("room".ljust(12), *(f"{commit[:10]:>22}" for commit in commits))
    print(" " * 12, *("files  lines  <40".rjust(22) for _ in commits))
    total = [[0, 0, 0] for _ in commits]
    for room in rooms:
        cells = []
        for column, counted in enumerate(counts):
            numbers = counted.get(room, (0, 0, 0))
            total[column] = [a + b for a, b in zip(total[column], numbers)]
            cells.append("{:>10} {:>6} {:>4}".format(*numbers))
        print(room.ljust(12), *cells)
    print("all".ljust(12), *("{:>10} {:>6} {:>4}".format(*numbers) for numbers in total))


if __name__ == "__main__":
    main(sys.argv[1:] or ["HEAD"])
