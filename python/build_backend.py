# SPDX-License-Identifier: Apache-2.0
"""What pip asks to make a wheel of this tree (PEP 517): builds the operator's library with CMake and puts it into the package.

CMAKE_ARGS in the environment goes to CMake, e.g. CMAKE_ARGS=-DCMAKE_PREFIX_PATH=… for a torch that is not the system's.
`--config-settings library=FILE` takes a library that is built already. The wheel is for the torch it was built with.
"""

import base64
import hashlib
import os
import re
import shlex
import subprocess
import sysconfig
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-python"
LIBRARY = "libfibottention_torch.so"


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = Path((config_settings or {}).get("library") or built_library())
    if not library.is_file():
        raise SystemExit(f"fibottention: there is no library {library}")
    files = {f"fibottention/{path.name}": path.read_bytes() for path in package_files()}
    files[f"fibottention/{LIBRARY}"] = library.read_bytes()
    name = f"{stem()}-{tag()}.whl"
    write_wheel(Path(wheel_directory) / name, {**files, **metadata()})
    return name


def build_sdist(sdist_directory, config_settings=None):
    """What git knows, under one folder."""
    name = f"{stem()}.tar.gz"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in filter(None, listed.split("\0")):
            archive.add(ROOT / path, f"{stem()}/{path}")
    return name


def built_library():
    ninja = ["-G", "Ninja"] if subprocess.call(["sh", "-c", "command -v ninja >/dev/null"]) == 0 else []
    configure = ["cmake", "-S", ROOT, "-B", BUILD, *ninja, "-DCMAKE_BUILD_TYPE=Release", "-DFIB_BUILD_PROGRAM=OFF",
                 "-DFIB_BUILD_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    subprocess.run(configure, check=True)
    # Torch headers cost over 1 GB per compiler process.
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(min(4, os.cpu_count() or 1)))
    subprocess.run(["cmake", "--build", BUILD, "--target", "fibottention_torch", "--parallel", jobs], check=True)
    return BUILD / LIBRARY


def package_files():
    return sorted(p for p in (ROOT / "python/fibottention").iterdir() if p.suffix == ".py" or p.name == "py.typed")


def project_field(field):
    """A text of pyproject.toml's [project], which is simple enough for Pythons that cannot read TOML."""
    text = (ROOT / "pyproject.toml").read_text().partition("[project]")[2]
    return re.search(rf'^{field} = .*?"([^"]+)"', text, re.MULTILINE).group(1)


def version():
    return re.search(r"project\(fibottention VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def stem():
    return f"fibottention-{version()}"


def tag():
    """Any Python 3, since torch loads the library; this kind of machine."""
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def metadata():
    described = {"Metadata-Version": "2.1", "Name": "fibottention", "Version": version(),
                 "Summary": project_field("description"), "License": project_field("license"),
                 "Requires-Python": project_field("requires-python"), "Requires-Dist": project_field("dependencies"),
                 "Description-Content-Type": "text/markdown"}
    lines = "".join(f"{key}: {value}\n" for key, value in described.items())
    wheel = f"Wheel-Version: 1.0\nGenerator: fibottention\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    folder = f"{stem()}.dist-info"
    return {f"{folder}/METADATA": (lines + "\n" + (ROOT / "README.md").read_text()).encode(),
            f"{folder}/WHEEL": wheel.encode(), f"{folder}/LICENSE": (ROOT / "LICENSE").read_bytes()}


def write_wheel(path, files):
    record = f"{stem()}.dist-info/RECORD"
    rows = [f"{name},{digest(content)},{len(content)}" for name, content in files.items()] + [f"{record},,"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, record: "\n".join(rows).encode() + b"\n"}.items():
            archive.writestr(name, content)


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
