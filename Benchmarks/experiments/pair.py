"""Two processes on one database, which share the connections, against one."""

import statistics

import load
from comparison import medians
from goals import Figure, Goal

# Each process of a pair has half of them.
CONNECTIONS = (32, 256)
# About one is expected, so that a few in a hundred more or less matter. Processes differ more from each other than turns
# of the same ones: where the kernel puts them, and those of PostgreSQL, lasts.
PAIRS = 3
TURNS = 3


def _rate(stand, operation, connections, *servers):
    stand.cluster.sql('TRUNCATE "NewGame"; CHECKPOINT;')
    ports = [server.port for server in servers]
    return load.rate(servers[0].origin, operation, connections, stand.seconds, ports=ports)


def _rates(stand, operation, connections):
    """The rates of a process, of both, and of the other one, for a new pair of processes."""
    with stand.server() as first, stand.server() as second:
        return medians(
            lambda: _rate(stand, operation, connections, first),
            lambda: _rate(stand, operation, connections, first, second),
            lambda: _rate(stand, operation, connections, second), turns=TURNS)


def _figures(stand, operation, connections):
    pairs = [_rates(stand, operation, connections) for _ in range(PAIRS)]
    name = f"{operation}, {connections} connections"
    # Which of the two is taken for the one is chance, so that it is their mean.
    ratios = [both * 2 / (one + other) for one, both, other in pairs]
    yield Figure(f"{name}: two processes to one", statistics.median(ratios), Goal(1.0))
    # What should be 1, and shows how much of the figure above is noise.
    controls = [max(one, other) / min(one, other) for one, _, other in pairs]
    yield Figure(f"{name}: the better one alone to the other, at most", max(controls))


def run(stand):
    return [
        figure for operation in ("get", "create") for connections in CONNECTIONS
        for figure in _figures(stand, operation, connections)
    ]
