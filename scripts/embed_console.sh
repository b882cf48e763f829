#!/bin/sh
# Writes the list of files that are embedded in the binary: the console's files, and the documents.
# With --check, only checks whether the list is up to date.
set -eu
cd "$(dirname "$0")/../Sources/Features/CConsole"

list() {
    cat <<'HEAD'
// Written by scripts/embed_console.sh: the files of the folder `files`, and the documents.
#include "CConsole.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif

struct file {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

HEAD
    number=0
    for file in $files; do
        printf 'static const unsigned char file_%d[] = {\n#embed "%s"\n};\n' "$number" "$file"
        number=$((number + 1))
    done
    printf '\nstatic const struct file all[] = {\n'
    number=0
    for file in $files; do
        name=${file#files/}
        printf '    {"%s", file_%d, sizeof file_%d},\n' "${name#../../../}" "$number" "$number"
        number=$((number + 1))
    done
    cat <<'TAIL'
};

int console_file_count(void) { return sizeof all / sizeof all[0]; }
const char *console_file_name(int number) { return all[number].name; }
const unsigned char *console_file_bytes(int number) { return all[number].bytes; }
size_t console_file_size(int number) { return all[number].size; }
TAIL
}

files=$(
    find files -type f ! -name '.*' | LC_ALL=C sort
    LC_ALL=C ls ../../../docs/*.md
)
if [ "${1:-}" = --check ]; then
    list | cmp -s - embed.c || { echo "embed.c is out of date. Run scripts/embed_console.sh" >&2; exit 1; }
else
    list > embed.c
fi
