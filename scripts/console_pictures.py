#!/usr/bin/env python3
"""Makes the pictures of docs/console.md from a server of its own with data like those of the example.

Usage: scripts/console_pictures.py [BINARY], with the binary of Roost (.build/release/roost).
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

from going_on import write  # noqa: E402
from harness import Console, REST  # noqa: E402
from moving import class_menu, give, open_import  # noqa: E402
from pages import open_page  # noqa: E402

# With a key that begins like the example's, the server prints the ticket although its output is a file.
MASTER_KEY = "music-example-pictures"
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


SIZE = (1200, 720)


def in_both(console, name, size=SIZE):
    """The names of the pictures of what is shown, in light and in dark colours."""
    for colour, dark in (("light", False), ("dark", True)):
        console.size(*size, dark)
        console.settle()
        yield f"console-{name}-{colour}"
    console.size(*SIZE)


def close(console):
    console.press("Escape")
    console.wait("document.querySelector('dialog') === null")


def data(console, rest):
    """The class, an object, and what opens over them."""
    where = {"title": {"$regex": "\\QGold\\E", "$options": "i"}, "plays": {"$gte": 1000}}
    console.open_class("Track", where=where)
    console.wait("document.querySelectorAll('.g-row .pill').length > 6")
    yield from in_both(console, "rows")
    object_id = console.value("document.querySelector('r-grid').rows.at(0).id")
    console.press("Control+k")
    console.wait("document.querySelector('dialog.palette')")
    console.type("tra")
    yield from in_both(console, "palette")
    close(console)
    class_menu(console, "Export \u2026")
    yield from in_both(console, "export")
    close(console)
    open_import(console, "Track")
    give(console, "tracks.csv", "title;genre;plays;label\n" + "".join(f"Song {number};jazz;{number * 37};Blue\n" for number in range(120)))
    console.wait("document.querySelector('dialog select[aria-label]')")
    yield from in_both(console, "import")
    close(console)
    open_page(console, f"data/Track/{object_id}", ".object")
    yield from in_both(console, "object")
    for row in rest.find("Track", {"objectId": {"$ne": object_id}}, limit="6"):
        assert console.api("DELETE", f"parse/classes/Track/{row['objectId']}") == 200
    open_page(console, "trash", ".trash-row")
    yield from in_both(console, "trash")


def rights(console, rest):
    """The schema, who may do what, and users."""
    open_page(console, "schema", ".classes-drawing")
    yield from in_both(console, "schema")
    open_page(console, "schema/Track", "main table")
    console.click_text("New field")
    console.wait("document.querySelector('dialog input')")
    console.type("playCount")
    yield from in_both(console, "field")
    open_page(console, "access/Track", ".as .flag", **{"as": "anonymous"})
    yield from in_both(console, "access")
    open_page(console, "access/Track", ".operation")
    console.click("[aria-label='Change who may: Change']")
    console.wait("document.querySelector('dialog input')")
    console.press("Space")
    yield from in_both(console, "permission")
    kim = rest.find("_User", {"username": "kim"})[0]["objectId"]
    open_page(console, f"users/user/{kim}", ".two")
    console.wait("!document.querySelector('.two .skeleton')")
    yield from in_both(console, "user")


def goings_on(console, rest):
    """Files, parameters, the log, and the pages that send something."""
    for number in range(8):
        rest.call("POST", f"/files/cover-{number + 1}.txt", f"cover {number}")
    for name in ("recommend", "chart"):
        for number in range(12):
            rest.call("POST", f"/functions/{name}", {"genre": "jazz"} if number else {})
    rest.create_many("_Installation", [{"deviceType": "ios", "deviceToken": f"{number:064x}", "localeIdentifier": ("en-US", "sv-SE")[number % 2]} for number in range(24)])
    for name, path, selector in (("files", "files", "main table"), ("config", "config", "main table"), ("logs", "logs", ".log-row"),
                                 ("api", "rest?path=classes/Track&query=limit%3D3", ".request"), ("cloud", "cloud/functions/recommend", "main textarea"),
                                 ("push", "push", ".push-preview"), ("live", "live", "main .state, main table")):
        open_page(console, path, selector)
        if name == "api":
            console.click_text("Send", "main")
            console.wait("document.querySelector('main').innerText.includes('200')")
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
        yield from in_both(console, name)


def state(console, rest):
    """How the server is doing, and what it is set to."""
    # Charts need some points, ten seconds apart.
    end = time.monotonic() + 65
    while time.monotonic() < end:
        rest.find("Track", {"plays": {"$gt": random.randrange(900_000)}}, limit="100")
        time.sleep(random.random() * 0.1)
    for name, selector in (("performance", ".chart .legend"), ("settings", "main table")):
        open_page(console, name, selector)
        yield from in_both(console, name)
    open_page(console, "health", ".looking")
    console.wait("document.querySelector('.looking svg') && !document.querySelector('[aria-label=\"Look again\"][aria-disabled]')", 60)
    yield from in_both(console, "health")


def who(console, rest):
    """Operators, the account, and the form to sign in."""
    console.open("data/Track")
    for name, role in (("ada", "owner"), ("lin", "developer"), ("omar", "viewer")):
        assert console.api("POST", "operators", {"name": name, "password": "a long password", "role": role}) == 201
    open_page(console, "audit", "main tbody tr")
    yield from in_both(console, "audit")
    for name, words in (("operators", "Operators"), ("account", "My account")):
        console.click(".rail button.item:last-child")
        console.click_text(words, ".menu")
        console.wait("document.querySelector('dialog')")
        yield from in_both(console, name)
        close(console)
    # The session is open already: the form is opened over it.
    console.value("import(document.querySelector('script[type=module]').src.replace(/main[.]js$/, 'pages/account.js')).then(({ askToSignIn }) => { askToSignIn(); })")
    console.wait("document.querySelector('.signin input')")
    yield from in_both(console, "signin")
    console.open_class("Track")
    console.size(375, 667)
    console.wait("document.querySelectorAll('.g-card .pill').length > 2")
    yield from in_both(console, "phone", (375, 667))


def pictures(console, rest):
    """Each picture by its name."""
    for some in (data, rights, goings_on, state, who):
        yield from some(console, rest)


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
            "appId": "music", "appName": "Music", "masterKey": MASTER_KEY, "host": "127.0.0.1", "port": port, "dataDir": folder + "/data",
            "cloud": folder + "/main.js", "liveQuery": {"classNames": ["Track", "Artist"]}, "startLiveQueryServer": True,
            "push": {"ios": {"token": {"key": key(), "keyId": "ABC1234567", "teamId": "TEAM123456"}, "topic": "com.example.music"}},
            "consoleFolder": str(ROOT / "Sources/Features/CConsole/files"), "console": {"signIn": "thisMachine"}}))
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
    print(f"{len(list(target.glob('*.png')))} pictures are in {target}")


main()
