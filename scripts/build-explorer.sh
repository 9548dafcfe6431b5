#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds docs/explorer/index.html: the patterns' own code as WebAssembly, and the page around it, in one file.
# Usage: scripts/build-explorer.sh [--check]     --check builds nothing: does the page come from these sources?
#   BUILD=build/explorer     where objects go
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/explorer}
page=docs/explorer/index.html
# In the order they are joined.
scripts=(patterns state controls image masks figures share main)

compiled=(src/base/{nearest,read_file,text}.cpp src/patterns/*.cpp src/attention/{registry,layer_support}.cpp
  src/report/{markup,mask_panel,palette,pattern_drawing,pattern_summary,svg,text}.cpp src/explorer/*.cpp
  src/explorer/wasm/*.cpp)
code=("${compiled[@]}" include/fibottention/{pattern,attention}.h src/base/{nearest,read_file,rng,text}.h src/patterns/*.h
  src/attention/*.h src/explorer/*.h
  src/report/{drawing,pattern_drawing,pattern_summary,text}.h)
hash=$(sha256sum "${code[@]}" src/explorer/page/* scripts/build-explorer.sh | LC_ALL=C sort -k 2 | sha256sum | cut -d ' ' -f 1)

if [[ ${1:-} == --check ]]; then
  grep -q "content=\"$hash\"" $page || { echo "build-explorer: $page is older than its sources; make explorer" >&2; exit 1; }
  echo "build-explorer: $page comes from these sources"
  exit 0
fi

command -v em++ >/dev/null || { echo "build-explorer: needs em++ (Debian's emscripten)" >&2; exit 1; }
# Where emscripten's own scripts find Debian's modules, also in a node that is not Debian's.
export NODE_PATH=/usr/share/nodejs
# Libraries of headers alone; the system's folder itself would hide emscripten's own headers.
mkdir -p "$build/include"
for library in fmt nlohmann; do ln -sfn /usr/include/$library "$build/include/$library"; done

compile() {
  local file object objects=() functions
  local options=(-std=c++20 -Oz -flto -fexceptions -DFMT_HEADER_ONLY -DNDEBUG -Iinclude -Isrc -isystem "$build/include")
  for file in "${compiled[@]}"; do
    object=$build/${file//\//+}.o
    em++ "${options[@]}" -c "$file" -o "$object"
    objects+=("$object")
  done
  functions=$(grep -oE 'fib_explorer_[a-z]+' src/explorer/explorer.h | sort -u | sed 's/^/_/' | paste -sd,)
  em++ "${options[@]}" "${objects[@]}" -o "$build/module.js" --no-entry -sMODULARIZE=1 -sEXPORT_NAME=loadPatterns \
    -sSINGLE_FILE=1 -sENVIRONMENT=web,node -sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=1GB \
    -sEXPORTED_FUNCTIONS="$functions,_malloc,_free" -sEXPORTED_RUNTIME_METHODS=ccall
}
# Where only the page around it has changed, the module stays.
if [[ ! -e $build/module.js || -n $(find "${code[@]}" -newer "$build/module.js") ]]; then compile; fi

# A line that is @NAME alone is replaced by what it names.
join() {
  case $1 in
    @style) cat src/explorer/page/style.css ;;
    @module) cat "$build/module.js" ;;
    @scripts) for s in "${scripts[@]}"; do tail -n +2 "src/explorer/page/$s.js"; done ;;
  esac
}
mkdir -p docs/explorer
while IFS= read -r line; do
  case $line in
    @style | @module | @scripts) join "$line" ;;
    *) printf '%s\n' "${line//@hash/$hash}" ;;
  esac
done <src/explorer/page/index.html >"$build/index.html"
mv "$build/index.html" $page
echo "build-explorer: $page, $(wc -c <$page) bytes"
