#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One format check, one check of layers, one of the documentation's names, one linter for all of src/.
# Usage: scripts/lint.sh [--quick]     --quick leaves out clang-tidy, which takes longer than all tests
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-14 --dry-run --Werror
bash -n scripts/*.sh .ci/run
scripts/check-layers.py
scripts/check-docs.sh
scripts/results-tables.py --check
if [[ ${1:-} == --quick ]]; then exit 0; fi
scripts/build-explorer.sh --check

# Whole rooms at a time: most of clang-tidy's work is reading the headers of other libraries, torch's above all.
cmake -S . -B build-lint -G Ninja -DFIB_BUILD_TESTS=OFF -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER= \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 >/dev/null
# The slowest, which are the last in the list, first: no core waits for another at the end.
python3 - <<'PY' >build-lint/tidy-files
import json
for entry in reversed(json.load(open("build-lint/compile_commands.json"))):
    print(entry["file"])
PY
# clang 14 cannot read all of C++20 (LibTorch 1.13's vector of the incomplete IValue, captured structured bindings) and says
# so with clang-diagnostic-error; whether the code compiles is the compiler's to say. What its checks find in our files counts.
xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build-lint --quiet <build-lint/tidy-files >build-lint/tidy.log 2>&1 || true
findings=$(grep -E "^$PWD/(src|include|cmake)/[^ ]+: (error|warning):" build-lint/tidy.log |
  grep -vF '[clang-diagnostic-error]' | sort -u || true)
if [[ -n $findings ]]; then
  echo "$findings" >&2
  echo "lint: see build-lint/tidy.log" >&2
  exit 1
fi
echo "lint: clean"
