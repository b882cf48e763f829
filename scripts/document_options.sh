#!/bin/sh
# Writes the tables of docs/configuration.md from the options in the code. Uses the build of `make test`.
set -eu
cd "$(dirname "$0")/.."
export ROOST_WRITE_DOCUMENTS=1
exec scripts/test.sh --filter OptionDocumentTests "$@"
