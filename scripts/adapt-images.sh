#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Divides images for the adaptation of pretrained weights, as links: OUT/val has of each class in IMAGES the last image by
# name, OUT/train the others. Both folders have a folder for each class index. Images that CHOOSE has too, by name, are
# left out of both. Does nothing where OUT is there.
# Usage: scripts/adapt-images.sh IMAGES CHOOSE OUT
#   EVERY=1                   test on the image of every so manieth class, the first included
set -euo pipefail

images=$1 choose=$2 out=$3
[[ -d $out ]] && exit
known=$(mktemp) part=$out.part count=0
trap 'rm -f "$known"' EXIT
rm -rf "$part"
find -L "$choose" -type f -printf '%f\n' >"$known"
for class in "$images"/*/; do
  class=$(basename "$class")
  mapfile -t rest < <(find -L "$images/$class" -type f -printf '%f\n' | grep -vxFf "$known" | sort)
  last=${rest[-1]}
  unset 'rest[-1]'
  mkdir -p "$part/train/$class"
  for file in "${rest[@]}"; do ln -sf "$(realpath "$images/$class/$file")" "$part/train/$class/$file"; done
  ((count++ % ${EVERY:-1} == 0)) || continue
  mkdir -p "$part/val/$class"
  ln -sf "$(realpath "$images/$class/$last")" "$part/val/$class/$last"
done
mv "$part" "$out"
