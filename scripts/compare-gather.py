#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the gathering attention of the first author's later repository (github.com/ak811/sparse-attention-benchmarks)
beside our operator, by turns in one run, on the same arrays. The clone is the user's; nothing of it is kept here.

scripts/compare-gather.py CLONE [--library build/libfibottention_torch.so] [--tokens 196 784 4096] [--batch 1]

Both see the same pairs: row i of the Wythoff array for head i, windows from 5 to N/3, the heads' order of layer 0. Before
anything is timed the outputs are compared. Milliseconds are the fastest of the repeats.
"""

import argparse
import contextlib
import importlib
import io
import os
import pathlib
import sys
import time

import torch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=pathlib.Path, help="folder of the clone")
    parser.add_argument("--library", default="build/libfibottention_torch.so")
    parser.add_argument("--tokens", type=int, nargs="+", default=[196, 784, 4096])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--backward", action="store_true", help="forward and backward instead of forward alone")
    return parser.parse_args()


def gathering(clone):
    """The clone's package has the folder's own name only as relative imports go: `core` is its top."""
    if not (clone / "core/backends/fibottention_sparse.py").is_file():
        sys.exit(f"compare-gather: {clone} has no core/backends/fibottention_sparse.py")
    sys.path.insert(0, str(clone))
    backend = importlib.import_module("core.backends.fibottention_sparse").FibottentionTrueSparseBackend()

    def attend(q, k, v):
        with contextlib.redirect_stdout(io.StringIO()):  # it reports its density once
            return backend(q, k, v, depth_id=0)

    return attend


def ours(tokens):
    wmax = tokens // 3

    def attend(q, k, v):
        return torch.ops.fibottention.attention(q, k, v, 5, wmax, False, 1, False, 0)

    return attend


def run_once(attend, qkv, backward):
    start = time.perf_counter()
    if backward:
        for x in qkv:
            x.grad = None
        attend(*qkv).sum().backward()
    else:
        with torch.no_grad():
            attend(*qkv)
    return 1e3 * (time.perf_counter() - start)


def fastest(contestants, qkv, a):
    """By turns, so that what else the machine does meets both; the first turn warms up."""
    turns = [[run_once(attend, qkv, a.backward) for attend in contestants] for _ in range(a.repeats + 1)]
    return [min(times) for times in zip(*turns[1:])]


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.partition(": ")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def main():
    a = arguments()
    torch.set_num_threads(a.threads)
    torch.ops.load_library(a.library)
    theirs = gathering(a.clone.resolve())
    print(f"{processor()}, {a.threads} threads, batch {a.batch}, {a.heads} heads of {a.dim} channels, float32, "
          f"{'forward + backward' if a.backward else 'forward'}")
    print("tokens  gather, ms  ours, ms  ratio  largest difference")
    for tokens in a.tokens:
        torch.manual_seed(0)
        qkv = [torch.randn(a.batch, a.heads, tokens + 1, a.dim, requires_grad=a.backward) for _ in range(3)]
        mine = ours(tokens)
        with torch.no_grad():
            difference = (theirs(*qkv) - mine(*qkv)).abs().max().item()
        slow, fast = fastest([theirs, mine], qkv, a)
        print(f"{tokens:6}  {slow:10.2f}  {fast:8.3f}  {slow / fast:5.1f}  {difference:.1e}")


if __name__ == "__main__":
    main()
