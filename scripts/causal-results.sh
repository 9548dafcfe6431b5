#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the decoders of the tables in docs/causal.md, each on one thread. Finished runs are kept, interrupted ones are
# continued; JSON of a table's runs, as docs/results keeps it, is written by scripts/causal-rows.py.
# Usage: scripts/causal-results.sh TABLE [DIRECTORY=runs/TABLE]
#   causal-shakespeare   nanoGPT's setting for a CPU, learned positions: SHAKESPEARE names the text
#   causal-lengths       the same with rotary positions and contexts of 64, 256 and 1,024, as many tokens a step
#   causal-long          a text at a context of 4,096 symbols: LONG names it
#   causal-etth1         ETTh1 as PatchTST forecasts it: ETTH1 names the table
#   ONLY=PATTERN         only runs whose names match
set -euo pipefail
cd "$(dirname "$0")/.."

fib=${FIB:-build/fib}
table=${1:?which table?}
out=${2:-runs/$table}
characters="text:${SHAKESPEARE:-data/tinyshakespeare.txt}?symbols=characters&epoch_steps=250"

# Runs of a table: NAME RECIPE OPTION…
# Of 64 tokens the modified array sees 943 pairs in four heads, a window of four 984; Fibottention 578, a window of two 500.
runs_of_causal-shakespeare() {
  local seed attention
  for seed in 1337 1 2; do
    for attention in full fibottention-modified local:w=4 fibottention local:w=2 fibottention:local=2; do
      echo "$attention-$seed nanogpt-shakespeare --attention $attention --seed $seed --data $characters"
    done
  done
}

# The modified array's pairs and the window's: 943 and 984 of 64 tokens, 6,051 and 6,060 of 256, 32,430 and 32,624 of 1,024.
runs_of_causal-lengths() {
  local context window batch attention
  while read -r context window batch; do
    for attention in full fibottention-modified "local:w=$window" fibottention fibottention:local=2; do
      echo "$attention-$context nanogpt-shakespeare --model nanogpt_cpu_rotary --attention $attention --batch $batch \
        --data $characters&context=$context"
    done
  done <<<"64 4 12
256 6 3
1024 8 1"
}

# So many steps that each takes about as long.
runs_of_causal-long() {
  local text="text:${LONG:-data/long.txt}?context=4096&epoch_steps=25&test=0.02"
  local options="--model nanogpt_cpu_rotary --batch 1 --validation-fraction 0.02 --eval-images 8 --data $text"
  echo "full nanogpt-shakespeare --attention full --epochs ${DENSE_EPOCHS:-8} $options"
  echo "fibottention nanogpt-shakespeare --attention fibottention:local=2 --epochs ${SPARSE_EPOCHS:-32} $options"
}

runs_of_causal-etth1() {
  local horizon back attention series="series:${ETTH1:-data/ETTh1.csv}?split=months"
  for horizon in 96 336; do
    for back in 336 1344 4032; do
      for attention in full fibottention:local=2; do
        echo "$attention-$horizon-$back patchtst-etth1 --attention $attention --epochs 2 \
          --data $series&horizon=$horizon&look_back=$back"
      done
    done
  done
}

# NAME RECIPE OPTION…
train() {
  local dir=$out/${1//[:=]/-} options=(--resume)
  [[ -e $dir/summary.json ]] && return
  [[ -e $dir/state.pt ]] || options=(--recipe "$2" "${@:3}")
  if "$fib" --threads 1 train --out "$dir" "${options[@]}" >>"$dir.log" 2>&1; then
    echo "trained $dir"
  else
    echo "causal-results: $dir failed, see $dir.log" >&2
  fi
}

declare -F "runs_of_$table" >/dev/null || { echo "causal-results: unknown table '$table'" >&2; exit 2; }
mkdir -p "$out"
while read -ra run; do
  [[ ${run[0]} == ${ONLY:-*} ]] && train "${run[@]}" </dev/null
done < <("runs_of_$table")
