#!/usr/bin/env bash
# The exact versions of the packages that Roost is built of stand in scripts/packages.txt.
#
#   scripts/packages.sh          writes Package.resolved from them, which SwiftPM then follows
#   scripts/packages.sh check    fails when Package.resolved says something else
#   scripts/packages.sh update   takes the newest versions that Package.swift allows, and records them
#
# Package.resolved itself stays out of the repository: SwiftPM rewrites it whenever a package is updated in passing, and a
# release must not depend on that. Needs nothing but awk, since the image is built without Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

recorded=scripts/packages.txt
resolved=Package.resolved

fail() {
    echo "packages: $*" >&2
    exit 1
}

# The lines of the record: name, version, revision, address.
read_record() { grep -v '^#' "$recorded" | LC_ALL=C sort; }

# The same lines of Package.resolved; nothing where there is none.
read_resolved() {
    [ -f "$resolved" ] || return 0
    awk -F'"' '
        $2 == "identity" { name = $4 }
        $2 == "location" { address = $4 }
        $2 == "revision" { revision = $4; version = "-" }
        $2 == "version" && NF > 4 { version = $4 }
        /^ *}/ && revision != "" { print name, version, revision, address; revision = "" }
    ' "$resolved" | LC_ALL=C sort
}

write_resolved() {
    # SwiftPM keeps in it what it read the versions for; written anew, it would resolve once more.
    if [ "$(read_resolved)" = "$(read_record)" ]; then return; fi
    read_record | awk '
        BEGIN { print "{\n  \"pins\" : [" }
        {
            if (NR > 1) print "    },"
            print "    {"
            print "      \"identity\" : \"" $1 "\","
            print "      \"kind\" : \"remoteSourceControl\","
            print "      \"location\" : \"" $4 "\","
            print "      \"state\" : {"
            print "        \"revision\" : \"" $3 "\","
            print "        \"version\" : \"" $2 "\""
            print "      }"
        }
        END { print "    }\n  ],\n  \"version\" : 3\n}" }
    ' >"$resolved.new"
    mv "$resolved.new" "$resolved"
}

check_resolved() {
    local difference
    if ! difference=$(diff <(read_record) <(read_resolved)); then
        fail "the packages of this build are not those of $recorded (< recorded, > resolved):
$difference
scripts/packages.sh writes $resolved anew; scripts/packages.sh update records what Package.swift allows now."
    fi
}

update_record() {
    swift package update
    if read_resolved | grep -q ' - '; then fail "a package is followed by its branch: only versions can be recorded"; fi
    { grep '^#' "$recorded"; read_resolved; } >"$recorded.new"
    mv "$recorded.new" "$recorded"
    git --no-pager diff --stat -- "$recorded" 2>/dev/null || true
}

case "${1:-write}" in
write) write_resolved ;;
check) check_resolved ;;
update) update_record ;;
*)
    echo "usage: scripts/packages.sh [write | check | update]" >&2
    exit 2
    ;;
esac
