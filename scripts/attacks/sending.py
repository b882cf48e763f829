"""Requests as bytes, and senders with different addresses."""

import json
import socket
import threading
import time
import urllib.parse

APPLICATION_ID = "benchmark"


def address(sender):
    """Returns the IP address of a sender."""
    return f"127.0.{1 + sender // 200}.{1 + sender % 200}"


def request(method, path, body=None, headers=None, query=None):
    """Returns the bytes of a request. `path` is below the mount path. A body other than bytes is encoded as JSON."""
    if query:
        path += "?" + urllib.parse.urlencode(
            {key: value if isinstance(value, str) else json.dumps(value) for key, value in query.items()})
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} /parse{path} HTTP/1.1", "Host: localhost"]
    headers = {"X-Parse-Application-Id": APPLICATION_ID, **(headers or {})}
    if data:
        headers = {"Content-Type": "application/json", "Content-Length": len(data), **headers}
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def connect(port, sender, receive_buffer=None):
    """Opens a connection from a sender's address."""
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.bind((address(sender), 0))
    connection.connect(("127.0.0.1", port))
    return connection


def read_answer(connection):
    """Reads a response to its end and returns its status."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("closed before an answer")
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = 0
    chunked = False
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
        chunked = chunked or name.lower() == b"transfer-encoding"
    received = len(body)
    while (not body.endswith(b"0\r\n\r\n")) if chunked else received < length:
        body = connection.recv(1 << 20)
        if not body:
            raise ConnectionError("closed in an answer")
        received += len(body)
    return int(head.split(b" ", 2)[1])


class Wave:
    """Connections that send a request at the same time and then read the response, read nothing, or disconnect.

    `requests` contains the sender and the bytes of each connection.
    """

    def __init__(self, port, requests, reads=True, leaves_after=None, seconds=8.0):
        self.port, self.requests = port, requests
        self.reads, self.leaves_after, self.seconds = reads, leaves_after, seconds
        self.statuses = {}
        self.lock = threading.Lock()

    def _note(self, status):
        with self.lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def _send(self, sender, data, end):
        try:
            with connect(self.port, sender, None if self.reads else 4096) as connection:
                connection.settimeout(max(0.1, end - time.monotonic()))
                connection.sendall(data)
                if self.leaves_after is not None:
                    time.sleep(self.leaves_after)
                elif self.reads:
                    self._note(read_answer(connection))
                else:
                    time.sleep(max(0, end - time.monotonic()))
        except TimeoutError:
            self._note("unanswered")
        except OSError:
            self._note("closed")

    def run(self):
        """Sends all requests, and returns once all have responses or the time is over."""
        end = time.monotonic() + self.seconds
        threads = [
            threading.Thread(target=self._send, args=(sender, data, end), daemon=True) for sender, data in self.requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.1, end + 2 - time.monotonic()))
        return self.statuses


def spread(data, count, senders):
    """Returns `count` requests with the same bytes, from the senders in turn."""
    return [(number % senders, data) for number in range(count)]
