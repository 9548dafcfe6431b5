#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Accuracy over milliseconds: what scripts/adapt-results.sh left in its directory, compiled, tested on its test images and
# timed, all models in turn in one run for each resolution. Adapted runs that have not finished are left out.
# Usage: scripts/adapt-latency.sh WEIGHTS [DIRECTORY=runs/adapt]
#   RESOLUTIONS="224 384"  PRECISIONS="f32 int8"  SPARSE="0 4 6 8"  how many layers are sparse with nothing adapted
set -euo pipefail

fib=${FIB:-$(dirname "$0")/../build/fib}
weights=$1 out=${2:-runs/adapt}
read -ra resolutions <<<"${RESOLUTIONS:-224 384}"
read -ra precisions <<<"${PRECISIONS:-f32 int8}"
read -ra counts <<<"${SPARSE:-0 4 6 8}"
mkdir -p "$out/engine"

# NAME PRECISION RESOLUTION [OPTION OF fib compile...]
compile() {
  local file=$out/engine/$1-$2-$3.fib
  [[ -e $file ]] || "$fib" compile --quiet --precision "$2" --resolution "$3" "${@:4}" -o "$file"
}

first() { head -n "$1" "$out/order.txt" | awk '{ print $2 }' | sort -n | paste -sd,; }

# PRECISION RESOLUTION
compile_all() {
  local k run model=(--model vit_tiny_patch16_224 --weights "$weights")
  for k in "${counts[@]}"; do
    if ((k == 0)); then
      compile dense "$1" "$2" "${model[@]}" --attention full
    else
      compile "sparse-$k" "$1" "$2" "${model[@]}" --attention fibottention --attention-layers "$(first "$k")"
    fi
  done
  for run in "$out"/*/adaptation.json; do
    [[ -e $run ]] && compile "adapted-$(basename "$(dirname "$run")")" "$1" "$2" --run "$(dirname "$run")"
  done
}

figure() { tr -d ' \n' <"$2" | sed -E "s/.*\"$1\":([0-9.e+-]+).*/\1/"; }

for resolution in "${resolutions[@]}"; do
  engines=()
  for precision in "${precisions[@]}"; do
    compile_all "$precision" "$resolution"
    for file in "$out"/engine/*-"$precision-$resolution.fib"; do engines+=(--engine "$file"); done
  done
  for file in "$out"/engine/*-"$resolution.fib"; do
    [[ -e ${file%.fib}.json ]] || "$fib" eval --quiet --json --engine "$file" --data "folder:$out/images" >"${file%.fib}.json"
    printf '%-44s top-1 %.1f %%\n' "$(basename "${file%.fib}")" "$(awk -v x="$(figure top1 "${file%.fib}.json")" 'BEGIN { print 100 * x }')"
  done
  "$fib" bench model --batch 1 --seconds 20 "${engines[@]}"
done
