#!/usr/bin/env bash
# Builds Roost in release mode and measures it. Arguments go to Benchmarks/bench.py: --quick, --only get find …
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "bench: $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || fail "only Linux is served: CPU time and memory are read from /proc"

scripts/dependencies.sh
if ! command -v wrk >/dev/null; then
    privilege=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "wrk is missing, and there is no sudo to install it"
        privilege=(sudo)
    fi
    echo "bench: installing wrk (${privilege[*]:-as root} apt-get install)"
    "${privilege[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk
fi

swift build --configuration release --product roost
exec python3 Benchmarks/bench.py "$@"
