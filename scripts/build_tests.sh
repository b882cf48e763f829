#!/usr/bin/env bash
# Builds everything including the tests. Compiler warnings are errors (Package.swift).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

scripts/packages.sh
swift build --build-tests --force-resolved-versions "${local_build[@]}"
scripts/packages.sh check
