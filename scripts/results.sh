#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains every row of docs/results.md, two at a time on one thread each, and prints the table. Finished rows are kept,
# interrupted ones continued. Usage: scripts/results.sh [DIRECTORY=runs/results] [OPTION OF fib train...]
set -euo pipefail
cd "$(dirname "$0")/.."

fib=${FIB:-build/fib}
out=${1:-runs/results}
shift || true
vit=vit_micro_patch2_28 convit=convit_micro_patch2_28 swin=swin_micro_patch2_window7_28
# model, attention, seed; what the paper's claims rest on comes twice
rows=(
  "$vit fibottention 0" "$vit full 0" "$vit fibottention-modified 0" "$vit longformer 0"
  "$vit fibottention:masking=zero 0" "$vit bigbird 0" "$vit fibottention 1" "$vit full 1"
  "$vit fibottention-modified 1" "$vit longformer 1" "$vit sparse-transformer 0" "$vit random 0" "$vit efficient 0"
  "$vit linformer 0" "$vit topk 0"
  "$convit full 0" "$convit fibottention 0" "$convit full 1" "$convit fibottention 1"
  "$swin full 0" "$swin fibottention 0" "$swin full 1" "$swin fibottention 1"
)

# MODEL ATTENTION SEED
directory_of() {
  local backbone=${1%%_*}-
  echo "$out/${backbone#vit-}${2//[:=]/-}-$3"
}

train_row() {
  local dir
  dir=$(directory_of "$1" "$2" "$3")
  [[ -e $dir/summary.json ]] && return
  local options=(--resume)
  [[ -e $dir/state.pt ]] ||
    options=(--recipe recipes/cifar10-results.toml --model "$1" --attention "$2" --seed "$3" "${@:4}")
  if "$fib" --threads 1 train --out "$dir" "${options[@]}" >>"$dir.log" 2>&1; then
    echo "trained $dir"
  else
    echo "results: $dir failed, see $dir.log" >&2
  fi
}

mkdir -p "$out"
for row in "${rows[@]}"; do
  read -r model attention seed <<<"$row"
  while (($(jobs -rp | wc -l) >= 2)); do wait -n; done
  train_row "$model" "$attention" "$seed" "$@" &
done
wait

finished=()
for row in "${rows[@]}"; do
  read -r model attention seed <<<"$row"
  dir=$(directory_of "$model" "$attention" "$seed")
  [[ -e $dir/summary.json ]] && finished+=("$dir")
done
"$fib" runs "${finished[@]}" --plot "$out/curves.svg" | tee "$out/table.txt"
((${#finished[@]} == ${#rows[@]}))
