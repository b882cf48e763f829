"""Attacks with many connections: cheap requests, unread responses and incomplete requests."""

import selectors
import time

from attacks.proxies import PROXIES, proxy
from attacks.sending import APPLICATION_ID, connect, request
from attacks.sockets import frame, open_socket

PIECE = 256 * 1024


class Flood:
    """Connections that send as fast as the server reads.

    `open` opens a sender's connection, which sends `data` once or, if `endless`, repeatedly. A connection that the
    server closes is opened again.
    """

    def __init__(self, port, count, senders, data, endless=True, reads=True, open=connect, seconds=3.0):
        self.port, self.count, self.senders, self.open = port, count, senders, open
        self.data, self.endless, self.reads, self.seconds = data, endless, reads, seconds
        self.statuses = {}
        self.selector = selectors.DefaultSelector()

    def _note(self, what):
        self.statuses[what] = self.statuses.get(what, 0) + 1

    def _add(self, number):
        try:
            connection = self.open(self.port, number % self.senders)
        except OSError:
            return self._note("refused")
        connection.setblocking(False)
        self.selector.register(
            connection, selectors.EVENT_WRITE | selectors.EVENT_READ, [number, memoryview(self.data)])

    def _step(self, key, events):
        connection, place = key.fileobj, key.data
        try:
            if events & selectors.EVENT_WRITE:
                place[1] = place[1][connection.send(place[1][:PIECE]):]
                if not place[1] and self.endless:
                    place[1] = memoryview(self.data)
                elif not place[1]:
                    self._note("sent")
                    self.selector.modify(connection, selectors.EVENT_READ, place)
            if events & selectors.EVENT_READ and self.reads and not connection.recv(PIECE):
                raise ConnectionError("closed")
        except BlockingIOError:
            return
        except OSError:
            self._note("closed")
            self.selector.unregister(connection)
            connection.close()
            self._add(place[0])

    def run(self):
        for number in range(self.count):
            self._add(number)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            ready = self.selector.select(0.1)
            for key, events in ready:
                self._step(key, events)
            if ready and all(events == selectors.EVENT_READ for _, events in ready) and not self.reads:
                time.sleep(0.05)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        return self.statuses


class Again(Flood):
    """Connections that send once and read the beginning of the response. New connections then replace them."""

    def _step(self, key, events):
        if not events & selectors.EVENT_READ:
            return super()._step(key, events)
        try:
            self._note(key.fileobj.recv(PIECE)[9:12].decode() or "closed")
        except OSError:
            self._note("closed")
        self.selector.unregister(key.fileobj)
        key.fileobj.close()
        self._add(key.data[0])


def flood(data, count, kind=Flood, **settings):
    """Returns an attack with `count` connections. `count` can be a function of the number of senders."""
    def send(_, port, senders):
        return kind(port, count(senders) if callable(count) else count, senders, data, **settings).run()
    return send


def few(senders):
    """Returns one connection per sender, at most 16."""
    return min(senders, 16)


def some(senders):
    return 16 if senders < 32 else 64


def upgraded(port, sender):
    """Opens a WebSocket connection without identifying the client."""
    return open_socket(port, sender, connects=False)


def silent(port, sender):
    """Opens a connection with a small receive buffer, for clients that don't read."""
    return connect(port, sender, 4096)


def through(name, data, count):
    """Returns an attack through a proxy, where all senders share one address."""
    def send(_, port, senders):
        with proxy(name, port) as own:
            return {f"no {name}": 1} if own is None else Flood(own, count, senders, data, open=upgraded).run()
    return send


def message(_, port, senders):
    """Sends incomplete messages of 0.9 MB on connections that have identified their clients."""
    header = b"\x81\xff" + (900_001).to_bytes(8, "big") + bytes(4)
    return Flood(port, 600, senders, header + b"x" * 900_000, endless=False, open=open_socket).run()


def slow_then(rest):
    """Returns the bytes of a slow call and of pipelined requests after it."""
    return request("POST", "/functions/slow", {}) + rest


UPGRADE = request("GET", "", headers={
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": 13,
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
PING = b"\x89\x80" + bytes(4)
UNKNOWN = frame({"op": "x"})
HEAD = f" HTTP/1.1\r\nHost: localhost\r\nX-Parse-Application-Id: {APPLICATION_ID}\r\n\r\n".encode()
MISSING = b"GET /parse/nothing" + HEAD
SHORT = {
    "missing": MISSING, "options": b"OPTIONS /parse/classes/Item" + HEAD, "ready": b"GET /parse/health/ready" + HEAD,
    "page": b"GET /parse/apps/invalid_link.html" + HEAD,
}
CHUNKS = request("POST", "/classes/Item", headers={"Transfer-Encoding": "chunked"}) + b"1\r\n \r\n" * 200_000
EMPTY_OBJECTS = request("POST", "/functions/hello", {"a": [{}] * 34_000})
HUGE = request("POST", "/functions/hello", {"a": "x" * (19 * 1024 * 1024)})
BODY = request("POST", "/classes/Item", b"{" + b" " * (64 * 1024))[:-1]
ENDLESS_HEAD = request("GET", "/health", headers={f"x-{number}": "y" * 230 for number in range(240)})[:-2]
# A request with a response of 110 KB.
ANSWER = request("GET", "/classes/Wide", query={"limit": "33"})
# The kilobytes that a connection and a pending cloud-code call occupy in the server.
CONNECTION = 40
CALL = 50
# The kilobytes that the task of a find may keep until its response is sent.
FIND = 10


def attacks(attack, save, save_little):
    """Returns the attacks by name. `attack` is the class `Attack`. `save` and `save_little` are measured clients."""
    def many(data, count, each=CONNECTION, longer=0.05, **settings):
        send = flood(data, count, endless=False, **settings)
        return attack(send, longer=longer, allowed=count * each // 1024)

    found = {}
    found["pings"] = attack(flood(PING * 10_000, few, open=upgraded))
    found["unknown messages"] = attack(flood(UNKNOWN * 4_000, few, open=upgraded))
    found["handshakes"] = attack(flood(UPGRADE, some, Again, endless=False))
    for name in PROXIES:
        found[f"pings, {name}"] = attack(through(name, PING * 10_000, 16))
        found[f"unknown messages, {name}"] = attack(through(name, UNKNOWN * 4_000, 16))
    found["unfinished messages"] = attack(message, allowed=600 * CONNECTION // 1024)
    for name, data in SHORT.items():
        found[f"pipelined {name}"] = attack(flood(data * 1_000, some))
    found["small bodies"] = many(BODY, 3_000)
    # Starting 3,000 cloud-code calls, or parsing 4,000 large heads per second, keeps two processors busy, and so do the
    # attackers. A get then waits up to 250 ms.
    found["requests behind slow ones"] = many(
        slow_then(MISSING * (120 * 1024 // len(MISSING))), 3_000, each=CONNECTION + CALL, longer=0.1)
    found["endless heads"] = many(ENDLESS_HEAD, 3_000, longer=0.1)
    # Creating 2,000 responses of 110 KB keeps two processors busy. A get then waits up to 300 ms.
    found["small answers, unread"] = many(
        ANSWER, 2_000, each=CONNECTION + FIND, longer=0.15, reads=False, open=silent)
    found["chunks of a byte"] = attack(flood(CHUNKS, 4))
    found["empty objects"] = attack(
        flood(EMPTY_OBJECTS, 64), victim=save_little, longer=0.3, transfers=256, allowed=64)
    found["huge bodies"] = attack(
        flood(HUGE, 16, seconds=6), victim=save, longer=3, transfers=256, allowed=2 * 19 * 4 + 100)
    return found
