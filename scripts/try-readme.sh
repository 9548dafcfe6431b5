#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of README.md in their order, as a reader would, each with its time; stops at the first that fails.
# Usage: scripts/try-readme.sh [--list] [PAGE…]     --list shows the commands; default: README.md, then the first list of
#                                                   docs/commands.md
#   WEIGHTS=F.safetensors   timm's vit_tiny_patch16_224, for lines with W.safetensors
#   PHOTOS=DIR              a folder of photos by class, for lines with PHOTOS, photos/ or photo.jpg
#   OUT=DIR                 where runs and files go; a new folder, removed afterwards
#   SKIP_MAKE=1             leaves out the lines that begin with make
# Lines whose files are not given are left out, and said.
set -euo pipefail
cd "$(dirname "$0")/.."
list=0
if [[ ${1:-} == --list ]]; then list=1; shift; fi
pages=("$@")
((${#pages[@]} > 0)) || pages=(README.md docs/commands.md)
out=${OUT:-$(mktemp -d)}
[[ -n ${OUT:-} ]] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out"
photo=$(find "${PHOTOS:-/nonexistent}" -type f 2>/dev/null | sort | head -n 1 || true)

# The lines of blocks without a language that run a program of ours; of docs/commands.md up to what needs other files.
commands() {
  awk '/^## With files of your own/ { exit } /^```/ { inside = !inside && $0 == "```"; next }
       inside && /^(make|build\/fib|scripts\/)/ { sub(/ +# .*/, ""); print }' "$1"
}

# With the reader's files in place of the names that stand for them; nothing where a file is not given.
with_files() {
  local line=$1
  case $line in
    *W.safetensors*) [[ -n ${WEIGHTS:-} ]] || return 0; line=${line//W.safetensors/$WEIGHTS} ;;&
    *PHOTOS* | *photos/* | *photo.jpg*)
      [[ -n $photo ]] || return 0
      line=${line//PHOTOS/$PHOTOS}; line=${line//photos\//$PHOTOS}; line=${line//photo.jpg/$photo} ;;&
    *runs/mine* | *mine.fib*) [[ -n ${WEIGHTS:-} && -n $photo ]] || return 0 ;;
  esac
  # What is written goes where it is removed again.
  sed -E "s#(^| )(runs/[a-z]+|[a-z]+\.(fib|onnx|svg|html|mp4))#\1$out/\2#g; s#$out/([a-z]+\.svg|docs/)#$out/\1#g" <<<"$line"
}

# A server is asked whether it is well, and stopped.
try_server() {
  local log=$out/serve.log pid address
  $1 --port 0 2>"$log" &
  pid=$!
  for _ in {1..100}; do grep -q 'serving on' "$log" && break; sleep 0.1; done
  address=$(grep -oE 'http://[^ ]+' "$log")
  python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1] + "health").read().decode().strip())' "$address"
  kill -TERM $pid
  wait $pid
}

for page in "${pages[@]}"; do
  while IFS= read -r line <&3; do
    [[ $line != make* || ${SKIP_MAKE:-0} != 1 ]] || continue
    command=$(with_files "$line")
    if [[ -z $command ]]; then echo "-- left out, its files are not given: $line"; continue; fi
    if ((list)); then echo "$command"; continue; fi
    echo "-- $command"
    begin=$SECONDS
    if [[ $command == *"fib serve"* ]]; then try_server "$command"; else bash -euo pipefail -c "$command" >"$out/said.txt" || {
      tail -n 5 "$out/said.txt"; echo "try-readme: failed: $command" >&2; exit 1; }; fi
    echo "   $((SECONDS - begin)) s"
  done 3< <(commands "$page")
done
echo "try-readme: done"
