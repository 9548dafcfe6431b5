# SPDX-License-Identifier: Apache-2.0
"""The examples for Python, as a user runs them; those in C and C++ are built by tests/consumer/run.sh."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

try:
    import torch
    import torchvision
except ImportError as missing:
    print(f"SKIPPED: this interpreter has no {missing.name}")
    sys.exit(77)

import fibottention
import notebook

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Examples(unittest.TestCase):
    def test_are_short(self):
        for file in EXAMPLES.iterdir():
            if file.suffix in (".py", ".c", ".cpp"):
                self.assertLess(len(file.read_text().splitlines()), 60, file.name)

    def test_converts_and_trains(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([sys.executable, "-B", EXAMPLES / "convert_and_train.py", "40"], cwd=folder, text=True,
                                 capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            state = torch.load(Path(folder) / "stripes.pt")
        self.assertIn("fibottention:wmax=32 (cls 1)", ran.stdout)
        self.assertGreater(float(re.search(r"([\d.]+) after", ran.stdout).group(1)), 0.9)
        model = torchvision.models.VisionTransformer(32, 4, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64, num_classes=2)
        with self.assertWarnsRegex(UserWarning, "fibottention:wmax=32 in 2 layers"):
            model.load_state_dict(state)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fibottention.convert(model, "fibottention", wmax=32).load_state_dict(state)


class Notebook(unittest.TestCase):
    def test_shows_what_its_cells_show(self):
        self.assertEqual(notebook.main(EXAMPLES / "tour.ipynb"), 0)

    def test_that_shows_something_else_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = Path(folder) / "wrong.ipynb"
            wrong.write_text((EXAMPLES / "tour.ipynb").read_text().replace("(9192, 0.9801)", "(9193, 0.9801)"))
            self.assertIn("cell 2 shows\n(9192, 0.9801)\nand not\n(9193, 0.9801)", notebook.main(wrong))


if __name__ == "__main__":
    unittest.main()
