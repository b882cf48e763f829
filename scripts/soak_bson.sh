#!/usr/bin/env bash
# Parses a million randomly modified BSON documents. The first argument sets another number.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ROOST_BSON_MUTATIONS="${1:-1000000}" exec swift test --enable-swift-testing --disable-xctest --filter BSONSoakTests
