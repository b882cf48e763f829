#!/usr/bin/env bash
# Checks the format of all Swift files, and that everything compiles without warnings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/dependencies.sh

paths=(Package.swift Sources Tests Fuzzing schema examples)
if [ -n "$(find Benchmarks -name '*.swift' -print -quit 2>/dev/null)" ]; then paths+=(Benchmarks); fi
failed=no
swift format lint --strict --recursive --parallel "${paths[@]}" || failed=yes

scripts/build_tests.sh || failed=yes

if [ "$failed" = yes ]; then
    echo "lint: failed" >&2
    exit 1
fi
echo "lint: passed"
