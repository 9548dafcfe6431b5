#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much faster this tree is than an older commit: both programs take turns on one machine, and of every figure the
# shortest time of all rounds counts. A quiet machine is asked for; rows that neither version touched (LibTorch's dense
# attention, memcpy) show how quiet it was.
# Usage: scripts/compare-commit.sh COMMIT [attention|training|all|kernels]   (default: all)
#   kernels: attention through the C interface; of the older commit only the library is built, a minute instead of an hour
#   ROUNDS=3          turns of each version
#   TARGETS="AVX2"    instruction sets that are forced beside the processor's best, FIB_TARGET
#   BEFORE=PROGRAM    a fib of that commit that is built already; else it is built into build/before
#   FIB=build/fib     this tree's
#   LIBRARIES="OLD NEW"    kernels: libfibottention.a of each, if they are built already
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# -ge 1 ]] || { echo "compare-commit: which COMMIT? see the head of this file" >&2; exit 2; }
commit=$1 what=${2:-all}
case $what in
  attention | training | all | kernels) ;;
  *) echo "compare-commit: attention, training, all or kernels, got '$what'" >&2; exit 2 ;;
esac
git rev-parse --quiet --verify "$commit^{commit}" >/dev/null || { echo "compare-commit: no commit '$commit'" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# time_kernels with a version's library: VERSION, the library, its headers.
link_kernels() {
  cc -O2 -std=gnu11 -I "$3" -c tests/tools/time_kernels.c -o "$work/$1.o"
  c++ "$work/$1.o" "$2" -lhwy -fopenmp -o "$work/$1"
}

if [[ $what == kernels ]]; then
  library=src/libfibottention.a
  read -r old new <<<"${LIBRARIES:-$(scripts/build-before.sh "$commit" fibottention)/$library build/$library}"
  git show "$commit:include/fibottention/fibottention.h" >"$work/header"
  mkdir -p "$work/include/fibottention" && mv "$work/header" "$work/include/fibottention/fibottention.h"
  link_kernels before "$old" "$work/include"
  link_kernels after "$new" include
  for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
    for version in before after; do "$work/$version" | sed "s/^/$version\t/" >>"$work/figures"; done
  done
else
  after=${FIB:-build/fib}
  [[ -x $after ]] || { echo "compare-commit: $after is not built" >&2; exit 1; }
  before=${BEFORE:-$(scripts/build-before.sh "$commit")}
fi

# VERSION TARGET ARGUMENT...: appends "version<TAB>what is timed<TAB>ms" for every row of a benchmark.
run() {
  local version=$1 target=$2
  shift 2
  FIB_TARGET=$target "${!version}" bench "$@" --json | tr '\n' ' ' |
    sed -E 's/ *([][{},]) */\1/g; s/\[\{/\n{/g; s/\},\{/},\n{/g' |
    awk -v version="$version" -v target="${target:-best}" '
      function field(name) { return match($0, "\"" name "\": *\"?[^\",}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "" }
      function text(name) { value = field(name); gsub(/^[ "]+/, "", value); return value }
      /^{/ && text("ms") ~ /^[0-9]/ {
        subject = text("contestant") != "" ? sprintf("%s, N = %s, d = %s, B = %s", text("contestant"), text("tokens"), text("dim"), text("batch")) \
                                           : sprintf("%s, %s, B = %s", text("model"), text("attention"), text("batch"))
        printf "%s\t%s, %s, %s\t%s\n", version, subject, text("pass"), target, text("ms")
      }' >>"$work/figures"
}

both() {
  local version
  for version in before after; do run "$version" "$@"; done
}

for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
  [[ $what == kernels ]] && break
  for target in "" ${TARGETS:-}; do
    [[ $what == training ]] && continue
    both "$target" attention --tokens 196 --batch 8 --backward
    both "$target" attention --tokens 784,4096 --backward
    both "$target" attention --tokens 196 --batch 32 --dim 8 --backward
  done
  [[ $what == attention ]] && continue
  both "" model --model vit_micro_patch2_28 --pass training --batch 32
  both "" model --model vit_base_patch16_224 --pass training --batch 4
done

awk -F '\t' -v commit="$commit" '
  { key = $2; if (!(key in seen)) { seen[key] = 1; order[++count] = key }
    at = $1 SUBSEP key; if (!(at in best) || $3 < best[at]) best[at] = $3 }
  END {
    printf "%-78s %10s %10s %7s\n", "shortest of all rounds", commit, "now, ms", "ratio"
    for (i = 1; i <= count; ++i) {
      b = best["before" SUBSEP order[i]]; a = best["after" SUBSEP order[i]]
      if (b == "" || a == "") continue
      printf "%-78s %10.2f %10.2f %6.2f x\n", order[i], b, a, b / a
    }
  }' "$work/figures"
