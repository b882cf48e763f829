#!/usr/bin/env python3
"""Stores sample users, albums, songs and posts in the example's server if it has none.

Usage: objects.py PROCESS [OPTIONS OF ROOST SERVE…]. Waits for the server while its process runs. Uses --port.
Started by `make run`.
"""

import json
import os
import pathlib
import random
import secrets
import sys
import time
import urllib.error
import urllib.request

OPTIONS = json.loads((pathlib.Path(__file__).parent / "roost.json").read_text())
FIRST = "River Gold Silent Night Paper Blue Lost Sun Velvet Ocean Winter Golden".split()
SECOND = "Song Letters Road Hearts Machine Garden Light Dance".split()


def port(arguments):
    for place, text in enumerate(arguments):
        if text == "--port" and place + 1 < len(arguments):
            return arguments[place + 1]
        if text.startswith("--port="):
            return text.removeprefix("--port=")
    return OPTIONS["port"]


def call(url, method, path, body=None):
    request = urllib.request.Request(url + path, None if body is None else json.dumps(body).encode(), {
        "X-Parse-Application-Id": OPTIONS["appId"], "X-Parse-Master-Key": OPTIONS["masterKey"],
        "Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.loads(answer.read() or b"{}")


def create(url, rows):
    """Stores objects, given as pairs of class and fields, and returns their ids."""
    ids = []
    for start in range(0, len(rows), 50):
        answers = call(url, "POST", "/batch", {"requests": [
            {"method": "POST", "path": f"{OPTIONS['mountPath']}/classes/{name}", "body": body}
            for name, body in rows[start:start + 50]]})
        ids += [answer["success"]["objectId"] for answer in answers]
    return ids


def pointer(name, object_id):
    return {"__type": "Pointer", "className": name, "objectId": object_id}


def date(year, month, day):
    return {"__type": "Date", "iso": f"{year}-{month:02d}-{day:02d}T00:00:00.000Z"}


def fill(url):
    """Stores the objects. They are the same at each run, except for the passwords."""
    rng = random.Random(36)
    title = lambda: f"{rng.choice(FIRST)} {rng.choice(SECOND)}"
    artists = [f"The {rng.choice(FIRST)} {end}" for end in ("Foxes", "Waves", "Mirrors", "Engines")]
    # Random passwords, because this file is public.
    users = [call(url, "POST", "/users", {"username": name, "password": secrets.token_urlsafe(24), "description": words})["objectId"]
             for name, words in (("kim", "Plays the cello"), ("ada", "Collects live records"), ("lin", "Hums along"))]
    albums = [{"name": title(), "artist": rng.choice(artists)} for _ in range(24)]
    ids = create(url, [("Albums", album) for album in albums])
    songs = [{"name": title(), "album_name": album["name"], "track_no": track, "timeLength": rng.randrange(110, 420),
              "release": date(1990 + number, 1 + number % 12, 3)} for number, album in enumerate(albums) for track in range(1, 9)]
    for song in songs:
        song["songName"] = f"{song['name']} ({song['album_name']})"
    create(url, [("Songs", song) for song in songs])
    own = lambda user: {user: {"read": True, "write": True}, "*": {"read": True}}
    create(url, [("UserAlbums", {"creator": pointer("_User", user), "albumID": pointer("Albums", album), "ACL": own(user)})
                 for user in users for album in rng.sample(ids, 4)])
    posts = [(rng.choice(users), rng.choice(songs)["name"]) for _ in range(12)]
    ids = create(url, [("Posts", {"user": pointer("_User", user), "song": song, "caption": f"{song} all day", "time": date(2024, 5, 1 + number),
                                  "ACL": own(user)}) for number, (user, song) in enumerate(posts)])
    create(url, [("Likes", {"user": pointer("_User", user), "post": pointer("Posts", post), "ACL": own(user)})
                 for post in ids for user in rng.sample(users, rng.randrange(3))])


def main():
    process, url = int(sys.argv[1]), f"http://127.0.0.1:{port(sys.argv[2:])}{OPTIONS['mountPath']}"
    try:
        while True:
            try:
                call(url, "GET", "/health")
                break
            except OSError:
                time.sleep(0.2)
                # The server may have ended.
                os.kill(process, 0)
        if not any(call(url, "GET", f"/classes/{name}?count=1&limit=0")["count"] for name in ("_User", "Albums", "Songs", "Posts")):
            fill(url)
    except (OSError, KeyError):
        # The server has other keys, so it isn't the example, or it has ended.
        pass


main()
