"""Memory during concurrent uploads and downloads of large files, on disk and, if a store is installed, in a bucket."""

import concurrent.futures
import http.client
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.parse

import processes
from goals import Figure, Goal
from server import APPLICATION_ID, MASTER_KEY, Server

TRANSFERS = 100
SIZE = 50 * 1024 * 1024
PIECE = bytes(64 * 1024)
HEADERS = {"X-Parse-Application-Id": APPLICATION_ID, "X-Parse-Master-Key": MASTER_KEY}
BUCKET_SERVER = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests/FileStoresTests/Support/bucket_server.py"


def _connect(server):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)


def _upload(server, number):
    connection = _connect(server)
    pieces = (PIECE for _ in range(SIZE // len(PIECE)))
    headers = {**HEADERS, "Content-Type": "application/octet-stream", "Content-Length": str(SIZE)}
    connection.request("POST", f"/parse/files/{number}.bin", pieces, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status != 201:
        raise SystemExit(f"bench: the upload got status {answer.status}: {text}")
    return text.split('"name":"')[1].split('"')[0]


def _download(server, name):
    connection = _connect(server)
    connection.request("GET", f"/parse/files/{APPLICATION_ID}/{urllib.parse.quote(name)}")
    answer = connection.getresponse()
    length = 0
    while piece := answer.read(len(PIECE)):
        length += len(piece)
    if answer.status != 200 or length != SIZE:
        raise SystemExit(f"bench: the download got status {answer.status} with {length} bytes")


def _at_once(server, transfer, inputs):
    """Returns the server's peak megabytes per transfer, and the total seconds."""
    idle = processes.resident_megabytes(server.pid)
    processes.forget_peak(server.pid)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(inputs)) as pool:
        results = list(pool.map(lambda value: transfer(server, value), inputs))
    seconds = time.monotonic() - begin
    return results, (processes.peak_megabytes(server.pid) - idle) / len(inputs), seconds


def _measure(server, store):
    with server:
        server.call("GET", "/health")
        names, up, up_seconds = _at_once(server, _upload, range(TRANSFERS))
        _, down, down_seconds = _at_once(server, _download, names)
    size = SIZE // 1024 // 1024
    return [
        Figure(f"memory of each of {TRANSFERS} {what} of {size} MB at once, {store}", memory, Goal(16, at_most=True), "MB", 1)
        for what, memory in (("uploads", up), ("downloads", down))
    ] + [
        Figure(f"all {what}, {store}", seconds, unit="s", digits=0)
        for what, seconds in (("uploads", up_seconds), ("downloads", down_seconds))
    ]


def _server(stand, options):
    return Server(
        stand.binary, stand.folder, stand.cluster.uri("postgres"),
        options={"maxUploadSize": "60mb", "logLevel": "error", **options},
    )


def run(stand):
    figures = _measure(_server(stand, {}), "disk")
    if not pathlib.Path("/usr/bin/swift-proxy-server").exists():
        return figures
    with tempfile.TemporaryDirectory(prefix="roost-bucket.", dir=stand.folder) as folder:
        store = subprocess.Popen(["/usr/bin/python3", BUCKET_SERVER, folder], start_new_session=True)
        try:
            port = pathlib.Path(folder) / "port"
            end = time.monotonic() + 120
            while not port.exists():
                if store.poll() is not None or time.monotonic() > end:
                    raise SystemExit("bench: the file store didn't start")
                time.sleep(0.1)
            overrides = {
                "endpoint": f"http://127.0.0.1:{port.read_text()}", "s3ForcePathStyle": True,
                "accessKeyId": "test:tester", "secretAccessKey": "testing",
            }
            adapter = {
                "module": "@parse/s3-files-adapter",
                "options": {"bucket": "files", "s3overrides": overrides},
            }
            figures += _measure(_server(stand, {"filesAdapter": adapter}), "bucket")
        finally:
            # Including the servers that it started.
            os.killpg(store.pid, signal.SIGKILL)
            store.wait()
    return figures
