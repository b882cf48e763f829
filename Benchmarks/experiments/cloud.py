"""Cloud code: functions in JavaScript a second, and what a trigger before a save costs in JavaScript and as a webhook.

The SDK is the package that PARSE_SDK names, or else the stand-in of the tests.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile

import load
from goals import Figure, Goal

CODE = """
Parse.Cloud.define('hello', request => `Hello ${request.params.name}`);
Parse.Cloud.beforeSave('Triggered', request => { request.object.set('seen', true); });
"""
# A host of webhooks that does nothing; it prints its port.
HOST = """
const server = require('http').createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('Content-Type', 'application/json').end('{"success":{}}'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""
SDK = pathlib.Path(__file__).parents[2] / "Tests" / "NodeHostTests" / "sdk"
CONNECTIONS = 32


def _app(folder):
    """Makes an app, and gives its file."""
    folder = pathlib.Path(folder)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "parse").symlink_to(os.environ.get("PARSE_SDK", SDK))
    main = folder / "main.js"
    main.write_text(CODE, encoding="utf-8")
    return main


@contextlib.contextmanager
def _host():
    """Runs the host of webhooks, and gives where it is."""
    with subprocess.Popen(["node", "-e", HOST], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def _milliseconds(origin, operation, seconds):
    """How long a request takes when it is the only one."""
    return load.wrk(origin, operation, 1, seconds)["p50"]


def run(stand):
    with tempfile.TemporaryDirectory() as folder, _host() as host:
        with stand.server(environment={"PARSE_SERVER_CLOUD": str(_app(folder))}) as server:
            hook = {"className": "Hooked", "triggerName": "beforeSave", "url": f"{host}/hook"}
            server.call("POST", "/hooks/triggers", hook, master=True)
            for name in ("Triggered", "Hooked", "Untriggered"):
                server.call("POST", f"/classes/{name}", {"score": 1}, master=True)
            load.rate(server.origin, "function", CONNECTIONS, 2)
            functions = load.rate(server.origin, "function", CONNECTIONS, stand.seconds)
            plain = _milliseconds(server.origin, "untriggered", stand.seconds)
            triggered = _milliseconds(server.origin, "triggered", stand.seconds)
            hooked = _milliseconds(server.origin, "hooked", stand.seconds)
            # What the host takes by itself is not Roost's.
            hosted = _milliseconds(host, "hooked", stand.seconds)
    stand.cluster.sql('TRUNCATE "Triggered"; TRUNCATE "Hooked"; TRUNCATE "Untriggered";')
    return [
        Figure("functions in JavaScript a second", functions, Goal(1000), digits=0),
        Figure("a trigger in JavaScript before a save", triggered - plain, unit="ms"),
        Figure(
            "a webhook before a save, without its host's time", hooked - plain - hosted, Goal(1, at_most=True), unit="ms",
        ),
    ]
