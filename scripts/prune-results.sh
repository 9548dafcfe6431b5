#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of UPop in docs/results.md: trains a small ViT on a part of Fashion-MNIST, removes 30 % and 50 % of the
# parameters of its blocks, trains what is left on, and tests every model. The second search is also interrupted and
# resumed: the pruned models must be equal to the bit. Steps that are done are kept.
# Usage: scripts/prune-results.sh [DIRECTORY=runs/prune]
set -euo pipefail
cd "$(dirname "$0")/.."

fib=${FIB:-build/fib}
out=${1:-runs/prune}
data=(--limit-per-class 500 --validation-fraction 0.02 --eval-batch 250)
train=(--recipe recipes/fashion-mnist.toml "${data[@]}" --warmup-epochs 0.5 --ema 0.99)
search=(--recipe recipes/upop-fashion-mnist.toml "${data[@]}" --weights "$out/whole/best.safetensors" --epochs 3
  --prune-interval 10)
mkdir -p "$out"

# DIRECTORY COMMAND...: runs it unless its summary is there
step() {
  [[ -e $1/summary.json ]] && return
  echo "== $1"
  "$fib" "${@:2}" --out "$1"
}

step "$out/whole" train "${train[@]}" --epochs 6
for percent in 30 50; do
  step "$out/search-$percent" prune "${search[@]}" --ratio "0.$percent"
  step "$out/again-$percent" train "${train[@]}" --weights "$out/search-$percent/pruned.safetensors" --epochs 4
done

if [[ ! -e $out/interrupted/summary.json ]]; then
  echo "== $out/interrupted"
  timeout --signal=INT 30 "$fib" prune "${search[@]}" --ratio 0.50 --checkpoint-every 20 --out "$out/interrupted" ||
    "$fib" prune --out "$out/interrupted" --resume
fi
cmp "$out/search-50/pruned.safetensors" "$out/interrupted/pruned.safetensors"
echo "interrupted and resumed: the same bits"

# LABEL WEIGHTS
test_row() {
  "$fib" eval --model vit_micro_patch2_28 --attention fibottention --weights "$2" --data fashion-mnist --quiet --json |
    sed -E "s/.*\"top1\":([0-9.]+).*/\1 top-1: $1/"
}
test_row "trained" "$out/whole/best.safetensors"
for percent in 30 50; do
  test_row "$percent % removed" "$out/search-$percent/pruned.safetensors"
  test_row "$percent % removed, trained on" "$out/again-$percent/best.safetensors"
done
