#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/* inflateInit2 and deflateInit2 are macros, which Swift can't call. */
static inline int inflate_begin(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }
static inline int deflate_begin(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
