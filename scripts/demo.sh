#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on real data: what the heads look at, what that saves, and one small vision transformer trained with full
# attention and with Fibottention.
# Usage: scripts/demo.sh [OPTION OF fib train...]     e.g. scripts/demo.sh --seed 1 --epochs 8
set -euo pipefail
cd "$(dirname "$0")/.."

fib=build/fib
out=build/demo
[[ -x $fib ]] || { echo "demo: $fib is not built, run make build" >&2; exit 1; }
started=$SECONDS

cat <<'TEXT'

  Fibottention demo
  A vision transformer (dim 96, depth 4, twelve heads) learns Fashion-MNIST: 28 x 28 pixels in patches of 2 are
  14 x 14 = 196 tokens, as in the paper. Twice, with the same seed, images and steps: once every token looks at every
  other, once each head looks only at distances from its own row of the Wythoff array.

TEXT

mkdir -p "$out"
echo "== what each head looks at"
"$fib" pattern --tokens 196 --heads 12 --svg "$out/pattern.svg"
echo
echo "== what that saves: the kernel beside dense attention"
"$fib" bench attention --tokens 196,784,3136 --seconds 1
echo "A busy machine, if it speaks of one, was the build that has just ended."
echo

for attention in full fibottention; do
  rm -rf "${out:?}/$attention"
  echo "== $attention"
  "$fib" train --recipe demo --attention "$attention" --out "$out/$attention" "$@"
  echo
done

echo "== side by side"
"$fib" runs "$out/full" "$out/fibottention" --plot "$out/curves.svg" --plot "$out/curves.png"

echo
echo "== all of it on one page"
"$fib" report "$out/full" "$out/fibottention" --title "Fashion-MNIST with full attention and with Fibottention" \
  -o "$out/report.html"

cat <<TEXT

  Took $((SECONDS - started)) seconds. Open $out/report.html: table, curves, patterns, head diversity, attention maps,
  confusion and the worst mistakes. The runs are beside it; tensorboard --logdir $out shows them too.

  Try next
    build/fib pattern --tokens 196 --heads 12 --svg pattern.svg      what the twelve heads look at
    build/fib train --recipe demo --modified --out build/demo/modified
    build/fib train --recipe fashion-mnist --out runs/fashion                 all images, ten epochs
    build/fib eval --run $out/fibottention                     the test again, from the saved weights
    build/fib analyze attention-maps --run $out/full --run $out/fibottention --index 3 -o maps.png
    build/fib reproduce --list                                       the paper's tables and figures, one command each
    scripts/get-data.sh, then recipes/cifar10-small.toml             the comparison of docs/results.md

TEXT
