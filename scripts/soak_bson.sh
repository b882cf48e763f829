#!/usr/bin/env bash
# Reads a million documents of BSON that are changed at random (or as many as the first argument says).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ROOST_BSON_MUTATIONS="${1:-1000000}" exec swift test --filter BSONSoakTests
