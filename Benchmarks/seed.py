"""Creates the data of the measurements: classes through the server, rows in SQL.

Game has 10,000 rows of 12 fields in 100 genres, and 10,000 plays point to 1,000 teams. music.sql has the music apps.
Ids are strings of ten digits, so that pgbench can generate them as numbers and send the same statements as Roost.
"""

import pathlib

USERS = 20

GAME_FIELDS = {
    "title": "String", "genre": "String", "studio": "String", "note": "String",
    "score": "Number", "rating": "Number", "plays": "Number", "live": "Boolean",
    "tags": "Array", "meta": "Object", "released": "Date", "place": "GeoPoint",
}

GAMES = """
INSERT INTO "{name}" ("objectId", "createdAt", "updatedAt", "title", "genre", "studio", "note", "score", "rating",
    "plays", "live", "tags", "meta", "released", "place")
SELECT (1000000000 + n)::text, now() - n * interval '1 minute', now(), 'Title of game ' || n, (n % 100 + 1)::text,
    'Studio ' || n % 50, 'A note of some words on the game with the number ' || n, n, n % 50 / 10.0, 0, n % 2 = 0,
    '["fast", "new"]', '{{"level": 3, "mode": "solo"}}', now() - n * interval '1 day', point(n % 180, n % 90)
FROM generate_series(1, {rows}) AS n;
CREATE INDEX ON "{name}" ("genre", "createdAt" DESC);
VACUUM ANALYZE "{name}";
"""

PLAYS = """
INSERT INTO "Team" ("objectId", "createdAt", "updatedAt", "name", "city", "points")
SELECT (1000000000 + n)::text, now(), now(), 'Team ' || n, 'City ' || n % 40, n FROM generate_series(1, 1000) AS n;
INSERT INTO "Play" ("objectId", "createdAt", "updatedAt", "genre", "minutes", "team")
SELECT (1000000000 + n)::text, now() - n * interval '1 minute', now(), (n % 100 + 1)::text, n % 90,
    (1000000000 + (n * 37) % 1000 + 1)::text
FROM generate_series(1, 10000) AS n;
CREATE INDEX ON "Play" ("genre", "createdAt" DESC);
"""


def _make_class(server, name, fields):
    fields = {field: kind if isinstance(kind, dict) else {"type": kind} for field, kind in fields.items()}
    server.call("POST", f"/schemas/{name}", {"className": name, "fields": fields}, master=True)


def make_games(server, cluster, name, rows, database="postgres"):
    """Creates a class of 12 fields with its rows."""
    _make_class(server, name, GAME_FIELDS)
    cluster.sql(GAMES.format(name=name, rows=rows), database)


def seed(server, cluster, file):
    """Creates all data of the operations, and returns session tokens and the path of `file`."""
    make_games(server, cluster, "Game", 10000)
    make_games(server, cluster, "NewGame", 0)
    _make_class(server, "Team", {"name": "String", "city": "String", "points": "Number"})
    team = {"type": "Pointer", "targetClass": "Team"}
    _make_class(server, "Play", {"genre": "String", "minutes": "Number", "team": team})
    cluster.sql(PLAYS)
    cluster.sql(pathlib.Path(__file__).with_name("music.sql").read_text(encoding="utf-8"))
    cluster.sql("VACUUM ANALYZE;")
    tokens = [
        server.call("POST", "/users", {"username": f"user{number}", "password": "benchmark"})["sessionToken"]
        for number in range(1, USERS + 1)
    ]
    url = server.call("POST", "/files/song.mp3", file, content_type="audio/mpeg", master=True)["url"]
    return tokens, "/parse" + url.split("/parse", 1)[1]
