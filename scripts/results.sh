#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains every row of docs/results.md, two at a time on one thread each, and prints the table. Finished rows are kept,
# interrupted ones continued. Usage: scripts/results.sh [DIRECTORY=runs/results] [OPTION OF fib train...]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-runs/results}
shift || true
recipe=recipes/cifar10-results.toml
# attention, seed; what the paper's claims rest on comes twice
rows=(
  "fibottention 0" "full 0" "fibottention-modified 0" "longformer 0" "fibottention:masking=zero 0" "bigbird 0"
  "fibottention 1" "full 1" "fibottention-modified 1" "longformer 1" "sparse-transformer 0" "random 0"
  "efficient 0" "linformer 0" "topk 0"
)

name_of() { echo "${1//[:=]/-}-$2"; }

train_row() {
  local dir
  dir=$out/$(name_of "$1" "$2")
  [[ -e $dir/summary.json ]] && return
  local options=(--resume)
  [[ -e $dir/state.pt ]] || options=(--recipe "$recipe" --attention "$1" --seed "$2" "${@:3}")
  build/fib --threads 1 train --out "$dir" "${options[@]}" >>"$dir.log" 2>&1
  echo "trained $dir"
}

mkdir -p "$out"
for row in "${rows[@]}"; do
  read -r attention seed <<<"$row"
  while (($(jobs -rp | wc -l) >= 2)); do wait -n; done
  train_row "$attention" "$seed" "$@" &
done
wait

dirs=()
for row in "${rows[@]}"; do
  read -r attention seed <<<"$row"
  dirs+=("$out/$(name_of "$attention" "$seed")")
done
build/fib runs "${dirs[@]}" --plot "$out/curves.svg" | tee "$out/table.txt"
