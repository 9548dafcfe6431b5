#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exported models in ONNX Runtime: what they compute beside LibTorch, and how long they take beside our engine; its
# dense attention beside ours.
# Usage: scripts/compare-onnxruntime.sh [parity|speed|attention|all]   (default: all)
#   BUILD=build            where fib was built, with tests
#   FIB_VIT_WEIGHTS=F      ViT-Ti/16 in a safetensors file; without it ViT-Ti has random weights
#   ROUNDS=3 MODELS="…"    turns of each contestant; rows of the table of speed, e.g. "vit_tiny_patch16_224@224"
#   TOKENS="784 4096"    rows of the table of attention
#   ATTENTION=fibottention the sparse attention of the table of speed
#   ORT=DIR                a folder with node_modules/onnxruntime-node; without it one is fetched, and removed afterwards
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
case $what in parity | speed | attention | all) ;; *) echo "compare-onnxruntime: parity, speed, attention or all, got '$what'" >&2; exit 2 ;; esac
for tool in node npm; do
  command -v $tool >/dev/null || { echo "compare-onnxruntime: needs $tool (Debian's nodejs and npm)" >&2; exit 1; }
done
export FIB=$PWD/${BUILD:-build}/fib
[[ -x $FIB ]] || { echo "compare-onnxruntime: $FIB is not built" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work
if [[ -z ${ORT:-} ]]; then
  export ORT=$work/ort
  mkdir "$ORT"
  # Scripts of packages are not run: the one of this package fetches CUDA, and the library for CPUs is in it.
  (cd "$ORT" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error onnxruntime-node >/dev/null)
fi

if [[ $what == parity || $what == all ]]; then
  cmake --build "${BUILD:-build}" --target make_onnx_files >/dev/null
  mkdir "$work/minis"
  "${BUILD:-build}/make_onnx_files" "$work/minis"
fi
node scripts/compare-onnxruntime.js "$what"
