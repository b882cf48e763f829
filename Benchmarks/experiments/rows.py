"""A class of 1,000,000 rows against one of 10,000."""

import load
from comparison import ratio
from goals import Figure
from seed import make_games

SIZES = {"Small": 10_000, "Large": 1_000_000}


def run(stand):
    with stand.server() as server:
        for name, rows in SIZES.items():
            make_games(server, stand.cluster, name, rows)
        figures = []
        for operation in ("get", "find", "create"):

            def rate(name, operation=operation):
                stand.cluster.sql("CHECKPOINT;")
                return load.wrk(server.origin, operation, 32, stand.seconds, table=(name, SIZES[name]))["rate"]

            rate("Small"), rate("Large")  # Warms up.
            figures.append(
                Figure(f"{operation}: class of 1,000,000 rows to one of 10,000",
                       ratio(lambda: rate("Small"), lambda: rate("Large")))
            )
        stand.cluster.sql("".join(f'DROP TABLE "{name}"; ' for name in SIZES))
    return figures
