"""Computes bcrypt hashes on as many threads as Roost uses, the upper bound for log-ins."""

import ctypes
import os
import threading
import time

THREADS = max(1, len(os.sched_getaffinity(0)) - 1)
CRYPT_DATA_BYTES = 32768


def _count_hashes(library, seconds, counts):
    data = ctypes.create_string_buffer(CRYPT_DATA_BYTES)
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        # ctypes releases the interpreter lock during the call.
        if not library.crypt_r(b"benchmark", b"$2b$10$LIjhG/eCp2nWR/CzsAjvq.", data):
            return
        count += 1
    counts.append(count)


def hashes_a_second(seconds):
    """Returns the hashes per second at cost 10, the cost of passwords."""
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt_r.restype = ctypes.c_char_p
    counts = []
    threads = [threading.Thread(target=_count_hashes, args=(library, seconds, counts)) for _ in range(THREADS)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(counts) < THREADS:
        raise SystemExit("bench: libcrypt doesn't support bcrypt")
    return sum(counts) / (time.monotonic() - begin)
