# confirm QUESTION: asks at a terminal, for the scripts that source this. ASSUME_YES and CI answer with yes, as does a missing
# terminal.
confirm() {
    if [ -n "${ASSUME_YES:-}" ] || [ -n "${CI:-}" ] || [ ! -t 0 ] || [ ! -t 2 ]; then return; fi
    local answer
    read -r -p "$1 [Y/n] " answer
    case "$answer" in
    "" | [yY] | [yY][eE][sS]) ;;
    *) return 1 ;;
    esac
}
