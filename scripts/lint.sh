#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One format check, one linter. clang-tidy reads the torch-free sources: torch headers would cost half a minute per file.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-14 --dry-run --Werror
bash -n scripts/*.sh .ci/run

cmake -S . -B build-lint -G Ninja -DFIB_WITH_TORCH=OFF -DFIB_BUILD_TESTS=OFF -DCMAKE_CXX_COMPILER_LAUNCHER= >/dev/null
python3 - <<'PY' >build-lint/tidy-files
import json
for entry in json.load(open("build-lint/compile_commands.json")):
    print(entry["file"])
PY
cmake --build build-lint --target help >/dev/null
xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build-lint --quiet <build-lint/tidy-files
echo "lint: clean"
