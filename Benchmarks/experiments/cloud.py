"""Cloud code in JavaScript: functions a second, and what a trigger before a save costs.

The SDK is the package that PARSE_SDK names, or else the stand-in of the tests.
"""

import os
import pathlib
import tempfile

import load
from goals import Figure, Goal

CODE = """
Parse.Cloud.define('hello', request => `Hello ${request.params.name}`);
Parse.Cloud.beforeSave('Triggered', request => { request.object.set('seen', true); });
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


def _milliseconds(server, operation, seconds):
    """How long a request takes when it is the only one."""
    return load.wrk(server.origin, operation, 1, seconds)["p50"]


def run(stand):
    with tempfile.TemporaryDirectory() as folder:
        with stand.server(environment={"PARSE_SERVER_CLOUD": str(_app(folder))}) as server:
            for name in ("Triggered", "Untriggered"):
                server.call("POST", f"/classes/{name}", {"score": 1}, master=True)
            load.rate(server.origin, "function", CONNECTIONS, 2)
            functions = load.rate(server.origin, "function", CONNECTIONS, stand.seconds)
            plain = _milliseconds(server, "untriggered", stand.seconds)
            triggered = _milliseconds(server, "triggered", stand.seconds)
    stand.cluster.sql('TRUNCATE "Triggered"; TRUNCATE "Untriggered";')
    return [
        Figure("functions in JavaScript a second", functions, Goal(1000), digits=0),
        Figure("a trigger in JavaScript before a save", triggered - plain, unit="ms"),
    ]
