"""The operations: what wrk asks Roost for, and the statements with which pgbench asks PostgreSQL for the same.

The statements are those that Roost sends (seen with log_statement = all), with the same bound parameters.
"""

import dataclasses

GAME = '"title", "genre", "score", "rating", "live", "tags", "meta", "released", "place", "studio", "plays", "note"'
COLUMNS = f'"objectId", "createdAt", "updatedAt", {GAME}, "_rperm", "_wperm"'
READABLE = '("_rperm" IS NULL OR "_rperm" && :readers)'
WRITABLE = '("_wperm" IS NULL OR "_wperm" && :readers)'

ROW_ID = "\\set id random(1000000001, 1000010000)\n"
GENRE = "\\set genre random(1, 100)\n"
# Fifteen digits instead of ten letters: two clients must never draw the same.
NEW_ID = "\\set {name} random(100000000000000, 999999999999999)\n"


def _insert(name):
    return (
        f'INSERT INTO "NewGame" ("objectId", "createdAt", "updatedAt", {GAME}) VALUES (:{name}, :now, :now, '
        ":title, :newgenre, :score, :rating, :live, :tags, :meta, :now, :place, :studio, :plays, :note);\n"
    )


GET = f'{ROW_ID}SELECT {COLUMNS} FROM "Game" WHERE "objectId" = :id AND {READABLE} LIMIT :one;\n'
FIND = (
    f'{GENRE}SELECT {COLUMNS} FROM "Game" WHERE "genre" = :genre AND {READABLE} '
    'ORDER BY "createdAt" DESC LIMIT :hundred;\n'
)
INCLUDE = (
    f'{GENRE}SELECT "objectId", "createdAt", "updatedAt", "genre", "minutes", "team", "_rperm", "_wperm" FROM "Play" '
    f'WHERE "genre" = :genre AND {READABLE} ORDER BY "createdAt" DESC LIMIT :twenty;\n'
    'SELECT "objectId", "createdAt", "updatedAt", "name", "city", "points", "_rperm", "_wperm" FROM "Team" '
    f'WHERE "objectId" = ANY(:teams) AND TRUE AND {READABLE};\n'
)
UPDATE = (
    f'{ROW_ID}UPDATE "Game" SET "updatedAt" = :now, "title" = :title WHERE "objectId" = :id AND TRUE AND {WRITABLE} '
    "RETURNING 1;\n"
)
INCREMENT = (
    f'{ROW_ID}UPDATE "Game" SET "updatedAt" = :now, "plays" = COALESCE("plays", 0) + :one WHERE "objectId" = :id '
    f'AND TRUE AND {WRITABLE} RETURNING "objectId", "createdAt", "updatedAt", "plays", "_rperm", "_wperm";\n'
)
CREATE = NEW_ID.format(name="id") + _insert("id")
# A pipeline is one transaction, and one round trip: the best that PostgreSQL can do with 50 statements.
BATCH = (
    "".join(NEW_ID.format(name=f"id{number}") for number in range(50))
    + "\\startpipeline\n"
    + "".join(_insert(f"id{number}") for number in range(50))
    + "\\endpipeline\n"
)

# Variables of pgbench; in prepared mode each becomes a bound parameter.
VARIABLES = {
    "readers": "{*}", "one": "1", "twenty": "20", "hundred": "100", "now": "2026-01-01 00:00:00+00",
    "title": "A game of the benchmark", "newgenre": "new", "studio": "Studio 17", "note": "Made by a request",
    "score": "4711", "rating": "3.5", "plays": "12", "live": "t", "tags": '["fast", "new"]',
    "meta": '{"level": 3, "mode": "solo"}', "place": "(11.5,48.2)",
    "teams": "{" + ",".join(str(1000000001 + number * 37) for number in range(20)) + "}",
}


@dataclasses.dataclass(frozen=True)
class Operation:
    """`name` is that of requests.lua. `writes`: begins with a checkpoint and an empty table for new rows.
    `shortest`: seconds below which a measurement says nothing, because answers are slow.
    """

    name: str
    title: str
    script: str | None = None
    writes: bool = False
    reference: str = "pgbench"
    shortest: int = 1


OPERATIONS = [
    Operation("health", "health", reference="none"),
    Operation("get", "get by id", GET),
    Operation("find", "find 100 of 10,000, indexed, ordered", FIND),
    Operation("include", "find 20 with an include", INCLUDE),
    Operation("create", "create, 12 fields", CREATE, writes=True),
    Operation("update", "update of one field", UPDATE, writes=True),
    Operation("increment", "increment", INCREMENT, writes=True),
    Operation("batch", "batch of 50 creates", BATCH, writes=True, shortest=6),
    Operation("me", "users/me", reference="health"),
    Operation("login", "log-in", writes=True, reference="crypt", shortest=8),
    Operation("file", "file of 1 MB", reference="none"),
]
