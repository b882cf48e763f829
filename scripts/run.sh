#!/usr/bin/env bash
# Builds Roost in release mode, of the recorded versions of its packages, and serves the music apps. What is missing from
# the system is installed first. Arguments are options of `roost serve`: --port 1338 …
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

scripts/dependencies.sh
scripts/packages.sh
swift build --product roost --force-resolved-versions "${local_build[@]}"
scripts/packages.sh check
# `roost version` names the commit. Without git, or while a server runs the binary, it stays as it is.
if [ "$(uname -s)" = Linux ]; then scripts/version.sh stamp "$local_binaries/roost" 2>/dev/null || true; fi
# This process becomes the server. Where that has nothing to show, it is given some objects.
if command -v python3 >/dev/null; then (examples/music/objects.py "$$" "$@" &); fi
exec "$local_binaries/roost" serve examples/music/roost.json "$@"
