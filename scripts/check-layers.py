#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders are layers: checks every include of src/ and include/ against the list of rooms in docs/architecture.md.

An include points up the list of rooms; only what lies in a folder torch/ (or in ops/) includes torch or such a folder; the
folders of a room do not include each other in a circle, and neither do files.
Usage: scripts/check-layers.py [TOP OF THE TREE]
"""

import re
import sys
from pathlib import Path

TORCH_HEADERS = ("torch/", "ATen/", "c10/")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def rooms_in_order(top):
    """The rooms as the table of docs/architecture.md lists them; the public headers are the first."""
    table = (top / "docs/architecture.md").read_text()
    return ["fibottention", *re.findall(r"^\| `src/(\w+)/`", table, re.MULTILINE)]


def sources(top):
    """Path as an include names it -> file."""
    found = {}
    for base in ("include", "src"):
        for file in sorted((top / base).rglob("*")):
            if file.suffix in (".h", ".cpp", ".c"):
                found[file.relative_to(top / base).as_posix()] = file
    return found


def includes(file):
    return [ours or theirs for ours, theirs in INCLUDE.findall(file.read_text())]


def room_of(path):
    return path.split("/")[0]


def folder_of(path):
    return path.rpartition("/")[0]


def needs_torch(path):
    return room_of(path) == "ops" or "torch" in path.split("/")[1:-1]


def order_faults(edges, rooms):
    for source, target in edges:
        for path in (source, target):
            if room_of(path) not in rooms and room_of(path) != "tools":
                yield f"{path}: the room {room_of(path)} is not in the table of docs/architecture.md"
                return
        place = {room: i for i, room in enumerate([*rooms, "tools"])}
        if place[room_of(target)] > place[room_of(source)]:
            yield f"{source} includes {target}: {room_of(target)} stands below {room_of(source)}"


def torch_faults(files):
    for path, file in files.items():
        if needs_torch(path):
            continue
        for target in includes(file):
            if target.startswith(TORCH_HEADERS) or (target in files and needs_torch(target)):
                yield f"{path} includes {target}: only a folder torch/ may"


def circles(edges):
    """One message for each strongly connected pair or longer circle that a walk in depth meets."""
    graph = {}
    for source, target in sorted(set(edges)):
        graph.setdefault(source, []).append(target)
    state, trail = {}, []

    def walk(node):
        state[node] = "open"
        trail.append(node)
        for target in graph.get(node, []):
            if state.get(target) == "open":
                yield "a circle of includes: " + " -> ".join([*trail[trail.index(target):], target])
            elif target not in state:
                yield from walk(target)
        trail.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            yield from walk(node)


def main():
    top = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = sources(top)
    edges = [(path, target) for path, file in files.items() for target in includes(file) if target in files]
    folders = [(folder_of(a), folder_of(b)) for a, b in edges if room_of(a) == room_of(b) and folder_of(a) != folder_of(b)]
    faults = [*order_faults(edges, rooms_in_order(top)), *torch_faults(files), *circles(folders), *circles(edges)]
    for fault in faults:
        print(f"check-layers: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    print(f"check-layers: {len(edges)} includes of {len(files)} files point up")


if __name__ == "__main__":
    main()
