#!/usr/bin/env bash
# Builds Roost as it ships into .build/product/release, with the package versions in scripts/packages.txt. First
# installs missing system packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/release_build.sh

scripts/dependencies.sh
scripts/packages.sh
swift build "${release_build[@]}" --scratch-path "$release_folder" --force-resolved-versions --product roost
scripts/packages.sh check
# Records the commit for `roost version`. Skipped without git, or while a server runs the binary.
if [ "$(uname -s)" = Linux ]; then scripts/version.sh stamp "$release_folder/release/roost" 2>/dev/null || true; fi
