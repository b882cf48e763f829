"""Two processes on one database, which share the connections, against one."""

import statistics

import load
from goals import Figure, Goal

OPERATIONS = ("get", "create", "mixed")
# Each process of a pair has half of them.
CONNECTIONS = (32, 256)
# About one is expected, so that a few in a hundred more or less matter. Processes differ more from each other than turns
# of the same ones: where the kernel puts them, and those of PostgreSQL, lasts.
PAIRS = 5
TURNS = 4


def _rate(stand, operation, connections, *servers):
    stand.cluster.sql('TRUNCATE "NewGame"; CHECKPOINT;')
    ports = [server.port for server in servers]
    return load.rate(servers[0].origin, operation, connections, stand.seconds, tokens=stand.tokens, ports=ports)


def _ratios(stand, operation, connections):
    """Both to the mean of each alone, turn by turn, for a new pair of processes. The first turn warms up."""
    with stand.server() as first, stand.server() as second:
        for turn in range(TURNS + 1):
            one, both, other = [
                _rate(stand, operation, connections, *servers) for servers in ((first,), (first, second), (second,))
            ]
            # Which of the two is taken for the one is chance, so that it is their mean.
            if turn:
                yield both * 2 / (one + other)


def _figures(stand, operation, connections):
    ratios = [ratio for _ in range(PAIRS) for ratio in _ratios(stand, operation, connections)]
    lower, median, upper = statistics.quantiles(ratios, n=4)
    title = f"{operation}, {connections} connections: two processes to one"
    yield Figure(title, median, Goal(1.0))
    # How much of the figure above is noise.
    yield Figure(f"{title}, a quarter of the turns below", lower)
    yield Figure(f"{title}, a quarter of the turns above", upper)


def run(stand):
    return [
        figure for operation in OPERATIONS for connections in CONNECTIONS
        for figure in _figures(stand, operation, connections)
    ]
