"""The latency of gets during heavy work: log-ins, and aggregations over 200,000 rows."""

import concurrent.futures
import contextlib
import json
import statistics
import threading
import time
import urllib.parse

import load
from goals import Figure, Goal

# So few that gets alone don't saturate the machine.
CONNECTIONS = 8
LOG_INS = 32
AGGREGATES = 4
ROUNDS = 5
GOAL = Goal(10, at_most=True)
PIPELINE = [{"$group": {"_id": "$post", "count": {"$sum": 1}}}, {"$sort": {"count": -1}}, {"$limit": 10}]


@contextlib.contextmanager
def _beside(functions):
    """Runs functions on separate threads, waits for them, and raises their exceptions."""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        futures = [pool.submit(function) for function in functions]
        time.sleep(1)
        yield
    for future in futures:
        future.result()


def _late(server, seconds):
    return load.wrk(server.origin, "get", CONNECTIONS, seconds)["p99"]


def _while_logging_in(stand, server):
    seconds = stand.seconds + 2
    with _beside([lambda: load.wrk(server.origin, "login", LOG_INS, seconds, stand.tokens)]):
        return _late(server, stand.seconds)


def _while_aggregating(stand, server):
    done = threading.Event()
    path = "/aggregate/Comments?" + urllib.parse.urlencode({"pipeline": json.dumps(PIPELINE)})

    def aggregate():
        while not done.is_set():
            server.call("GET", path, master=True)

    with _beside([aggregate] * AGGREGATES):
        try:
            return _late(server, stand.seconds)
        finally:
            done.set()


def run(stand):
    idle, logging_in, aggregating = [], [], []
    with stand.server() as server:
        load.wrk(server.origin, "get", CONNECTIONS, 1)
        for _ in range(ROUNDS):
            idle.append(_late(server, stand.seconds))
            logging_in.append(_while_logging_in(stand, server))
            load.settle(server, stand.cluster)
            aggregating.append(_while_aggregating(stand, server))
            load.settle(server, stand.cluster)
    idle, logging_in, aggregating = map(statistics.median, (idle, logging_in, aggregating))
    title = f"p99 of gets, {CONNECTIONS} connections, "
    times = "times that of nothing else"
    return [
        Figure(title + "nothing else", idle, unit="ms"),
        Figure(title + f"{LOG_INS} clients logging in", logging_in, unit="ms"),
        Figure(title + f"{LOG_INS} clients logging in: {times}", logging_in / idle, GOAL, digits=1),
        Figure(title + f"{AGGREGATES} aggregates", aggregating, unit="ms"),
        Figure(title + f"{AGGREGATES} aggregates: {times}", aggregating / idle, GOAL, digits=1),
    ]
