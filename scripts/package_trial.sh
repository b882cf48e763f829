#!/usr/bin/env bash
# Tests the package in a clean Debian system made by debootstrap: installs it, serves with the embedded PostgreSQL,
# stores an object, upgrades, finds the object again, removes and purges. Runs as root. Connects only to 127.0.0.1 and
# Debian's mirror.
#
#   scripts/package_trial.sh [FILE.deb [PREVIOUS.deb]]
#
# By default, tests the newest file in .build/packages. Without a previous package, upgrades from the same package with
# a lower version number. DEBIAN_SUITE (bookworm) and DEBIAN_MIRROR select the system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "package trial: $*" >&2
    exit 1
}

say() { echo "package trial: $*"; }

[ "$(id -u)" -eq 0 ] || fail "run it as root: it creates a separate system with debootstrap and chroot"
package=${1:-$(ls -t .build/packages/roost_*.deb 2>/dev/null | head -n 1)}
[ -f "$package" ] || fail "the package doesn't exist. Run make package first"
for tool in debootstrap curl python3; do
    command -v "$tool" >/dev/null || apt-get install -y -qq --no-upgrade --no-install-recommends "$tool" >/dev/null ||
        fail "$tool is missing and could not be installed"
done

folder=$(mktemp -d /tmp/roost-package.XXXXXX)
system=$folder/system
server=""

clean_up() {
    local status=$?
    trap - EXIT INT TERM
    if [ "$status" -ne 0 ] && [ -f "$folder/server.log" ]; then tail -n 25 "$folder/server.log" >&2; fi
    if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
    # If the server is killed, its PostgreSQL keeps running.
    local process
    process=$(head -n 1 "$system/var/lib/roost/postgres/cluster/postmaster.pid" 2>/dev/null) || true
    if [[ "$process" =~ ^[0-9]+$ ]] && kill -QUIT "$process" 2>/dev/null; then sleep 2; fi
    umount "$system/dev/shm" "$system/proc" 2>/dev/null || true
    rm -rf --one-file-system "$folder"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

inside() { chroot "$system" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }

start() {
    chroot --userspec=roost:roost "$system" env LC_ALL=C.UTF-8 HOME=/var/lib/roost \
        roost serve /etc/roost/config.json --dataDir /var/lib/roost --port "$port" >>"$folder/server.log" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        if curl --fail --silent "$url/health" >/dev/null; then return; fi
        kill -0 "$server" 2>/dev/null || fail "the server exited while starting"
        sleep 0.2
    done
    fail "the server didn't respond within a minute"
}

stop() {
    local status=0
    kill -TERM "$server"
    for _ in $(seq 150); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    kill -0 "$server" 2>/dev/null && fail "the server was still running 15 seconds after SIGTERM"
    wait "$server" || status=$?
    server=""
    [ "$status" -eq 0 ] || fail "the server exited with $status after SIGTERM, not with 0"
    [ ! -e "$system/var/lib/roost/postgres/cluster/postmaster.pid" ] || fail "the server left its PostgreSQL behind"
}

# call METHOD PATH [BODY]: sends a request with the master key from the package's configuration.
call() {
    curl --fail --silent --show-error --request "$1" "$url$2" --header "X-Parse-Application-Id: app" \
        --header "X-Parse-Master-Key: $master_key" --header "Content-Type: application/json" ${3:+--data "$3"}
}

exists() { [ -e "$system$1" ] || fail "$2: $1 is missing"; }
is_gone() { [ ! -e "$system$1" ] || fail "$2: $1 is still there"; }

version=$(dpkg-deb --field "$package" Version)
if [ -n "${2:-}" ]; then
    cp "$2" "$folder/previous.deb"
else
    dpkg-deb --raw-extract "$package" "$folder/previous"
    sed -i "s/^Version: .*/&~previous/" "$folder/previous/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone --build "$folder/previous" "$folder/previous.deb" >/dev/null
    rm -rf "$folder/previous"
fi

say "making a clean system"
debootstrap --variant=minbase "${DEBIAN_SUITE:-bookworm}" "$system" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
    >"$folder/debootstrap.log" 2>&1 || { tail -n 5 "$folder/debootstrap.log" >&2; fail "debootstrap failed"; }
mount -t proc proc "$system/proc"
mkdir -p "$system/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
printf '#!/bin/sh\nexit 101\n' >"$system/usr/sbin/policy-rc.d"
chmod 755 "$system/usr/sbin/policy-rc.d"
cp "$package" "$system/new.deb"
cp "$folder/previous.deb" "$system/previous.deb"
cp /etc/resolv.conf "$system/etc/resolv.conf" 2>/dev/null || true

say "installing what it depends on, and PostgreSQL"
{
    inside apt-get update -qq
    inside apt-get satisfy -y -qq --no-install-recommends "$(dpkg-deb --field "$folder/previous.deb" Depends)"
    inside apt-get install -y -qq --no-install-recommends postgresql
} >"$folder/apt.log" 2>&1 || { tail -n 5 "$folder/apt.log" >&2; fail "apt-get failed"; }

say "dpkg -i"
inside dpkg --install /previous.deb
for file in /usr/bin/roost /usr/lib/systemd/system/roost.service /usr/share/man/man1/roost.1.gz /etc/roost/config.json \
    /usr/share/bash-completion/completions/roost /usr/share/zsh/vendor-completions/_roost \
    /usr/share/fish/vendor_completions.d/roost.fish; do
    exists "$file" "after the installation"
done
[ "$(inside stat -c %U:%G:%a /etc/roost/config.json)" = root:roost:640 ] || fail "others can read /etc/roost/config.json"
inside bash -n /usr/share/bash-completion/completions/roost
if command -v groff >/dev/null; then
    warnings=$(gzip -dc "$system/usr/share/man/man1/roost.1.gz" | groff -k -man -Tutf8 -ww 2>&1 >/dev/null)
    [ -z "$warnings" ] || fail "the manual page has mistakes: $warnings"
fi
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/roost|$system/usr/bin/roost|" "$system/usr/lib/systemd/system/roost.service" >"$folder/roost.service"
    systemd-analyze verify "$folder/roost.service" || fail "systemd rejects the unit"
fi
say "$(inside roost version)"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url="http://127.0.0.1:$port/parse"
master_key=$(sed -n 's/.*"masterKey": "\(.*\)".*/\1/p' "$system/etc/roost/config.json")
[ ${#master_key} -ge 32 ] || fail "the package created no master key"

say "first request"
start
created=$(call POST /classes/Playlist '{"title":"Morning"}')
id=$(printf %s "$created" | sed -n 's/.*"objectId":"\([^"]*\)".*/\1/p')
[ -n "$id" ] || fail "nothing was stored: $created"
stop

say "upgrade to $version"
inside dpkg --install /new.deb
[ "$(inside dpkg-query --show --showformat='${Version}' roost)" = "$version" ] || fail "the upgrade did not happen"
grep -q "$master_key" "$system/etc/roost/config.json" || fail "the upgrade changed the configuration"
start
found=$(call GET "/classes/Playlist/$id")
[[ "$found" == *'"title":"Morning"'* ]] || fail "the object is gone after the upgrade"
stop

say "removal"
inside dpkg --remove roost
is_gone /usr/bin/roost "after the removal"
exists /etc/roost/config.json "after the removal"
exists /var/lib/roost/postgres/cluster/PG_VERSION "after the removal"

say "purge, with data and without"
inside dpkg --purge roost
is_gone /etc/roost "after the purge"
exists /var/lib/roost/postgres/cluster/PG_VERSION "after the purge"
rm -rf --one-file-system "$system/var/lib/roost"
inside dpkg --install /new.deb
inside dpkg --purge roost
is_gone /var/lib/roost "after the purge"
if inside getent passwd roost >/dev/null; then fail "the user roost is still there after the purge"; fi
say "all passed: $version"
