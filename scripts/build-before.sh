#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds an older commit into build/before, for the scripts that compare this tree with it, and prints where
# its fib is, or, with a target, the build folder.
# Usage: scripts/build-before.sh COMMIT [TARGET]     default: the programs
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# -eq 1 || $# -eq 2 ]] || { echo "build-before: which COMMIT? see the head of this file" >&2; exit 2; }
git rev-parse --quiet --verify "$1^{commit}" >/dev/null || { echo "build-before: no commit '$1'" >&2; exit 2; }
tree=build/before
[[ -e $tree/.git ]] || git worktree add --detach --force "$tree" "$1" >&2
git -C "$tree" checkout --quiet --detach "$1"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DFIB_BUILD_TESTS=OFF \
  -DFIB_WERROR=OFF >"$log" 2>&1 && cmake --build "$tree/build" ${2:+--target "$2"} >>"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; echo "build-before: $1 does not build here" >&2; exit 1; }
[[ $# -eq 2 ]] && echo "$tree/build" || echo "$tree/build/fib"
