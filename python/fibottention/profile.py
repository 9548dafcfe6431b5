# SPDX-License-Identifier: Apache-2.0
"""Times a model before and after `convert`, by turns in one run, with the bound that no attention can pass.

    python -m fibottention.profile torchvision:vit_b_16 [--attention fibottention:wmax=65] [--size 224 512] [--batch 1]

MODEL is torchvision:NAME, timm:NAME, or MODULE:FUNCTION that makes a model; weights and images are random. Milliseconds
are the fastest of the repeats: of the model as it is, with `full` (dense attention by our kernel), with the mechanism, and
with nothing where attention was: what is left then is the bound, and 'part' is the share of the model's time that
attention takes now.
"""

import argparse
import copy
import importlib
import inspect
import json
import os
import platform
import sys
import time
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch
from torch import Tensor, nn

from .conversion import convert
from .layouts import Exchanged


def options_of(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fibottention.profile", description=__doc__.splitlines()[0],
                                     epilog=__doc__.partition("\n\n")[2], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--attention", default="fibottention", help="mechanism and options, as for convert (default: %(default)s)")
    parser.add_argument("--size", type=positive, nargs="+", default=[224], help="sides of the square images (default: 224)")
    parser.add_argument("--channels", type=positive, default=3, help="of the images (default: %(default)s)")
    parser.add_argument("--batch", type=positive, default=1, help="images at once (default: %(default)s)")
    parser.add_argument("--repeat", type=positive, default=5, help="turns, after one that warms up (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=os.cpu_count(), help="(default: all, here %(default)s)")
    parser.add_argument("--backward", action="store_true", help="forward and backward instead of forward alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer from 1 on, got '{text}'")
    return int(text)


def maker(name: str) -> Callable[..., nn.Module]:
    """What makes the model; ValueError says what is wrong with its name."""
    library, _, function = name.partition(":")
    if not function:
        raise ValueError(f"MODEL must be torchvision:NAME, timm:NAME or MODULE:FUNCTION, got '{name}'")
    try:
        module = importlib.import_module("torchvision.models" if library == "torchvision" else library)
    except ImportError as reason:
        raise ValueError(f"{library} cannot be imported: {reason}") from None
    if library == "timm":
        return lambda **options: module.create_model(function, **options)
    made = getattr(module, function, None)
    if not callable(made):
        raise ValueError(f"{library} has no model '{function}'")
    return made


def make(name: str, size: int) -> nn.Module:
    """For images of this size, where the model wants to know it."""
    made = maker(name)
    key = "img_size" if name.startswith("timm:") else "image_size"
    takes_any = any(p.kind == p.VAR_KEYWORD for p in inspect.signature(made).parameters.values())
    wants = key in inspect.signature(made).parameters or (takes_any and "vit" in name)
    return made(**({key: size} if wants else {})).eval()


@contextmanager
def without_attention() -> Iterator[None]:
    """Values go through as they came: what every part but the attention takes."""
    packed, apart = Exchanged.attend, Exchanged.attend_apart
    Exchanged.attend = lambda self, qkv, bias: qkv[:, :, 2].flatten(2)  # type: ignore[method-assign, assignment]
    Exchanged.attend_apart = lambda self, q, k, v: v  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Exchanged.attend, Exchanged.attend_apart = packed, apart  # type: ignore[method-assign]


def milliseconds(model: nn.Module, images: Tensor, backward: bool) -> float:
    start = time.perf_counter()
    with torch.set_grad_enabled(backward):
        out = model(images)
        if backward:
            (out if isinstance(out, Tensor) else out[0]).sum().backward()
    return 1e3 * (time.perf_counter() - start)


def fastest(models: Dict[str, nn.Module], images: Tensor, o: argparse.Namespace) -> Dict[str, float]:
    """By turns, so that what else the machine does meets all of them."""
    turns: List[Dict[str, float]] = []
    for _ in range(o.repeat + 1):
        turn = {name: milliseconds(model, images, o.backward) for name, model in models.items()}
        with without_attention():
            turn["bound"] = milliseconds(models["full"], images, o.backward)
        turns.append(turn)
    return {name: min(turn[name] for turn in turns[1:]) for name in turns[0]}


def profile(o: argparse.Namespace, size: int) -> Dict[str, Any]:
    own = make(o.model, size)
    models = {"original": own, "full": convert(copy.deepcopy(own), "full"),
              "converted": convert(copy.deepcopy(own), o.attention)}
    ms = fastest(models, torch.randn(o.batch, o.channels, size, size), o)
    return {"size": size, **{f"{name}_ms": round(value, 3) for name, value in ms.items()},
            "speedup": round(ms["original"] / ms["converted"], 3), "bound": round(ms["original"] / ms["bound"], 3),
            "part": round(1 - ms["bound"] / ms["original"], 3)}


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(": ")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


COLUMNS = {"size": "size", "original_ms": "original, ms", "full_ms": "full, ms", "converted_ms": "converted, ms",
           "bound_ms": "no attention, ms", "speedup": "speedup", "bound": "bound", "part": "part"}


def line(values: Dict[str, Any]) -> str:
    return "  ".join(f"{value:>{len(COLUMNS[name])}}" for name, value in values.items() if name in COLUMNS)


def run(o: argparse.Namespace) -> None:
    maker(o.model)  # a mistyped name is known before the table begins
    torch.set_num_threads(o.threads)
    machine = {"model": o.model, "attention": o.attention, "pass": "forward + backward" if o.backward else "forward",
               "batch": o.batch, "threads": o.threads, "processor": processor(), "torch": torch.__version__}
    if not o.json:
        print(f"{o.model} with {o.attention}, {machine['pass']}, batch {o.batch}, {o.threads} threads of "
              f"{machine['processor']}, torch {torch.__version__}")
        print("  ".join(COLUMNS.values()))
    rows = []
    for size in o.size:
        row = profile(o, size)
        rows.append({name: row[name] for name in COLUMNS})
        if not o.json:
            print(line(rows[-1]), flush=True)
    if o.json:
        print(json.dumps({**machine, "rows": rows}, indent=2))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    o = options_of(arguments)
    warnings.showwarning = lambda message, *_, **__: print(f"note: {message}", file=sys.stderr)  # type: ignore[assignment]
    try:
        run(o)
    except KeyboardInterrupt:
        return 130
    except (ValueError, RuntimeError, TypeError, AssertionError) as reason:
        print(f"fibottention.profile: {str(reason).splitlines()[0] if str(reason) else repr(reason)}", file=sys.stderr)
        return 2 if isinstance(reason, ValueError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
