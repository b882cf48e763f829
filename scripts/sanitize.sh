#!/usr/bin/env bash
# Runs the tests under ThreadSanitizer, and then under AddressSanitizer with LeakSanitizer. Needs Linux.
#
#   scripts/sanitize.sh                               both
#   scripts/sanitize.sh thread --filter LimitsTests    one of them; the other arguments go to `swift test`
#
# UndefinedBehaviorSanitizer is not used: swiftc doesn't support it on Linux ("unsupported option
# '-sanitize=undefined'"). Swift itself stops the process on overflow, an index out of range, and overlapping access to
# memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Without Swift's backtraces, which would take a minute for each crash that a test expects.
export SWIFT_BACKTRACE=enable=no
# A report sets the exit status of the process, which fails the run.
export TSAN_OPTIONS="suppressions=$PWD/scripts/thread_suppressions.txt:history_size=4"
export ASAN_OPTIONS="suppressions=$PWD/scripts/address_suppressions.txt"
export LSAN_OPTIONS="suppressions=$PWD/scripts/leak_suppressions.txt:print_suppressions=0"

# Skipped, because a sanitizer multiplies the time by 5 to 15 and also the memory: the console in browsers, tests that
# measure time or memory, and tests that move so much data that time limits of tests or servers would expire.
measured='ConsoleScenarioTests|ConsoleLoadTests|AccountRateLimitTests|SecurityTableLockTests|ReadCostTests'
measured+='|SecurityTransactionTests|SecurityWriteGrowthTests|SourceGrowthTests|ManyRowsTests|LiveServerTests'
measured+='|KilledUploadTests|BucketCommandTests|RotationTests|UnreadDownloadTests|PushCrashTests|ImportProcessTests'

run() {
    local sanitizer=$1 preloaded=""
    shift
    echo "==> $sanitizer"
    if [ "$sanitizer" = thread ]; then
        preloaded=$PWD/.build/thread/order.so
        mkdir -p .build/thread
        "$(dirname "$(readlink -f "$(command -v swift)")")/clang" -O1 -fPIC -shared -o "$preloaded" scripts/thread_order.c
    fi
    ROOST_TEST_CONFIGURATION=$sanitizer LD_PRELOAD=$preloaded scripts/test.sh --skip "$measured" "$@"
}

case "${1:-}" in
"")
    failed=no
    run thread || failed=yes
    run address || failed=yes
    [ "$failed" = no ]
    ;;
thread | address) run "$@" ;;
*)
    echo "usage: scripts/sanitize.sh [thread | address] [arguments of swift test]" >&2
    exit 2
    ;;
esac
