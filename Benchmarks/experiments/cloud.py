"""Cloud code: JavaScript functions per second, and the cost of a beforeSave trigger in JavaScript and as a webhook.

Uses the SDK package named by PARSE_SDK, or the tests' stand-in.
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
# A webhook host that does nothing. It prints its port.
HOST = """
const server = require('http').createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('Content-Type', 'application/json').end('{"success":{}}'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""
SDK = pathlib.Path(__file__).parents[2] / "Tests" / "NodeHostTests" / "sdk"
CONNECTIONS = 32


def _app(folder):
    """Creates an app, and returns its main file."""
    folder = pathlib.Path(folder)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "parse").symlink_to(os.environ.get("PARSE_SDK", SDK))
    main = folder / "main.js"
    main.write_text(CODE, encoding="utf-8")
    return main


@contextlib.contextmanager
def _host():
    """Runs the webhook host, and returns its URL."""
    with subprocess.Popen(["node", "-e", HOST], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def _milliseconds(origin, operation, seconds):
    """Returns the median duration of requests without other load."""
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
            # Subtracts the host's own time.
            hosted = _milliseconds(host, "hooked", stand.seconds)
    stand.cluster.sql('TRUNCATE "Triggered"; TRUNCATE "Hooked"; TRUNCATE "Untriggered";')
    return [
        Figure("functions in JavaScript a second", functions, Goal(1000), digits=0),
        Figure("a trigger in JavaScript before a save", triggered - plain, unit="ms"),
        Figure(
            "a webhook before a save, without its host's time", hooked - plain - hosted, Goal(1, at_most=True), unit="ms",
        ),
    ]
