#!/usr/bin/env bash
# Installs the libraries and programs that only tests need. As system packages: Chromium for the pages, PgBouncer, nginx
# and HAProxy, and OpenStack Swift, a file store with an S3 interface. From Debian's package `prometheus`, extracts
# promtool into .build/prometheus, so that no service is started; promtool checks metrics and alert rules. As Python
# packages in .build/python: aiosmtpd (a mail server), pymongo (encodes the dumps that tests import),
# opentelemetry-proto (decodes trace spans), moto and botocore (a file store with tags and permissions, and Amazon's
# client), and axe-core (checks the accessibility of pages).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/install.sh

fail() {
    echo "test: $*" >&2
    exit 1
}

# Returns whether one of the programs is installed. Administration programs may lie outside the PATH.
has_program() {
    local name
    for name in "$@"; do
        if PATH="$PATH:/usr/sbin" command -v "$name" >/dev/null; then return 0; fi
    done
    return 1
}

# Returns whether a browser is installed under one of the names that scripts/browser.py looks for.
has_browser() { python3 scripts/browser.py --find >/dev/null 2>&1; }

# Returns whether all Python packages are installed, or pip to install them.
has_python_packages() {
    [ -e "$python_folder/aiosmtpd/__init__.py" ] && [ -e "$python_folder/bson/__init__.py" ] &&
        [ -d "$python_folder/opentelemetry/proto" ] && [ -d "$python_folder/moto" ] &&
        [ -d "$python_folder/axe_playwright_python" ] ||
        python3 -m pip --version >/dev/null 2>&1
}

install_programs() {
    local missing=()
    has_browser || missing+=(chromium fonts-dejavu-core)
    local name
    for name in pgbouncer nginx haproxy; do has_program "$name" || missing+=("$name"); done
    has_python_packages || missing+=(python3-pip)
    # On systems without this package, its tests are skipped.
    ! command -v apt-get >/dev/null || has_program swift-proxy-server ||
        missing+=(swift-proxy swift-account swift-container swift-object)
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "these are missing, by the names of Debian's packages: ${missing[*]}. Others':
  Fedora, RHEL  dnf install chromium dejavu-sans-fonts pgbouncer nginx haproxy python3-pip
  Alpine        apk add chromium font-dejavu pgbouncer nginx haproxy py3-pip
  Arch          pacman -S chromium ttf-dejavu pgbouncer nginx haproxy python-pip
  macOS         brew install --cask chromium; brew install pgbouncer nginx haproxy python"
    install_packages test "${missing[@]}" ||
        fail "${missing[*]} could not be installed: see above. Any Chromium or Google Chrome will do (on Ubuntu: snap
      install chromium)"
    has_browser || fail "Chromium was installed, but no program of its names is in the path: $(
        python3 scripts/browser.py --find 2>&1 || true)"
}

# Extracts promtool, because the package would install and start Prometheus.
install_promtool() {
    local folder=.build/prometheus
    if has_program promtool || [ -x "$folder/usr/bin/promtool" ]; then return 0; fi
    command -v dpkg-deb >/dev/null && command -v apt-get >/dev/null || fail "promtool is missing: it comes with
  Prometheus (dnf install golang-github-prometheus, apk add prometheus, pacman -S prometheus, brew install prometheus)"
    echo "test: unpacking Debian's prometheus into $folder" >&2
    mkdir -p "$folder"
    (cd "$folder" && apt-get download -qq prometheus >&2 && dpkg-deb --extract prometheus_*.deb . &&
        rm -f prometheus_*.deb) || fail "Debian's package prometheus could not be unpacked: see above"
}

install_python_packages() {
    local folder=$python_folder missing=()
    [ -e "$folder/aiosmtpd/__init__.py" ] || missing+=(aiosmtpd)
    [ -e "$folder/bson/__init__.py" ] || missing+=(pymongo)
    [ -d "$folder/opentelemetry/proto" ] || missing+=(opentelemetry-proto)
    [ -d "$folder/moto" ] && [ -d "$folder/botocore" ] && [ -d "$folder/flask" ] || missing+=('moto[s3]' flask flask-cors)
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "test: installing ${missing[*]} into $folder" >&2
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" \
        "${missing[@]}" || fail "pip could not install ${missing[*]} into $folder"
}

# Without Playwright, on which the package depends: only the script axe-core inside it is used.
install_axe() {
    if [ -d "$python_folder/axe_playwright_python" ]; then return 0; fi
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target \
        "$python_folder" axe-playwright-python || fail "pip could not install axe-playwright-python into $python_folder"
}

python_folder=.build/python
install_programs
install_promtool
install_python_packages
install_axe
