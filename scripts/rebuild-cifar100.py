#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-100's binary files in the published split, out of a lossless copy in PNGs; run by scripts/get-data.sh.

scripts/rebuild-cifar100.py COPY OUT

COPY has train/CLASS/NAME.png and test/CLASS/NAME.png (github.com/cyizhuo/CIFAR-100-dataset is such a copy). Names do not
tell the published order, so records stand by class and name: the published records, with checksums of their own. That the
split is the published one shows in the means of its 50,000 training images, which are the published
0.5070751592371323, 0.48654887331495095 and 0.4409178433670343 to the last digit. Takes a few minutes.
"""

import hashlib
import pathlib
import struct
import sys
import zlib

SIDE = 32
STRIDE = 3 * SIDE
CHECKSUMS = {"train": "0cbc93f95cb9fe548c7deb91c5e39f1a", "test": "5ad63b41cd65441383bcdd0d51c9bb6e"}
# The superclass of each class, in the classes' alphabetical order: the first label of a published record.
SUPERCLASS = [
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7,
    6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10,
    16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16,
    12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13,
]  # fmt: skip


def fail(message):
    sys.exit(f"rebuild-cifar100: {message}")


def filtered_rows(file):
    """The compressed rows of a PNG of 32 x 32 pixels in eight-bit colors, each after the byte of its filter."""
    content = file.read_bytes()
    place, packed, header = 8, b"", None
    while place + 8 <= len(content):
        (size,) = struct.unpack_from(">I", content, place)
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + size]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", data)
        elif kind == b"IDAT":
            packed += data
        place += 12 + size
    if header != (SIDE, SIDE, 8, 2, 0, 0, 0):
        fail(f"{file} is not a PNG of 32 by 32 pixels in eight-bit colors")
    return zlib.decompress(packed)


def nearest_of(left, above, corner):
    """The Paeth predictor of the PNG specification."""
    guess = left + above - corner
    to_left, to_above, to_corner = abs(guess - left), abs(guess - above), abs(guess - corner)
    if to_left <= to_above and to_left <= to_corner:
        return left
    return above if to_above <= to_corner else corner


def unfilter(kind, row, above):
    for i in range(STRIDE):
        left = row[i - 3] if i >= 3 else 0
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + above[i]) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            row[i] = (row[i] + nearest_of(left, above[i], above[i - 3] if i >= 3 else 0)) & 255


def planes(file):
    """Red, then green, then blue."""
    rows, pixels, above = filtered_rows(file), bytearray(), bytearray(STRIDE)
    for y in range(SIDE):
        begin = y * (STRIDE + 1)
        row = bytearray(rows[begin + 1 : begin + 1 + STRIDE])
        if rows[begin] != 0:
            unfilter(rows[begin], row, above)
        pixels += row
        above = row
    return pixels[0::3] + pixels[1::3] + pixels[2::3]


def records(folder):
    classes = sorted(folder.iterdir()) if folder.is_dir() else []
    if len(classes) != len(SUPERCLASS):
        fail(f"{folder} has {len(classes)} folders, expected one for each of {len(SUPERCLASS)} classes")
    content = bytearray()
    for label, images in enumerate(classes):
        for file in sorted(images.glob("*.png")):
            content += bytes((SUPERCLASS[label], label)) + planes(file)
    return content, [c.name for c in classes]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    copy, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for part, expected in CHECKSUMS.items():
        content, names = records(copy / part)
        found = hashlib.md5(content).hexdigest()
        if found != expected:
            fail(f"{copy / part}: the records' checksum is {found}, expected {expected}")
        (out / f"{part}.bin").write_bytes(content)
    (out / "fine_label_names.txt").write_text("".join(name + "\n" for name in names))


if __name__ == "__main__":
    main()
