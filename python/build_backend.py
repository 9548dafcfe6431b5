# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of this tree: as what pip asks (PEP 517), and as a program, which `make wheel` calls:

    python3 python/build_backend.py FOLDER [--library FILE]

The wheel holds libfibottention_c.so, which knows nothing of torch and so serves every version of it, and the libraries
that it needs and that not every system has. CMake builds it unless `--config-settings library=FILE` (with pip) or
--library names one that is built already. CMAKE_ARGS in the environment goes to CMake.
"""

import argparse
import base64
import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-python"
LIBRARY = "libfibottention_c.so"
# Where torch has loaded one of the same name already, that one is used.
BUNDLED = ("libhwy.so", "libgomp.so")


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = Path((config_settings or {}).get("library") or built_library())
    if not library.is_file():
        raise SystemExit(f"fibottention: there is no library {library}")
    files = {f"fibottention/{path.name}": path.read_bytes() for path in package_files()}
    for path in (library, *bundled_with(library)):
        files[f"fibottention/{path.name}"] = path.read_bytes()
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
                 "-DFIB_BUILD_TESTS=OFF", "-DFIB_WITH_TORCH=OFF", "-DCMAKE_UNITY_BUILD=ON",
                 *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
    subprocess.run(configure, check=True)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(min(4, os.cpu_count() or 1)))
    subprocess.run(["cmake", "--build", BUILD, "--target", "fibottention_c", "--parallel", jobs], check=True)
    return BUILD / LIBRARY


def bundled_with(library):
    """Those of BUNDLED that the library needs, as the loader finds them."""
    if library.name != LIBRARY:
        return []
    lines = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout.splitlines()
    found = re.findall(r"^\s*(\S+) => (\S+)", "\n".join(lines), re.MULTILINE)
    return [Path(path) for name, path in found if name.startswith(BUNDLED) and path.startswith("/")]


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
    """Any Python 3, since ctypes or torch loads the library; this kind of machine."""
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def metadata():
    """torch is no requirement: pip would look for another one than the system's, and say that there is none where it has no
    network. The package says what is missing when it is imported."""
    described = {"Metadata-Version": "2.1", "Name": "fibottention", "Version": version(),
                 "Summary": project_field("description"), "License": project_field("license"),
                 "Requires-Python": project_field("requires-python"), "Provides-Extra": "torch",
                 "Requires-Dist": 'torch>=1.13; extra == "torch"', "Description-Content-Type": "text/markdown"}
    lines = "".join(f"{key}: {value}\n" for key, value in described.items())
    wheel = f"Wheel-Version: 1.0\nGenerator: fibottention\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    folder = f"{stem()}.dist-info"
    return {f"{folder}/METADATA": (lines + "\n" + (ROOT / "README.md").read_text()).encode(),
            f"{folder}/WHEEL": wheel.encode(), f"{folder}/LICENSE": (ROOT / "LICENSE").read_bytes()}


def write_wheel(path, files):
    record = f"{stem()}.dist-info/RECORD"
    rows = [f"{name},{digest(content)},{len(content)}" for name, content in files.items()] + [f"{record},,"]
    part = path.with_name(path.name + ".part")  # no half a wheel has its name
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, record: "\n".join(rows).encode() + b"\n"}.items():
            archive.writestr(name, content)
    part.replace(path)


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def how_to_install(wheel):
    """The package finds interpreters with torch; it is read from its file, for it wants torch itself."""
    spec = importlib.util.spec_from_file_location("interpreters", ROOT / "python/fibottention/interpreters.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.how_to_install(wheel)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the wheel is written")
    parser.add_argument("--library", help=f"a {LIBRARY} that is built already")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    wheel = options.folder / build_wheel(options.folder, {"library": options.library})
    print(wheel)
    print(how_to_install(wheel))


if __name__ == "__main__":
    sys.exit(main())
