#!/usr/bin/env bash
# Builds Roost in release mode and serves the music apps. Arguments are options of `roost serve`: --port 1338 …
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/build.sh
# This process becomes the server. Where that has nothing to show, it is given some objects.
if command -v python3 >/dev/null; then (examples/music/objects.py "$$" "$@" &); fi
exec .build/release/roost serve examples/music/roost.json "$@"
