#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package as a stranger meets it: a clean virtual environment with the system's torch, pip install of this tree
# without a network, then torchvision's ViT-B/16 and Swin-T converted, run, trained a step, and compared.
# With the program as argument, compared with it on the same weights too: scripts/try-python.sh [build/fib]
set -euo pipefail
cd "$(dirname "$0")/.."
fib=${1:+$(realpath "$1")}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

/usr/bin/python3 -m venv --system-site-packages "$folder/venv"
PIP_NO_INDEX=1 "$folder/venv/bin/pip" install --quiet .
tests=$PWD/tests/python
cd "$folder"
env -u FIBOTTENTION_LIBRARY PYTHONPATH="$tests" FIB_BINARY="$fib" venv/bin/python -B "$tests/try_torchvision.py"
