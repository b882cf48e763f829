"""The memory used for a response of 12,000 rows, and the memory that remains in use."""

import time

import processes
from goals import Figure

ROWS = 12000
ANSWERS = 10


def run(stand):
    with stand.server() as server:
        server.call("GET", "/classes/Playlist?limit=20")
        idle = processes.resident_megabytes(server.pid)
        begin = time.monotonic()
        for _ in range(ANSWERS):
            answer = server.call("GET", f"/classes/Playlist?limit={ROWS}")
            if len(answer["results"]) != ROWS:
                raise SystemExit(f"bench: {len(answer['results'])} rows were returned instead of {ROWS}")
        seconds = (time.monotonic() - begin) / ANSWERS
        time.sleep(2)
        after = processes.resident_megabytes(server.pid)
        peak = processes.peak_megabytes(server.pid)
    return [
        Figure(f"answer of {ROWS:,} rows, with reading it", seconds * 1000, unit="ms", digits=0),
        Figure(f"memory before answers of {ROWS:,} rows", idle, unit="MB", digits=0),
        Figure(f"memory at the peak of {ANSWERS} such answers", peak, unit="MB", digits=0),
        Figure("memory two seconds after them", after, unit="MB", digits=0),
    ]
