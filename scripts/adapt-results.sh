#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tables of "Adapting pretrained weights" in docs/results.md: the ViT-Ti of ImageNet with sparse attention, its own
# weights and adapted ones. IMAGES and CHOOSE hold folders of images by class index, which scripts/adapt-images.sh
# divides; those of CHOOSE decide in which order layers become sparse. Steps that are done are kept; a run that was
# stopped is resumed.
# Usage: scripts/adapt-results.sh WEIGHTS IMAGES CHOOSE [DIRECTORY=runs/adapt]
#   PARTS="union layers"      union: neighbors and summaries beside the dilations, in all layers; layers: the paper's masks
#   FIB_THREADS=1             threads
#   ATTENTIONS="A B"          mechanisms that are adapted; all but the first in all layers
#   SPARSE="12 8"             how many layers of the first one become sparse, in each of its runs
#   EPOCHS=N                  of each run; the recipe's
set -euo pipefail

fib=${FIB:-$(dirname "$0")/../build/fib}
weights=$1 images=$2 choose=$3 out=${4:-runs/adapt}
read -ra attentions <<<"${ATTENTIONS:-fibottention fibottention-modified longformer}"
read -ra counts <<<"${SPARSE:-12 8}"
threads=(--threads "${FIB_THREADS:-1}") epochs=()
[[ -z ${EPOCHS:-} ]] || epochs=(--epochs "$EPOCHS")
model=(--model vit_tiny_patch16_224 --weights "$weights")
layers=12 parts=${PARTS:-union layers}
mkdir -p "$out"

# FILE ATTENTION LAYERS DATA: what fib eval says, kept in FILE; no LAYERS: all
evaluate() {
  local place=()
  [[ -n $3 ]] && place=(--attention-layers "$3")
  [[ -e $1 ]] || { "$fib" eval --quiet --json "${threads[@]}" "${model[@]}" --attention "$2" "${place[@]}" --data "folder:$4" >"$1.part" && mv "$1.part" "$1"; }
}

# FIGURE FILE [STAGE]: a number of a JSON file
figure() {
  tr -d ' \n' <"$2" | sed -E "s/.*${3:+\"$3\":[{][^\}]*}\"$1\":([0-9.e+-]+).*/\1/"
}

percent() { awk -v x="$1" 'BEGIN { printf "%.1f", 100 * x }'; }

# Layers by what their being sparse alone costs: the loss on CHOOSE, least first.
order_of_layers() {
  local layer
  for ((layer = 0; layer < layers; ++layer)); do
    evaluate "$out/alone-$layer.json" "${attentions[0]}" "$layer" "$choose"
    echo "$(figure loss "$out/alone-$layer.json") $layer $(figure top1 "$out/alone-$layer.json")"
  done | sort -g
}

# NAME RECIPE [OPTION OF fib adapt...]
adapt() {
  local run=$out/$1
  [[ -e $run/adaptation.json ]] && return
  if [[ -e $run/config.toml ]]; then
    "$fib" adapt "${threads[@]}" --resume --out "$run"
  else
    "$fib" adapt "${threads[@]}" --recipe "$2" --weights "$weights" --data "folder:$out/images" --out "$run" "${@:3}"
  fi
}

first() { head -n "$1" "$out/order.txt" | awk '{ print $2 }' | sort -n | paste -sd,; }

# Every patch sees neighbors and summaries, too; with steps that change nothing, the closed form stands alone.
adapt_unions() {
  adapt union-closed-form adapt-vit-tiny-grid --epochs 1 --lr 1e-12 --min-lr 0 --warmup-lr 0
  adapt union adapt-vit-tiny-grid "${epochs[@]}"
}

adapt_layers() {
  local layer top1 k attention
  order_of_layers >"$out/order.txt"
  echo "one sparse layer, ${attentions[0]}, top-1 on $choose, the least loss first:"
  while read -r _ layer top1; do printf '  layer %2d  %s %%\n' "$layer" "$(percent "$top1")"; done <"$out/order.txt"
  echo "the first k of these, nothing adapted, top-1 on the test images (dense: $(percent "$(figure top1 "$out/dense.json")") %):"
  for k in 2 4 6 7 8 9 10 12; do
    evaluate "$out/first-$k.json" "${attentions[0]}" "$(first "$k")" "$out/images"
    printf '  %2d  %s %%\n' "$k" "$(percent "$(figure top1 "$out/first-$k.json")")"
  done
  for k in "${counts[@]}"; do
    adapt "${attentions[0]}-$k" adapt-vit-tiny --attention "${attentions[0]}" --attention-layers "$(first "$k")" "${epochs[@]}"
  done
  for attention in "${attentions[@]:1}"; do
    adapt "$attention-$layers" adapt-vit-tiny --attention "$attention" "${epochs[@]}"
  done
}

"$(dirname "$0")/adapt-images.sh" "$images" "$choose" "$out/images"
evaluate "$out/dense.json" full "" "$out/images"
[[ " $parts " != *" union "* ]] || adapt_unions
[[ " $parts " != *" layers "* ]] || adapt_layers

echo "adapted:"
for run in "$out"/*/adaptation.json; do
  printf '  %-28s pruned %5s %%  top-1 %5s %% dense, %5s %% before, %5s %% after; agrees with dense %5s %%\n' \
    "$(basename "$(dirname "$run")")" "$(percent "$(figure pruned_share "$run")")" \
    "$(percent "$(figure top1 "$run" dense)")" "$(percent "$(figure top1 "$run" before)")" \
    "$(percent "$(figure top1 "$run" after)")" "$(percent "$(figure agreement "$run" after)")"
done
