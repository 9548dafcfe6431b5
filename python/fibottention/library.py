# SPDX-License-Identifier: Apache-2.0
"""Finds libfibottention_torch.so and gives it to torch."""

import os
import sysconfig
from pathlib import Path
from typing import List, Optional, Union

import torch

NAME = "libfibottention_torch.so"


def candidates() -> List[Path]:
    """Where the library may lie, the first that exists wins: named, beside the package, built here, installed."""
    named = os.environ.get("FIBOTTENTION_LIBRARY")
    if named:
        return [Path(named)]
    package = Path(__file__).resolve().parent
    machine = sysconfig.get_config_var("MULTIARCH") or ""  # a folder of Debian's lib
    around = [parent / folder for parent in package.parents for folder in ("", "build", "lib", machine)]
    return [folder / NAME for folder in [package, *around, Path("/usr/local/lib")]]


def load_library(path: Optional[Union[str, Path]] = None) -> Path:
    """Registers the operators and returns the path of the library that did. Loading twice is harmless."""
    tried = [Path(path)] if path else candidates()
    for candidate in tried:
        if candidate.is_file():
            return load(candidate)
    listed = ", ".join(str(p) for p in tried[:4])
    raise ImportError(f"{NAME} not found (looked at {listed}, …); build it, or set FIBOTTENTION_LIBRARY to its path")


def load(library: Path) -> Path:
    try:
        torch.ops.load_library(str(library))
    except OSError as reason:
        raise ImportError(f"{library} does not load into torch {torch.__version__}, it was built for another one: "
                          f"{reason}") from reason
    return library
