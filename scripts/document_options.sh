#!/bin/sh
# Writes the tables of docs/configuration.md, which are made of the options in the code.
set -eu
cd "$(dirname "$0")/.."
ROOST_WRITE_DOCUMENTS=1 exec swift test --filter OptionDocumentTests "$@"
