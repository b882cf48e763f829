"""The statements of pgbench that correspond to wrk's requests to Roost.

They are Roost's own statements (from log_statement = all), with the same bound parameters. If Roost's statements change,
these remain valid as long as they do the same work: the same rows, indexes and columns.
"""

GAME = '"title", "genre", "score", "rating", "live", "tags", "meta", "released", "place", "studio", "plays", "note"'
OWN = '"objectId", "createdAt", "updatedAt"'
ACL = '"_rperm", "_wperm"'
USER = (
    '"username", "emailVerified", "image", "followers", "following", "imageUrls", "playlists", "description", '
    '"followersCount", "followingCount", "profilePicture"'
)
READABLE = '("_rperm" IS NULL OR "_rperm" && :readers)'
WRITABLE = '("_wperm" IS NULL OR "_wperm" && :readers)'

ROW_ID = "\\set id random(1000000001, 1000010000)\n"
OWNER_ID = "\\set id random(1000000001, 1000005000)\n"
GENRE = "\\set genre random(1, 100)\n"
# 15 digits instead of ten letters, so that two clients never generate the same id.
NEW_ID = "\\set {name} random(100000000000000, 999999999999999)\n"


def _select(table, fields, condition, order, limit):
    return (
        f'SELECT {OWN}, {fields}, {ACL} FROM "{table}" WHERE {condition} AND {READABLE} '
        f'ORDER BY "{order}" DESC LIMIT :{limit};\n'
    )


def _included(table, fields, ids):
    return f'SELECT {OWN}, {fields}, {ACL} FROM "{table}" WHERE "objectId" = ANY(:{ids}) AND TRUE AND {READABLE};\n'


def _insert(name):
    return (
        f'INSERT INTO "NewGame" ({OWN}, {GAME}) VALUES (:{name}, :now, :now, '
        ":title, :newgenre, :score, :rating, :live, :tags, :meta, :now, :place, :studio, :plays, :note);\n"
    )


POST = '"song", "time", "user", "caption"'
FOLLOWED = (
    f'"user" IN (SELECT "followed" FROM "Followers" WHERE "following" = :id AND {READABLE} AND "followed" IS NOT NULL)'
)
NAMED = f'"user" IN (SELECT "objectId" FROM "_User" WHERE "username" = ANY(:names) AND {READABLE})'

GET = f'{ROW_ID}SELECT {OWN}, {GAME}, {ACL} FROM "Game" WHERE "objectId" = :id AND {READABLE} LIMIT :one;\n'
FIND = GENRE + _select("Game", GAME, '"genre" = :genre', "createdAt", "hundred")
INCLUDE = (
    GENRE
    + _select("Play", '"genre", "minutes", "team"', '"genre" = :genre', "createdAt", "twenty")
    + _included("Team", '"name", "city", "points"', "teams")
)
TWO_LEVELS = (
    ROW_ID
    + _select("Comments", '"post", "text", "time", "user"', '"user" = :id', "createdAt", "twenty")
    + _included("Posts", POST, "posts")
    + _included("_User", USER, "users")
)
ARRAY = (
    OWNER_ID
    + _select(
        "Playlist", '"name", "user", "album", "songs", "title", "artist", "artist_pic"', '"user" = :id', "updatedAt",
        "twenty",
    )
    + _included("Song", '"name", "album", "artist", "albumCover"', "songs")
)
FEED = ROW_ID + _select("Posts", POST, FOLLOWED, "time", "twenty") + _included("_User", USER, "users")
IN_QUERY = _select("Posts", POST, NAMED, "time", "twenty")
UPDATE = (
    f'{ROW_ID}UPDATE "Game" SET "updatedAt" = :now, "title" = :title WHERE "objectId" = :id AND TRUE AND {WRITABLE} '
    "RETURNING 1;\n"
)
INCREMENT = (
    f'{ROW_ID}UPDATE "Game" SET "updatedAt" = :now, "plays" = COALESCE("plays", 0) + :one WHERE "objectId" = :id '
    f'AND TRUE AND {WRITABLE} RETURNING {OWN}, "plays", {ACL};\n'
)
CREATE = NEW_ID.format(name="id") + _insert("id")
# A pipeline is one transaction and one round trip, the fastest way to run 50 statements.
BATCH = (
    "".join(NEW_ID.format(name=f"id{number}") for number in range(50))
    + "\\startpipeline\n"
    + "".join(_insert(f"id{number}") for number in range(50))
    + "\\endpipeline\n"
)


def _ids(count, step):
    """Returns as many ids as a response has objects of the class, with the same distances."""
    return "{" + ",".join(str(1000000001 + number * step) for number in range(count)) + "}"


# Variables of pgbench. In prepared mode each becomes a bound parameter.
VARIABLES = {
    "readers": "{*}", "one": "1", "twenty": "20", "hundred": "100", "now": "2026-01-01 00:00:00+00",
    "title": "A game of the benchmark", "newgenre": "new", "studio": "Studio 17", "note": "Made by a request",
    "score": "4711", "rating": "3.5", "plays": "12", "live": "t", "tags": '["fast", "new"]',
    "meta": '{"level": 3, "mode": "solo"}', "place": "(11.5,48.2)",
    "teams": _ids(20, 37), "posts": _ids(20, 4801), "users": _ids(20, 487), "songs": _ids(60, 163),
    "names": "{" + ",".join(f"fan{number}" for number in range(4001, 4021)) + "}",
}
