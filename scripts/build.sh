#!/usr/bin/env bash
# Builds Roost in release mode. What is missing from the system is installed first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/release_build.sh

scripts/dependencies.sh
swift build "${release_build[@]}" --product roost
