#!/usr/bin/env bash
# Builds everything with its tests, and keeps the compiler's warnings in .build/warnings.log.
#
# A build compiles only what has changed and repeats no old warning, so the log carries a warning on until its file is
# compiled again or gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=.build/warnings.log
own='^[^ ]*/?(Package\.swift|(Sources|Tests|schema|Benchmarks)/[^ ]*\.swift):[0-9]+:[0-9]+: warning: '
mkdir -p .build
output=$(mktemp .build/build.XXXXXX)
old=$(mktemp .build/build.XXXXXX)
trap 'rm -f "$output" "$old"' EXIT

if [ -f "$log" ]; then
    while IFS= read -r line; do
        file=${line%%:*}
        if [ -f "$file" ] && [ ! "$file" -nt "$log" ]; then echo "$line"; fi
    done <"$log" >"$old"
else
    # Nobody knows of what was built before: all of Roost's own files are compiled once more.
    find Package.swift Sources Tests schema -name '*.swift' -exec touch {} +
fi

swift build --build-tests 2>&1 | tee "$output"
{
    cat "$old"
    grep -E "$own" "$output" | sed "s|^$PWD/||" || true
} | sort -u >"$log"
