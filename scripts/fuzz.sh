#!/usr/bin/env bash
# Fuzzes the readers of what comes from outside, for FUZZ_SECONDS each (60 if unset). Needs Linux.
#
#   scripts/fuzz.sh               all readers
#   scripts/fuzz.sh json csv      these readers
#
# An input fails that crashes, leaks, takes a minute or 2 GB, or more than linear time (Fuzzing/Fuzz.swift). It is kept in
# .build/fuzz/failures, and `FUZZ_TARGET=json .build/fuzz/release/Fuzz FILE` runs it again. What libFuzzer has learned is
# kept in .build/fuzz/corpus, and the next run goes on from there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=${FUZZ_SCRATCH:-.build/fuzz}
seconds=${FUZZ_SECONDS:-60}
fuzzer=$scratch/release/Fuzz
# The backtraces of Swift would stop a crash before libFuzzer keeps its input.
export SWIFT_BACKTRACE=enable=no
export LSAN_OPTIONS="suppressions=$PWD/scripts/leak_suppressions.txt:print_suppressions=0"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0}

scripts/dependencies.sh
scripts/packages.sh
echo "==> building the fuzzers"
# The compiler heeds its last -sanitize alone, so both are named in one: without `fuzzer` no Swift code is instrumented, and
# libFuzzer searches blindly.
ROOST_FUZZ=1 swift build --configuration release --product Fuzz --scratch-path "$scratch" --force-resolved-versions \
    --sanitize fuzzer --sanitize address -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing -Xswiftc -use-ld=lld

readers=("$@")
if [ $# -eq 0 ]; then
    for folder in Fuzzing/seeds/*; do readers+=("${folder##*/}"); done
    readers+=(csv)
fi

failed=()
for reader in "${readers[@]}"; do
    echo "==> $reader for $seconds s"
    if [ "$reader" = csv ]; then
        # The console reads CSV in the browser.
        node Fuzzing/csv.mjs "$seconds" || failed+=("$reader")
        continue
    fi
    mkdir -p "$scratch/corpus/$reader" "$scratch/failures"
    FUZZ_TARGET=$reader "$fuzzer" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$scratch/failures/$reader-" -print_final_stats=1 -verbosity=0 \
        "$scratch/corpus/$reader" "Fuzzing/seeds/$reader" || failed+=("$reader")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: failed: ${failed[*]}" >&2
    exit 1
fi
echo "fuzz: no failures found"
