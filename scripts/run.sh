#!/usr/bin/env bash
# Builds Roost in release mode and serves the music apps. Arguments are options of `roost serve`: --port 1338 …
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/build.sh
exec .build/release/roost serve examples/music/roost.json "$@"
