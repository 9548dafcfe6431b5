#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the rows of docs/results.md on one thread each, and prints their table. Finished rows are kept, interrupted ones
# continued; rows in docs/results/TABLE.json, which outlive their runs, are not trained again.
# Usage: scripts/results.sh [TABLE=cifar10-whole] [DIRECTORY=runs/TABLE] [OPTION OF fib train...]
#   cifar10-whole   all of CIFAR-10, ten epochs, six mechanisms, three seeds
#   cifar10-equal-pairs  the same budget of pairs for every mechanism: five seeds of what the paper's claims rest on, three of the rest
#   cifar100-whole  cifar10-whole on CIFAR-100, four mechanisms, one seed
#   cifar10-tenth   5,000 images of CIFAR-10, four epochs, all mechanisms and three backbones
#   JOBS=2          rows at a time
#   AGAIN=1         train rows that were kept, too
# The rows that are there now are written to DIRECTORY/rows.json: a copy of it is what docs/results keeps.
set -euo pipefail
cd "$(dirname "$0")/.."

fib=${FIB:-build/fib}
table=${1:-cifar10-whole}
out=${2:-runs/$table}
shift $(($# < 2 ? $# : 2))
kept=docs/results/$table.json
recipe=recipes/$table.toml
[[ $table == cifar10-equal-pairs ]] && recipe=recipes/cifar10-whole.toml
if [[ $table == cifar100-whole ]]; then
  recipe=recipes/cifar10-whole.toml
  set -- --data cifar100 "$@"
fi

# model, attention, seed
rows_of_cifar10-whole() {
  local seed attention
  for seed in 0 1 2; do
    for attention in full fibottention fibottention:masking=zero fibottention-modified longformer bigbird; do
      echo "vit_nano_patch2_28 $attention $seed"
    done
  done
}

# Fibottention computes 8,160 pairs of patch tokens in six heads. Longformer, BigBird and random are set to exactly as many, the
# others to the nearest: 7,996 modified, 8,166 sparse-transformer, 9,288 local, 8,232 top-k and the ranks of Linformer and
# Efficient Attention (fib pattern --heads 6 --attention NAME --match-pairs fibottention).
rows_of_cifar10-equal-pairs() {
  local seed attention
  for seed in 0 1 2 3 4; do
    for attention in fibottention full longformer:w=3 bigbird:random=774 fibottention:masking=zero fibottention-modified:wmax=20; do
      echo "vit_nano_patch2_28 $attention $seed"
    done
  done
  for seed in 0 1 2; do
    for attention in random:ratio=0.964598 sparse-transformer:stride=18 local:w=4 topk:k=7 linformer:k=7 efficient:dim=7; do
      echo "vit_nano_patch2_28 $attention $seed"
    done
  done
}

rows_of_cifar100-whole() {
  printf 'vit_nano_patch2_28 %s 0\n' full fibottention fibottention:masking=zero fibottention-modified
}

# What the paper's claims rest on comes twice.
rows_of_cifar10-tenth() {
  local vit=vit_micro_patch2_28 convit=convit_micro_patch2_28 swin=swin_micro_patch2_window7_28
  printf '%s\n' "$vit "{fibottention,full,fibottention-modified,longformer}" "{0,1}
  printf '%s\n' "$vit "{fibottention:masking=zero,bigbird,sparse-transformer,random,efficient,linformer,topk}" 0"
  printf '%s\n' {"$convit","$swin"}" "{full,fibottention}" "{0,1}
}

# MODEL ATTENTION SEED
name_of() {
  local backbone=${1%%_*}-
  echo "${backbone#vit-}${2//[:=]/-}-$3"
}

is_kept() { [[ -z ${AGAIN:-} && -e $kept ]] && grep -q "\"run\":\"$1\"" "$kept"; }

train_row() {
  local dir
  dir=$out/$(name_of "$1" "$2" "$3")
  [[ -e $dir/summary.json ]] && return
  local options=(--resume)
  [[ -e $dir/state.pt ]] || options=(--recipe "$recipe" --model "$1" --attention "$2" --seed "$3" "${@:4}")
  if "$fib" --threads 1 train --out "$dir" "${options[@]}" >>"$dir.log" 2>&1; then
    echo "trained $dir"
  else
    echo "results: $dir failed, see $dir.log" >&2
  fi
}

declare -F "rows_of_$table" >/dev/null ||
  { echo "results: unknown table '$table', known: cifar10-whole cifar10-equal-pairs cifar100-whole cifar10-tenth" >&2; exit 2; }
mkdir -p "$out"
mapfile -t rows < <("rows_of_$table")
for row in "${rows[@]}"; do
  read -r model attention seed <<<"$row"
  is_kept "$(name_of "$model" "$attention" "$seed")" && continue
  while (($(jobs -rp | wc -l) >= ${JOBS:-2})); do wait -n; done
  train_row "$model" "$attention" "$seed" "$@" &
done
wait

present=()
missing=0
[[ -z ${AGAIN:-} && -e $kept ]] && present+=("$kept")
for row in "${rows[@]}"; do
  read -r model attention seed <<<"$row"
  name=$(name_of "$model" "$attention" "$seed")
  is_kept "$name" && continue
  if [[ -e $out/$name/summary.json ]]; then present+=("$out/$name"); else missing=$((missing + 1)); fi
done
"$fib" runs "${present[@]}" | tee "$out/table.txt"
"$fib" runs "${present[@]}" --json | sed 's/},{/},\n{/g' >"$out/rows.json" # a row a line, for those who compare versions
((missing == 0)) || { echo "results: $missing rows are not there yet" >&2; exit 1; }
