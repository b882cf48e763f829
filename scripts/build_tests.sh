#!/usr/bin/env bash
# Builds everything with its tests. Warnings of the compiler are errors (Package.swift).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift build --build-tests
