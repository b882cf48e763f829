"""Two processes on one database, which share the connections, against one."""

import load
from comparison import ratio
from goals import Figure, Goal


def run(stand):
    figures = []
    with stand.server() as first, stand.server() as second:
        for operation in ("get", "create"):

            def rate(*servers, operation=operation):
                stand.cluster.sql('TRUNCATE "NewGame"; CHECKPOINT;')
                ports = [server.port for server in servers]
                return load.wrk(first.origin, operation, 32, stand.seconds, ports=ports)["rate"]

            rate(first, second)  # Warms up.
            figures.append(
                Figure(f"{operation}: two processes to one",
                       ratio(lambda: rate(first), lambda: rate(first, second)), Goal(1.0))
            )
    return figures
