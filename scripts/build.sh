#!/usr/bin/env bash
# Builds Roost as it ships into .build/product/release, of the recorded versions of its packages. What is missing from the
# system is installed first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/release_build.sh

scripts/dependencies.sh
scripts/packages.sh
swift build "${release_build[@]}" --scratch-path "$release_folder" --force-resolved-versions --product roost
scripts/packages.sh check
# `roost version` names the commit. Without git, or while a server runs the binary, it stays as it is.
if [ "$(uname -s)" = Linux ]; then scripts/version.sh stamp "$release_folder/release/roost" 2>/dev/null || true; fi
