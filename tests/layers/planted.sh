#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check-layers.py finds what it is for: each kind of violation is planted into an empty house.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# FILE INCLUDE [FILE INCLUDE]...: a tree of these files, and what the check says of it.
check() {
  rm -rf "$work/src"
  mkdir -p "$work/docs" "$work/include" "$work/src"
  cp "$top/docs/architecture.md" "$work/docs"
  while (($# > 0)); do
    mkdir -p "$(dirname "$work/src/$1")"
    echo "#include $2" >"$work/src/$1"
    shift 2
  done
  python3 -B "$top/scripts/check-layers.py" "$work" 2>&1
}

# MESSAGE FILE INCLUDE...
refuses() {
  local said
  if said=$(check "${@:2}") || [[ $said != *"$1"* ]]; then
    echo "expected '$1', got '$said'" >&2
    exit 1
  fi
}

check kernels/a.h '"base/b.h"' base/b.h '<vector>' ops/c.h '<torch/torch.h>' models/torch/d.h '"ops/c.h"'
refuses "kernels stands below base" base/a.h '"kernels/b.h"' kernels/b.h '<vector>'
refuses "only a folder torch/ may" patterns/a.h '<torch/torch.h>'
refuses "only a folder torch/ may" data/a.h '<ATen/Parallel.h>'
refuses "only a folder torch/ may" training/run/a.h '"training/torch/b.h"' training/torch/b.h '<vector>'
refuses "only a folder torch/ may" attention/a.h '"ops/b.h"' ops/b.h '<vector>'
refuses "report -> report/page -> report" report/a.h '"report/page/b.h"' report/page/b.h '"report/c.h"' report/c.h '<vector>'
refuses "base/a.h -> base/b.h -> base/a.h" base/a.h '"base/b.h"' base/b.h '"base/a.h"'
refuses "the room cellar is not in the table" cellar/a.h '"base/b.h"' base/b.h '<vector>'
echo "every kind of violation is found"
