#!/usr/bin/env bash
# Installs what the tests need beside the dependencies. From the system's packages: Chromium, which opens the pages, and
# PgBouncer. Of Python's, into .build/python, where nothing else is touched: aiosmtpd, the mail server that takes the
# mails, and pymongo, whose encoder makes the dumps that are imported.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "test: $*" >&2
    exit 1
}

# Whether there is one of the programs; those of the system's administration are not in everybody's path.
has_program() {
    local name
    for name in "$@"; do
        if PATH="$PATH:/usr/sbin" command -v "$name" >/dev/null; then return 0; fi
    done
    return 1
}

install_programs() {
    local missing=() privilege=()
    # A browser under one of the names that scripts/browser.py looks for.
    has_program chromium chromium-browser google-chrome || missing+=(chromium fonts-dejavu-core)
    has_program pgbouncer || missing+=(pgbouncer)
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "missing, by the names of their packages: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "missing, and there is no sudo to install them: ${missing[*]}"
        privilege=(sudo)
    fi
    echo "test: installing ${missing[*]} (${privilege[*]:-as root} apt-get install)" >&2
    ${privilege[@]+"${privilege[@]}"} apt-get update -qq ||
        echo "test: apt-get update failed; trying with the lists at hand" >&2
    ${privilege[@]+"${privilege[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

install_python_packages() {
    local folder=.build/python missing=()
    [ -e "$folder/aiosmtpd/__init__.py" ] || missing+=(aiosmtpd)
    [ -e "$folder/bson/__init__.py" ] || missing+=(pymongo)
    [ ${#missing[@]} -gt 0 ] || return 0
    python3 -m pip --version >/dev/null 2>&1 ||
        fail "pip is missing (Debian: apt-get install python3-pip), for ${missing[*]}"
    echo "test: installing ${missing[*]} into $folder" >&2
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" "${missing[@]}"
}

install_programs
install_python_packages
