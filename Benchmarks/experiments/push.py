"""Notifications per second to 200,000 installations, with a sink in C instead of Apple's service, and concurrent gets."""

import http.client
import pathlib
import statistics
import subprocess
import threading
import time

import processes
from goals import Figure, Goal
from ports import free_port
from server import APPLICATION_ID, Server

DEVICES = 200_000
PAYLOAD = {"where": {}, "data": {"alert": "A song that you may like", "sound": "default"}}

INSTALLATIONS = """
TRUNCATE "_Installation";
INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken", "appIdentifier",
    "installationId", "localeIdentifier", "badge")
SELECT 'd' || n, now(), now(), 'ios', md5(n::text) || md5((-n)::text), 'com.example.app', 'i' || n, 'en-US', 0
FROM generate_series(1, {devices}) AS n;
VACUUM ANALYZE "_Installation";
"""


class Sink:
    """push_sink/sink.c with its own certificate. It responds with 200 to all requests and counts them.

    nghttpd isn't suitable: it accepts arbitrary paths only if it writes each body to a file.
    """

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()

    def __enter__(self):
        self._openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.file("sink.key"), "-out",
            self.file("sink.pem"),
        )
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.file("apple.p8"))
        source = pathlib.Path(__file__).parent.parent / "push_sink/sink.c"
        subprocess.run(
            ["cc", "-O2", "-o", self.file("sink"), source, "-lnghttp2", "-lssl", "-lcrypto", "-lpthread"], check=True
        )
        self.process = subprocess.Popen(
            [self.file("sink"), str(self.port), self.file("sink.key"), self.file("sink.pem")], stdout=subprocess.PIPE
        )
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.answered = int(self.process.communicate()[0])

    def file(self, name):
        return str(self.folder / name)

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    @property
    def options(self):
        entry = {
            "token": {"key": self.file("apple.p8"), "keyId": "KEY1234567", "teamId": "TEAM123456"},
            "topic": "com.example.app", "address": "localhost", "port": self.port, "ca": self.file("sink.pem"),
        }
        return {"push": {"ios": entry}}


class Gets:
    """Gets an object repeatedly inside a `with` block, and records the durations."""

    def __init__(self, server):
        self.port, self.times, self.is_over = server.port, [], False

    def __enter__(self):
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()

    def _run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        while not self.is_over:
            begin = time.monotonic()
            connection.request(
                "GET", "/parse/classes/Game/1000000001", headers={"X-Parse-Application-Id": APPLICATION_ID}
            )
            connection.getresponse().read()
            self.times.append(time.monotonic() - begin)
            time.sleep(0.005)

    @property
    def median(self):
        return statistics.median(self.times) * 1000


def _push(server, body):
    """Sends a push and waits for its end. Returns its row and the duration."""
    begin = time.monotonic()
    server.call("POST", "/push", body, master=True)
    while True:
        rows = server.call("GET", "/classes/_PushStatus?order=-createdAt&limit=1", master=True)["results"]
        if rows and rows[0]["status"] in ("succeeded", "failed"):
            return rows[0], time.monotonic() - begin
        if time.monotonic() - begin > 300:
            raise SystemExit(f"bench: a push didn't finish: {rows}")
        time.sleep(0.05)


def run(stand):
    stand.cluster.sql(INSTALLATIONS.format(devices=DEVICES))
    with Sink(stand.folder) as sink:
        with Server(stand.binary, stand.folder, stand.cluster.uri("postgres"), options=sink.options) as server:
            # Warms up connections and code.
            _push(server, {**PAYLOAD, "where": {"objectId": {"$lt": "d1001"}}})
            with Gets(server) as alone:
                time.sleep(3)
            idle = processes.resident_megabytes(server.pid)
            processes.forget_peak(server.pid)
            before = processes.cpu_seconds(server.pid), processes.cpu_seconds(sink.process.pid)
            with Gets(server) as beside:
                row, seconds = _push(server, PAYLOAD)
            after = processes.cpu_seconds(server.pid), processes.cpu_seconds(sink.process.pid)
            peak = processes.peak_megabytes(server.pid)
    stand.cluster.sql('TRUNCATE "_Installation"')
    if row.get("numSent") != DEVICES:
        raise SystemExit(f"bench: the push didn't reach every device: {row}")
    each = [(end - start) / DEVICES * 1e6 for start, end in zip(before, after)]
    return [
        Figure("notifications a second, beside gets", DEVICES / seconds, Goal(20_000), digits=0),
        Figure("processor time a notification", each[0], unit="µs", digits=0),
        Figure("processor time of the sink a notification", each[1], unit="µs", digits=0),
        Figure("memory above idle while 200,000 are sent to", peak - idle, Goal(64, at_most=True), "MB", 0),
        Figure("median of a get alone", alone.median, unit="ms"),
        Figure("median of a get beside a push: times as long", beside.median / alone.median, Goal(2, at_most=True)),
    ]
