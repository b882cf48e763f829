#!/usr/bin/env bash
# Builds Roost in release mode and measures it. Passes its arguments to Benchmarks/bench.py: --quick, --only get find …
# With --profile first, profiles it instead (Benchmarks/profiles.py). With --allocations first, counts its allocations
# (Benchmarks/allocations.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/release_build.sh
source scripts/install.sh

fail() {
    echo "bench: $*" >&2
    exit 1
}

# Installs a system package if its command is missing.
need() {
    local command=$1 package=$2
    if PATH="$PATH:/usr/sbin" command -v "$command" >/dev/null; then return; fi
    install_packages bench "$package"
}

# Installs a system package if its header is missing.
need_header() {
    if echo "#include <$1>" | cc -E - >/dev/null 2>&1; then return; fi
    need "header-$1" "$2"
}

[ "$(uname -s)" = Linux ] || fail "only Linux is supported: CPU time and memory are read from /proc"

program=Benchmarks/bench.py
case "${1:-}" in
    --profile) program=Benchmarks/profiles.py ;;
    --allocations) program=Benchmarks/allocations.py ;;
esac
if [ "$program" != Benchmarks/bench.py ]; then shift; fi

scripts/build.sh
case "$program" in
    */allocations.py)
        need cc gcc
        ;;
    */profiles.py)
        need wrk wrk
        need perf linux-perf
        ;;
    *)
        scripts/test_libraries.sh
        need wrk wrk
        need nginx nginx-light
        need cc gcc
        need_header nghttp2/nghttp2.h libnghttp2-dev
        need_header openssl/ssl.h libssl-dev
        # Uses the same library versions as Roost.
        if [ -f Package.resolved ]; then cp Package.resolved Benchmarks/reference/; fi
        swift build "${release_build[@]}" --package-path Benchmarks/reference --scratch-path .build/reference \
            --product bare
        ;;
esac
exec python3 "$program" "$@"
