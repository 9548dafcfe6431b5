# SPDX-License-Identifier: Apache-2.0
"""Finds the library and gives its operators to torch.

There are two that do the same: libfibottention_c.so, which the wheel holds, serves every version of torch through its C
interface; libfibottention_torch.so is built for one version of torch, and C++ programs use it, too.
"""

import os
import sysconfig
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from . import c_library, c_operators

TORCH_NAME = "libfibottention_torch.so"
NAMES = (TORCH_NAME, c_library.NAME)


class TorchLibrary:
    """What the operator library registered with torch."""

    def __init__(self, path: Path) -> None:
        torch.ops.load_library(str(path))
        self.path = path

    def mechanisms(self) -> List[List[str]]:
        return torch.ops.fibottention.mechanisms()

    def check_mechanism(self, text: str) -> Tuple[str, str]:
        return torch.ops.fibottention.check_mechanism(text)

    def support(self, attention: str, tokens: int, cls: int, heads: int, layer: Optional[int], causal: bool,
                grid_shape: Sequence[int]) -> Any:
        return torch.classes.fibottention.Support.named(attention, tokens, cls, heads, layer, causal, list(grid_shape))


loaded: Optional[Union[TorchLibrary, c_library.CLibrary]] = None


def candidates() -> List[Path]:
    """Where a library may lie, the first that loads wins: named, beside the package, built here, installed."""
    named = os.environ.get("FIBOTTENTION_LIBRARY")
    if named:
        return [Path(named)]
    package = Path(__file__).resolve().parent
    machine = sysconfig.get_config_var("MULTIARCH") or ""  # a folder of Debian's lib
    around = [parent / folder for parent in package.parents for folder in ("", "build", "lib", machine)]
    return [folder / name for folder in [package, *around, Path("/usr/local/lib")] for name in NAMES]


def load_library(path: Optional[Union[str, Path]] = None) -> Path:
    """Registers the operators and returns the path of the library that did. Loading twice is harmless: operators are
    registered once in a process."""
    if loaded is not None:
        return loaded.path
    tried = [Path(path)] if path else candidates()
    reasons = []
    for candidate in filter(Path.is_file, tried):
        try:
            return load(candidate)
        except OSError as reason:
            reasons.append(f"{candidate} does not load into torch {torch.__version__}: {reason}")
    if reasons:
        raise ImportError("; ".join(reasons))
    listed = ", ".join(str(p) for p in tried[:4])
    raise ImportError(f"{' and '.join(NAMES)} not found (looked at {listed}, …); build one, or set FIBOTTENTION_LIBRARY "
                      "to its path")


def load(path: Path) -> Path:
    global loaded
    if "torch" in path.name:
        loaded = TorchLibrary(path)
    else:
        made = c_library.CLibrary(path)
        c_operators.register(made)
        loaded = made
    return path


def active() -> Union[TorchLibrary, c_library.CLibrary]:
    load_library()
    assert loaded is not None
    return loaded
