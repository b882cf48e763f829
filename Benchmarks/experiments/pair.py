"""Two processes on one database, which share the connections, against one."""

import statistics

import load
from goals import Figure, Goal
from operations import OPERATIONS

# All but log-ins, which take seconds when 32 clients want one.
MEASURED = [operation for operation in OPERATIONS if operation.name != "login"]
# Each process of a pair has half of them.
CONNECTIONS = (32, 256)
# About one is expected, so that a few in a hundred more or less matter. Processes differ more from each other than turns
# of the same ones: where the kernel puts them, and those of PostgreSQL, lasts.
PAIRS = 2
TURNS = 2


def _rate(stand, name, path, connections, *servers):
    stand.cluster.sql('TRUNCATE "NewGame"; CHECKPOINT;')
    ports = [server.port for server in servers]
    origin = servers[0].origin + path
    return load.rate(origin, name, connections, stand.seconds, tokens=stand.tokens, ports=ports)


def _ratios(stand, name, path, connections, first, second):
    """Both to the mean of each alone, turn by turn. The first turn warms up."""
    for turn in range(TURNS + 1):
        one, both, other = [
            _rate(stand, name, path, connections, *servers) for servers in ((first,), (first, second), (second,))
        ]
        # Which of the two is taken for the one is chance, so that it is their mean.
        if turn:
            yield both * 2 / (one + other)


def _figures(stand, connections):
    ratios = {name: [] for name in [*(operation.name for operation in MEASURED), "mixed"]}
    for _ in range(PAIRS):
        with stand.server() as first, stand.server() as second:
            for name, found in ratios.items():
                path = stand.file_path if name in ("file", "range") else ""
                found.extend(_ratios(stand, name, path, connections, first, second))
    means = {name: statistics.geometric_mean(found) for name, found in ratios.items()}
    title = f"{connections} connections, two processes to one: "
    yield Figure(title + "all operations", statistics.geometric_mean(means.values()), Goal(1.0))
    for name, mean in means.items():
        yield Figure(title + name, mean)


def run(stand):
    return [figure for connections in CONNECTIONS for figure in _figures(stand, connections)]
