# SPDX-License-Identifier: Apache-2.0
"""The wheel as a stranger installs it: into a clean virtual environment with the system's torch, without a network. Which
interpreter has torch is said where this one has none.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile
from pathlib import Path

try:
    import torch
except ImportError:
    print("SKIPPED: this interpreter has no torch")
    sys.exit(77)

TOP = Path(__file__).resolve().parents[2]
LIBRARY = os.environ["FIB_C_LIBRARY"]
USE = """
import torch, fibottention as f
q = torch.randn(1, 3, 50, 8, requires_grad=True)
f.attention(q, q, q, 2, 9).sum().backward()
print(f.__version__, f.__file__, f.load_library(), f.support('full', tokens=3, heads=1).patch_pairs, q.grad.isfinite().all().item())
"""


def run(*words, **environment):
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "FIBOTTENTION_LIBRARY")}
    kept.update(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore", **environment)
    return subprocess.run(list(map(str, words)), env=kept, cwd="/", text=True, capture_output=True)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = Path(cls.folder.name)
        cls.made = run(sys.executable, TOP / "python/build_backend.py", cls.work, "--library", LIBRARY)
        cls.wheel = next(cls.work.glob("*.whl"), None)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def environment(self, name, *options):
        """A virtual environment with the wheel in it. pip of this interpreter installs, which is faster than a pip of its own."""
        self.assertEqual(run(sys.executable, "-m", "venv", "--without-pip", *options, self.work / name).returncode, 0)
        python = self.work / name / "bin/python"
        installed = run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", self.wheel)
        if "No module named pip" in installed.stderr:
            self.skipTest("this interpreter has no pip")
        self.assertEqual(installed.returncode, 0, installed.stderr)
        return python

    def test_says_how_to_install_it(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        self.assertRegex(self.made.stdout, r"has torch [\d.]+\S*: \S+ -m venv --system-site-packages ENV && ENV/bin/pip install")

    def test_works_in_a_clean_environment(self):
        python = self.environment("with-torch", "--system-site-packages")
        ran = run(python, "-c", USE)
        self.assertEqual(ran.stderr, "")
        version = re.search(r"fibottention VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text()).group(1)
        package = self.work / "with-torch" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages/fibottention"
        self.assertEqual(ran.stdout, f"{version} {package}/__init__.py {package}/libfibottention_c.so 9 True\n")
        self.assertNotIn("fibottention", run(sys.executable, "-m", "pip", "--python", python, "check").stdout)

    def test_names_the_interpreter_that_has_torch(self):
        python = self.environment("without-torch")
        ran = run(python, "-c", "import fibottention")
        last = ran.stderr.strip().splitlines()[-1]
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"fibottention needs torch, which {python} does not have; ", last)
        self.assertRegex(last, r"; /\S+ has torch [\d.]+\S*: /\S+ -m venv --system-site-packages ENV")

    def test_brings_what_it_needs_and_nothing_of_torch(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        needed = run("readelf", "-d", LIBRARY).stdout
        bundled = [name for name in re.findall(r"NEEDED.*\[(.*)\]", needed) if not re.match(r"lib(c|m)\.so|ld-linux", name)]
        self.assertEqual([name for name in bundled if f"fibottention/{name}" not in names], [])
        self.assertNotIn("torch", needed)
        self.assertTrue(self.wheel.name.startswith("fibottention-") and "-py3-none-" in self.wheel.name)

    def test_refuses_a_library_that_is_not_there(self):
        ran = run(sys.executable, TOP / "python/build_backend.py", self.work, "--library", "/nowhere.so")
        self.assertEqual((ran.returncode, ran.stderr), (1, "fibottention: there is no library /nowhere.so\n"))


class Library(unittest.TestCase):
    def test_is_looked_for_in_one_place_after_the_other(self):
        ran = run(sys.executable, "-c", "import fibottention", PYTHONPATH=str(TOP / "python"),
                  FIBOTTENTION_LIBRARY="/nowhere/lib.so")
        self.assertIn("looked at /nowhere/lib.so", ran.stderr)

    def test_of_another_kind_is_refused_in_one_line(self):
        ran = run(sys.executable, "-c", "import fibottention", PYTHONPATH=str(TOP / "python"), FIBOTTENTION_LIBRARY=__file__)
        self.assertRegex(ran.stderr.strip().splitlines()[-1], r"^ImportError: \S+test_wheel.py does not load into torch")

    def test_is_found_where_debian_puts_it(self):
        with tempfile.TemporaryDirectory() as folder:
            lib = Path(folder) / "lib"
            shutil.copytree(TOP / "python/fibottention", lib / "python3/dist-packages/fibottention")
            library = lib / (sysconfig.get_config_var("MULTIARCH") or "") / "libfibottention_c.so"
            library.parent.mkdir(exist_ok=True)
            library.symlink_to(LIBRARY)
            ran = run(sys.executable, "-B", "-c", "import fibottention as f; print(f.load_library())",
                      PYTHONPATH=str(lib / "python3/dist-packages"))
            self.assertEqual(ran.stdout, f"{library}\n", ran.stderr)


if __name__ == "__main__":
    unittest.main()
