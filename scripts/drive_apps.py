#!/usr/bin/env python3
"""Runs the requests of the five music apps against a running server, in the wire format of the iOS SDK.

    python3 scripts/drive_apps.py http://127.0.0.1:1337/parse            # every flow of every app
    python3 scripts/drive_apps.py http://127.0.0.1:1337/parse --verify   # checks that the last run's data still exists

Prints a line for each flow, and exits with 1 if one fails. Each run creates separate users and objects.
"""

import argparse
import json
import pathlib
import struct
import sys
import time
import traceback
import uuid
import zlib

from phone import Mismatch, Phone, date, pointer

PASSWORD = "correct horse"
CONFIGURATION = pathlib.Path(__file__).resolve().parent.parent / "examples" / "music" / "roost.json"


def png(red, green, blue):
    """Returns a PNG picture of one pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes([0, red, green, blue]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


AUDIO = b"ID3\x03\x00" + bytes(index * 7 % 251 for index in range(200_000))


def pause():
    """Waits, so that objects sorted by time have different times."""
    time.sleep(0.005)


class Drive:
    """One run of all flows. Each flow is a method. They run in source order."""

    def __init__(self, make_phone):
        self.make_phone = make_phone
        self.run = uuid.uuid4().hex[:8]
        self.kim, self.lee, self.max = make_phone(), make_phone(), make_phone()

    def name(self, who):
        return f"{who}-{self.run}"

    # Users, as all five apps have them

    def sign_up_and_log_in(self):
        self.kim.sign_up(self.name("kim"), PASSWORD, email=f"{self.name('kim')}@example.com", followersCount=0)
        self.lee.sign_up(self.name("Lee"), PASSWORD)
        self.max.sign_up(self.name("max"), PASSWORD)
        taken = {"username": self.name("kim"), "password": "other"}
        self.make_phone().send_json("POST", "/users", taken).fails(400, 202)
        self.make_phone().log_in(self.name("kim"), "wrong").fails(404, 101)
        answer = self.kim.log_in(self.name("kim"), PASSWORD).has(
            200, username=self.name("kim"), email=f"{self.name('kim')}@example.com", followersCount=0)
        answer.check("password" not in answer.json, "no password")

    def stay_logged_in(self):
        self.kim.me().has(200, objectId=self.kim.user_id, username=self.name("kim"), sessionToken=self.kim.token)
        stranger = self.make_phone()
        stranger.token = "r:0123456789abcdef0123456789abcdef"
        stranger.me().fails(400, 209)

    def users_are_public_but_not_their_mail(self):
        found = self.lee.find("_User", {"username": self.name("kim")})
        row = found.rows("username", [self.name("kim")])[0]
        found.check("email" not in row and "sessionToken" not in row and "password" not in row, "no private fields")

    # NotraMuse

    def notramuse_class_user_is_not_the_users(self):
        self.kim.find("User", {"Username": "SampleUser"}).has(200, results=[])

    def notramuse_save_tracks(self):
        self.picture = png(255, 0, 0)
        image = self.kim.upload("image.png", self.picture)
        self.cover = image
        got = self.kim.download(image).has(200)
        got.check(got.bytes == self.picture, "the bytes that were uploaded")
        got.check(got.headers.get("content-type", "").startswith("image/png"), "Content-Type image/png")
        # Foundation may add the form type to a body without one.
        again = self.kim.upload("image.png", self.picture, "application/x-www-form-urlencoded")
        same = self.kim.download(again).has(200)
        same.check(same.bytes == self.picture, "the bytes that were uploaded")
        self.tracks = []
        for title in ["One", "Two", "Three"]:
            self.tracks.append(self.kim.create(
                "Playlist", user=self.kim.user, title=title, artist="Björk 🎵", album="Début", artist_pic=image))
            pause()
        self.lee.create("Playlist", user=self.lee.user, title="Other", artist="x", album="y", artist_pic=image)

    def notramuse_library(self):
        mine = {"user": self.kim.user}
        rows = self.kim.find("Playlist", mine, order="-updatedAt").rows("title", ["Three", "Two", "One"])
        answer = self.kim.find("Playlist", mine, order="-updatedAt", limit="1")
        first = answer.rows("title", ["Three"])[0]
        answer.check(first["user"] == self.kim.user and first["artist_pic"] == self.cover, "the pointer and the file")
        answer.check(rows[0]["artist"] == "Björk 🎵", "text as it was saved")
        included = self.kim.find("Playlist", mine, include="user", order="updatedAt")
        user = included.rows("title", ["One", "Two", "Three"])[0]["user"]
        included.check(user["__type"] == "Object" and user["className"] == "_User"
                       and user["username"] == self.name("kim"), "the user included as an object")

    def notramuse_edit_and_delete_tracks(self):
        self.kim.save(self.tracks[0], title="Uno")
        self.kim.fetch(self.tracks[0]).has(200, title="Uno", album="Début")
        self.lee.update(self.tracks[0], title="stolen").fails(404, 101)
        self.lee.delete(self.tracks[0]).fails(404, 101)
        self.kim.delete(self.tracks[1]).has(200)
        self.kim.fetch(self.tracks[1]).fails(404, 101)
        self.kim.find("Playlist", {"user": self.kim.user}, order="-updatedAt").rows("title", ["Uno", "Three"])

    def notramuse_playlists_and_albums(self):
        song = self.kim.create("Songs", name="Hyperballad", cover_image=self.cover, album_name="Post", track_no=4,
                               release=date("1995-06-13T00:00:00.000Z"))
        listing = self.kim.create("UserPlaylists", creator=self.kim.user, name="Morning", playlist_img=self.cover,
                                  songIds=[song])
        self.kim.save(listing, name="Evening")
        tracks = {"items": [{"name": "Army of Me", "ms": 234000}], "total": 11}
        album = self.kim.create("Albums", name="Post", cover_image=self.cover, artist="Björk", tracks=tracks)
        self.kim.create("UserAlbums", creator=self.kim.user, albumID=album, album_img=self.cover)
        self.kim.count("UserPlaylists", {"creator": self.kim.user}).has(200, count=1, results=[])
        found = self.kim.find("UserPlaylists", {"creator": self.kim.user}, include="songIds")
        songs = found.rows("name", ["Evening"])[0]["songIds"]
        found.check(songs[0].get("track_no") == 4 and songs[0]["release"] == date("1995-06-13T00:00:00.000Z"),
                    "the song included")
        albums = self.kim.find("UserAlbums", {"creator": self.kim.user}, include="albumID")
        albums.has(200).check(len(albums["results"]) == 1 and albums["results"][0]["albumID"].get("tracks") == tracks,
                              "the album included with its tracks")

    # Songify

    def songify_collect_pictures(self):
        self.images = []
        for number in range(3):
            body = {"author": self.kim.user, "imageUrl": f"https://example.com/Artist{number}.jpg"}
            saved = self.kim.batch(("POST", "ImageUrl", None, body)).json[0]["success"]
            self.images.append(pointer("ImageUrl", saved["objectId"]))
            self.kim.save(self.kim.user, imageUrls={"__op": "Add", "objects": [self.images[-1]]}).has(
                200, imageUrls=self.images)
            pause()
        self.kim.create("ArtistImage", author=self.kim.user, imageUrl="https://example.com/a.jpg")

    def songify_scroll_and_search(self):
        mine = {"author": self.kim.user}
        urls = [f"https://example.com/Artist{number}.jpg" for number in range(3)]
        self.kim.find("ImageUrl", mine, order="createdAt", limit="2").rows("imageUrl", urls[:2])
        self.kim.find("ImageUrl", mine, order="createdAt", limit="2", skip="2").rows("imageUrl", urls[2:])
        search = {**mine, "imageUrl": {"$regex": "\\Qartist1\\E", "$options": "i"}}
        self.kim.find("ImageUrl", search).rows("imageUrl", urls[1:2])

    def songify_remove_a_picture(self):
        self.kim.save(self.kim.user, imageUrls={"__op": "Remove", "objects": [self.images[0]]}).has(
            200, imageUrls=self.images[1:])
        self.lee.delete(self.images[0]).fails(404, 101)
        self.kim.delete(self.images[0]).has(200)
        self.kim.me().has(200, imageUrls=self.images[1:])
        self.kim.count("ImageUrl", {"author": self.kim.user}).has(200, count=2)

    # JamSesh

    def jamsesh_song_plays_while_it_loads(self):
        file = self.kim.upload("song.mp3", AUDIO, "audio/mpeg")
        part = self.kim.download(file, {"Range": "bytes=1000-1999"}).has(206)
        part.check(part.bytes == AUDIO[1000:2000], "the bytes of the range")
        part.check(part.headers.get("content-range") == f"bytes 1000-1999/{len(AUDIO)}", "a Content-Range header")
        whole = self.kim.download(file).has(200)
        whole.check(whole.bytes == AUDIO, "the whole song")
        self.kim.download(file, {"Range": f"bytes={len(AUDIO)}-"}).has(416)
        self.song = self.kim.create("Songs", song=file, songName="Jam", timeLength=182.5)
        self.playlist = self.kim.create("Playlists", author=self.kim.user, songs=[self.song], playlistName="Set")

    def jamsesh_open_and_join_a_session(self):
        self.session = self.kim.create(
            "MusicSession", author=self.kim.user, users=[self.kim.user], playlist=self.playlist)
        pause()
        self.later = self.lee.create("MusicSession", author=self.lee.user, users=[])
        both = {"author": {"$in": [self.kim.user, self.lee.user]}}
        found = self.lee.find("MusicSession", both, include="author", order="-createdAt")
        rows = found.rows("objectId", [self.later["objectId"], self.session["objectId"]])
        found.check(rows[1]["author"].get("username") == self.name("kim"), "the author included")
        join = {"__op": "AddUnique", "objects": [self.lee.user]}
        for _ in range(2):
            self.lee.save(self.session, users=join).has(200, users=[self.kim.user, self.lee.user])
        leave = {"__op": "Remove", "objects": [self.lee.user]}
        self.lee.save(self.session, users=leave).has(200, users=[self.kim.user])
        self.lee.save(self.session, users=join)
        self.lee.delete(self.session).fails(404, 101)

    def jamsesh_chat(self):
        sent = []
        for phone, text in [(self.kim, "Hello"), (self.lee, "Hi \"kim\" 👋"), (self.kim, "Play!")]:
            sent.append(phone.create("Messages", musicSession=self.session, message=text, author=phone.user))
            phone.save(self.session, messages={"__op": "Add", "objects": [sent[-1]]})
            pause()
        texts = ["Hello", "Hi \"kim\" 👋", "Play!"]
        found = self.lee.find("Messages", {"musicSession": self.session}, order="createdAt", include="author")
        names = [row["author"].get("username") for row in found.rows("message", texts)]
        found.check(names == [self.name("kim"), self.name("Lee"), self.name("kim")], "the authors included")
        deep = self.lee.find("MusicSession", {"objectId": self.session["objectId"]}, limit="1",
                             include="author,messages.author,playlist.songs")
        session = deep.rows("objectId", [self.session["objectId"]])[0]
        deep.check([entry.get("message") for entry in session["messages"]] == texts, "the messages included")
        deep.check(session["messages"][1]["author"].get("username") == self.name("Lee"), "their authors included")
        deep.check(session["playlist"]["songs"][0].get("songName") == "Jam", "the playlist's songs included")
        self.lee.update(sent[0], message="forged").fails(404, 101)

    def jamsesh_private_session(self):
        rights = {"read": True, "write": True}
        acl = {self.kim.user_id: rights, self.lee.user_id: rights}
        private = self.kim.create("MusicSession", author=self.kim.user, users=[self.kim.user], ACL=acl)
        only = {"objectId": private["objectId"]}
        self.lee.find("MusicSession", only).rows("ACL", [acl])
        self.max.find("MusicSession", only).has(200, results=[])
        self.max.fetch(private).fails(404, 101)
        self.max.update(private, users={"__op": "AddUnique", "objects": [self.max.user]}).fails(404, 101)
        self.make_phone().find("MusicSession", only).has(200, results=[])
        self.lee.save(private, users={"__op": "AddUnique", "objects": [self.lee.user]})

    def jamsesh_follow_and_unfollow(self):
        def counted(kind, amount):
            return {"following": {"__op": kind, "objects": [self.lee.user]},
                    "followingCount": {"__op": "Increment", "amount": amount}}
        self.kim.save(self.kim.user, **counted("AddUnique", 1)).has(200, following=[self.lee.user], followingCount=1)
        self.kim.save(self.kim.user, **counted("Remove", -1)).has(200, following=[], followingCount=0)
        self.kim.save(self.kim.user, **counted("AddUnique", 1)).has(200, followingCount=1)
        self.kim.update(self.lee.user, followersCount={"__op": "Increment", "amount": 1}).fails(400, 206)

    def jamsesh_search_users(self):
        self.kim.find("_User", {"username": {"$regex": f"^\\Q{self.name('Lee')}\\E"}}).rows(
            "username", [self.name("Lee")])
        anywhere = {"username": {"$regex": f"EE-{self.run}", "$options": "i"}}
        self.kim.find("_User", anywhere).rows("username", [self.name("Lee")])
        self.kim.find("_User", {"username": {"$regex": f"(?i)lee-{self.run}"}}).rows("username", [self.name("Lee")])
        self.kim.find("_User", {"username": {"$regex": f"\\Q-{self.run}\\E$"}}, order="username", keys="username").rows(
            "username", sorted([self.name("Lee"), self.name("kim"), self.name("max")]))

    def jamsesh_profile_picture(self):
        file = self.kim.upload("profile.jpg", png(0, 255, 0), "image/jpeg")
        self.kim.save(self.kim.user, image=file, description="I play")
        self.lee.fetch(self.kim.user).has(200, image=file, description="I play")

    # SongSwap

    def songswap_posts_and_followers(self):
        self.posts = {}
        for number, phone in enumerate([self.kim, self.lee, self.max]):
            when = date(f"2016-05-0{number + 1}T10:00:00.000Z")
            caption = f"Post {number}"
            self.posts[caption] = phone.create("Posts", user=phone.user, song="4uLU6hMCjMI75M1A2tKUQC",
                                               caption=caption, time=when)
        second = date("2016-05-09T10:00:00.000Z")
        self.posts["Post 3"] = self.lee.create("Posts", user=self.lee.user, song="x", caption="Post 3", time=second)
        self.kim.create("Followers", following=self.kim.user, followed=self.lee.user)
        self.lee.find("Posts", {"user": self.lee.user}, order="-time").rows("caption", ["Post 3", "Post 1"])
        self.lee.find("Followers", {"followed": self.lee.user}).rows("following", [self.kim.user])
        self.kim.find("Followers", {"following": self.kim.user}).rows("followed", [self.lee.user])

    def songswap_feed(self):
        feed = ["Post 3", "Post 1"]
        self.kim.find("Posts", {"user": {"$in": [self.lee.user]}}, order="-time", include="user").rows("caption", feed)
        who = {"className": "_User", "where": {"username": {"$in": [self.name("Lee")]}}}
        self.kim.find("Posts", {"user": {"$inQuery": who}}, order="-time").rows("caption", feed)
        query = {"className": "Followers", "where": {"following": self.kim.user}}
        selected = {"user": {"$select": {"key": "followed", "query": query}}}
        self.kim.find("Posts", selected, order="-time").rows("caption", feed)
        own_too = {"$or": [selected, {"user": self.kim.user}]}
        self.kim.find("Posts", own_too, order="-time").rows("caption", [*feed, "Post 0"])

    def songswap_likes(self):
        like = self.kim.create("Likes", user=self.kim.user, post=self.posts["Post 3"])
        rows = self.kim.find("Likes", {"user": self.kim.user}).rows("objectId", [like["objectId"]])
        self.kim.find("Posts", {"id": rows[0]["post"]}).has(200, results=[])
        shown = list(self.posts.values())
        self.kim.find("Likes", {"user": self.kim.user, "post": {"$in": shown}}).rows("post", [self.posts["Post 3"]])
        self.kim.count("Likes", {"post": self.posts["Post 1"]}).has(200, count=0)
        self.lee.delete(like).fails(404, 101)
        self.kim.delete(like).has(200)
        self.kim.create("Likes", user=self.kim.user, post=self.posts["Post 3"])

    def songswap_comments(self):
        for number, phone in enumerate([self.kim, self.lee]):
            phone.create("Comments", post=self.posts["Post 3"], user=phone.user, text=f"Comment {number}",
                         time=date(f"2016-05-10T10:00:0{number}.000Z"))
        self.kim.find("Comments", {"post": self.posts["Post 3"]}, order="-time").rows("text", ["Comment 1", "Comment 0"])

    def songswap_settings(self):
        self.max.save(self.max.user, username=self.name("maxine"), description="New")
        self.max.save(self.max.user, description={"__op": "Delete"})
        answer = self.max.me().has(200, username=self.name("maxine"))
        answer.check("description" not in answer.json, "no description")

    # Spotify clone

    def spotify_save_songs_and_playlists(self):
        names = [("Alpha", "Xenia", "First"), ("Beta", "Alphaville", "Second"), ("Gamma", "Yves", "Third")]
        bodies = [{"name": f"{name} {self.run}", "artist": artist, "album": album,
                   "albumCover": "https://example.com/c.jpg"} for name, artist, album in names]
        saved = self.lee.batch(*[("POST", "Song", None, body) for body in bodies]).json
        songs = [pointer("Song", entry["success"]["objectId"]) for entry in saved]
        fresh = self.make_phone()
        fresh.log_in(self.name("Lee"), PASSWORD).has(200)
        playlist = fresh.create("Playlist", user=fresh.user, name="Mix", songs=songs)
        fresh.find("Playlist", {"user": fresh.user, "name": {"$exists": True}}, order="-updatedAt").rows("name", ["Mix"])
        detail = fresh.find("Playlist", {"objectId": playlist["objectId"]}, limit="1", include="songs")
        listed = [song.get("name") for song in detail.rows("name", ["Mix"])[0]["songs"]]
        detail.check(listed == [body["name"] for body in bodies], "the songs included in their order")

    def spotify_search(self):
        def contains(key):
            return {key: {"$regex": "\\Qalpha\\E", "$options": "i"}}
        either = {"$or": [contains("name"), contains("artist"), contains("album")],
                  "objectId": {"$exists": True}, "name": {"$regex": f"\\Q{self.run}\\E$"}}
        # Both alternatives contain `name`, so the search finds only songs of this run.
        self.lee.find("Song", either, order="name").rows("name", [f"Alpha {self.run}", f"Beta {self.run}"])
        self.lee.find("Song", either, order="-name", limit="1", keys="name,artist").rows("artist", ["Alphaville"])

    # The end of a run

    def log_out_ends_the_session(self):
        phone = self.make_phone()
        phone.log_in(self.name("maxine"), PASSWORD).has(200)
        phone.log_out().has(200)
        phone.me().fails(400, 209)
        phone.find("Playlist").fails(400, 209)
        self.max.me().has(200)

    def remember_this_run(self):
        """Saves a record by which `--verify` finds this run. This also tests that clients can create classes."""
        mine = self.kim.find("Playlist", {"user": self.kim.user}, order="title").has(200)["results"]
        user = self.kim.fetch(self.kim.user).has(200).json
        user.pop("sessionToken", None)
        expected = {"rows": mine, "user": user, "token": self.kim.token, "picture": self.picture.hex()}
        self.kim.create("DriveRun", run=self.run, expected=json.dumps(expected, sort_keys=True))


class Verification:
    """Checks that the last run's data outlived a restart."""

    def __init__(self, make_phone):
        self.phone = make_phone()

    def last_run_is_known(self):
        answer = self.phone.find("DriveRun", order="-createdAt", limit="1").has(200)
        answer.check(len(answer["results"]) == 1, "the record of a run")
        self.run = answer["results"][0]["run"]
        self.expected = json.loads(answer["results"][0]["expected"])

    def session_is_still_valid(self):
        self.phone.token, self.phone.user_id = self.expected["token"], self.expected["user"]["objectId"]
        self.phone.me().has(200, username=f"kim-{self.run}")

    def log_in_with_the_same_account(self):
        self.phone.log_in(f"kim-{self.run}", PASSWORD).has(200, objectId=self.expected["user"]["objectId"])

    def objects_are_unchanged(self):
        self.phone.find("Playlist", {"user": self.phone.user}, order="title").has(200, results=self.expected["rows"])
        self.phone.fetch(self.phone.user).has(200, **self.expected["user"])

    def files_are_unchanged(self):
        got = self.phone.download(self.expected["rows"][0]["artist_pic"]).has(200)
        got.check(got.bytes.hex() == self.expected["picture"], "the bytes that were uploaded")


def flows(case):
    names = [name for name in vars(type(case)) if not name.startswith("_") and name != "name"]
    return [(name.replace("_", " "), getattr(case, name)) for name in names]


def main():
    configured = json.loads(CONFIGURATION.read_text())
    parser = argparse.ArgumentParser(description="Drives the five music apps through a running server.")
    parser.add_argument("url", help="the URL with the mount path: http://127.0.0.1:1337/parse")
    parser.add_argument("--verify", action="store_true", help="check that the data of the last run still exists")
    parser.add_argument("--app-id", default=configured["appId"])
    parser.add_argument("--client-key", default=configured["clientKey"])
    options = parser.parse_args()

    def make_phone():
        return Phone(options.url, options.app_id, options.client_key)

    try:
        make_phone().send("GET", "/health").has(200, status="ok")
    except Mismatch as mismatch:
        print(f"the server doesn't respond\n{mismatch}", file=sys.stderr)
        return 1
    case = Verification(make_phone) if options.verify else Drive(make_phone)
    failures = []
    for name, flow in flows(case):
        start = time.monotonic()
        try:
            flow()
            print(f"ok      {name} ({(time.monotonic() - start) * 1000:.0f} ms)", flush=True)
        except Mismatch as mismatch:
            failures.append(f"FAILED  {name}\n{mismatch}")
        except Exception:
            # Data of an earlier flow may be missing, or a response may have an unexpected shape.
            failures.append(f"FAILED  {name}\n    {traceback.format_exc(limit=-1).strip()}")
        else:
            continue
        print(failures[-1], flush=True)
    if failures:
        print(f"{len(failures)} of {len(flows(case))} flows failed", file=sys.stderr)
        return 1
    print(f"all {len(flows(case))} flows work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
