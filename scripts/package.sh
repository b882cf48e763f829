#!/usr/bin/env bash
# Makes the packages of Roost in .build/packages: roost_<version>_<arch>.deb, roost-<version>-linux-<arch>.tar.gz and
# their SHA256SUMS. Needs dpkg-deb, dpkg-shlibdeps (dpkg-dev) and strip (binutils).
#
#   scripts/package.sh                   builds first
#   --binary FILE                        packages FILE instead
#   --version VERSION                    the version of the package; default: what scripts/version.sh package prints
#   --output FOLDER                      default: .build/packages
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "package: $*" >&2
    exit 1
}

binary=""
version=""
output=.build/packages
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1 is unknown or has no value: use --binary FILE, --version VERSION, --output FOLDER"
    case "$1" in
    --binary) binary=$2 ;;
    --version) version=$2 ;;
    --output) output=$2 ;;
    *) fail "$1 is unknown: use --binary FILE, --version VERSION, --output FOLDER" ;;
    esac
    shift 2
done

if [ -z "$binary" ]; then
    scripts/dependencies.sh package
    scripts/build.sh
    binary=.build/product/release/roost
fi
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install dpkg-dev binutils"
done
version=${version:-$(scripts/version.sh package)}
architecture=$(dpkg --print-architecture)
# The same sources and the same binary result in identical packages.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

libraries=$(ldd "$binary")
if [[ "$libraries" == *libswift* ]]; then
    fail "$binary links Swift's shared libraries, which Debian doesn't package. Build it with scripts/build.sh, which links them statically"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
root=$work/root
mkdir -p "$root/usr/bin" "$output"
output=$(cd "$output" && pwd)
# Removes the function names, which are a third of the file.
strip -o "$root/usr/bin/roost" "$binary"
roost=$root/usr/bin/roost
"$roost" --version >/dev/null || fail "$binary does not run here"

# install_file MODE PATH: writes standard input to a file of the package.
install_file() {
    mkdir -p "$(dirname "$root/$2")"
    cat >"$root/$2"
    chmod "$1" "$root/$2"
}

# Writes a manual page with the --help texts of the commands.
manual() {
    local command
    verbatim() { sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'; }
    echo ".TH ROOST 1 \"$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%B %Y')\" \"roost $version\" \"User Commands\""
    printf '.SH NAME\nroost \\- Parse\\-compatible backend on PostgreSQL\n.SH SYNOPSIS\n.B roost\n.I command\n[options]\n'
    printf '.SH DESCRIPTION\n.nf\n'
    "$roost" --help | verbatim
    echo .fi
    while read -r command; do
        printf '.SH ROOST %s\n.nf\n' "$(echo "$command" | tr '[:lower:]' '[:upper:]')"
        # shellcheck disable=SC2086
        COLUMNS=76 "$roost" $command --help | verbatim
        echo .fi
    done < <(commands)
    cat <<'END'
.SH FILES
.TP
.I /etc/roost/config.json
Options of the service.
.TP
.I /etc/roost/environment
Variables of the service, one NAME=value per line.
.TP
.I /var/lib/roost
The embedded PostgreSQL and uploaded files of the service.
END
}

# commands [COMMAND]: prints the commands that --help lists, each followed by its subcommands.
commands() {
    local name
    for name in $("$roost" "$@" --help |
        awk '/^SUBCOMMANDS:/ { inside = 1; next } inside && /^  [a-z]/ { print $1 } inside && /^$/ { exit }'); do
        echo "$@" "$name"
        commands "$@" "$name"
    done
}

notices() {
    cat LICENSE
    printf '\nThe binary contains the Swift standard library (Apache License 2.0 with Runtime Library Exception) and:\n\n'
    awk '!/^#/ { print "  " $1 " " $2 "  " $3 }' scripts/packages.txt
    printf '\nEach of them is under the license at its address. The Apache License 2.0 is in\n'
    printf '/usr/share/common-licenses/Apache-2.0 on Debian.\n'
}

manual | gzip -9n | install_file 644 usr/share/man/man1/roost.1.gz
"$roost" --generate-completion-script bash | install_file 644 usr/share/bash-completion/completions/roost
"$roost" --generate-completion-script zsh | install_file 644 usr/share/zsh/vendor-completions/_roost
"$roost" --generate-completion-script fish | install_file 644 usr/share/fish/vendor_completions.d/roost.fish
notices | install_file 644 usr/share/doc/roost/copyright
gzip -9n <CHANGELOG.md | install_file 644 usr/share/doc/roost/changelog.gz
sed 's|/usr/local/bin/roost|/usr/bin/roost|; 1d' examples/systemd/roost.service |
    install_file 644 usr/lib/systemd/system/roost.service
install_file 644 usr/share/roost/config.json <packaging/config.json

# The archive contains the same files except those for Debian.
name=roost-$version-linux-$architecture
archive=$work/$name
mkdir -p "$archive/share"
cp -a "$root/usr/bin" "$archive/bin"
cp -a "$root"/usr/share/{man,bash-completion,zsh,fish,doc} "$archive/share/"
cp examples/systemd/roost.service "$archive/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$name" |
    gzip -9n >"$output/$name.tar.gz"

# The libraries that the binary links, with the required versions.
mkdir -p "$work/source/debian"
printf 'Source: roost\n\nPackage: roost\nArchitecture: any\n' >"$work/source/debian/control"
depends=$(cd "$work/source" && dpkg-shlibdeps -O "$roost" 2>"$work/shlibdeps" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || fail "the libraries of the binary belong to no package: $(cat "$work/shlibdeps")"

mkdir -p "$root/DEBIAN" "$root/etc/roost"
install -m 755 packaging/postinst packaging/prerm packaging/postrm "$root/DEBIAN/"
cat >"$root/DEBIAN/control" <<END
Package: roost
Version: $version
Architecture: $architecture
Maintainer: Roost contributors <roost@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: $depends, ca-certificates, passwd
Recommends: postgresql (>= 13)
Suggests: nodejs (>= 18)
Section: web
Priority: optional
Description: Parse-compatible backend on PostgreSQL
 Roost speaks the REST interface of parse-server, so that apps built with the
 Parse SDKs talk to it without a change. It keeps its data in PostgreSQL, in the
 tables that parse-server uses, and runs an embedded PostgreSQL unless it is given
 the address of one.
END
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz --build "$root" "$output/roost_${version}_$architecture.deb" >/dev/null

(cd "$output" && sha256sum "roost_${version}_$architecture.deb" "$name.tar.gz" >SHA256SUMS)
echo "package: $("$roost" --version | head -n 1)"
(cd "$output" && ls -s --block-size=KiB "roost_${version}_$architecture.deb" "$name.tar.gz" SHA256SUMS)
