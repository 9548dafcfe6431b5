#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one of COUNT fuzz targets for its share of FUZZ_SECONDS, in the folder that keeps what it learns.
# Usage: run.sh PROGRAM NAME COUNT
set -euo pipefail
program=$1 name=$2 count=$3
seconds=$(( ${FUZZ_SECONDS:-600} / count ))
here=$(dirname "$(readlink -f "$0")")
seeds=("$here/corpus/$name")
[[ $name != image ]] || seeds+=("$here/../fixtures/images")  # the tests' own, one of every kind
length=4096
[[ $name != fib ]] || length=16384  # of which the steps of a model take most
exec "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=$length -print_final_stats=1 \
  -artifact_prefix="$PWD/$name-" "$PWD/corpus/$name" "${seeds[@]}"
