#!/usr/bin/env bash
# Pins the packages that Roost is built from to the versions in scripts/packages.txt.
#
#   scripts/packages.sh          writes Package.resolved with these versions, which SwiftPM then follows
#   scripts/packages.sh check    fails if Package.resolved has other versions
#   scripts/packages.sh update   takes the newest versions that Package.swift allows, and records them
#
# Package.resolved itself stays out of the repository, because SwiftPM rewrites it whenever it updates a package. Revisions
# aren't recorded: mirrors of the packages may have their own. Needs only git and awk, since the image has no Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

recorded=scripts/packages.txt
resolved=Package.resolved

fail() {
    echo "packages: $*" >&2
    exit 1
}

# Prints the recorded packages: name, version, address.
read_record() { grep -v '^#' "$recorded" | LC_ALL=C sort; }

# Prints the packages of Package.resolved in the same form, or nothing without that file.
read_resolved() {
    [ -f "$resolved" ] || return 0
    awk -F'"' '
        $2 == "identity" { name = $4 }
        $2 == "location" { address = $4 }
        $2 == "revision" { revision = $4; version = "-" }
        $2 == "version" && NF > 4 { version = $4 }
        /^ *}/ && revision != "" { print name, version, address; revision = "" }
    ' "$resolved" | LC_ALL=C sort
}

# Prints the revision of a version's tag.
revision() {
    local address=$1 version=$2 found
    # An annotated tag has a second line with the commit.
    found=$(git ls-remote "$address" "refs/tags/$version" "refs/tags/$version^{}" | awk 'END { print $1 }')
    [ -n "$found" ] || fail "$address has no version $version, or can't be reached"
    echo "$found"
}

write_resolved() {
    local name version address revision separator=""
    # Without a change, SwiftPM keeps its cache. With a new file, it would resolve all packages again.
    if [ "$(read_resolved)" = "$(read_record)" ]; then return; fi
    {
        printf '{\n  "pins" : ['
        while read -r name version address; do
            revision=$(revision "$address" "$version")
            printf '%s\n    {\n      "identity" : "%s",\n      "kind" : "remoteSourceControl",\n' "$separator" "$name"
            printf '      "location" : "%s",\n      "state" : {\n        "revision" : "%s",\n' "$address" "$revision"
            printf '        "version" : "%s"\n      }\n    }' "$version"
            separator=,
        done < <(read_record)
        printf '\n  ],\n  "version" : 3\n}\n'
    } >"$resolved.new"
    mv "$resolved.new" "$resolved"
}

check_resolved() {
    local difference
    if ! difference=$(diff <(read_record) <(read_resolved)); then
        fail "the packages of this build differ from $recorded (< recorded, > resolved):
$difference
scripts/packages.sh writes $resolved anew; scripts/packages.sh update records what Package.swift allows now."
    fi
}

update_record() {
    swift package update
    if read_resolved | grep -q ' - '; then fail "a package depends on a branch. Only versions can be recorded"; fi
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
