# SPDX-License-Identifier: Apache-2.0
"""Which Python of this system has torch: the one that comes first in PATH, pyenv's or conda's, may have none, and
Debian's has Debian's. Needs no torch itself.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Tuple

QUESTION = "import importlib.metadata as m, sys; print(sys.executable, m.version('torch'))"


def interpreters() -> List[str]:
    """Those in PATH and Debian's, this one first, each once."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    found = [sys.executable] + [str(Path(folder) / "python3") for folder in folders if folder]
    return [path for path in dict.fromkeys(found) if os.access(path, os.X_OK)]


def torch_of(python: str) -> Optional[Tuple[str, str]]:
    """The interpreter's own path and its torch's version."""
    try:
        answer = subprocess.run([python, "-I", "-c", QUESTION], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    executable, _, version = answer.stdout.strip().rpartition(" ")
    return executable, version


def with_torch() -> Optional[Tuple[str, str]]:
    return next((found for found in map(torch_of, interpreters()) if found), None)


def steps(python: str, what: str) -> str:
    return (f"{python} -m venv --system-site-packages ENV && ENV/bin/pip install {what}")


def without_torch() -> str:
    """What to say where torch is missing."""
    missing = f"fibottention needs torch, which {sys.executable} does not have"
    found = with_torch()
    if not found:
        return (f"{missing}, nor has any other python3 in PATH; install it: pip install torch, or on Debian "
                "apt-get install python3-torch")
    return f"{missing}; {found[0]} has torch {found[1]}: {steps(found[0], 'fibottention-….whl')}, or pip install torch here"


def how_to_install(wheel: Path) -> str:
    found = with_torch()
    if not found:
        return f"no python3 in PATH has torch: pip install torch {wheel}"
    return f"{found[0]} has torch {found[1]}: {steps(found[0], str(wheel))}"
