"""Routes of an app's index.js: their cost compared with Node.js alone, memory, and gets while slow routes are open.

Uses the tests' stand-ins for the packages parse and express.
"""

import concurrent.futures
import contextlib
import pathlib
import select
import socket
import statistics
import tempfile
import time
import urllib.request

import load
import processes
from goals import Figure, Goal
from neighbours import Neighbour
from ports import free_port

INDEX = """
const app = require('express')();
const { ParseServer } = require('parse-server');
const server = new ParseServer({});
app.use('/parse', server.app);
app.get('/hello', (request, response) => response.end('hello'));
app.get('/slow', () => {});
app.get('/large', (request, response) => {
  let chunks = 240;
  const write = () => {
    while (chunks > 0) if (chunks -= 1, !response.write(Buffer.alloc(65_536))) return response.once('drain', write);
    response.end();
  };
  write();
});
app.listen(1337);
"""
ALONE = """
const app = require('express')();
app.get('/hello', (request, response) => response.end('hello'));
app.listen(Number(process.argv[2]), '127.0.0.1');
"""
PACKAGES = pathlib.Path(__file__).parents[2] / "Tests" / "NodeHostTests"
CONNECTIONS = 32
# So few that gets alone don't saturate the machine.
GETS = 8
# More than Roost allows from one network (192). It answers the others with 503.
SLOW = 300
MOST_OPEN = 192
LARGE = 240 * 65_536
ROUNDS = 5


def _write_app(folder):
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "parse").symlink_to(PACKAGES / "sdk")
    (folder / "node_modules" / "express").symlink_to(PACKAGES / "express")
    (folder / "index.js").write_text(INDEX, encoding="utf-8")
    (folder / "alone.js").write_text(ALONE, encoding="utf-8")


def _alone(folder):
    """Returns Node.js with the same route and without Roost."""
    port = free_port()
    return Neighbour(["node", folder / "alone.js", str(port)], port)


def _measure(origin, operation, connections, seconds):
    """Measures once. Fails if any request failed, because errors can be fast."""
    sample = load.wrk(origin, operation, connections, seconds)
    if sample["errors"]:
        raise SystemExit(f"bench: {sample['errors']} of {sample['requests']} requests failed: {operation}")
    return sample


def _check_open(clients):
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLIN)
    count = len(clients) - len(poll.poll(0))
    if count != MOST_OPEN:
        raise SystemExit(f"bench: {count} slow routes are open instead of {MOST_OPEN}")


@contextlib.contextmanager
def _slow_routes(server):
    """Requests the slow route from many clients, which wait for the response."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(SLOW)]
        for client in clients:
            client.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1)
        _check_open(clients)
        yield
        _check_open(clients)


def _download(server, slowly):
    """Reads a response of 15 MB from a route, at about 5 MB/s if `slowly`."""
    with urllib.request.urlopen(f"{server.origin}/large", timeout=60) as response:
        size = 0
        while part := response.read(262_144):
            size += len(part)
            time.sleep(0.05 if slowly else 0)
    if size != LARGE:
        raise SystemExit(f"bench: a route sent {size} bytes instead of {LARGE}")


def _memory_of_downloads(server):
    """Returns the additional megabytes of the server and Node.js while eight clients download."""
    idle = processes.resident_megabytes(server.pid)
    processes.forget_peak(server.pid)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: _download(server, number % 2 == 1), range(8)))
    return processes.peak_megabytes(server.pid) - idle


def run(stand):
    node, roost, rates, idle, beside = [], [], [], [], []
    with tempfile.TemporaryDirectory(prefix="roost-routes.") as name:
        folder = pathlib.Path(name)
        _write_app(folder)
        with _alone(folder) as alone, stand.server(app=folder / "index.js") as server:
            for origin, operation in ((alone.origin, "route"), (server.origin, "route"), (server.origin, "get")):
                _measure(origin, operation, GETS, 2)
            for _ in range(ROUNDS):
                node.append(_measure(alone.origin, "route", 1, stand.seconds)["p50"])
                roost.append(_measure(server.origin, "route", 1, stand.seconds)["p50"])
                rates.append(_measure(server.origin, "route", CONNECTIONS, stand.seconds)["rate"])
                load.settle(server, stand.cluster)
                idle.append(_measure(server.origin, "get", GETS, stand.seconds)["p99"])
                with _slow_routes(server):
                    beside.append(_measure(server.origin, "get", GETS, stand.seconds)["p99"])
                load.settle(server, stand.cluster)
            memory = _memory_of_downloads(server)
    node, roost, rate, idle, beside = map(statistics.median, (node, roost, rates, idle, beside))
    title = f"p99 of gets, {GETS} connections, "
    slow = f"{SLOW} clients of a slow route"
    return [
        Figure("p50 of a route in Node.js alone, 1 connection", node, unit="ms"),
        Figure("p50 of a route through Roost, 1 connection", roost, Goal(1.5 * node + 1, at_most=True), "ms"),
        Figure(f"routes through Roost a second, {CONNECTIONS} connections", rate, Goal(2000), digits=0),
        Figure("memory above idle, 8 downloads of 15 MB", memory, Goal(64, at_most=True), "MB", digits=0),
        Figure(title + "no slow routes", idle, unit="ms"),
        Figure(title + slow, beside, unit="ms"),
        Figure(title + f"{slow}: times that of no slow routes", beside / idle, Goal(2, at_most=True), digits=1),
    ]
