#ifndef CCONSOLE_H
#define CCONSOLE_H

#include <stddef.h>

/* The files of the administration page, which are part of the binary. scripts/embed_console.sh writes their list. */

/* The number of files. */
int console_file_count(void);
/* The path of a file below the folder `files`. */
const char *console_file_name(int number);
/* The bytes of a file. */
const unsigned char *console_file_bytes(int number);
/* The size of a file in bytes. */
size_t console_file_size(int number);

#endif
