#!/usr/bin/env bash
# Installs what the tests need of Python's packages into .build/python, where nothing else is touched: aiosmtpd, the mail
# server that takes the mails of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=.build/python
[ -e "$folder/aiosmtpd/__init__.py" ] && exit 0
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "test: pip is missing. Install it (Debian: apt-get install python3-pip), for the mail server of the tests" >&2
    exit 1
fi
echo "test: installing aiosmtpd into $folder" >&2
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" aiosmtpd
