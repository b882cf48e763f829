#!/usr/bin/env bash
# Installs the system packages that Roost needs and that are missing. At a terminal it asks first, and asks again before
# it upgrades installed packages. ASSUME_YES=1, CI=true and --yes skip the questions.
#
#   scripts/dependencies.sh [run | tests | package] [--yes]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/install.sh"

purpose=run
for argument in "$@"; do
    case "$argument" in
    run | tests | package) purpose=$argument ;;
    --yes) ASSUME_YES=1 ;;
    *)
        echo "usage: scripts/dependencies.sh [run | tests | package] [--yes]" >&2
        exit 2
        ;;
    esac
done

fail() {
    echo "dependencies: $*" >&2
    exit 1
}

command -v swift >/dev/null || fail "the Swift toolchain (6.3 or later) is missing: see https://www.swift.org/install"

install_debian() {
    local packages=(libpq-dev libcurl4-openssl-dev libcrypt-dev zlib1g-dev pkg-config postgresql python3)
    case "$purpose" in
    tests) packages+=(nodejs) ;;
    package) packages+=(dpkg-dev binutils) ;;
    esac
    local missing=() package
    for package in "${packages[@]}"; do
        if ! dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
            # Another package may provide the program: pkgconf for pkg-config, postgresql-16 for postgresql.
            case "$package" in
                pkg-config) command -v pkg-config >/dev/null && continue ;;
                postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && continue ;;
                python3) command -v python3 >/dev/null && continue ;;
                nodejs) command -v node >/dev/null && continue ;;
            esac
            missing+=("$package")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    install_packages dependencies "${missing[@]}"
}

# For distributions without apt-get: lists the missing packages by the distribution's own names.
check_other_linux() {
    local missing=()
    command -v pkg-config >/dev/null && pkg-config --exists libpq || missing+=("libpq")
    command -v pkg-config >/dev/null && pkg-config --exists libcurl || missing+=("libcurl")
    command -v pkg-config >/dev/null && pkg-config --exists zlib || missing+=("zlib")
    [ -e /usr/include/crypt.h ] || missing+=("libxcrypt")
    compgen -G '/usr/*/postgresql*/bin/initdb' >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
        compgen -G '/usr/pgsql*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=("the PostgreSQL server")
    command -v python3 >/dev/null || missing+=("Python")
    [ "$purpose" != tests ] || command -v node >/dev/null || missing+=("Node.js 18 or later (for tests of cloud code)")
    [ ${#missing[@]} -gt 0 ] || return 0
    fail "missing: $(printf '%s, ' "${missing[@]}" | sed 's/, $//'). Their packages:
  Fedora, RHEL  dnf install libpq-devel libcurl-devel libxcrypt-devel zlib-devel pkgconf-pkg-config postgresql-server python3 nodejs
  Alpine        apk add libpq-dev curl-dev libxcrypt-dev zlib-dev pkgconf postgresql bash python3 nodejs
  Debian        apt-get install libpq-dev libcurl4-openssl-dev libcrypt-dev zlib1g-dev pkg-config postgresql python3 nodejs"
}

check_macos() {
    command -v brew >/dev/null || fail "Homebrew is missing: see https://brew.sh"
    local missing=() formula
    for formula in libpq libxcrypt pkgconf; do
        brew list --formula "$formula" >/dev/null 2>&1 || missing+=("$formula")
    done
    brew list --formula 2>/dev/null | grep -q '^postgresql' || missing+=("postgresql@16")
    command -v python3 >/dev/null || missing+=("python")
    [ "$purpose" != tests ] || command -v node >/dev/null || missing+=("node")
    [ ${#missing[@]} -eq 0 ] || fail "these formulas are missing: brew install ${missing[*]}"
    local prefix
    prefix="$(brew --prefix libpq)/lib/pkgconfig"
    case ":${PKG_CONFIG_PATH:-}:" in
        *":$prefix:"*) ;;
        *) pkg-config --exists libpq || fail "pkg-config doesn't find libpq. Run export PKG_CONFIG_PATH=\"$prefix\"" ;;
    esac
}

case "$(uname -s)" in
    Linux)
        if command -v apt-get >/dev/null; then install_debian; else check_other_linux; fi
        ;;
    Darwin) check_macos ;;
    *) fail "only Linux and macOS are supported" ;;
esac
