# Functions that install system packages, for scripts that source this file. Those scripts must define a function
# `fail`.

# confirm QUESTION: asks at a terminal. Succeeds without asking if ASSUME_YES or CI is set, or without a terminal.
confirm() {
    if [ -n "${ASSUME_YES:-}" ] || [ -n "${CI:-}" ] || [ ! -t 0 ] || [ ! -t 2 ]; then return; fi
    local answer
    read -r -p "$1 [Y/n] " answer
    case "$answer" in
    "" | [yY] | [yY][eE][sS]) ;;
    *) return 1 ;;
    esac
}

# install_packages NAME PACKAGE…: installs Debian or Ubuntu packages for the script NAME, after asking. Asks again if
# installed packages would be upgraded or removed, for example because libraries must have matching versions. RUNLEVEL=1
# keeps packages with init scripts from starting their services.
install_packages() {
    local name=$1 privilege=() changed
    shift
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "these packages are missing: $*. Install sudo, or install them as root"
        privilege=(sudo)
    fi
    echo "$name: installing $* (${privilege[*]:-as root} apt-get install)" >&2
    confirm "Install these packages?" || fail "nothing was installed. Install them yourself: $*"
    ${privilege[@]+"${privilege[@]}"} apt-get update -qq >&2 ||
        echo "$name: apt-get update failed, using the existing package lists" >&2
    changed=$(apt-get install --simulate --no-upgrade --no-install-recommends "$@" 2>/dev/null |
        awk '/^Inst [^ ]+ \[/ || /^Remv / { printf "%s ", $2 }') || true
    if [ -n "$changed" ]; then
        echo "$name: this upgrades or removes installed packages: $changed" >&2
        confirm "Do that?" || fail "nothing was installed"
    fi
    ${privilege[@]+"${privilege[@]}"} env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -qq --no-upgrade --no-install-recommends "$@" >&2
}
