#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of "Fewer tokens and fewer pairs" in docs/results.md: ViT-Ti of ImageNet, compiled with fewer tokens, fewer
# pairs and both, nothing trained for the tokens. Accuracy on IMAGES (folders by class index), then all models of a
# resolution timed in turns in one run; nothing else should run then. What is done is kept in DIRECTORY.
# Usage: scripts/token-results.sh DENSE.safetensors SPARSE.safetensors IMAGES [DIRECTORY=runs/tokens]
#   SPARSE: weights that fib adapt has made, or those of the dense model again
#   RESOLUTIONS="224 384"  PRECISIONS="f32 int8"  FIB_THREADS=2  ATTENTION=fibottention:grid=3,summaries=4x4
set -euo pipefail

fib=${FIB:-$(dirname "$0")/../build/fib}
dense=$1 sparse=$2 images=$3 out=${4:-runs/tokens}
attention=${ATTENTION:-fibottention:grid=3,summaries=4x4}
threads=(--threads "${FIB_THREADS:-2}")
mkdir -p "$out"

# FILE RESOLUTION PRECISION WEIGHTS ATTENTION [TOKENS]
compile() {
  [[ -e $1 ]] || "$fib" compile --quiet --model vit_tiny_patch16_224 --resolution "$2" --precision "$3" --weights "$4" \
    --attention "$5" ${6:+--tokens "$6"} -o "$1"
}

models() {  # RESOLUTION: NAME WEIGHTS ATTENTION [TOKENS], one a line
  local r=$((13 * $1 * $1 / 50176))
  echo "dense $dense full"
  echo "tome $dense full tome:r=$((r * 8 / 13))"
  echo "tome-more $dense full tome:r=$r"
  echo "evit $dense full evit:keep=0.7,at=3,6,9"
  echo "sparse $sparse $attention"
  echo "sparse-tome $sparse $attention tome:r=$((r * 8 / 13)),distance=original"
  echo "sparse-evit $sparse $attention evit:keep=0.7,at=3,6,9,distance=original"
}

for resolution in ${RESOLUTIONS:-224 384}; do
  for precision in ${PRECISIONS:-f32 int8}; do
    files=()
    while read -r name weights attends tokens; do
      file=$out/$name-$resolution-$precision.fib
      compile "$file" "$resolution" "$precision" "$weights" "$attends" "$tokens"
      [[ -e $file.json ]] || { "$fib" eval --quiet --json "${threads[@]}" --engine "$file" --data "folder:$images" >"$file.part" && mv "$file.part" "$file.json"; }
      files+=(--engine "$file")
    done < <(models "$resolution")
    [[ -e $out/speed-$resolution-$precision.json ]] ||
      { "$fib" bench model "${threads[@]}" "${files[@]}" --batch 1 --json >"$out/speed.part" && mv "$out/speed.part" "$out/speed-$resolution-$precision.json"; }
  done
done
"$(dirname "$0")/token-table.py" "$out"
