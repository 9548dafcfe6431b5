#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether this tree computes the same bits as an older commit: attention and its gradients on a list of cases, the
weights after twenty steps of the demo's recipe, logits of small models by LibTorch and by the engine; and whether every
key of the JSON of commands is still there.

scripts/compare-bits.py COMMIT [--only attend,train,logits,json] [--before FIB] [--fib build/fib]

Without --before the commit's programs are built into build/before. Each row says how many arrays were compared, how
many are equal to the bit, and the largest difference as a share of the array's largest value. Ends with 1 where a bit
or a key differs. Compiled models are compared in float32: what bf16 and int8 round is free to change.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from array import array


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--only", default="attend,train,logits,json")
    parser.add_argument("--before", help="a fib of that commit that is built already")
    parser.add_argument("--fib", default="build/fib", help="this tree's")
    given = parser.parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    before = given.before or build_before(given.commit)
    with tempfile.TemporaryDirectory() as folder:
        both = Programs(pathlib.Path(before).resolve(), pathlib.Path(given.fib).resolve(), pathlib.Path(folder))
        same = [CHECKS[name](both) for name in given.only.split(",")]
    sys.exit(0 if all(same) else 1)


def build_before(commit):
    built = subprocess.run(["scripts/build-before.sh", commit], stdout=subprocess.PIPE, text=True, check=True)
    return built.stdout.strip()


# ---- The two programs, and what is told of them


class Programs:
    """Both run with the same arguments; {out} in them is a folder of each's own."""

    def __init__(self, before, now, folder):
        self.programs, self.folder = (before, now), folder
        self.outs = (folder / "before", folder / "now")
        for out in self.outs:
            out.mkdir()

    def run(self, arguments):
        """What both print."""
        return [self.run_one(which, arguments) for which in (0, 1)]

    def run_one(self, which, arguments):
        words = [str(word).replace("{out}", str(self.outs[which])) for word in arguments]
        done = subprocess.run([self.programs[which], *words, "--threads", "2", "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare-bits: {self.programs[which]} {' '.join(words)}\n{done.stderr.strip()}")
        return done.stdout


class Tally:
    """Arrays of one kind that were compared."""

    def __init__(self, what):
        self.what, self.count, self.equal, self.largest, self.worst = what, 0, 0, 0.0, ""

    def add(self, name, before, now):
        self.count += 1
        if before == now:
            self.equal += 1
            return
        difference = relative_difference(before, now)
        if difference >= self.largest:
            self.largest, self.worst = difference, name

    def tell(self):
        line = f"{self.what:<44} {self.count:>5} arrays, {self.equal:>5} equal to the bit"
        if self.equal < self.count:
            line += f"; largest difference {self.largest:.1e} ({self.worst})"
        print(line, flush=True)
        return self.equal == self.count


def relative_difference(before, now):
    a, b = before.values(), now.values()
    if len(a) != len(b):
        return float("inf")
    largest = max(map(abs, a), default=0.0) or 1.0
    return max((abs(x - y) for x, y in zip(a, b)), default=0.0) / largest


# ---- Files


class Array:
    """The bytes of an array, equal where all bits are."""

    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data

    def __eq__(self, other):
        return (self.kind, self.shape, self.data) == (other.kind, other.shape, other.data)

    def values(self):
        return array({"F32": "f", "F64": "d"}.get(self.kind, "b"), self.data)


def write_npy(file, shape, values, kind="f4"):
    header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array({"f4": "f", "f8": "d"}[kind], values).tobytes()
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(file):
    content = file.read_bytes()
    length = struct.unpack_from("<H", content, 8)[0]
    header = content[10 : 10 + length].decode()
    return Array("F32" if "'<f4'" in header else "F64", header.split("'shape':")[1], content[10 + length :])


def read_safetensors(file):
    content = file.read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {name: Array(t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


def copy_without(prefix, source, target):
    """Weights without the tensors whose names begin so, and without what they say of themselves."""
    kept = {name: tensor for name, tensor in read_safetensors(source).items() if not name.startswith(prefix)}
    header, begin = {}, 0
    for name, tensor in kept.items():
        end = begin + len(tensor.data)
        header[name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    target.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensor.data for tensor in kept.values()))
    return target


def write_idx(prefix, count, draw):
    labels = bytes(i % 10 for i in range(count))
    pixels = b"".join(draw.randbytes(28 * 28 - 100) + bytes([25 * label]) * 100 for label in labels)
    pathlib.Path(f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
    pathlib.Path(f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def write_png(file, side, draw):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + draw.randbytes(3 * side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def make_digits(folder):
    """Grey images of ten classes in MNIST's format: twenty batches of 32, and some to validate and test with."""
    draw = random.Random(1)
    folder.mkdir(exist_ok=True)
    write_idx(folder / "train", 650, draw)
    write_idx(folder / "t10k", 50, draw)
    return f"mnist:{folder}"


def make_pictures(folder):
    """Colour images of ten classes in folders."""
    draw = random.Random(2)
    for part, label in itertools.product(("train", "val"), range(10)):
        place = folder / part / f"class{label}"
        place.mkdir(parents=True, exist_ok=True)
        for i in range(4):
            write_png(place / f"{i}.png", 64, draw)
    return f"folder:{folder}"


# ---- Attention

MECHANISMS = [
    "fibottention", "fibottention:wmin=3,wmax=12", "fibottention-modified", "local:w=3", "local:w=2,diagonal=true",
    "longformer:w=2", "bigbird:w=1,random=60", "sparse-transformer", "random:ratio=0.6", "random:ratio=0.97",
    "dilation:c=3", "dilation-varying", "powers-of-2", "squares", "fib-shift", "full",
]  # fmt: skip
SHAPES = [  # B, H, N, class tokens, d, e
    (2, 12, 196, 1, 8, 8), (1, 12, 196, 1, 64, 64), (1, 3, 61, 0, 24, 24), (1, 2, 64, 2, 32, 32), (1, 3, 25, 1, 5, 7),
]  # fmt: skip
OPTIONS = [[], ["--causal"], ["--masking", "zero"], ["--layer", "2", "--scale", "0.3"]]


def compare_attention(both):
    same = True
    for number, (batch, heads, patches, cls, dim, value_dim) in enumerate(SHAPES):
        inputs = make_inputs(both.folder, batch, heads, patches + cls, dim, value_dim, number)
        out, gradients = Tally(f"attend, d = {dim}: result"), Tally(f"attend, d = {dim}: gradients")
        for mechanism, options in itertools.product(MECHANISMS, OPTIONS):
            arguments = ["attend", "--attention", mechanism, "--cls", cls, *options, *inputs]
            for name in ("out", "dq", "dk", "dv"):
                arguments += [f"--{name}", f"{{out}}/{name}.npy"]
            both.run(arguments)
            for name in ("out", "dq", "dk", "dv"):
                arrays = [read_npy(folder / f"{name}.npy") for folder in both.outs]
                (out if name == "out" else gradients).add(" ".join([mechanism, *options, name]), *arrays)
        same = out.tell() & gradients.tell() & same
    return same


def make_inputs(folder, batch, heads, tokens, dim, value_dim, number):
    """The third shape is of float64."""
    draw = random.Random(number)
    arguments = []
    for name, width in (("q", dim), ("k", dim), ("v", value_dim), ("grad-out", value_dim)):
        shape = (batch, heads, tokens, width)
        values = (draw.gauss(0, 1) for _ in range(batch * heads * tokens * width))
        write_npy(folder / f"{name}.npy", shape, values, "f8" if number == 2 else "f4")
        arguments += [f"--{name}", folder / f"{name}.npy"]
    return arguments


# ---- Training


def compare_training(both):
    data = make_digits(both.folder / "digits")
    same = True
    for attention in ("full", "fibottention", "fibottention-modified"):
        both.run(["train", "--recipe", "demo", "--attention", attention, "--data", data, "--limit-per-class", 0,
                  "--epochs", 1, "--workers", 1, "--out", f"{{out}}/{attention}"])  # fmt: skip
        tally = Tally(f"twenty steps of the demo, {attention}")
        for file in ("model.safetensors", "ema.safetensors"):
            before, now = (read_safetensors(out / attention / file) for out in both.outs)
            for name in sorted(before.keys() | now.keys()):
                tally.add(f"{file}: {name}", before[name], now[name])
        same = tally.tell() & same
    return same


# ---- Logits

BACKBONES = [  # model, side, attentions
    ("mini_vit", 64, ["full", "fibottention", "bigbird"]), ("mini_convit", 64, ["full", "fibottention"]),
    ("mini_swin", 56, ["full", "fibottention"]), ("mini_iformer", 64, ["full", "fibottention"]),
    ("mini_cvt", 64, ["full", "fibottention"]), ("mini_mvitv2", 64, ["full", "fibottention"]),
    ("mini_timesformer", 64, ["full", "fibottention"]),
]  # fmt: skip


def compare_logits(both):
    data = make_pictures(both.folder / "pictures")
    torch, engine = Tally("logits by LibTorch"), Tally("logits of compiled models, float32")
    for model, side, attentions in BACKBONES:
        weights = make_weights(both, model, data)
        images = make_images(both.folder, side, frames=4 if model == "mini_timesformer" else 0)
        for attention in attentions:
            name = f"{model}, {attention}"
            of = ["--model", model, "--weights", weights, "--attention", attention]
            both.run(["infer", *of, "--input", images, "--out", "{out}/logits.npy"])
            torch.add(name, *(read_npy(out / "logits.npy") for out in both.outs))
            both.run(["compile", *of, "-o", "{out}/model.fib"])
            both.run(["infer", "--engine", "{out}/model.fib", "--input", images, "--out", "{out}/logits.npy"])
            engine.add(name, *(read_npy(out / "logits.npy") for out in both.outs))
    return torch.tell() & engine.tell()


def make_weights(both, model, data):
    """A few steps of the older program; the model for clips begins from the one for images, which has a block more."""
    run = both.folder / "weights" / model
    if model == "mini_timesformer":
        images = both.folder / "weights/mini_vit/model.safetensors"
        return copy_without("blocks.2.", images, both.folder / "clips.safetensors")
    both.run_one(0, ["train", "--model", model, "--data", data, "--epochs", 1, "--batch", 10, "--workers", 1,
                     "--out", run])  # fmt: skip
    return run / "model.safetensors"


def make_images(folder, side, frames):
    draw = random.Random(side + frames)
    shape = (3, 3, frames, side, side) if frames else (3, 3, side, side)
    count = 3 * 3 * max(1, frames) * side * side
    write_npy(folder / "images.npy", shape, (draw.gauss(0, 1) for _ in range(count)))
    return folder / "images.npy"


# ---- JSON


def compare_json(both):
    digits = make_digits(both.folder / "digits")
    model = ["--model", "vit_nano_patch2_28"]
    run = both.folder / "nano"
    both.run_one(0, ["train", *model, "--data", digits, "--epochs", 1, "--batch", 32, "--out", run])
    both.run(["compile", "--run", run, "-o", "{out}/nano.fib"])
    inputs = make_inputs(both.folder, 1, 2, 10, 4, 4, 0)
    bench = ["--seconds", "0.1", "--batch", 1, "--json"]
    commands = [
        ["pattern", "--tokens", 49, "--heads", 3, "--json"], ["pattern", "--array", "3x4", "--json"],
        ["attend", *inputs, "--out", "{out}/o.npy", "--dq", "{out}/dq.npy", "--json"], ["models", "--json"],
        ["flops", *model, "--json"], ["eval", "--run", run, "--data", digits, "--json"],
        ["eval", "--engine", "{out}/nano.fib", "--data", digits, "--json"], ["runs", run, "--json"],
        ["bench", "attention", "--tokens", "49", "--backward", *bench], ["bench", "model", *model, *bench],
        ["bench", "model", "--engine", "{out}/nano.fib", *bench], ["analyze", "diversity", "--run", run, "--json"],
    ]  # fmt: skip
    gone = {}
    for command in commands:
        before, now = (keys_of(json.loads(text)) for text in both.run(command))
        if before - now:
            gone[" ".join(word for word in map(str, command) if "/" not in word)] = sorted(before - now)
    print(f"{'keys of JSON':<44} {len(commands):>5} commands, {len(commands) - len(gone):>3} with all keys")
    for command, keys in gone.items():
        print(f"  fib {command}: no {', '.join(keys)}")
    return not gone


def keys_of(value, above=""):
    """Paths of all keys; those of an array's elements together."""
    if isinstance(value, list):
        return set().union(*(keys_of(element, above + "[]") for element in value))
    if not isinstance(value, dict):
        return set()
    paths = {f"{above}.{key}" for key in value}
    return paths.union(*(keys_of(inner, f"{above}.{key}") for key, inner in value.items()))


CHECKS = {"attend": compare_attention, "train": compare_training, "logits": compare_logits, "json": compare_json}

if __name__ == "__main__":
    main()
