#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each head of a ViT-B looks at, as a table and a picture.
set -euo pipefail
cd "$(dirname "$0")/.."
build/fib pattern --tokens 196 --heads 12 --wmin 5 --wmax 65 --svg build/pattern.svg
cat <<'TEXT'

Each head keeps 2 % of the pairs, and no two heads share an offset. Try next:
  build/fib pattern --modified --svg build/modified.svg    more local
  build/fib pattern --tokens 4096 --heads 16 --png build/large.png
  build/fib attentions                                      everything the paper compares with
TEXT
