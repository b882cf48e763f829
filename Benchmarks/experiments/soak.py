"""Checks that memory doesn't grow during minutes of mixed load."""

import threading
import time

import load
import processes
from goals import Figure, Goal

INTERVAL = 30
CONNECTIONS = 32


def run(stand, minutes):
    """Samples the memory every 30 seconds, or ten times in a short run. The first fifth warms up."""
    interval = min(INTERVAL, minutes * 60 / 10)
    samples, results = [], []
    with stand.server() as server:
        idle = processes.resident_megabytes(server.pid)

        def mix():
            results.append(load.wrk(server.origin, "mixed", CONNECTIONS, round(minutes * 60), stand.tokens))

        load_thread = threading.Thread(target=mix)
        begin = time.monotonic()
        load_thread.start()
        while (rest := begin + (len(samples) + 1) * interval - time.monotonic()) and load_thread.is_alive():
            load_thread.join(max(0, rest))
            if load_thread.is_alive():
                samples.append(processes.resident_megabytes(server.pid))
                print(f"soak  {len(samples) * interval:6.0f} s  {samples[-1]:7.1f} MB resident", flush=True)
        time.sleep(2)
        after = processes.resident_megabytes(server.pid)
    steady = samples[len(samples) // 5:]
    title = f"mixed load of {minutes:g} minutes, {CONNECTIONS} connections: "
    return [
        Figure(title + "requests/s", results[0]["rate"], digits=0),
        Figure(title + "errors", results[0]["errors"], Goal(0, at_most=True), digits=0),
        Figure(title + "memory idle before", idle, unit="MB", digits=0),
        Figure(title + "least memory after the first fifth", min(steady), unit="MB", digits=0),
        Figure(title + "most memory after it, above the least", (max(steady) / min(steady) - 1) * 100,
               Goal(5, at_most=True), "%", 1),
        Figure(title + "memory two seconds after", after, unit="MB", digits=0),
    ]
