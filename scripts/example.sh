#!/usr/bin/env bash
# Builds examples/cloud as a separate package, starts it, and calls it. The build shares the folder of the local build,
# because the modules of both are the same. In a separate folder, all of them would be compiled again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/local_build.sh

# Uses the root package's dependency versions. Git ignores the file.
cp Package.resolved examples/cloud/Package.resolved
swift build "${local_build[@]}" --package-path examples/cloud --scratch-path "${local_binaries%/*}" --product CloudExample

folder=$(mktemp -d)
chmod 755 "$folder"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url="http://127.0.0.1:$port/parse"
$local_binaries/CloudExample examples/cloud/roost.json --host 127.0.0.1 --port "$port" --dataDir "$folder/data" \
    >"$folder/log" 2>&1 &
server=$!

stop() {
    local status=$?
    trap - EXIT INT TERM
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    if [ "$status" -ne 0 ]; then tail -n 25 "$folder/log" >&2; fi
    rm -rf "$folder"
    exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# call PATH [BODY]: sends a request and prints the response body, also for errors.
call() {
    python3 - "$url$1" "${2-}" <<'END'
import sys, urllib.error, urllib.request
headers = {"X-Parse-Application-Id": "cloudExample", "X-Parse-REST-API-Key": "cloudExampleRest",
           "Content-Type": "application/json"}
request = urllib.request.Request(sys.argv[1], sys.argv[2].encode() or None, headers)
try:
    print(urllib.request.urlopen(request, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
END
}

# expect NAME ANSWER TEXT: fails unless the answer contains the text.
expect() {
    case "$2" in
    *"$3"*) ;;
    *)
        echo "example: $1 answered: $2" >&2
        exit 1
        ;;
    esac
}

for _ in $(seq 300); do
    if [[ "$(call /health 2>/dev/null)" == *'"ok"'* ]]; then break; fi
    kill -0 "$server" 2>/dev/null || { echo "example: the server exited while starting" >&2; exit 1; }
    sleep 0.2
done
expect "the function" "$(call /functions/hello '{"name":"Kim"}')" '{"result":"Hello, Kim!"}'
expect "the refused review" "$(call /classes/Review '{"stars":6}')" 'A review has one to five stars.'
expect "the review" "$(call /classes/Review '{"stars":5}')" '"title":"Untitled"'
expect "the average" "$(call /functions/averageStars '{}')" '"count":1'
echo "example: built and called"
