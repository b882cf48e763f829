#!/usr/bin/env python3
"""Makes the pictures of docs/console.md, using a new server with data like the example's.

Usage: scripts/console_pictures.py [BINARY]. The default binary is .build/release/roost.
"""

import base64
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests/ConsoleTests/Browser"))

from harness import Console, REST  # noqa: E402
from pages import open_page  # noqa: E402

# With a key that begins like the example's, the server prints the ticket even if its output is a file.
MASTER_KEY = "music-example-pictures"
FIRST = "River Gold Silent Night Paper Blue Lost Sun Velvet Ocean Winter Golden".split()
SECOND = "Song Letters Road Hearts Machine Garden Light Dance".split()


def fill(rest):
    """Creates artists, users and songs."""
    rng = random.Random(7)
    users = [rest.call("POST", "/users", {"username": name, "password": "secret", "email": f"{name}@example.org"})["objectId"]
             for name in ("kim", "ada", "lin", "omar")]
    rest.define("Artist", name={"type": "String"}, country={"type": "String"})
    artists = rest.create_many("Artist", [{
        "name": f"The {rng.choice(FIRST)} {rng.choice(['Foxes', 'Waves', 'Mirrors', 'Engines'])}", "country": rng.choice(["SE", "NO", "JP", "BR"]),
    } for _ in range(40)])
    rest.define("Track", title={"type": "String"}, genre={"type": "String"}, artist={"type": "Pointer", "targetClass": "Artist"},
                owner={"type": "Pointer", "targetClass": "_User"}, plays={"type": "Number"}, explicit={"type": "Boolean"},
                released={"type": "Date"}, tags={"type": "Array"}, meta={"type": "Object"}, studio={"type": "GeoPoint"},
                fans={"type": "Relation", "targetClass": "_User"})
    rest.call("PUT", "/schemas/Track", {"className": "Track", "classLevelPermissions": {
        "find": {"*": True}, "get": {"*": True}, "count": {"*": True}, "create": {"requiresAuthentication": True}, "update": {"pointerFields": ["owner"], "role:Editor": True},
        "delete": {"pointerFields": ["owner"]}, "addField": {}, "protectedFields": {"*": ["meta"], "role:Editor": []}}})
    rest.call("PUT", "/config", {"params": {"welcomeText": "Hello", "maxUploads": 12, "isSaleOn": True, "saleEnds": {"__type": "Date", "iso": "2026-12-24T18:00:00.000Z"},
                                            "supportToken": "x7f2", "plans": ["free", "pro"]}, "masterKeyOnly": {"supportToken": True}})
    for name, users_of, inside in (("Admin", users[:1], None), ("Editor", users[1:3], "Admin")):
        inner = rest.find("_Role", {"name": inside}) if inside else []
        rest.call("POST", "/roles", {"name": name, "ACL": {"*": {"read": True}}, "users": {"__op": "AddRelation", "objects": [
            {"__type": "Pointer", "className": "_User", "objectId": user} for user in users_of]},
            **({"roles": {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "_Role", "objectId": inner[0]["objectId"]}]}} if inner else {})})
    rest.call("GET", "/login", username="kim", password="secret")
    pointer = lambda name, object_id: {"__type": "Pointer", "className": name, "objectId": object_id}
    rest.create_many("Track", [{
        "title": f"{rng.choice(FIRST)} {rng.choice(SECOND)}", "genre": rng.choice(["pop", "rock", "jazz", "folk"]),
        "artist": pointer("Artist", rng.choice(artists)), "plays": rng.randrange(1_000_000), "explicit": rng.random() < 0.3,
        "released": {"__type": "Date", "iso": f"{rng.randrange(1990, 2024)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 28):02d}T10:00:00.000Z"},
        "tags": rng.sample(["live", "remaster", "acoustic", "single"], rng.randrange(4)), "meta": {"bpm": rng.randrange(70, 160), "key": "C minor"},
        "studio": {"__type": "GeoPoint", "latitude": 59.3, "longitude": 18.1},
        **({"owner": pointer("_User", rng.choice(users)), "ACL": {users[0]: {"read": True, "write": True}, **({"*": {"read": True}} if rng.random() < 0.7 else {})}} if rng.random() < 0.4 else {}),
    } for _ in range(1200)])


SIZE = (1200, 720)


def in_both(console, name, size=SIZE):
    """Shows the current page in light and in dark colors. Yields the name of each picture to take."""
    for colour, dark in (("light", False), ("dark", True)):
        console.size(*size, dark)
        console.settle()
        yield f"console-{name}-{colour}"
    console.size(*SIZE)


def close(console):
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")


def pictures(console, rest):
    """Opens the pages. Yields the name of each picture to take."""
    open_page(console, "start", "main pre.code")
    yield from in_both(console, "start", (1200, 800))
    where = {"title": {"$regex": "\\QGold\\E", "$options": "i"}, "plays": {"$gte": 1000}}
    console.open_class("Track", where=where)
    console.wait("document.querySelectorAll('.g-row .pill').length > 6")
    yield from in_both(console, "rows")
    object_id = console.value("document.querySelector('r-grid').rows.at(0).id")
    open_page(console, f"data/Track/{object_id}", ".object")
    yield from in_both(console, "object")
    open_page(console, "schema", ".classes-drawing")
    yield from in_both(console, "schema")
    console.click_text("New class", "main")
    console.wait("document.querySelector('dialog input')")
    console.type("Playlist")
    console.value("document.querySelector('.new-field input').focus()")
    console.type("title")
    yield from in_both(console, "class", (1200, 900))
    close(console)
    open_page(console, "access/Track", ".operation")
    yield from in_both(console, "access")


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/release/roost"
    target = ROOT / "docs/pictures"
    target.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        configuration = pathlib.Path(folder, "roost.json")
        configuration.write_text(json.dumps({
            "appId": "music", "appName": "Music", "masterKey": MASTER_KEY, "host": "127.0.0.1", "port": port, "dataDir": folder + "/data",
            "publicServerURL": "https://music.example.com/parse", "clientKey": "music-client-key", "javascriptKey": "music-javascript-key",
            "consoleFolder": str(ROOT / "Sources/Features/CConsole/files")}))
        output = pathlib.Path(folder, "output")
        with output.open("wb") as file:
            server = subprocess.Popen([binary, "serve", str(configuration)], stdout=file, stderr=subprocess.DEVNULL)
        try:
            rest = REST(f"http://127.0.0.1:{port}/parse", "music", MASTER_KEY)
            for _ in range(300):
                try:
                    rest.call("GET", "/health")
                    break
                except OSError:
                    time.sleep(0.1)
            fill(rest)
            console = Console(f"http://localhost:{port}/console", {})
            try:
                # The printed address signs in.
                while not (address := re.search(r"http://\S+#ticket=\w+", output.read_text())):
                    if server.poll() is not None:
                        sys.exit(f"the server ended with {server.returncode} before it printed its address")
                    time.sleep(0.1)
                console.browser.open(address[0])
                console.wait("document.querySelector('main')")
                for name in pictures(console, rest):
                    data = console.browser.call("Page.captureScreenshot", format="png")["data"]
                    (target / f"{name}.png").write_bytes(base64.b64decode(data))
            finally:
                console.close()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    print(f"{len(list(target.glob('*.png')))} pictures written to {target}")


main()
