"""Compares a class of 1,000,000 rows with one of 10,000."""

import load
from comparison import ratio
from goals import Figure, Goal
from seed import make_games

SIZES = {"Small": 10_000, "Large": 1_000_000}


def _rate(stand, server, operation, name):
    stand.cluster.sql("CHECKPOINT;")
    return load.rate(server.origin, operation, 32, stand.seconds, table=(name, SIZES[name]))


def run(stand):
    figures = []
    with stand.server() as server:
        for name, rows in SIZES.items():
            make_games(server, stand.cluster, name, rows)
        for operation in ("get", "find", "create"):
            share = ratio(
                lambda: _rate(stand, server, operation, "Small"), lambda: _rate(stand, server, operation, "Large")
            )
            figures.append(Figure(f"{operation}: class of 1,000,000 rows to one of 10,000", share, Goal(0.8)))
    stand.cluster.sql("".join(f'TRUNCATE "{name}"; ' for name in SIZES))
    return figures
