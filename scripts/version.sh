#!/usr/bin/env bash
# The version is in Sources/App/Monitoring/Version.swift. The changelog, tags and packages must match it.
#
#   scripts/version.sh                   prints it
#   scripts/version.sh package           prints the version of packages: 0.2.0 at the tag v0.2.0, 0.2.0+git1080.bc1968d2 elsewhere
#   scripts/version.sh commit            prints the commit, with a plus sign if tracked files have changed
#   scripts/version.sh notes             prints the changelog's section of the version
#   scripts/version.sh check [TAG]       fails if the changelog or the tag disagrees
#   scripts/version.sh stamp FILE [COMMIT]   records the commit in a binary
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "version: $*" >&2
    exit 1
}

version=$(sed -n 's/.*static let text = "\(.*\)".*/\1/p' Sources/App/Monitoring/Version.swift)
[ -n "$version" ] || fail "Sources/App/Monitoring/Version.swift has no version"

commit() {
    local changes=""
    git rev-parse --verify --quiet HEAD >/dev/null 2>&1 || fail "this isn't a git repository, so the commit is unknown"
    [ -z "$(git status --porcelain --untracked-files=no)" ] || changes=+
    echo "$(git rev-parse HEAD)$changes"
}

package() {
    local commit
    commit=$(commit)
    if [[ "$commit" != *+ ]] && git tag --points-at HEAD | grep -qxF "v$version"; then
        echo "$version"
    else
        echo "$version+git$(git rev-list --count HEAD).$(git rev-parse --short=8 HEAD)"
    fi
}

notes() {
    awk -v heading="## [$version]" '
        index($0, heading) == 1 { inside = 1; next }
        inside && /^## / { exit }
        inside
    ' CHANGELOG.md
}

# Overwrites the placeholder of Sources/Libraries/CVersion/version.c in a binary. Keeps the file's date, because SwiftPM
# would otherwise link it again.
stamp() {
    local file=$1 commit=$2 position dates
    [[ "$commit" =~ ^[0-9a-f]{40}\+?$ ]] || fail "$commit is not a commit: 40 hexadecimal digits, and a plus sign for local changes"
    position=$(LC_ALL=C grep -obaE 'roost-commit:[0-9a-f.]{40}[+.]' "$file" | head -n 1 | cut -d : -f 1) || true
    [ -n "$position" ] || fail "$file isn't a Roost binary: it has no space for the commit"
    dates=$(mktemp)
    touch -r "$file" "$dates"
    printf 'roost-commit:%-41s' "$commit" | tr ' ' . |
        dd of="$file" bs=1 seek="$position" conv=notrunc 2>/dev/null
    touch -r "$dates" "$file"
    rm -f "$dates"
}

case "${1:-}" in
"") echo "$version" ;;
commit) commit ;;
package) package ;;
notes) notes ;;
check)
    [ -n "$(notes | tr -d '[:space:]')" ] || fail "CHANGELOG.md has no section [$version]"
    [ -z "${2:-}" ] || [ "$2" = "v$version" ] || fail "the tag is $2, but Sources/App/Monitoring/Version.swift says $version"
    ;;
stamp)
    [ $# -ge 2 ] || fail "stamp: name the binary"
    stamp "$2" "${3:-$(commit)}"
    ;;
*)
    sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2
    exit 2
    ;;
esac
