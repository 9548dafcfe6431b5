#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a training run at random moments, every second time while it writes a file, fills its disk, resumes it each
# time, and compares what is left at the end with a run without interruption: all bits must agree.
# Usage: scripts/kill-and-resume.sh [KILLS=20] [PROCESSES=1]
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${1:-20}
processes=${2:-1}
fib=${FIB:-$PWD/build/fib}
work=$(mktemp -d)
cleanup() {
  mountpoint -q "$work/small" && umount "$work/small"
  rm -rf "$work"
}
trap cleanup EXIT

# The first images of Fashion-MNIST with their headers rewritten: PART COUNT
images=/usr/share/datasets/fashion-mnist
[[ -d $images ]] || { echo "kill-and-resume: needs the package dataset-fashion-mnist" >&2; exit 1; }
big_endian() { printf "\\x$(printf %02x $(($1 >> 8)))\\x$(printf %02x $(($1 & 255)))"; }
take() (
  set +o pipefail # head leaves before zcat is done
  {
    printf '\0\0\10\3\0\0'
    big_endian "$2"
    printf '\0\0\0\34\0\0\0\34'
    zcat "$images/$1-images-idx3-ubyte.gz" | tail -c +17 | head -c $(($2 * 784))
  } >"$work/data/$1-images-idx3-ubyte"
  {
    printf '\0\0\10\1\0\0'
    big_endian "$2"
    zcat "$images/$1-labels-idx1-ubyte.gz" | tail -c +9 | head -c "$2"
  } >"$work/data/$1-labels-idx1-ubyte"
)
mkdir "$work/data"
take train 500
take t10k 200

# A checkpoint after every step; everything random is on.
options=(--data "mnist:$work/data" --model vit_nano_patch2_28 --validation-fraction 0.2 --batch 20 --epochs 4 --threads 1
  --workers 1 --checkpoint-every 1 --log-every 1 --crop padded --mixup 0.8 --cutmix 1 --dropout 0.1 --drop-path 0.1
  --attention-dropout 0.1 --quiet)

# Starts a run in the background; its processes are in pids.
start() {
  pids=()
  local port=$((20000 + RANDOM % 20000)) rank
  for ((rank = 0; rank < processes; ++rank)); do
    if ((processes == 1)); then
      "$fib" train "${options[@]}" "$@" >>"$work/log" 2>&1 &
    else
      RANK=$rank WORLD_SIZE=$processes LOCAL_WORLD_SIZE=$processes MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
        "$fib" train "${options[@]}" "$@" >>"$work/log" 2>&1 &
    fi
    pids+=($!)
  done
}

# Succeeds when every process of the run did; 137 when one was killed.
finish() {
  local pid code=0 one
  for pid in "${pids[@]}"; do
    one=0
    wait "$pid" 2>/dev/null || one=$?
    ((one == 0 || code == 137)) || code=$one
  done
  return "$code"
}

# Until a file of the run is being written, or it has ended.
wait_for_writing() {
  until compgen -G "$work/killed/.fib-*.tmp" >/dev/null; do kill -0 "${pids[0]}" 2>/dev/null || return 0; done
}

# The others notice within a step that one is gone, but before they have met they wait for it: then they are killed,
# as torchrun does.
end_waiting() {
  local turn
  for ((turn = 0; turn < 100; ++turn)); do
    kill -0 "${pids[@]}" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "${pids[@]}" 2>/dev/null || true
}

check_same() {
  local file
  for file in model.safetensors ema.safetensors best.safetensors metrics.jsonl; do
    cmp "$work/whole/$file" "$1/$file" || { echo "kill-and-resume: $file differs" >&2; exit 1; }
  done
}

began=$(date +%s%N)
start --out "$work/whole"
finish || { cat "$work/log" >&2; exit 1; }
took=$(( ($(date +%s%N) - began) / 1000000 ))
echo "undisturbed: $took ms"

resume=() killed=0 finished=0 half_written=0
while ((killed < kills)); do
  start --out "$work/killed" "${resume[@]}"
  sleep "$(awk -v r=$RANDOM -v t=$took 'BEGIN { printf "%.3f", (0.05 + r / 32768) * t / 1000 }')"
  ((killed % 2 == 0)) || wait_for_writing
  kill -9 "${pids[RANDOM % processes]}" 2>/dev/null || true
  end_waiting 2>/dev/null
  code=0
  finish || code=$?
  if ((code == 0)); then # it was faster: begin anew
    check_same "$work/killed"
    rm -r "$work/killed"
    resume=() finished=$((finished + 1))
    continue
  fi
  ((code == 137)) || { tail -5 "$work/log" >&2; exit 1; }
  killed=$((killed + 1))
  half_written=$((half_written + $(find "$work/killed" -name '.fib-*.tmp' 2>/dev/null | wc -l)))
  [[ -e $work/killed/config.toml ]] && resume=(--resume)
done
start --out "$work/killed" "${resume[@]}"
finish || { tail -5 "$work/log" >&2; exit 1; }
check_same "$work/killed"
echo "killed $kills times, $half_written times while a file was being written, over $((finished + 1)) runs: the same bits"

# A disk that is too small for a second checkpoint beside the first.
mkdir "$work/small"
size=$(du -sk "$work/whole" | cut -f1)
if ! mount -t tmpfs -o "size=${size}k" tmpfs "$work/small" 2>/dev/null; then
  echo "full disk: skipped, needs the right to mount"
  exit 0
fi
: >"$work/log"
start --out "$work/small/run"
if finish; then
  echo "kill-and-resume: the disk of $size KiB was not full" >&2
  exit 1
fi
grep -q "No space left on device" "$work/log" || { cat "$work/log" >&2; exit 1; }
echo "full disk: $(grep -m1 'No space left' "$work/log")"
mount -o remount,size=1g "$work/small"
start --out "$work/small/run" --resume
finish || { tail -5 "$work/log" >&2; exit 1; }
check_same "$work/small/run"
echo "full disk, then room again: the same bits"
