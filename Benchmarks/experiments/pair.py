"""Two processes on one database, which share the connections, against one."""

import load
from comparison import medians
from goals import Figure, Goal

# About one is expected, so that a tenth more or less matters.
TURNS = 7


def _rate(stand, operation, *servers):
    stand.cluster.sql('TRUNCATE "NewGame"; CHECKPOINT;')
    ports = [server.port for server in servers]
    return load.rate(servers[0].origin, operation, 32, stand.seconds, ports=ports)


def run(stand):
    figures = []
    with stand.server() as first, stand.server() as second:
        for operation in ("get", "create"):
            one, both, other = medians(
                lambda: _rate(stand, operation, first), lambda: _rate(stand, operation, first, second),
                lambda: _rate(stand, operation, second), turns=TURNS)
            figures.append(Figure(f"{operation}: two processes to one", both / one, Goal(1.0)))
            # What should be 1, and shows how much of the figure above is noise.
            figures.append(Figure(f"{operation}: the second process alone to the first", other / one))
    return figures
