"""The data: 10,000 games of 12 fields in 100 genres, 10,000 plays that point to 1,000 teams, 20 users, one file.

Ids are texts of ten digits, so that pgbench can draw them as numbers and send the very statement that Roost sends.
"""

USERS = 20
FILE_BYTES = 1024 * 1024

GAME_FIELDS = {
    "title": "String", "genre": "String", "studio": "String", "note": "String",
    "score": "Number", "rating": "Number", "plays": "Number", "live": "Boolean",
    "tags": "Array", "meta": "Object", "released": "Date", "place": "GeoPoint",
}

ROWS = """
INSERT INTO "Game" ("objectId", "createdAt", "updatedAt", "title", "genre", "studio", "note", "score", "rating",
    "plays", "live", "tags", "meta", "released", "place")
SELECT (1000000000 + n)::text, now() - n * interval '1 minute', now(), 'Title of game ' || n, (n % 100 + 1)::text,
    'Studio ' || n % 50, 'A note of some words on the game with the number ' || n, n, n % 50 / 10.0, 0, n % 2 = 0,
    '["fast", "new"]', '{"level": 3, "mode": "solo"}', now() - n * interval '1 day', point(n % 180, n % 90)
FROM generate_series(1, 10000) AS n;
INSERT INTO "Team" ("objectId", "createdAt", "updatedAt", "name", "city", "points")
SELECT (1000000000 + n)::text, now(), now(), 'Team ' || n, 'City ' || n % 40, n FROM generate_series(1, 1000) AS n;
INSERT INTO "Play" ("objectId", "createdAt", "updatedAt", "genre", "minutes", "team")
SELECT (1000000000 + n)::text, now() - n * interval '1 minute', now(), (n % 100 + 1)::text, n % 90,
    (1000000000 + (n * 37) % 1000 + 1)::text
FROM generate_series(1, 10000) AS n;
CREATE INDEX ON "Game" ("genre", "createdAt" DESC);
CREATE INDEX ON "NewGame" ("genre", "createdAt" DESC);
CREATE INDEX ON "Play" ("genre", "createdAt" DESC);
VACUUM ANALYZE;
"""


def _types(fields):
    return {name: {"type": kind} for name, kind in fields.items()}


def seed(server, cluster):
    """Makes classes, users and the file over REST and the rows in SQL; gives session tokens and the file's path."""
    team = {"name": "String", "city": "String", "points": "Number"}
    play = {**_types({"genre": "String", "minutes": "Number"}), "team": {"type": "Pointer", "targetClass": "Team"}}
    for name, fields in (
        ("Game", _types(GAME_FIELDS)), ("NewGame", _types(GAME_FIELDS)), ("Team", _types(team)), ("Play", play),
    ):
        server.call("POST", f"/schemas/{name}", {"className": name, "fields": fields}, master=True)
    cluster.sql(ROWS)
    tokens = [
        server.call("POST", "/users", {"username": f"user{number}", "password": "benchmark"})["sessionToken"]
        for number in range(1, USERS + 1)
    ]
    url = server.call("POST", "/files/song.mp3", bytes(FILE_BYTES), content_type="audio/mpeg", master=True)["url"]
    return tokens, "/parse" + url.split("/parse", 1)[1]
