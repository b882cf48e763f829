#!/usr/bin/env bash
# Fuzzes the readers of outside input, each for FUZZ_SECONDS (default 60). Needs Linux.
#
#   scripts/fuzz.sh               all readers
#   scripts/fuzz.sh json csv      these readers
#
# An input fails if it causes a crash or a leak, or takes a minute, 2 GB or more than linear time (Fuzzing/Fuzz.swift).
# Failing inputs are stored in .build/fuzz/failures. To reproduce a failure, run `FUZZ_TARGET=json
# .build/fuzz/release/Fuzz FILE`. libFuzzer's corpus is stored in .build/fuzz/corpus, and the next run continues with
# it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=${FUZZ_SCRATCH:-.build/fuzz}
seconds=${FUZZ_SECONDS:-60}
fuzzer=$scratch/release/Fuzz
# Swift's backtraces would keep libFuzzer from storing the input of a crash.
export SWIFT_BACKTRACE=enable=no
export LSAN_OPTIONS="suppressions=$PWD/scripts/leak_suppressions.txt:print_suppressions=0"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0}

scripts/dependencies.sh
scripts/packages.sh
echo "==> building the fuzzers"
# The compiler only honors its last -sanitize, so one option names both. Without `fuzzer`, Swift code isn't
# instrumented, and libFuzzer searches blindly.
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
