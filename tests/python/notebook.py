# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of a notebook in their order, without Jupyter: notebook.py FILE.ipynb compares what they print and show
with what the file holds; --write puts it there. A cell with the tag `times` is run, and its figures are not compared.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path


def run(source, names):
    """What a cell prints, and the last expression as a prompt shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    return printed.getvalue() + ("" if value is None else repr(value))


def shown(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"])


def as_outputs(text):
    return [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []


def main(file, write=False):
    notebook = json.loads(Path(file).read_text())
    names, count = {"__name__": "__main__"}, 0
    for cell in (c for c in notebook["cells"] if c["cell_type"] == "code"):
        count += 1
        text = run("".join(cell["source"]), names)
        if write:
            cell["outputs"], cell["execution_count"] = as_outputs(text), count
        elif "times" not in cell["metadata"].get("tags", []) and text != shown(cell):
            return f"{file}: cell {count} shows\n{text}\nand not\n{shown(cell)}"
    if write:
        Path(file).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1], "--write" in sys.argv))
