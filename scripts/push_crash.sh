#!/usr/bin/env bash
# Kills one of two servers in the middle of a push to 20,000 devices, ten times for each kind of delivery, and checks
# which devices were reached.
# To use other numbers of devices and rounds: scripts/push_crash.sh 5000 3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export ROOST_PUSH_CRASH_DEVICES=${1:-20000} ROOST_PUSH_CRASH_ROUNDS=${2:-10}
exec scripts/test.sh --filter PushCrashTests
