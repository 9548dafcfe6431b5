#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file that the documentation names exists, and its lines are wrapped. With the program as argument, its commands and
# their options exist too, and they print what the documentation shows:
# scripts/check-docs.sh [build/fib [PAGE…]]
set -euo pipefail
cd "$(dirname "$0")/.."
fib=${1:-}
pages=("${@:2}")
((${#pages[@]} > 0)) || pages=(README.md CONTRIBUTING.md CHANGELOG.md docs/*.md)
failures=0

complain() {
  echo "check-docs: $1" >&2
  failures=$((failures + 1))
}

# Paths from the top of the project; a name may hold * as in recipes/deit-*.toml or a word in capitals that stands for any
# name. After a word or a slash it is a path of something else.
check_paths() {
  local page path
  while IFS=: read -r page path; do
    path=$(sed -E 's/[.,:]$//; s/\b[A-Z]{2,}\b/*/g' <<<"$path")
    compgen -G "$path" >/dev/null || complain "$page names $path, which does not exist"
  done < <(grep -oHP '(?<![\w/.-])(src|tests|recipes|scripts|include|docs|python|cmake)/[\w./*-]*' "${pages[@]}" | sort -u)
}

# Links and pictures, relative to their page.
check_links() {
  local page link
  while IFS=: read -r page link; do
    link=${link#*](}
    link=${link%%#*}
    link=${link%)}
    [[ -z $link || $link == http* ]] && continue
    [[ -e $(dirname "$page")/$link ]] || complain "$page links to $link, which does not exist"
  done < <(grep -oHP '\]\([^)\s]+\)' "${pages[@]}" | sort -u)
}

# Paragraphs are wrapped at about 110 columns. Tables, blocks of code, a command alone on its line and the targets of links
# cannot be.
check_width() {
  local page line
  for page in "${pages[@]}"; do
    while IFS=: read -r line _; do
      complain "$page:$line is longer than 115 columns: wrap it at 110"
    done < <(LC_ALL=C.UTF-8 sed -E '/^ *```/,/^ *```/s/.*//; s/^ *\|.*//; s/^`[^`]*`$//; s/\]\([^)]*\)/]/g' "$page" |
             LC_ALL=C.UTF-8 grep -nE '^.{116,}')
  done
}

declare -A help_of
# The help of a command, or of its subcommand where it has such; empty where this build has none.
load_help() {
  local command=$1 second=${2:-}
  [[ -v help_of[$command] ]] || help_of[$command]=$("$fib" "$command" --help 2>/dev/null || true)
  key=$command
  [[ ${help_of[$command]} == *"[OPTIONS] COMMAND"* && $second =~ ^[a-z-]+$ ]] || return 0
  grep -qE "^  $second " <<<"${help_of[$command]}" || { complain "there is no command 'fib $command $second'"; return 0; }
  key="$command $second"
  [[ -v help_of[$key] ]] || help_of[$key]=$("$fib" "$command" "$second" --help 2>/dev/null || true)
}

check_command() {
  local page=$1 line=$2 words option key
  read -ra words <<<"$line"
  [[ ${words[1]} =~ ^[a-z]+$ ]] || return 0
  grep -qE "^  ${words[1]} " <<<"$all_commands" || { complain "$page: there is no command 'fib ${words[1]}'"; return 0; }
  load_help "${words[1]}" "${words[2]:-}"
  [[ -n ${help_of[$key]} ]] || return 0
  for option in $(grep -oE -- '(^| |\[)--[a-z][a-z-]*' <<<"$line" | tr -d ' ['); do
    grep -qE -- "$option( |,|=|\$)" <<<"${help_of[$key]}$all_commands" || complain "$page: 'fib $key' has no option $option"
  done
}

# Commands in backquotes, and lines of examples that begin with one.
check_commands() {
  local page line
  while IFS=: read -r page line; do
    check_command "$page" "$line"
  done < <(grep -oHP '(?<=`)fib [a-z][^`]*(?=`)|^\s*(\$ )?\Kfib [a-z].*' "${pages[@]}" | sort -u)
}

# What stands below "$ fib models", "$ fib flops …", "$ fib pattern …" in a block is what they print.
check_output() {
  local page=$1 line=$2 shown=$3 words
  [[ -n $shown ]] || return 0
  read -ra words <<<"$line"
  [[ $("$fib" "${words[@]:2}" 2>&1) == "${shown%$'\n'}" ]] || complain "$page: '${line#\$ }' prints something else"
}

check_outputs() {
  local page line command shown
  for page in "${pages[@]}"; do
    command=
    while IFS= read -r line; do
      if [[ $line == '```'* || $line == '$ '* ]]; then
        [[ -z $command ]] || check_output "$page" "$command" "$shown"
        command=
        shown=
        [[ $line =~ ^\$\ fib\ (models|flops|pattern|attentions) ]] && command=$line
      else
        shown+=$line$'\n'
      fi
    done <"$page"
  done
}

check_paths
check_links
check_width
if [[ -n $fib ]]; then
  all_commands=$("$fib" --help)
  check_commands
  check_outputs
fi
((failures == 0)) || exit 1
echo "check-docs: clean"
