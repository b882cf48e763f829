#!/usr/bin/env bash
# Runs the tests under ThreadSanitizer, and then under AddressSanitizer with LeakSanitizer. Needs Linux.
#
#   scripts/sanitize.sh                               both
#   scripts/sanitize.sh thread --filter LimitsTests    one of them; the other arguments go to `swift test`
#
# UndefinedBehaviorSanitizer is not run: swiftc has none for Linux ("unsupported option '-sanitize=undefined'"). Swift itself
# stops the process on overflow, on an index out of range, and on overlapping access to memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Without backtraces of Swift, which would take a minute for each crash that a test expects.
export SWIFT_BACKTRACE=enable=no
# A report fails the run by the exit status of the process.
export TSAN_OPTIONS="suppressions=$PWD/scripts/thread_suppressions.txt:history_size=4"
export LSAN_OPTIONS="suppressions=$PWD/scripts/leak_suppressions.txt:print_suppressions=0"

# Not run, because everything takes five to fifteen times as long under a sanitizer, and several times the memory: the console
# in browsers, tests that measure time or memory, and tests that move so much data that time limits of tests or servers end them.
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
