#!/usr/bin/env bash
# Builds Roost in release mode, with the package versions in scripts/packages.txt, and serves the music apps. First
# installs missing system packages. Arguments are options of `roost serve`: --port 1338 …
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

scripts/dependencies.sh
scripts/packages.sh
swift build --product roost --force-resolved-versions "${local_build[@]}"
scripts/packages.sh check
# Records the commit for `roost version`. Skipped without git, or while a server runs the binary.
if [ "$(uname -s)" = Linux ]; then scripts/version.sh stamp "$local_binaries/roost" 2>/dev/null || true; fi
# This process becomes the server. An empty server gets some example objects.
if command -v python3 >/dev/null; then (examples/music/objects.py "$$" "$@" &); fi
exec "$local_binaries/roost" serve examples/music/roost.json "$@"
