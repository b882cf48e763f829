#!/usr/bin/env python3
"""Makes the pictures of docs/console.md from a server of its own with data like those of the example.

Usage: scripts/console_pictures.py [BINARY], with the binary of Roost (.build/release/roost).
"""

import base64
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests/ConsoleTests/Browser"))

from going_on import write  # noqa: E402
from harness import Console, REST  # noqa: E402

FIRST = "River Gold Silent Night Paper Blue Lost Sun Velvet Ocean Winter Golden".split()
SECOND = "Song Letters Road Hearts Machine Garden Light Dance".split()


def fill(rest):
    """Artists, users and songs."""
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


CLOUD = """
Parse.Cloud.define("recommend", async ({ params }) => (await new Parse.Query("Track").equalTo("genre", params.genre).limit(3).find()).map((track) => track.get("title")), { fields: ["genre"] });
Parse.Cloud.define("follow", () => true, { requireUser: true });
Parse.Cloud.define("chart", () => new Parse.Query("Track").descending("plays").limit(10).find());
Parse.Cloud.beforeSave("Track", () => {});
Parse.Cloud.job("nightlyChart", ({ message }) => message("10 tracks"));
"""


def key():
    """A key as Apple gives them, of which nobody knows."""
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def follow(console):
    """Has the page keep connections of live queries."""
    console.value("""Promise.all([['Track', { plays: { $gt: 900000 } }], ['Track', { genre: 'jazz' }], ['Artist', {}]].map(([className, where]) => new Promise((done) => {
        const socket = new WebSocket(location.origin.replace('http', 'ws') + '/parse');
        (window.sockets ??= []).push(socket);
        socket.onopen = () => socket.send(JSON.stringify({ op: 'connect', applicationId: 'music' }));
        socket.onmessage = ({ data }) => {
            const { op } = JSON.parse(data);
            if (op === 'connected') socket.send(JSON.stringify({ op: 'subscribe', requestId: 1, query: { className, where } }));
            if (op === 'subscribed') done();
        };
    })))""")


def pictures(console, rest):
    """Each picture by its name."""
    where = {"title": {"$regex": "\\QGold\\E", "$options": "i"}, "plays": {"$gte": 1000}}
    for dark in (False, True):
        name = "dark" if dark else "light"
        console.size(1200, 720, dark)
        console.open_class("Track", where=where)
        console.wait("document.querySelectorAll('.g-row .pill').length > 6")
        console.settle()
        yield f"console-rows-{name}"
    console.size(1200, 720)
    object_id = console.value("document.querySelector('r-grid').rows.at(0).id")
    console.open(f"data/Track/{object_id}")
    console.wait("document.querySelector('.object')")
    console.settle()
    yield "console-object-light"
    console.open("schema")
    console.wait("document.querySelector('.classes-drawing')")
    console.settle()
    yield "console-schema-light"
    console.open("access/Track", **{"as": "anonymous"})
    console.wait("document.querySelector('.as .flag')")
    console.settle()
    yield "console-access-light"
    console.open("access/Track")
    console.click("[aria-label='Change who may: Change']")
    console.wait("document.querySelector('dialog input')")
    console.press("Space")
    console.settle()
    yield "console-permission-light"
    console.open("schema/Track")
    console.wait("document.querySelector('main table')")
    console.click_text("New field")
    console.wait("document.querySelector('dialog input')")
    console.type("playCount")
    console.settle()
    yield "console-field-light"
    kim = rest.find("_User", {"username": "kim"})[0]["objectId"]
    console.open(f"users/user/{kim}")
    console.wait("document.querySelector('.two') && !document.querySelector('.two .skeleton')")
    console.settle()
    yield "console-user-light"
    for number in range(8):
        rest.call("POST", f"/files/cover-{number + 1}.txt", f"cover {number}")
    for name, path, selector in (("files", "files", "main table"), ("logs", "logs", ".log-row"), ("api", "rest?path=classes/Track&query=limit%3D3", ".request")):
        console.open(path)
        console.wait(f"document.querySelector('{selector}')")
        if name == "api":
            console.click_text("Send", "main")
            console.wait("document.querySelector('main').innerText.includes('200')")
        console.settle()
        yield f"console-{name}-light"
    for name in ("recommend", "chart"):
        for number in range(12):
            rest.call("POST", f"/functions/{name}", {"genre": "jazz"} if number else {})
    rest.create_many("_Installation", [{"deviceType": "ios", "deviceToken": f"{number:064x}", "localeIdentifier": ("en-US", "sv-SE")[number % 2]} for number in range(24)])
    for name, path, selector in (("cloud", "cloud/functions/recommend", "main textarea"), ("push", "push", ".push-preview"), ("live", "live", "main .state, main table")):
        for dark in (False, True):
            console.size(1200, 720, dark)
            console.open(path)
            console.wait(f"document.querySelector('{selector}')")
            if name == "cloud":
                write(console, "main textarea", '{"genre": "jazz"}')
                console.click_text("Call", "main")
                console.wait("document.querySelector('main .log-line')")
            if name == "push":
                write(console, "main input[maxlength='500']", "New songs")
                write(console, "main textarea", "Twelve of them are waiting for you")
                console.wait_text("24 devices", "main")
            if name == "live":
                follow(console)
                console.wait("document.querySelectorAll('main table tr').length > 3")
            console.settle()
            yield f"console-{name}-{'dark' if dark else 'light'}"
    # Charts need some points, ten seconds apart.
    end = time.monotonic() + 65
    while time.monotonic() < end:
        rest.find("Track", {"plays": {"$gt": random.randrange(900_000)}}, limit="100")
        time.sleep(random.random() * 0.1)
    for name, selector, dark in (("performance", ".chart .legend", False), ("performance", ".chart .legend", True), ("settings", "main table", False)):
        console.size(1200, 720, dark)
        console.open(name)
        console.wait(f"document.querySelector('{selector}')")
        console.settle()
        yield f"console-{name}-{'dark' if dark else 'light'}"
    console.size(1200, 720)
    console.open("health")
    console.wait("document.querySelector('.looking svg') && !document.querySelector('[aria-label=\"Look again\"][aria-disabled]')", 60)
    console.settle()
    yield "console-health-light"
    for name, path, selector in (("schema", "schema", ".classes-drawing"), ("access", "access/Track", ".operation"), ("config", "config", "main table")):
        console.size(1200, 720, True)
        console.open(path)
        console.wait(f"document.querySelector('{selector}')")
        console.settle()
        yield f"console-{name}-dark"
    console.size(375, 667, True)
    console.open_class("Track")
    console.wait("document.querySelectorAll('.g-card .pill').length > 2")
    console.settle()
    yield "console-phone-dark"


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/release/roost"
    target = ROOT / "docs/pictures"
    target.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        pathlib.Path(folder, "main.js").write_text(CLOUD)
        pathlib.Path(folder, "node_modules").mkdir()
        pathlib.Path(folder, "node_modules/parse").symlink_to(ROOT / "Tests/NodeHostTests/sdk")
        configuration = pathlib.Path(folder, "roost.json")
        configuration.write_text(json.dumps({
            "appId": "music", "appName": "Music", "masterKey": "pictures", "host": "127.0.0.1", "port": port, "dataDir": folder + "/data",
            "cloud": folder + "/main.js", "liveQuery": {"classNames": ["Track", "Artist"]}, "startLiveQueryServer": True,
            "push": {"ios": {"token": {"key": key(), "keyId": "ABC1234567", "teamId": "TEAM123456"}, "topic": "com.example.music"}},
            "consoleFolder": str(ROOT / "Sources/CConsole/files"), "console": {"signIn": "thisMachine"}}))
        server = subprocess.Popen([binary, "serve", str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            rest = REST(f"http://127.0.0.1:{port}/parse", "music", "pictures")
            for _ in range(300):
                try:
                    rest.call("GET", "/health")
                    break
                except OSError:
                    time.sleep(0.1)
            fill(rest)
            console = Console(f"http://localhost:{port}/console", {})
            try:
                for name in pictures(console, rest):
                    data = console.browser.call("Page.captureScreenshot", format="png")["data"]
                    (target / f"{name}.png").write_bytes(base64.b64decode(data))
            finally:
                console.close()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    print(f"{len(list(target.glob('*.png')))} pictures are in {target}")


main()
