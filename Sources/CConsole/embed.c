// Written by scripts/embed_console.sh: the files of the folder `files`.
#include "CConsole.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif

struct file {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

static const unsigned char file_0[] = {
#embed "files/index.html"
};
static const unsigned char file_1[] = {
#embed "files/main.js"
};

static const struct file all[] = {
    {"index.html", file_0, sizeof file_0},
    {"main.js", file_1, sizeof file_1},
};

int console_file_count(void) { return sizeof all / sizeof all[0]; }
const char *console_file_name(int number) { return all[number].name; }
const unsigned char *console_file_bytes(int number) { return all[number].bytes; }
size_t console_file_size(int number) { return all[number].size; }
