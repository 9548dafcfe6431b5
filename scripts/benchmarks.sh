#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks whose figures README and docs quote, and prints each command and all that it says:
# scripts/benchmarks.sh [PART…] >docs/benchmarks/PROCESSOR.txt      parts: attention long python (default: all)
#   FIB     the program (default build/fib)         PYTHON  an interpreter with torch and torchvision (default /usr/bin/python3)
# Nothing else may run meanwhile; it takes some four minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
fib=${FIB:-build/fib}
python=${PYTHON:-/usr/bin/python3}
export PYTHONPATH=python${PYTHONPATH:+:$PYTHONPATH}

# SHOWN COMMAND…: the line as a person would write it, and what it prints.
show() {
  echo
  echo "\$ $1"
  "${@:2}"
}

fib_bench() { show "fib bench $*" "$fib" bench "$@"; }

run_attention() { fib_bench attention --tokens 196 --batch 8 --backward; }
run_long() { fib_bench attention --tokens 784,4096 --backward; }
profile() { show "python -m fibottention.profile $*" "$python" -B -m fibottention.profile "$@"; }
run_python() {
  profile torchvision:vit_b_16 --size 224 512 --repeat 4
  profile torchvision:vit_b_16 --size 1024 --repeat 1
}

parts=("$@")
((${#parts[@]} > 0)) || parts=(attention long python)
for part in "${parts[@]}"; do
  declare -F "run_$part" >/dev/null || { echo "benchmarks: unknown part '$part': attention, long or python" >&2; exit 2; }
done
echo "# $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(date -u +%F), commit $(git rev-parse --short HEAD)"
for part in "${parts[@]}"; do "run_$part"; done
