#!/usr/bin/env bash
# Runs the tests on a separate PostgreSQL cluster, which is removed afterward. Passes its arguments to `swift test`.
# Without arguments, runs all tests except the heavy ones. With --heavy, runs only those, and all random inputs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

scripts/dependencies.sh tests
scripts/test_libraries.sh
scripts/build_tests.sh

fail() {
    echo "test: $*" >&2
    exit 1
}

# Prints the program folder of the newest installed PostgreSQL.
newest_postgres() {
    local folder version best=0 found=""
    for folder in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
        "$(dirname "$(command -v initdb || echo /nowhere/initdb)")"; do
        [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] || continue
        version=$("$folder/initdb" --version | grep -oE '[0-9]+' | head -n 1)
        if [ "$version" -gt "$best" ]; then
            best=$version
            found=$folder
        fi
    done
    [ "$best" -ge 13 ] || fail "PostgreSQL 13 or later not found"
    echo "$found"
}

# PostgreSQL refuses to run as root.
as_postgres() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The folder of the cluster, and of those that tests start: in memory if there is plenty. A database has 300 files.
place() {
    local shared=/dev/shm available memory
    available=$(df -k "$shared" 2>/dev/null | awk 'NR == 2 { print $4 }')
    memory=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || true)
    if [ -w "$shared" ] && [ "${available:-0}" -gt 4000000 ] && [ "${memory:-0}" -gt 12000000 ]; then
        echo "$shared"
    else
        echo /tmp
    fi
}

postgres=$(newest_postgres)
folder=$(mktemp -d "$(place)/roost-test.XXXXXX")
started=no

stop() {
    local status=$?
    trap - EXIT INT TERM
    if [ "$started" = yes ]; then
        as_postgres "$postgres/pg_ctl" stop -D "$folder/data" -m immediate -s || true
    fi
    rm -rf "$folder"
    exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

chmod 755 "$folder"
export ROOST_TEST_CLUSTERS=$folder
mkdir "$folder/data" "$folder/socket"
if [ "$(id -u)" -eq 0 ]; then chown postgres: "$folder/data" "$folder/socket"; fi

as_postgres "$postgres/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/initdb.log" 2>&1 ||
    fail "initdb failed: $(cat "$folder/initdb.log")"
cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder/socket'
max_connections = 500
max_wal_size = '512MB'
fsync = off
synchronous_commit = off
full_page_writes = off
END

# Another program may take the port after the check.
for attempt in 1 2 3; do
    port=$(free_port)
    if as_postgres "$postgres/pg_ctl" start -D "$folder/data" -w -s -o "-p $port" -l "$folder/data/server.log"; then
        started=yes
        break
    fi
    [ "$attempt" -lt 3 ] || fail "PostgreSQL did not start: $(tail -n 20 "$folder/data/server.log")"
done

export ROOST_TEST_DATABASE_URI="postgres://postgres@127.0.0.1:$port/postgres"
# Limits concurrent tests if `swift test` supports that. With more of them, tests would exceed their time limits, and
# the run wouldn't end sooner.
processors=$(getconf _NPROCESSORS_ONLN)
width=()
# Doesn't pipe into grep: grep -q would close the pipe early, and the writer would fail.
if [[ "$(swift test --help-hidden 2>/dev/null)" == *--experimental-maximum-parallelization-width* ]]; then
    width=(--experimental-maximum-parallelization-width $((8 + 2 * processors)))
fi
status=0
run() {
    swift test --skip-build "${local_test[@]}" ${width[@]+"${width[@]}"} "$@" 2>&1 | tee -a "$folder/output" || status=$?
}
# Tests of browsers, buckets and clusters of several servers leave too little processor time for tests with time limits.
# They run separately, a few at a time.
heavy='ConsoleScenarioTests|ConsoleLoadTests|DatabaseFileTests|FileStoresTests|ReadReplicaTests|ReadinessProcessTests'
# These run in both parts, first with a tenth of their random inputs.
sampled='DifferentialTests|MalformedRequestTests/allRoutes'
# Prints the types of suites, given their names in the output: the type itself, or a text in quotes. A file is named
# after its suite.
suite_types() {
    local name file
    while read -r name; do
        case $name in
        \"*)
            file=$(grep -rlF --include=*.swift "$name" Tests | head -n 1)
            basename "${file:-unknown}" .swift
            ;;
        *) echo "$name" ;;
        esac
    done
}
# Retries failed suites with few other tests running, because tests can exceed time limits on a busy machine. A test
# that fails twice has failed. After a crash or more than eight failed suites there is no retry.
retry() {
    local suites
    if grep -a -qE "Fatal error|error: Exited" "$folder/output"; then return; fi
    suites=$(grep -a -oE '✘ Suite ("[^"]*"|[A-Za-z]+) (with .* )?failed after' "$folder/output" |
        sed -E 's/✘ Suite ("[^"]*"|[A-Za-z]+) .*/\1/' | sort -u | suite_types) || true
    if [ -z "$suites" ] || [ "$(wc -l <<<"$suites")" -gt 8 ]; then return; fi
    echo "==> retrying with few other tests running:" $suites
    if [ ${#width[@]} -gt 0 ]; then width=(--experimental-maximum-parallelization-width 2); fi
    status=0
    : >"$folder/output"
    run --filter "\\.($(paste -sd '|' <<<"$suites"))/"
    grep -a -qE "Test run with [1-9][0-9]* tests? .*passed" "$folder/output" || status=1
}

report() {
    # Concurrent tests mix their output, so this lists the failures together at the end.
    echo "==> failures:"
    grep -a -E "recorded an issue|(Test|Suite) .* failed after|Fatal error|error: Exited" "$folder/output" || true
}

case "${1:-}" in
"") run --skip "$heavy" ;;
--heavy)
    if [ ${#width[@]} -gt 0 ]; then width=(--experimental-maximum-parallelization-width 4); fi
    export ROOST_TEST_SAMPLES=all
    run --filter "$heavy|$sampled"
    ;;
*) run "$@" ;;
esac
if [ "$status" -ne 0 ]; then
    report
    case "${1:-}" in
    "" | --heavy)
        retry
        if [ "$status" -ne 0 ]; then report; fi
        ;;
    esac
fi
exit "$status"
