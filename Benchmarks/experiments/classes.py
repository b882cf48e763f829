"""Compares a schema of 500 classes with one of 5 (plus those of the music apps), in separate databases."""

import load
from comparison import ratio
from goals import Figure
from seed import make_games

COUNTS = {"few": 5, "many": 500}


def _fill(server, cluster, database, count):
    make_games(server, cluster, "Game", 10_000, database)
    make_games(server, cluster, "NewGame", 0, database)
    fields = {name: {"type": "String"} for name in ("name", "city", "street", "country", "note")}
    for number in range(count - 2):
        name = f"Filler{number}"
        server.call("POST", f"/schemas/{name}", {"className": name, "fields": fields}, master=True)


def _rate(stand, server, operation):
    stand.cluster.sql("CHECKPOINT;")
    return load.rate(server.origin, operation, 32, stand.seconds)


def run(stand):
    for database, count in COUNTS.items():
        stand.cluster.sql(f"CREATE DATABASE {database}")
        with stand.server(database) as server:
            _fill(server, stand.cluster, database, count)
    figures = []
    with stand.server("few") as few, stand.server("many") as many:
        for operation in ("get", "find", "create"):
            share = ratio(lambda: _rate(stand, few, operation), lambda: _rate(stand, many, operation))
            figures.append(Figure(f"{operation}: schema of 500 classes to one of 5", share))
        figures.append(Figure("start with 500 classes", many.seconds_to_first_answer * 1000, unit="ms", digits=0))
    for database in COUNTS:
        stand.cluster.sql(f"DROP DATABASE {database}")
    return figures
