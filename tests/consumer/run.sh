#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the library into an empty tree and builds the consumer against it, through CMake and through pkg-config.
# Usage: run.sh BUILD_DIR C++_COMPILER "C++ FLAGS"
set -euo pipefail
build=$1 compiler=$2 flags=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/installed" >/dev/null
cmake -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/cmake" >/dev/null
"$work/cmake/consumer"

pc=$(find "$work/installed" -name fibottention.pc)
read -ra options < <(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs fibottention)
# shellcheck disable=SC2086 # flags are words
"$compiler" -std=c++20 $flags "$here/main.cpp" "${options[@]}" -o "$work/consumer"
"$work/consumer"
# The examples, as their folder says how to build them.
cmake -S "$here/../../examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/examples" >/dev/null
"$work/examples/attention" 196 | grep -q '^197 tokens on .* % of the pairs left out, '
if [[ -x $build/fib-torch ]]; then
  "$build/fib" --quiet compile --model mini_vit --random-weights -o "$work/model.fib"
  { printf 'P6 8 6 255\n' && head -c 144 /dev/zero; } >"$work/black.ppm"
  "$work/examples/classify" "$work/model.fib" "$work/black.ppm" | grep -q '^class [0-9] of 10, logit '
  head -c 100 "$work/black.ppm" >"$work/torn.ppm"
  if "$work/examples/classify" "$work/model.fib" "$work/torn.ppm" 2>/dev/null; then
    echo "a torn picture was classified" >&2
    exit 1
  fi
fi
echo "the installed tree serves a CMake and a pkg-config consumer"
