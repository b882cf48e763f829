"""The Roost process under test, with a REST client."""

import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

from ports import free_port

APPLICATION_ID = "benchmark"
MASTER_KEY = "benchmark-master-key"


class Server:
    """Runs inside a `with` block.

    `environment` extends this process's environment, `options` the configuration. `app` is an index.js to serve. It gets
    the configuration as flags.
    """

    def __init__(self, binary, folder, database_uri, environment=None, options=None, app=None):
        self.environment = {**os.environ, **(environment or {})}
        self.port = free_port()
        folder = pathlib.Path(folder)
        self.log = folder / f"roost-{self.port}.log"
        configuration = {
            "appId": APPLICATION_ID,
            "masterKey": MASTER_KEY,
            "host": "127.0.0.1",
            "port": self.port,
            "mountPath": "/parse",
            "preset": 9,
            "allowClientClassCreation": True,
            "classDefinitions": "music",
            "databaseURI": database_uri,
            "dataDir": str(folder / "roost"),
            **(options or {}),
        }
        if app:
            flags = {name: value if isinstance(value, str) else json.dumps(value) for name, value in configuration.items()}
            self.command = [binary, "serve", app, *(part for name, value in flags.items() for part in (f"--{name}", value))]
        else:
            file = folder / f"roost-{self.port}.json"
            file.write_text(json.dumps(configuration), encoding="utf-8")
            self.command = [binary, "serve", file]
        self.seconds_to_first_answer = None

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def __enter__(self):
        begin = time.monotonic()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.environment)
        while True:
            try:
                self.call("GET", "/health")
                break
            except (OSError, urllib.error.URLError):
                if self.process.poll() is not None or time.monotonic() - begin > 60:
                    self.process.kill()
                    raise SystemExit(f"bench: Roost did not start: {self.log.read_text()}") from None
                time.sleep(0.002)
        self.seconds_to_first_answer = time.monotonic() - begin
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, path, body=None, content_type="application/json", master=False):
        """Sends a request, with bytes unchanged and other bodies as JSON. Returns the decoded response."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"X-Parse-Application-Id": APPLICATION_ID, "Content-Type": content_type}
        if master:
            headers["X-Parse-Master-Key"] = MASTER_KEY
        request = urllib.request.Request(f"{self.origin}/parse{path}", data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read())
