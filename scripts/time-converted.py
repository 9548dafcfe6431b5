#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a torchvision model with another attention beside the original, by turns in one run.

scripts/time-converted.py [--model vit_b_16] [--attention fibottention] [--resolutions 224 512 1024] [--repeats 5] [--backward]
Milliseconds are the fastest of the repeats, on random weights and random images, one image a batch unless --batch says otherwise.
"""

import argparse
import copy
import os
import platform
import time

import torch
import torchvision

import fibottention


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vit_b_16")
    parser.add_argument("--attention", default="fibottention")
    parser.add_argument("--resolutions", type=int, nargs="+", default=[224, 512, 1024])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--backward", action="store_true", help="forward and backward instead of forward alone")
    return parser.parse_args()


def make(name, resolution):
    sized = {"image_size": resolution} if name.startswith("vit") else {}
    return getattr(torchvision.models, name)(**sized).eval()


def run_once(model, images, backward):
    start = time.perf_counter()
    if backward:
        model(images).sum().backward()
    else:
        with torch.no_grad():
            model(images)
    return 1e3 * (time.perf_counter() - start)


def fastest(models, images, repeats, backward):
    """By turns, so that what else the machine does meets both; the first turn warms up."""
    times = [[run_once(model, images, backward) for model in models] for _ in range(repeats + 1)]
    return [min(turns) for turns in zip(*times[1:])]


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.partition(": ")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main():
    a = arguments()
    torch.set_num_threads(a.threads)
    step = "forward + backward" if a.backward else "forward"
    print(f"{a.model}, {step}, batch {a.batch}, {a.threads} threads of {processor()}, torch {torch.__version__}")
    print(f"{'resolution':>10} {'original, ms':>14} {'full, ms':>10} {a.attention + ', ms':>18} {'original / ' + a.attention:>24}")
    for resolution in a.resolutions:
        original = make(a.model, resolution)
        full = fibottention.convert(copy.deepcopy(original), "full")
        sparse = fibottention.convert(copy.deepcopy(original), a.attention)
        images = torch.randn(a.batch, 3, resolution, resolution)
        own, dense, ours = fastest([original, full, sparse], images, a.repeats, a.backward)
        print(f"{resolution:>10} {own:>14.1f} {dense:>10.1f} {ours:>18.1f} {own / ours:>24.2f}", flush=True)


if __name__ == "__main__":
    main()
