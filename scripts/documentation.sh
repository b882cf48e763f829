#!/usr/bin/env bash
# Builds the documentation of the library Roost with DocC, using the build that `make run` and `make test` share. Fails
# on warnings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

scripts/dependencies.sh
scripts/packages.sh
swift package --force-resolved-versions "${local_build[@]}" generate-documentation --target Roost --warnings-as-errors
