#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/* zlib's own name for this is a macro, which Swift does not see. */
static inline int inflate_begin(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }

#endif
