#!/usr/bin/env bash
# Installs what the tests need besides: PgBouncer from the system's packages, and of Python's packages aiosmtpd, the mail
# server that takes the mails of the tests, and pymongo, whose encoder makes the dumps that are imported, into
# .build/python, where nothing else is touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! PATH="$PATH:/usr/sbin" command -v pgbouncer >/dev/null; then
    if command -v apt-get >/dev/null; then
        privilege=()
        if [ "$(id -u)" -ne 0 ]; then privilege=(sudo); fi
        echo "test: installing pgbouncer" >&2
        ${privilege[@]+"${privilege[@]}"} env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null
    else
        echo "test: PgBouncer is missing (Fedora, Alpine, Homebrew: the package pgbouncer)" >&2
        exit 1
    fi
fi

folder=.build/python
missing=()
[ -e "$folder/aiosmtpd/__init__.py" ] || missing+=(aiosmtpd)
[ -e "$folder/bson/__init__.py" ] || missing+=(pymongo)
[ ${#missing[@]} -gt 0 ] || exit 0
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "test: pip is missing. Install it (Debian: apt-get install python3-pip), for ${missing[*]}" >&2
    exit 1
fi
echo "test: installing ${missing[*]} into $folder" >&2
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" "${missing[@]}"
